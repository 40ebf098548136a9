"""Whether sites agree: shifts against sites solved alone, chance of a false alarm, the sentence."""

import numpy as np
import pytest
from scipy import stats

import lincat
from lincat.inference.heterogeneity import SiteFigures, _sentence, _welch, compare_sites
from lincat.report.sites import sites_section

GAMMA = 0.8


def statistics(seed, n=4_000, shift=0.0):
    """Of a walk along two states, whose rewards are noisy."""
    rng = np.random.default_rng(seed)
    state = (np.cumsum(rng.random(n + 1) < 0.3) % 2).astype(np.int64)
    reward = state[:-1] + shift + rng.integers(0, 3, n)
    t = lincat.Transitions(state[:-1], reward, state[1:])
    return lincat.Statistics(n_features=2, max_blocks=16).update(t)


def compared(parts):
    whole = parts[0].copy()
    for part in parts[1:]:
        whole.merge(part)
    model = lincat.LSTD(gamma=GAMMA, n_features=2).add_statistics(whole)
    names = [f"site {i}" for i in range(len(parts))]
    return compare_sites(names, parts, whole, model.moments_, GAMMA, np.array([0.5, 0.5]))


def test_figures_are_those_of_each_site_alone():
    """To first order, as its rows would move the pooled answer; exactly where A is the same."""
    parts = [statistics(0), statistics(1, shift=0.2)]
    for part, one in zip(parts, compared(parts).figures, strict=True):
        alone = lincat.LSTD(gamma=GAMMA, n_features=2).add_statistics(part)
        mean = float(np.mean(alone.predict(np.eye(2))))
        assert one.mean == pytest.approx(mean, abs=0.02)
        assert one.mean_low < one.mean < one.mean_high


def test_sites_that_are_alike_rarely_seem_to_differ():
    """P-values of Welch's test are as low as 0.1 about one time in ten."""
    values = [compared([statistics(10 * k + i) for i in range(3)]) for k in range(30)]
    means = np.array([one.p_value for one in values])
    spreads = np.array([one.p_value_spread for one in values])
    assert (means < 0.1).sum() <= 8  # 3 are expected, and more than 8 once in 500 times
    assert (spreads < 0.1).sum() <= 8
    assert means.max() > 0.5


def test_a_site_that_differs_is_named():
    found = compared([statistics(0), statistics(1), statistics(2, shift=0.5)])
    assert found.p_value < 1e-6
    assert found.sentence.startswith("Sites differ")
    assert "at site 2" in found.sentence
    html = sites_section(found)
    assert html.count('class="series c1 site"') == 3
    assert "Do the sites agree?" in html


def test_one_site_or_few_blocks_tell_nothing():
    assert compared([statistics(0)]).p_value is None
    few = [statistics(i, n=3) for i in range(2)]
    assert compared(few).p_value is None
    assert sites_section(compared([statistics(0)])) == sites_section(None) == ""


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_test_of_equal_means_is_welchs(k):
    rng = np.random.default_rng(k)
    samples = [rng.normal(0.2 * i, 1.0 + i, size=20 + 10 * i) for i in range(k)]
    sites = [(x.mean(), x.std(ddof=1) / np.sqrt(len(x)), len(x) - 1) for x in samples]
    assert _welch(sites) == pytest.approx(stats.f_oneway(*samples, equal_var=False).pvalue)
    assert _welch([*sites, (0.0, 0.0, 5)]) is None  # one without any error


def test_sites_may_differ_in_spread_alone():
    figures = [
        SiteFigures(name=name, transitions=9, mean=mean, mean_low=0.0, mean_high=2.0, std=std)
        for name, mean, std in (("a", 1.0, 1.0), ("b", 1.1, 9.0))
    ]
    assert _sentence(figures, 0.5, 0.001).endswith("but differ in spread (p = 0.001).")
    assert _sentence(figures, 0.5, 0.01).startswith("Sites agree as far as")
    assert _sentence(figures, 0.009, 0.001).startswith("Sites differ (p = 0.009): from 1 at a to")
