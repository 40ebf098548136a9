"""Which plan meets returns best that none was fitted to."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.data.steps import Steps, joined
from lincat.runs import choosing, trial
from lincat.runs.candidates import Lengths, Pilot, candidates_for, lengths_for
from lincat.runs.potential import Potential
from lincat.runs.trial import Compared, _fitted, _spread, compare

N = 400
ONE, LENGTHS = Lengths(1, 1, 1), Lengths(1, 5, 20)


def gains(mean, se, seed=0):
    """Gains with this mean and this standard error, each of a record of its own."""
    noise = np.random.default_rng(seed).normal(size=N)
    return mean + (noise - noise.mean()) / noise.std() * se * np.sqrt(N)


def held(made, begins=None):
    """Gains of plans, each return of a record of its own."""
    n = made.shape[2]
    begins = np.zeros(n, bool) if begins is None else begins
    return Compared(tuple(range(len(made))), made, np.arange(n), begins)


def compared(found, beginnings=None):
    """What these means and errors of both scores are, of plans after the first; of starts, too."""
    parts = []
    for begins, of in ((False, found), (True, beginnings)):
        if of is None:
            continue
        made = [[gains(*x, seed=10 * i + j) for j, x in enumerate(p)] for i, p in enumerate(of)]
        first = np.zeros((1, 2, N))
        parts.append(held(np.concatenate([first, made]), np.full(N, begins)))
    return Compared.joined(parts)


NOT_BETTER = (0.0, 0.001)


def test_two_that_are_far_better_than_the_first_are_held_against_each_other():
    """By how bad the first one's quantile is in a few states, which moves both gains alike."""
    shared = gains(0.30, 0.15, seed=7)
    one = np.stack([gains(0.4, 0.01, seed=1), shared])
    other = np.stack([one[0] - gains(0.1, 0.01, seed=2), shared + gains(0.15, 0.1, seed=3)])
    made = np.stack([np.zeros((2, N)), one, other])
    assert made[2].mean(axis=1).sum() > made[1].mean(axis=1).sum()
    assert held(made).best() == 1


@pytest.mark.parametrize(
    ("found", "best"),
    [
        ([[(0.010, 0.002), (0.0, 0.001)]], 1),  # in the CRPS
        ([[(0.001, 0.004), (0.008, 0.001)]], 1),  # in the quantile
        ([[(0.003, 0.002), (0.002, 0.001)]], 0),  # by chance
        ([[(0.003, 0.002), (0.0025, 0.001)]], 0),  # a quantile must win by more
        ([[(-0.010, 0.002), (0.050, 0.001)]], 0),  # a tail at the expense of the rest
        ([[(0.050, 0.002), (-0.010, 0.001)]], 0),  # and the other way round
        ([[(-0.003, 0.004), (0.002, 0.0001)]], 0),  # worse on the whole
        ([[(0.010, 0.002), (0.0, 0.001)], [(0.020, 0.002), (0.001, 0.001)]], 2),  # the best
    ],
)
def test_better_in_one_score_worse_in_neither(found, best):
    assert compared(found).best() == best
    # Where records begin, nothing else is seen.
    assert compared(found, [[NOT_BETTER, NOT_BETTER]] * len(found)).best() == best


@pytest.mark.parametrize(
    ("beginnings", "best"),
    [
        ([[(0.010, 0.002), (0.0, 0.001)]], 1),  # better there alone
        ([[(-0.010, 0.002), (0.0, 0.001)]], 0),  # worse there, better elsewhere
    ],
)
def test_where_records_begin_counts_by_itself(beginnings, best):
    elsewhere = [(0.0, 0.004), (0.0, 0.004)] if best else [(0.050, 0.002), (0.0, 0.001)]
    assert compared([elsewhere], beginnings).best() == best


def test_few_returns_decide_nothing():
    made = np.concatenate([np.zeros((1, 2, 99)), np.ones((1, 2, 99))])
    few = held(made)
    assert few.best() == 0
    assert few.in_question() == (0, 1)


def test_a_few_beginnings_decide_nothing():
    enough = compared([[NOT_BETTER, NOT_BETTER]])
    for n, best in ((19, 0), (20, 1)):
        made = np.concatenate([np.zeros((1, 2, n)), np.ones((1, 2, n)) + 1e-3 * np.arange(n)])
        starts = held(made, np.ones(n, bool))
        assert Compared.joined([enough, starts]).best() == best


