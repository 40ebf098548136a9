"""Statistics of sources: one pass, files that add up, questions afterwards, hostile files."""

import json
from dataclasses import replace

import numpy as np
import pytest

import lincat
from lincat.runs.asked_statistics import ask, nearest_held, observation_of
from lincat.runs.source_statistics import merged
from lincat.runs.statistics_files import _build, save_bytes
from tests import packed
from tests.cli.command import lincat_here
from tests.statistics.test_statistics import assert_close, assert_equal

KEY = "lincat source statistics"
N, SITES = 2_000, 5


def log(seed, shift=0.0):
    """A table with times, two numbers, and a reward that follows one of them."""
    rng = np.random.default_rng(seed)
    load = np.zeros(N)
    for t in range(1, N):
        load[t] = 0.9 * load[t - 1] + 0.4 * rng.normal()
    first = np.datetime64("2024-01-01", "us") + np.timedelta64(seed * N, "h")
    return {
        "when": first + np.arange(N) * np.timedelta64(1, "h"),
        "load": load,
        "other": rng.normal(size=N),
        "reward": load + shift + 0.3 * rng.normal(size=N),
    }


COLUMNS = {"step": "when"}
SMALL = {"features": "smooth", "feature_options": {"bumps": 6}}


@pytest.fixture(scope="module")
def sites():
    first = lincat.stats(log(0), columns=COLUMNS, site="s0", **SMALL)
    rest = [
        lincat.stats(log(i), columns=COLUMNS, site=f"s{i}", like=first) for i in range(1, SITES)
    ]
    return [first, *rest]


@pytest.fixture(scope="module")
def both(sites):
    return lincat.merge(sites)


def test_five_sites_give_the_pass_over_all_rows():
    """The bar: sums of five sites are those of one pass, to 1e-12."""
    logs = [log(i) for i in range(SITES)]
    first = lincat.stats(logs[0], columns=COLUMNS, site="0", validate=0, **SMALL)
    rest = [
        lincat.stats(one, columns=COLUMNS, site=f"{i}", like=first, validate=0)
        for i, one in enumerate(logs[1:], start=1)
    ]
    # Rows of all sites in one table: the record breaks off where a site ends, as times go back.
    every = {name: np.concatenate([one[name] for one in logs]) for name in logs[0]}
    every["episode"] = np.repeat(np.arange(SITES), N)
    whole = lincat.stats(
        every, columns=COLUMNS, episode_end="truncated", like=first, validate=0, site="all"
    )
    pooled = ask(lincat.merge([first, *rest])).pooled
    assert_close(pooled.totals(), whole.sites[0].statistics.totals())
    answers = [
        lincat.evaluate(x, gamma=0.9, intervals=50).returns.mean()
        for x in (lincat.merge([first, *rest]), whole)
    ]
    np.testing.assert_allclose(answers[0][1:], answers[1][1:], rtol=1e-9)  # groups of states


def test_the_order_of_files_does_not_matter_to_the_last_bit(sites, both):
    other = lincat.merge([sites[i] for i in (3, 0, 4, 2, 1)])
    assert save_bytes(other) == save_bytes(both)
    halves = lincat.merge([lincat.merge(sites[3:]), lincat.merge(sites[:3])])
    assert save_bytes(halves) == save_bytes(both)


def test_a_file_holds_everything_and_no_row(both, tmp_path):
    both.save(tmp_path / "all.stats")
    again = lincat.SourceStatistics.load(tmp_path / "all.stats")
    assert save_bytes(again) == save_bytes(both) == (tmp_path / "all.stats").read_bytes()
    assert all(not site.statistics._waiting.parts for site in again.sites)
    left, right = (lincat.evaluate(x, gamma=0.9, intervals=50).answer for x in (both, again))
    assert left.cdf == right.cdf


def test_other_questions_are_those_of_a_new_pass(both):
    """Gamma, K, level, threshold: as from sums that were made for them."""
    for gamma, K in ((0.5, 40), (0.9, 60)):
        run = lincat.evaluate(both, gamma=gamma, intervals=K, level=0.1, below=0.0)
        direct = lincat.CategoricalLSTD(
            gamma=gamma, intervals=K, n_features=both.features.n_features_,
            ridge=run.model.learner.ridge,
        ).add_statistics(ask(both).pooled, run.model.learner.sampled_features())  # fmt: skip
        np.testing.assert_allclose(
            run.returns.cdf_values, direct.predict(run.shown.Phi).proper().cdf_values, atol=1e-9
        )
        assert run.answer.threshold == 0.0
        assert run.answer.level == 0.1
        assert run.answer.intervals is not None
        assert run.validation is not None
        quick = both.returns(gamma=gamma, intervals=K)
        assert list(quick.names) == run.names
        np.testing.assert_allclose(quick.cdf_values, run.returns.cdf_values, atol=1e-9)


