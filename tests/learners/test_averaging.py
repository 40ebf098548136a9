import numpy as np
import pytest

from lincat.learners.averaging import IterateAverage
from tests import naive
from tests.learners import cases

MOMENTS = (1, 2, 3, 100, 511, 512, 513, 1000, 1023, 1024, 1025, 1535, 1536, 2047, 2048, 2049, 2500)


@pytest.fixture(scope="module")
def iterates():
    """All iterates of 2,500 updates."""
    data = cases.tuples(cases.stream("dense", 2500))
    return naive.learner_iterates(
        np.zeros((4, 8)), data, cases.GRID, "ctd", step_size=("constant", 0.3)
    )


def window(mean, iterates):
    """How many of the last iterates the mean covers: the one number that fits."""
    sums = np.cumsum(iterates[::-1], axis=0)
    means = sums / np.arange(1, len(iterates) + 1)[:, None, None]
    return 1 + int(np.argmin(np.abs(means - mean).max(axis=(1, 2))))


def test_anytime_tail_covers_between_half_and_all(iterates):
    t = cases.stream("dense", 2500)
    model, done = cases.make("ctd", step_size=0.3), 0
    for moment in MOMENTS:
        model.partial_fit(t[done:moment])
        done = moment
        n = window(model.Theta_mean_, iterates[:done])
        assert done / 2 <= n <= done
        expected = naive.average(iterates[:done], "tail")
        np.testing.assert_allclose(model.Theta_mean_, expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(iterates[done - n : done].mean(axis=0), expected, atol=1e-12)


@pytest.mark.parametrize("averaging", ["none", "full", "tail"])
def test_asking_at_every_step_changes_nothing(averaging, iterates):
    t = cases.stream("dense", 2500)[:700]
    asked = cases.make("ctd", step_size=0.3, averaging=averaging)
    for i in range(700):
        asked.partial_fit(t[i : i + 1])
        expected = naive.average(iterates[: i + 1], averaging)
        np.testing.assert_allclose(asked.Theta_mean_, expected, rtol=0, atol=1e-10)
    silent = cases.make("ctd", step_size=0.3, averaging=averaging).partial_fit(t)
    np.testing.assert_array_equal(asked.Theta_mean_, silent.Theta_mean_)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 100, 101, 2000])
def test_tail_of_a_known_length_is_the_papers(n, iterates):
    """Theta_{T/2}, ..., Theta_T, both included."""
    model = cases.make("ctd", step_size=0.3).fit(cases.stream("dense", 2500)[:n])
    expected = iterates[max(n // 2 - 1, 0) : n].mean(axis=0)
    np.testing.assert_allclose(model.Theta_mean_, expected, rtol=0, atol=1e-10)


def test_a_horizon_makes_a_stream_equal_to_fit(iterates):
    t = cases.stream("dense", 2500)[:2000]
    fitted = cases.make("ctd", step_size=0.3).fit(t)
    streamed = cases.make("ctd", step_size=0.3, horizon=2000)
    for begin in range(0, 2000, 300):
        streamed.partial_fit(t[begin : begin + 300])
        assert np.isfinite(streamed.Theta_mean_).all()
    np.testing.assert_array_equal(streamed.Theta_mean_, fitted.Theta_mean_)
    expected = iterates[999:2000].mean(axis=0)
    np.testing.assert_allclose(streamed.Theta_mean_, expected, rtol=0, atol=1e-10)


def test_before_the_tail_begins_all_iterates_are_averaged(iterates):
    t = cases.stream("dense", 2500)
    model = cases.make("ctd", step_size=0.3, horizon=200)
    for i in range(120):
        model.partial_fit(t[i : i + 1])
        begin = 99 if i + 1 > 99 else 0
        expected = iterates[begin : i + 1].mean(axis=0)
        np.testing.assert_allclose(model.Theta_mean_, expected, rtol=0, atol=1e-10)


def test_fit_prefers_a_horizon_that_is_given(iterates):
    model = cases.make("ctd", step_size=0.3, horizon=600).fit(cases.stream("dense", 2500)[:1000])
    expected = iterates[299:1000].mean(axis=0)
    np.testing.assert_allclose(model.Theta_mean_, expected, rtol=0, atol=1e-10)


def test_a_batch_is_one_iterate():
    t = cases.stream("dense", 1100)
    data = cases.tuples(t)
    iterates = naive.learner_iterates(
        np.zeros((4, 8)), data, cases.GRID, "ctd", step_size=("constant", 0.3), batch=10
    )
    model = cases.make("ctd", step_size=0.3).fit(t, batch_size=10)
    np.testing.assert_allclose(
        model.Theta_mean_, iterates[110 // 2 - 1 :].mean(axis=0), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("kind", ["none", "full"])
def test_without_windows_there_are_no_boundaries(kind):
    average = IterateAverage(kind, None)
    assert average.updates_to_boundary(123) is None
    assert average.needs_sums is (kind == "full")


def test_boundaries_double():
    average, done, seen = IterateAverage("tail", None), 0, []
    for _ in range(4):
        done += average.updates_to_boundary(done)
        seen.append(done)
        average.pass_boundary(done, np.zeros((1, 1)), np.zeros((1, 1)))
    assert seen == [512, 1024, 2048, 4096]
    assert (average.begin, average.next_begin) == (2048, 4096)


def test_before_any_update_the_average_is_the_start():
    model = cases.make("ctd").partial_fit(cases.stream("dense", 10)[:0])
    assert (model.n_seen_, model.n_updates_) == (0, 0)
    assert not model.Theta_mean_.any()