@pytest.mark.parametrize(
    ("found", "left"),
    [
        ([[(0.010, 0.002), (0.0, 0.001)]], (1,)),  # five standard errors ahead
        ([[(0.004, 0.002), (0.0, 0.001)]], (0, 1)),  # two
        ([[(0.010, 0.002), (-0.002, 0.001)]], (0, 1)),  # better in one, worse in the other
        ([[(-0.010, 0.002), (-0.010, 0.001)], [(0.001, 0.002), (0.0, 0.001)]], (0, 2)),
    ],
)
def test_what_is_in_question(found, left):
    assert compared(found).in_question() == left


def test_records_of_parts_stay_apart():
    part = Compared((0, 1), np.zeros((2, 2, 3)), np.array([0, 0, 1]), np.zeros(3, bool))
    assert Compared.joined([part, part]).record.tolist() == [0, 0, 1, 2, 2, 3]


def test_plans_keep_their_numbers_when_others_drop_out():
    """Of two plans that are left, the gains of the first part are those over each other, too."""
    first = compared([[(-0.1, 0.002), (0.0, 0.001)], [(0.010, 0.002), (0.0, 0.001)]])
    assert first.in_question() == (2,)
    again = Compared((0, 2), first.gains[[0, 2]], first.record, first.begins)
    both = Compared.joined([first, again])
    assert both.plans == (0, 2)
    assert both.gains.shape == (2, 2, 2 * N)
    assert both.best() == 2
    assert both.in_question() == (2,)


@given(
    n=st.integers(11_000, 60_000),
    share=st.floats(0.0, 1.0),
    gamma=st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.999, 1.0]),
    every=st.sampled_from([None, 7, 150]),
)
def test_what_is_tried_is_of_every_part(n, share, gamma, every):
    """In a sorted log, too, what is learned from and what is left out are alike."""
    number, no = np.arange(n), np.zeros(n, bool)
    ends = no if every is None else number % every == every - 1
    pilot = Steps(number, np.ones(n), number + 1, ends, no)
    rows = int(10_001 + share * (n - 10_001))
    split = _spread(pilot, gamma, rows)
    train, held = split.train.observation, joined(split.held).observation
    assert len(train) == pytest.approx(0.7 * rows, abs=61)
    assert len(held) == pytest.approx(min(n - 0.7 * rows, 3.0 * rows), abs=61)
    assert len(train) + len(held) <= n
    assert not np.intersect1d(train, held).size
    middles = [x.observation.mean() for x in split.held]
    parts = len(middles)
    np.testing.assert_allclose(middles, n * (np.arange(parts) + 0.5) / parts, atol=2.0)
    # Records break off where rows were cut out, and nowhere else.
    for steps in (split.train, joined(split.held)):
        follows = np.append(np.diff(steps.observation) == 1, False)
        np.testing.assert_array_equal(steps.truncated[~follows], ~steps.terminated[~follows])
    if gamma in (0.0, 0.5, 0.9) or every == 7:
        assert parts == 10  # short returns: as many as there may be
    elif every is None and gamma >= 0.999:
        assert parts == 1


def test_where_a_stretch_begins_no_record_does(monkeypatch):
    monkeypatch.setattr(trial, "_SCORED", 200)  # all beginnings count beside them
    steps = cut(30_000, 700)
    candidates = candidates_for(len(steps), ONE)[:1]
    found = compare(steps, 0.5, candidates, rows=20_000)
    split = _spread(steps, 0.5, 20_000)
    begun = np.concatenate([x.observation[x.begins()[1:], 0] for x in split.held])
    assert len(split.held) == 10
    assert (begun > 3.0).all()
    assert found.begins.sum() == len(begun)


class Says:
    """A trial with this outcome."""

    def __init__(self, best, left):
        self.best, self.in_question = (lambda: best), (lambda: left)