def test_windows_are_blocks_of_time(sites, both):
    window = ask(both, since="2024-01-20", until="2024-02-20")
    spans = both.sites[0].spans()
    since, until = (np.datetime64(x, "us").astype(np.int64) for x in ("2024-01-20", "2024-02-20"))
    kept = [i for i in range(len(spans[0])) if spans[0][i] >= since and spans[1][i] < until]
    own = both.sites[0].statistics
    assert [site.name for site in window.whole.sites] == ["s0"]
    assert window.pooled.count == own.block_counts[kept].sum()
    assert_equal(window.pooled.totals(), own.window(kept[0], kept[-1] + 1))
    since = both.returns(gamma=0.9, intervals=30, since="2024-01-20", until="2024-02-20")
    assert since.mean()[0] != both.returns(gamma=0.9, intervals=30).mean()[0]
    last = ask(both, last_blocks=3)
    assert last.pooled.count == sum(x.statistics.block_counts[-3:].sum() for x in both.sites)
    assert last.held == ()  # held-out returns are of other times
    assert lincat.evaluate(both, gamma=0.9, last_blocks=3, intervals=30).trusted is not True
    with pytest.raises(lincat.InvalidInputError, match="lie from 2024-01-01"):
        ask(both, since="2030-01-01")
    with pytest.raises(lincat.InvalidInputError, match="a date or time"):
        ask(both, since="soon")


def test_tables_of_ids_are_put_together():
    """Sites that know other ids: the table holds those of all, and the answer is that of all."""
    rng = np.random.default_rng(0)
    logs = []
    for ids in (["a", "b", "c"], ["d", "c", "b"]):
        state = np.array(ids, dtype=object)[rng.integers(0, 3, 900)]
        logs.append({"state": state.tolist(), "reward": rng.integers(0, 3, 900).astype(float)})
    parts = [lincat.stats(x, site=str(i), validate=0) for i, x in enumerate(logs)]
    both = lincat.merge(parts)
    assert both.features.ids_ == ["a", "b", "c", "d"]
    assert save_bytes(lincat.merge(parts[::-1])) == save_bytes(both)
    reference = lincat.Statistics(n_features=4)
    for one in logs:
        rows = both.features.lookup(one["state"])
        reference.update(lincat.Transitions(rows[:-1], one["reward"][:-1], rows[1:]))
    assert_close(ask(both).pooled.totals(), reference.totals())
    answer = lincat.evaluate(both, gamma=0.5).answer
    assert answer.state_names[0] == "any state"
    assert set(answer.state_names[1:]) == set("abcd")


def test_one_site_at_several_times_is_one_site(sites):
    later = lincat.stats(log(9), columns=COLUMNS, like=sites[0], site="s0")
    whole = lincat.merge([later, sites[0]])
    (one,) = whole.sites
    first, _last = one.spans()
    assert (np.diff(first) >= 0).all()
    assert one.statistics.count == whole.count
    assert lincat.evaluate(whole, gamma=0.9, intervals=40).answer.sites is None


def test_what_does_not_belong_together_is_refused(sites):
    other = lincat.stats(log(7), columns=COLUMNS, **SMALL)
    lake = lincat.stats("frozen_lake", steps=500, validate=0)
    x = sites[0].sites[0]
    cases = [
        ([sites[0], sites[0]], "the same rows twice, as s0 and as s0"),
        ([sites[0], other], "the features of part 0.*fitted to its own.*like"),
        ([sites[0], lake], "the observations of part 0, load, other"),
        ([], "a list of statistics"),
    ]
    for parts, reason in cases:
        with pytest.raises(lincat.InvalidInputError, match=reason):
            lincat.merge(parts)
    # The same features, but reward nodes of its own.
    t = lincat.Transitions(np.eye(len(x.start_sum))[:1].repeat(300, 0), np.arange(300.0) ** 2,
                           np.eye(len(x.start_sum))[:1].repeat(300, 0))  # fmt: skip
    strange = lincat.Statistics(len(x.start_sum), nodes=24).update(t)
    part = replace(sites[1], sites=(replace(sites[1].sites[0], statistics=strange, clock=None),))
    with pytest.raises(lincat.InvalidInputError, match="reward nodes that agree"):
        merged([sites[0], part])


