"""What to learn from, and how, by a rule."""

import numpy as np
import pytest

import lincat
from lincat.data.steps import ObservationSpace, Steps, joined
from lincat.runs.choosing import choose_plan
from lincat.runs.trial import _in_turn


def record(observation, reward, ends=None):
    n = len(reward)
    ends = np.zeros(n, bool) if ends is None else ends
    after = np.concatenate([observation[1:], observation[-1:]])
    return Steps(observation, np.asarray(reward, float), after, ends, np.zeros(n, bool))


def numbers(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    x = np.empty((n, 2))
    x[0] = 0.0
    for t in range(1, n):
        x[t] = 0.9 * x[t - 1] + rng.normal(size=2)
    return record(x, x[:, 0])


def test_ids_and_few_points_are_tables():
    space = ObservationSpace(names=("x",))
    ids = record(np.array(["a", "b"] * 50, dtype=object), np.ones(100))
    assert isinstance(choose_plan(ids, 0.9, space).features, lincat.Tabular)
    points = record(np.array([[0.5], [1.5]] * 50), np.ones(100))
    plan = choose_plan(points, 0.9, space)
    assert isinstance(plan.features, lincat.Points)
    assert (plan.potential, plan.n_step) == (None, 1)
    states = record(np.arange(100) % 4, np.ones(100))
    plan = choose_plan(states, 0.9, ObservationSpace(names=("s",), n_states=7))
    assert plan.features.n_known_ == 7


def shelves(n=4000, seed=0):
    """Stock that falls by chance and is filled up to 20; records begin anywhere from 18 to 27."""
    rng = np.random.default_rng(seed)
    stock, after, reward, ends = np.empty((4, n))
    now = 20.0
    for t in range(n):
        stock[t] = now
        sold = float(min(now, rng.integers(0, 5)))
        reward[t] = 3.0 * sold - 0.2 * now
        now = 20.0 if now - sold <= 4.0 else now - sold
        after[t], ends[t] = now, t % 400 == 399
        now = float(rng.integers(18, 28)) if ends[t] else now
    no = np.zeros(n, bool)
    return Steps(stock[:, None], reward, after[:, None], no, ends > 0.0)


def test_points_that_were_hardly_seen_are_told_apart_by_a_potential():
    rng = np.random.default_rng(1)
    probes = np.arange(21.0, 28.0)[:, None]
    now, total = np.repeat(probes, 4000, axis=1), 0.0
    for t in range(100):
        sold = np.minimum(now, rng.integers(0, 5, now.shape))
        total = total + 0.9**t * (3.0 * sold - 0.2 * now)
        now = np.where(now - sold <= 4.0, 20.0, now - sold)
    true, unit = total.mean(axis=1), total.std(axis=1)
    ours, theirs = [], []
    for seed in range(4):
        steps = shelves(seed=seed)
        plan = choose_plan(steps, 0.9, ObservationSpace(names=("stock",)))
        assert plan.features.n_features_ < len(np.unique(steps.observation))
        assert plan.ridge == 0.0
        assert "as far from its mean as" in plan.reason
        often = [(steps.observation == x).sum() >= 5 for x in np.arange(5.0, 21.0)]
        assert not plan.potential.values(np.arange(5.0, 21.0)[often, None]).any()
        model = plan.model(lincat.CategoricalLSTD(gamma=0.9, intervals=60))
        model.learner.partial_fit(model.transitions(steps))
        table = lincat.Points().fit(steps.observation)
        alone = lincat.CategoricalLSTD(gamma=0.9, n_features=table.n_features_, intervals=60)
        at, after = map(table.transform, (steps.observation, steps.next_observation))
        alone.fit(at, steps.reward, after)
        rare = [(steps.observation == x).sum() < 5 for x in probes[:, 0]]
        ours.append(((model.predict(probes).mean() - true) / unit)[rare])
        theirs.append(((alone.predict(table.transform(probes)).mean() - true) / unit)[rare])
    ours, theirs = (np.sqrt(np.mean(np.concatenate(x) ** 2)) for x in (ours, theirs))
    assert ours < 0.6 * theirs
    assert ours < 0.2


def test_rare_points_at_which_no_record_begins_keep_their_rows():
    steps = shelves()
    whole = Steps(*(getattr(steps, x) for x in ("observation", "reward", "next_observation")),
                  steps.terminated, np.zeros(len(steps), bool))  # fmt: skip
    assert choose_plan(whole, 0.9, ObservationSpace(names=("stock",))).potential is None


def test_one_rare_beginning_among_many_leaves_rewards_as_they_are():
    """A game that begins anew all the time: a hand in thousands must not smear all others."""
    rng, n = np.random.default_rng(0), 4000
    hand = rng.integers(4, 21, (n, 1)).astype(float)
    hand[17] = 21.0
    ended = np.ones(n, bool)
    steps = Steps(hand, rng.choice([-1.0, 1.0], n), hand, ended, ~ended)
    plan = choose_plan(steps, 0.9, ObservationSpace(names=("hand",)))
    assert plan.potential is None
    assert plan.features.n_features_ == 18


def test_a_rare_point_unlike_its_neighbours_keeps_its_row():
    steps = shelves()
    ruin = np.arange(700, 4000, 900)
    steps.observation[ruin] = 50.0
    steps.reward[ruin] = -300.0
    plan = choose_plan(steps, 0.9, ObservationSpace(names=("stock",)))
    assert plan.potential is None
    assert plan.features.n_features_ == len(np.unique(steps.observation))


@pytest.mark.parametrize("as_ids", [True, False])
def test_means_that_lie_far_apart_are_what_returns_are_learned_about(as_ids):
    """Days of a season: G is normal about a known mean, its deviation that of the noise."""
    rng = np.random.default_rng(0)
    day, gamma = np.arange(12_000) % 60, 0.95
    season = 100.0 * np.sin(2.0 * np.pi * np.arange(60) / 60)
    steps = record(day if as_ids else day[:, None] + 0.5, season[day] + rng.normal(size=12_000))
    steps = steps[:-1]  # what followed the last day is not known
    plan = choose_plan(steps, gamma, ObservationSpace(names=("day",)))
    assert plan.potential.features is plan.features is not None
    assert "about a potential V, the means" in plan.reason
    model = plan.model(lincat.CategoricalLSTD(gamma=gamma))
    model.learner.partial_fit(model.transitions(steps))
    found = model.predict(steps.observation[:60])
    ahead = season[(np.arange(60)[:, None] + np.arange(600)) % 60] @ gamma ** np.arange(600)
    sd = 1.0 / np.sqrt(1.0 - gamma**2)
    np.testing.assert_allclose(found.mean(), ahead, atol=0.3 * sd)
    np.testing.assert_allclose(found.std(), sd, rtol=0.05)
    # About nothing, one grid for all of them has to be some forty times as fine.
    assert model.learner.grid_.high - model.learner.grid_.low < 20.0 * sd
    assert np.ptp(found.mean()) > 100.0 * sd


@pytest.mark.parametrize("spread", [0.0, 30.0])
def test_means_that_are_certain_or_near_are_not(spread):
    rng = np.random.default_rng(0)
    day = np.arange(6000) % 12
    steps = record(day, 10.0 * (day == 3) + spread * rng.normal(size=6000))[:-1]
    assert choose_plan(steps, 0.9, ObservationSpace(names=("day",))).potential is None


def test_numbers_are_smooth():
    plan = choose_plan(numbers(), 0.9, ObservationSpace(names=("x", "y")))
    assert isinstance(plan.features, lincat.Levels)
    assert isinstance(plan.features.beside, lincat.Smooth)
    assert plan.reason
    assert (plan.potential is None) == (plan.n_step > 1)


def test_the_same_pilot_gives_the_same_plan():
    one, two = (choose_plan(numbers(), 0.9, ObservationSpace(names=("x", "y"))) for _ in range(2))
    assert (one.n_step, one.reason) == (two.n_step, two.reason)
    rows = numbers().observation[:5]
    np.testing.assert_array_equal(one.features.transform(rows), two.features.transform(rows))


@pytest.mark.parametrize("n", [2, 3, 10, 9_999])
def test_of_few_rows_each_part_is_left_out_in_turn(n):
    steps = record(np.arange(n), np.arange(float(n)))
    splits = [(split.train, joined(split.held)) for split in _in_turn(steps)]
    left_out = np.concatenate([held.observation for _, held in splits])
    np.testing.assert_array_equal(left_out, np.arange(n))
    for train, held in splits:
        assert sorted([*train.observation, *held.observation]) == list(range(n))
        after = held.observation[0]  # the record breaks off before what is left out
        assert train.truncated[train.observation == after - 1].all()
        assert held.truncated[-1] or after + len(held) == n


def test_an_end_that_returns_jump_at_is_learned_without_a_potential():
    """A gambler's stake: in the end 1000 or −20, and nothing before."""
    rng = np.random.default_rng(3)
    stake, rows = 0.5, []
    for _ in range(3000):
        after = stake + rng.choice([-0.06, 0.06]) + 0.02 * rng.normal()
        over = not 0.0 < after < 1.0
        rows.append((stake, after, (1000.0 if after >= 1.0 else -20.0) if over else 0.0, over))
        stake = rng.uniform(0.2, 0.8) if over else after
    before, after, reward, over = map(np.array, zip(*rows, strict=True))
    steps = Steps(before[:, None], reward, after[:, None], over, np.zeros(3000, bool))
    plan = choose_plan(steps, 0.995, ObservationSpace(names=("stake",)))
    assert plan.potential is None


def test_a_number_of_steps_that_is_given_is_kept():
    plan = choose_plan(numbers(), 0.9, ObservationSpace(names=("x", "y")), n_step=3)
    assert plan.n_step == 3
    ids = record(np.arange(40) % 5, np.arange(40.0))
    assert choose_plan(ids, 0.9, ObservationSpace(names=("s",)), n_step=3).n_step == 3