@pytest.mark.parametrize(
    ("rows", "left", "trials", "chosen"),
    [
        (20_000, (0, 3), [20_000], 3),  # too few for another
        (100_000, (0, 3), [25_000], 3),
        (200_000, (0, 3), [25_000, 100_000], 0),  # the second one has the last word
        (200_000, (4,), [25_000], 4),  # nothing is in question
    ],
)
def test_a_second_trial_has_more_rows_and_fewer_plans(monkeypatch, rows, left, trials, chosen):
    asked = []

    def compare(steps, gamma, candidates, *, rows):
        asked.append((rows, len(candidates)))
        return Says(3, left) if len(asked) == 1 else Says(0, (0,))

    monkeypatch.setattr(choosing, "compare", compare)
    x, no = np.zeros((rows, 2)), np.zeros(rows, bool)
    assert choosing.tried(Steps(x, no * 1.0, x, no, no), 0.9, LENGTHS) == chosen
    assert [n for n, _ in asked] == trials
    assert [plans for _, plans in asked] == [5, len(left)][: len(trials)]


def test_in_a_second_trial_longer_steps_without_a_potential_come_first(monkeypatch):
    tried = []

    def compare(steps, gamma, candidates, *, rows):
        tried.append([(one.scale > 0, one.n_step) for one in candidates])
        return Says(3, (1, 2, 3, 4)) if len(tried) == 1 else Says(2, (2,))

    monkeypatch.setattr(choosing, "compare", compare)
    x, no = np.zeros((200_000, 2)), np.zeros(200_000, bool)
    assert choosing.tried(Steps(x, no * 1.0, x, no, no), 0.9, LENGTHS) == 4
    assert tried[0] == [(True, 1), (True, 1), (True, 20), (False, 1), (False, 5)]
    assert tried[1] == [(True, 1), (True, 20), (False, 5), (False, 1)]


@pytest.mark.parametrize(
    ("gamma", "every", "lengths"),
    [
        (0.99, None, (1, 20, 80)),
        (0.99, 50, (1, 10, 40)),  # episodes end before the discount does
        (1.0, 50, (1, 10, 40)),
        (0.5, None, (1, 1, 1)),  # hardly anything follows that counts
        (1.0, None, (1, 1, 1)),  # nobody knows how much
        (0.99, 1, (1, 1, 1)),
    ],
)
def test_how_many_steps_are_summed(gamma, every, lengths):
    x, no = np.zeros((1_000, 2)), np.zeros(1_000, bool)
    ends = no if every is None else np.arange(1_000) % every == every - 1
    steps = Steps(x, no * 1.0, x, ends, no)
    assert lengths_for(steps, gamma) == lengths
    assert lengths_for(steps, gamma, 7) == (7, 7, 7)
    assert {c.n_step for c in candidates_for(1_000, lengths_for(steps, gamma, 7))} == {7}


def test_cores_change_no_bit_of_a_trial(monkeypatch):
    steps = scattered(3_000, lambda x: np.sin(5.0 * x[:, 0]), 1.0)
    candidates = candidates_for(len(steps), LENGTHS)
    found = []
    for cores in (1, 4):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        found.append(compare(steps, 0.5, candidates))
    assert found[0].plans == (0, 1, 2, 3, 4)
    np.testing.assert_array_equal(found[0].gains, found[1].gains)


def test_the_last_thirds_are_for_what_is_in_question(monkeypatch):
    """Of 12,000 steps; of fewer, all plans are tried on every third."""
    asked, ahead = [], (1, 2)

    def compared(split, gamma, candidates):
        asked.append(tuple(candidates))
        made = np.zeros((len(candidates), 2, N))
        made[:, 0] = [gains(0.0 if i in ahead else -0.1, 0.002, seed=i) for i in candidates]
        return Compared(tuple(candidates), made, np.arange(N), np.zeros(N, bool))

    monkeypatch.setattr("lincat.runs.trial._compared", compared)
    for n, later in ((12_000, (1, 2)), (9_000, (0, 1, 2, 3, 4))):
        asked.clear()
        compare(scattered(n, lambda x: x[:, 0], 1.0), 0.5, candidates_for(n, LENGTHS))
        assert asked == [(0, 1, 2, 3, 4), later, later]
    # Of one that is left, nothing is asked any more.
    ahead = (3,)
    asked.clear()
    found = compare(scattered(12_000, lambda x: x[:, 0], 1.0), 0.5, candidates_for(1, LENGTHS))
    assert asked == [(0, 1, 2, 3, 4)]
    assert (found.plans, found.best()) == ((3,), 3)