def test_held_out_returns_stand_for_gammas_near_them(both):
    held = ask(both).held
    assert nearest_held(held, 0.9).gamma == 0.9
    assert nearest_held(held, 0.93).gamma in (0.9, 0.95)
    assert nearest_held(held, 1.0) is None  # no episode ends
    assert nearest_held((), 0.9) is None
    run = lincat.evaluate(both, gamma=0.93, intervals=60)
    assert "at gamma 0.9" in run.validation.description
    nothing = replace(both, sites=tuple(replace(site, held=()) for site in both.sites))
    unchecked = lincat.evaluate(nothing, gamma=0.9, intervals=60)
    assert unchecked.trusted is not True
    assert unchecked.validation is None
    assert any("No held-out returns" in text for text in unchecked.warnings)


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(2):
        done = lincat_here("stats", "frozen_lake", "--steps", 2000, "--seed", i, "--site", f"s{i}",
                           "--out", f"{i}.stats", "--json")  # fmt: skip
        assert done.code == 0
        assert json.loads(done.out)["sites"].keys() == {f"s{i}"}
    done = lincat_here("merge", "0.stats", "1.stats", "--out", "all.stats")
    assert done.code == 0
    assert "Statistics: all.stats" in done.out
    done = lincat_here("evaluate", "all.stats", "--gamma", 0.9, "--out", "run", "--json")
    assert done.code == 0
    assert json.loads(done.out)["transitions"] == lincat.merge(["0.stats", "1.stats"]).count
    together = lincat_here("evaluate", "0.stats", "1.stats", "--gamma", 0.9, "--out", "2", "--json")
    assert json.loads(together.out)["states"] == json.loads(done.out)["states"]
    for words, reason in (
        (("evaluate", "all.stats", "--features", "fourier"), "features: expected 'auto'"),
        (("evaluate", "all.stats", "--steps", "5"), "lincat stats takes it"),
        (("evaluate", "all.stats", "frozen_lake"), "lincat stats frozen_lake --like all.stats"),
        (("evaluate", "all.stats", "--since", "2024-01-01"), "--column step=COLUMN"),
        (("evaluate", "none.stats"), "No such file"),
        (("merge", "0.stats", "0.stats", "--out", "x.stats"), "the same rows twice"),
        (("merge", "0.stats", "--out", "x.csv"), "ends in .stats"),
        (("merge", "0.stats"), "--out: expected a file"),
        (("stats", "all.stats"), "which holds none"),
    ):
        ended = lincat_here(*words, *(["--out", "run9"] if words[0] == "evaluate" else []))
        assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
        assert reason in ended.err
    assert not (tmp_path / "run9").exists()
    assert not (tmp_path / "x.stats").exists()


def test_mutations_are_refused(both, tmp_path):
    """Some of the 5,000 that ``python -m tests.runs.mutations`` makes."""
    from tests.runs.mutations import mutate

    small = lincat.stats("frozen_lake", steps=500)
    assert mutate(save_bytes(small), 60, seed=0) == 60
    assert mutate(save_bytes(both), 10, seed=1) == 10


def test_files_that_somebody_signed_again_do_no_harm(both):
    """A header or arrays that fit a checksum, and nothing else: one line, never more."""
    content = save_bytes(lincat.stats("frozen_lake", steps=500))

    def arrays(change):
        return packed.rewritten(content, KEY, change_arrays=change, sign=True)

    def far(found):
        found["0.sums.cross_group"] = found["0.sums.cross_group"] + 10**6

    def short(found):
        found["0.start_sum"] = found["0.start_sum"][:-1]

    def infinite(found):
        found["0.sums.Sigma"] = found["0.sums.Sigma"] * np.inf

    def cells(found):
        found["0.held.0.cell"] = found["0.held.0.cell"] - 10**9

    for change in (far, short, infinite, cells):
        with pytest.raises(lincat.InvalidInputError), np.errstate(invalid="ignore"):
            _build(arrays(change))


def test_a_transformer_of_scikit_learn_is_refused_in_a_line():
    """A file cannot hold it without code."""
    from sklearn.preprocessing import PolynomialFeatures

    rows = {name: log(0)[name] for name in ("load", "reward")}
    with pytest.raises(lincat.InvalidInputError, match=r"features: .*without code"):
        lincat.stats(rows, features=PolynomialFeatures(2), validate=0)