def circling(n, seed=0):
    """A point goes round, and is nearly certain to: rewards vary sharply along the way."""
    rng = np.random.default_rng(seed)
    turn = 2.0 * np.pi * (rng.random() + np.cumsum(0.013 + 0.0005 * rng.normal(size=n + 1)))
    x, no = np.stack([np.cos(turn), np.sin(turn)], axis=1), np.zeros(n, bool)
    return Steps(x[:-1], 1.0 * (np.sin(7.0 * turn[:-1]) > 0.9), x[1:], no, no)


def test_sums_over_many_steps_know_the_spread_better():
    """Errors of V telescope within a sum; from one step to the next they are taken for chance."""
    steps = circling(6_000)
    pilot = Pilot(steps, 0.98, len(steps))
    _, narrow, far, *_ = candidates_for(len(steps), lengths_for(steps, 0.98))
    assert (narrow.n_step, far.n_step) == (1, 40)
    # The standard deviation itself: simulated on, from one place.
    rng = np.random.default_rng(1)
    turn, found = np.full(4_000, 0.3), np.zeros(4_000)
    for t in range(400):
        found += 0.98**t * (np.sin(7.0 * turn) > 0.9)
        turn += 2.0 * np.pi * (0.013 + 0.0005 * rng.normal(size=4_000))
    spread = []
    for candidate in (narrow, far):
        model = _fitted(candidate.plan(pilot), steps, 0.98)
        spread.append(model.predict(np.array([[np.cos(0.3), np.sin(0.3)]])).std()[0])
    off = np.abs(np.array(spread) - found.std())
    assert off[1] < 0.5 * off[0]


def cut(n, every):
    """Points about 0, but records begin about 7."""
    x = np.random.default_rng(0).normal(size=(n, 1))
    begins = np.arange(n) % every == 0
    x[begins] += 7.0
    no = np.zeros(n, bool)
    return Steps(x, np.sin(x[:, 0]), x, no, np.append(begins[1:], True))


def test_bumps_are_near_where_records_begin():
    steps = cut(20_000, 1_000)
    assert steps.begins().tolist() == list(range(0, 20_000, 1_000))
    pilot = Pilot(steps, 0.9, len(steps))
    assert np.isclose((pilot.observations > 5.0).mean(), 0.1, atol=0.001)

    def near(features, sample):
        """Bumps whose centre lies where records begin."""
        return int((features.centers_ * sample.std() + sample.mean() > 4.0).sum())

    found = near(pilot.smooth(60, narrow=True), pilot.observations)
    seen = steps.observation
    assert found > 2 * near(lincat.Nearby(bumps=60, seed=0).fit(seen), seen)


@pytest.mark.parametrize("every", [4, 2_000])
def test_beginnings_that_are_many_or_hardly_any_are_not_repeated(every):
    steps = cut(20_000, every)
    assert Pilot(steps, 0.9, len(steps)).observations is steps.observation


def ladder(n, seed=0):
    """A climb in [0, 1] that ends in 1, at the top, or in −1, an atom, wherever it slips."""
    rng = np.random.default_rng(seed)
    place, after, reward, ends = np.zeros((4, n))
    now = rng.random()
    for t in range(n):
        place[t] = now
        slips = rng.random() < 0.02 + 0.1 * (1.0 - now)
        now = now + rng.normal(0.05, 0.1)
        if slips or not 0.0 < now < 1.0:
            reward[t], ends[t] = (-1.0 if slips or now <= 0.0 else 1.0), 1.0
            after[t], now = 0.5, rng.random()
        else:
            after[t] = now
    no = np.zeros(n, bool)
    return Steps(place[:, None], reward, after[:, None], ends > 0.0, no)


def test_an_atom_that_a_potential_would_smear_is_seen():
    steps = ladder(12_000)
    candidates = candidates_for(len(steps), ONE)
    assert candidates[compare(steps, 0.99, candidates).best()].scale == 0


def test_more_rows_have_more_narrow_bumps_up_to_a_limit():
    few, many, most = (candidates_for(n, ONE)[1] for n in (2_000, 20_000, 10**7))
    assert few.narrow
    assert (few.potential, many.potential, most.potential) == (246, 778, 2500)
    assert few.scale < few.potential


def scattered(n, reward, noise, seed=0):
    """Points that have nothing to do with each other, whose rewards are a function of them."""
    rng = np.random.default_rng(seed)
    x, no = rng.random((n + 1, 2)), np.zeros(n, bool)
    return Steps(x[:-1], reward(x[:-1]) + noise * rng.normal(size=n), x[1:], no, no)


@pytest.mark.parametrize(
    ("reward", "noise", "bumps"),
    [
        (lambda x: x[:, 0], 3.0, 100),  # what is smooth needs few
        (lambda x: np.sin(30.0 * x[:, 0]) * np.sin(30.0 * x[:, 1]), 0.1, 400),  # ripples need all
    ],
)
def test_a_potential_has_no_more_narrow_bumps_than_it_needs(reward, noise, bumps):
    for seed in range(3):
        steps = scattered(8_000, reward, noise, seed)
        pilot = Pilot(steps, 0.5, len(steps))
        assert len(pilot.potential(400, narrow=True).features.centers_) == 400
        found = pilot.potential(400, narrow=True, fewer=True)
        assert len(found.features.centers_) == bumps
        finest = Potential.fit(
            lincat.Nearby(bumps=400, seed=1).fit(steps.observation), [steps], 0.5, ridge=1e-4
        )
        x = scattered(1_000, reward, 0.0, seed + 9).observation
        truth = reward(x) + reward(np.random.default_rng(5).random((10**6, 2))).mean()
        errors = [np.sqrt(np.mean((v.values(x) - truth) ** 2)) for v in (found, finest)]
        assert errors[0] < (0.6 if bumps < 400 else 1.1) * errors[1]


def test_of_certain_returns_the_finest_potential_is_kept_or_the_same():
    """No noise at all, and V is exact with any bumps: nothing divides by zero."""
    steps = scattered(2_000, lambda x: np.ones(len(x)), 0.0)
    found = Pilot(steps, 0.5, len(steps)).potential(200, narrow=True, fewer=True)
    np.testing.assert_allclose(found.values(steps.observation[:5]), 2.0)


@pytest.mark.parametrize("m", [2, 9])
def test_among_many_numbers_nothing_is_near(m):
    x = np.random.default_rng(0).normal(size=(600, m))
    no = np.zeros(599, bool)
    pilot = Pilot(Steps(x[:-1], x[:-1, 0], x[1:], no, no), 0.9, 599)
    found = pilot.smooth(60, narrow=True)
    assert isinstance(found, lincat.Nearby if m == 2 else lincat.Smooth)
    assert (pilot.ridge_of(True) < pilot.ridge_of(False)) == (m == 2)
    assert found.n_features_ == (6 + 60 if m == 2 else 1 + 9 + 30)


def test_returns_count_as_much_as_their_weights():
    """A plan that is better where returns stand for many is the better one, and the other way."""
    better = np.where(np.arange(N) % 4 == 0, 0.5, -0.3) + gains(0.0, 0.002)
    made = np.stack([np.zeros((2, N)), np.stack([better, better])])
    many = np.where(np.arange(N) % 4 == 0, 9.0, 1.0)
    plain = held(made)
    weighted = Compared(plain.plans, made, plain.record, plain.begins, many)
    assert (plain.best(), weighted.best()) == (0, 1)
    assert Compared.joined([weighted, weighted]).best() == 1
    alike = Compared(plain.plans, made, plain.record, plain.begins, np.full(N, 3.0))
    np.testing.assert_allclose(alike._than(1, 0), plain._than(1, 0))


def test_rows_with_weights_are_learned_one_at_a_time_and_say_nothing_where_these_change():
    rng = np.random.default_rng(0)
    x, ends = rng.random((2_000, 1)), np.arange(2_000) % 50 == 49
    steps = Steps(x, rng.random(2_000), np.roll(x, -1, axis=0), ends, np.zeros(2_000, bool))
    assert lengths_for(steps, 0.99).long > 1
    ratios = replace(steps, weight=rng.random(2_000))
    assert lengths_for(ratios, 0.99) == ONE
    assert lengths_for(ratios, 0.99, 3) == Lengths(3, 3, 3)
    assert lengths_for(replace(ratios, action_noise=np.zeros((2_000, 1))), 0.99).long > 1
    assert compare(ratios, 0.99, candidates_for(2_000, ONE)).gains.shape[2] == 0