def test_sites_have_names_and_files(tmp_path, sites, both):
    renamed = sites[0].called("north")
    assert [site.name for site in renamed.sites] == ["north"]
    with pytest.raises(lincat.InvalidInputError, match="a name for one site, got 5 of them"):
        both.called("north")
    lincat.merge(sites, out=tmp_path / "all.stats")
    assert save_bytes(lincat.SourceStatistics.load(tmp_path / "all.stats")) == save_bytes(both)
    lake = lincat.stats("frozen_lake", steps=300, out=tmp_path / "lake.stats")
    again = lincat.SourceStatistics.load(tmp_path / "lake.stats")
    assert save_bytes(again) == save_bytes(lake)
    assert repr(
        again
    ) == f"SourceStatistics({lake.count} transitions, 16 features, site site 0)" or (
        "16 features" in repr(again)
    )
    for parts in ([], "all.stats", both):
        with pytest.raises(lincat.InvalidInputError, match="a list of statistics"):
            lincat.merge(parts)
    with pytest.raises(lincat.InvalidInputError, match="statistics to add, got none"):
        merged([])


def test_distributions_of_given_observations_and_on_a_given_grid(both):
    there = np.array([[0.0, 0.0], [2.0, 0.0]])
    found = both.returns(observations=there, gamma=0.9)
    assert found.mean()[1] > found.mean()[0] + 1.0  # rewards follow the load
    run = lincat.evaluate(both, gamma=0.9, low=-20.0, high=20.0, intervals=40)
    assert run.answer.grid == lincat.Grid(-20.0, 20.0, 40)


def test_what_statistics_have_decided_is_not_asked_again(both):
    for options, message in (
        ({"features": "fourier"}, "'auto': statistics have theirs in them, got fourier"),
        ({"learner": "linear_ctd"}, "lstd: sums are solved, not learned from"),
        ({"n_step": 3}, "nothing, as statistics have it in them, got 3; lincat stats takes it"),
    ):
        with pytest.raises(lincat.InvalidInputError, match=message):
            lincat.evaluate(both, gamma=0.9, **options)


def test_times_are_asked_of_rows_that_have_them():
    lake = lincat.stats("frozen_lake", steps=300, validate=0)
    with pytest.raises(lincat.InvalidInputError, match="rows with a time, got none at site"):
        ask(lake, since="2024-01-01")


def test_rows_of_a_table_are_the_ids_and_points_that_they_stand_for():
    names = lincat.stats({"state": ["a", "b"] * 50, "reward": [0.0, 1.0] * 50}, validate=0)
    assert observation_of(names, names.features.ids_.index("b")).tolist() == ["b"]
    numbers = lincat.stats({"state": [7, 9] * 50, "reward": [0.0, 1.0] * 50}, validate=0)
    found = {observation_of(numbers, row).tolist()[0] for row in range(2)}
    assert found == {7, 9}


def test_weights_of_held_out_returns_stay_with_them(tmp_path):
    n = 4_000
    state, done = np.arange(n) % 2, np.arange(n) % 2 == 1
    rows = {"state": state, "reward": 1.0 + state, "done": done}
    weights = np.repeat(1.0 + np.arange(n // 2) % 3, 2)
    weighted = lincat.stats({**rows, "weight": weights}, site="weighted")
    others = {**rows, "reward": 2.0 + state}
    plain = lincat.stats(others, site="plain", like=weighted)
    weighted.save(tmp_path / "weighted.stats")
    again = lincat.SourceStatistics.load(tmp_path / "weighted.stats")
    (held, *_), (kept, *_) = weighted.sites[0].held, again.sites[0].held
    np.testing.assert_array_equal(kept.weight, held.weight)
    assert set(held.weight) == {1.0, 2.0, 3.0}
    joint = ask(lincat.merge([weighted, plain])).held[0]
    assert joint.weight.sum() == held.weight.sum() + len(plain.sites[0].held[0].value)

    def negative(found):
        found["0.held.0.weight"] = -found["0.held.0.weight"]

    signed = packed.rewritten(save_bytes(weighted), KEY, change_arrays=negative, sign=True)
    with pytest.raises(lincat.InvalidInputError, match="weight: expected numbers above 0"):
        _build(signed)
