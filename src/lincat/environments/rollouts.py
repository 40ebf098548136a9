"""Returns to compare a learner with: many rollouts from states that the policy visits."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lincat._arguments import InvalidInputError, check_gamma, check_integer, fail, reason
from lincat._typing import FloatArray
from lincat.environments.copies import copied, knows_more, reseed
from lincat.environments.encoding import Observations
from lincat.environments.making import (
    Environment,
    bare,
    environment_name,
    lift_time_limit,
    open_environment,
    quiet,
)
from lincat.environments.policies import Policy, Predictor, policy_from

#: What comes after gamma**h < this is not waited for.
_NEGLIGIBLE = 1e-4

#: Steps within which an episode must end where gamma is 1.
_LONGEST = 100_000

#: Rollouts from each state that tell something of its distribution, however long they take.
_LEAST = 30

#: Steps between two chosen states, on average: far enough apart to tell different stories.
_GAP = 200


@dataclass(frozen=True)
class Rollouts:
    """Returns from held-out states.

    Attributes
    ----------
    observation : array
        One row for each state, as in :class:`lincat.data.steps.Steps`.
    returns : array of shape (n, R)
        R independent returns from each state.
    method : str
        How they were come by, in a sentence.
    horizon : int
        Steps after which a return is cut off, because gamma**horizon < 0.0001; what is missing is
        taken to be as what came before. With gamma 1, steps within which episodes must end.
    broken_off : int
        How many returns the environment itself cut short by truncating.
    """

    observation: Any
    returns: FloatArray
    method: str
    horizon: int
    broken_off: int = 0


def rollouts(
    environment: Environment,
    policy: str | Callable[..., Any] | Policy | Predictor = "random",
    *,
    gamma: float,
    n_states: int = 50,
    per_state: int = 200,
    most_steps: int | None = None,
    seed: int = 0,
    env_options: Mapping[str, Any] | None = None,
    trust_pickle: bool = False,
) -> Rollouts:
    """Roll out from copies of the environment, at states of episodes that no learner has seen.

    States are chosen as the policy visits them, uniformly over time. From there on there is no time
    limit: a learner bootstraps where an episode is truncated, so what it estimates is the return
    without one. An environment that cannot be copied gives one return from each of
    ``n_states * per_state`` states instead, and so does one that knows more than is observed (the
    dealer's hidden card): what follows a copy is then not what follows its observation.

    Parameters
    ----------
    environment, policy, env_options, trust_pickle
        As for :class:`lincat.environments.gym.GymSource`.
    gamma : float
        With 1, episodes must end.
    n_states, per_state : int
    most_steps : int, optional
        Of an environment that is stepped one by one, about; fewer rollouts from each state keep to
        it, but at least 30.
    seed : int
        A source with the same seed runs through other episodes all the same.

    Examples
    --------
    >>> from lincat.environments.rollouts import rollouts
    >>> found = rollouts("CartPole-v1", "balance", gamma=0.95, n_states=3, per_state=5)
    >>> found.observation.shape, found.returns.shape, found.horizon
    ((3, 4), (3, 5), 180)
    """
    gamma = check_gamma(gamma, one=True)
    n_states = check_integer(n_states, "n_states", low=1)
    per_state = check_integer(per_state, "per_state", low=1)
    if most_steps is not None:
        most_steps = check_integer(most_steps, "most_steps", low=1)
    seed = check_integer(seed, "seed", low=0)
    env = open_environment(environment, env_options)
    if hasattr(env, "num_envs"):
        raise fail("environment", "a single environment to roll out from", env)
    name = env.spec.id if env.spec is not None else environment_name(environment)
    try:
        observations = Observations(env.observation_space)
        chosen = policy_from(
            policy, env.observation_space, env.action_space, trust_pickle=trust_pickle
        )
        work = _Work(env, chosen, observations, gamma, np.random.SeedSequence(seed, spawn_key=(1,)))
        with quiet():
            why_not = work.obstacle()
            if why_not:
                return work.single_returns(n_states * per_state, f"{name} {why_not}")
            vector = _vector_version(environment, env, env_options, work)
            if vector is not None:
                return work.together(n_states, per_state, vector)
            found = work.one_by_one(n_states, per_state, most_steps)
            if not knows_more(found.observation, found.returns):
                return found
            work.broken_off = 0
            why = f"{name} knows more than is observed: copies made at the same observation differ"
            return work.single_returns(n_states * per_state, why)
    except InvalidInputError:
        raise
    except Exception as error:
        raise fail(f"environment {name}", "rollouts to work", reason(error)) from error
    finally:
        env.close()


def _horizon(gamma: float) -> int:
    """Return the first h with gamma**h < 0.0001."""
    if gamma == 1.0:
        return _LONGEST
    return 1 if gamma < _NEGLIGIBLE else math.floor(math.log(_NEGLIGIBLE) / math.log(gamma)) + 1


class _Work:
    """An environment on its way, and the rollouts that start from it."""

    def __init__(
        self,
        env: Any,
        policy: Policy,
        observations: Observations,
        gamma: float,
        seeds: np.random.SeedSequence,
    ) -> None:
        self.env, self.policy, self.observations, self.gamma = env, policy, observations, gamma
        self.horizon = _horizon(gamma)
        self.discounts = gamma ** np.arange(self.horizon)
        self.rng = np.random.default_rng(seeds)
        self.broken_off = 0
        self.rolled = 0  # steps of rollouts
        self._restart()

    def _restart(self) -> None:
        self.policy.seed(int(self.rng.integers(2**31)))
        self.raw, _ = self.env.reset(seed=int(self.rng.integers(2**31)))

    def whole(self, total: Any) -> Any:
        """Return discounted rewards over the horizon with what would have come after it."""
        if self.gamma == 1.0:
            came = f"one that goes on after {self.horizon:,} steps"
            raise fail("gamma", "less than 1, or episodes that end", came)
        # Where all returns are the same, a ten-thousandth is all the difference there can be.
        return total / (1.0 - self.gamma**self.horizon)

    def visits(self, n: int) -> Iterator[Any]:
        """Yield n observations, with the environment standing at each."""
        self._restart()
        for _ in range(n):
            wait = int(self.rng.integers(_GAP))
            for i in range(_GAP):
                if i == wait:
                    yield self.raw
                self._step()

    def _step(self) -> None:
        self.raw, _, terminated, truncated, _ = self.env.step(self.policy.act(self.raw))
        if terminated or truncated:
            self.raw, _ = self.env.reset()

    def fresh_copy(self, env: Any) -> Any:
        """Return a copy that goes its own way: all its random numbers are new."""
        made, generators = copied(env)
        for generator in generators:
            reseed(generator, int(self.rng.integers(2**63)))
        return made

    def obstacle(self) -> str:
        """Return why copies cannot be used, or nothing.

        Two true copies that do the same see the same. They do not if they share something, such as
        a simulator outside Python.
        """
        try:
            first, second = (copied(self.env)[0] for _ in range(2))
        except Exception as error:
            return f"cannot be copied ({reason(error)})"
        try:
            return self._difference(first, second)
        except Exception as error:  # Box2D's copies hold nothing of the world that they move in
            return f"has copies that cannot be stepped ({reason(error)})"

    def _difference(self, first: Any, second: Any) -> str:
        """Return how two copies differ that do the same, or nothing."""
        actions, seen = [], []
        raw = self.raw
        for _ in range(10):
            actions.append(self.policy.act(raw))
            raw, reward, terminated, truncated, _ = first.step(actions[-1])
            seen.append((self.observations.one(raw), float(reward), bool(terminated)))
            if terminated or truncated:
                break
        for action, (row, reward, ended) in zip(actions, seen, strict=True):
            raw, again, terminated, _, _ = second.step(action)
            same = np.array_equal(self.observations.one(raw), row)
            if not same or again != reward or bool(terminated) != ended:
                return "has copies that do not behave alike"
        return ""

    def one_by_one(self, n: int, per_state: int, most_steps: int | None = None) -> Rollouts:
        """Copy the environment for each rollout."""
        rows, returns = self.observations.empty(n), np.empty((n, per_state))
        places = [(copy.deepcopy(raw), copied(self.env)[0]) for raw in self.visits(n)]
        for i, (raw, place) in enumerate(places):
            rows[i] = self.observations.one(raw)
            lift_time_limit(place)
            returns[i, 0] = self._roll(bare(self.fresh_copy(place)), raw)
        if most_steps is not None:  # the first from each state says how long all would take
            per_state = min(per_state, max(_LEAST, most_steps // max(self.rolled, 1)))
        for i, (raw, place) in enumerate(places):
            for j in range(1, per_state):
                returns[i, j] = self._roll(bare(self.fresh_copy(place)), raw)
        return self._result(rows, returns[:, :per_state], _method(n, per_state))

    def _roll(self, env: Any, raw: Any) -> float:
        total, act = 0.0, self.policy.act
        for discount in self.discounts.tolist():
            raw, reward, terminated, truncated, _ = env.step(act(raw))
            self.rolled += 1
            total += discount * reward
            if terminated:
                break
            if truncated:
                self.broken_off += 1
                break
        else:
            total = self.whole(total)
        return float(total)

    def together(self, n: int, per_state: int, make: Callable[[int], Any]) -> Rollouts:
        """Step all rollouts at once, in a vector environment whose state can be set."""
        rows = self.observations.empty(n)
        raws, states = [], []
        for i, raw in enumerate(self.visits(n)):
            rows[i] = self.observations.one(raw)
            raws.append(np.array(raw))
            states.append(np.array(self.env.unwrapped.state))
        count = n * per_state
        vector = make(count)
        vector.reset(seed=int(self.rng.integers(2**31)))
        vector.unwrapped.state = np.repeat(np.array(states), per_state, axis=0).T.copy()
        raw = np.repeat(np.array(raws), per_state, axis=0)
        returns, alive = np.zeros(count), np.ones(count, bool)
        for discount in self.discounts.tolist():
            raw, reward, terminated, _, _ = vector.step(self.policy.act_many(raw, count))
            returns += discount * np.where(alive, reward, 0.0)
            alive &= ~terminated
            if not alive.any():
                break
        vector.close()
        if alive.any():
            returns[alive] = self.whole(returns[alive])
        return self._result(rows, returns.reshape(n, per_state), _method(n, per_state))

    def single_returns(self, n: int, reason: str) -> Rollouts:
        """Return what followed in fact, once for each of n states on the way."""
        limit = lift_time_limit(self.env) or 50 * self.horizon
        gap = min(_GAP, 400_000 // n)
        self._restart()
        rows, returns = self.observations.empty(n), np.empty((n, 1))
        found, steps, episodes = 0, 0, 0
        while found < n:
            # Short episodes need not be as many as would make so long a stream.
            share = 1.0 / max(min(gap, steps // episodes if episodes else gap), 1)
            rewards: list[float] = []
            chosen: list[tuple[int, Any]] = []
            ended = False
            # States beyond the limit are none that a stream visits; they only finish returns.
            while not ended and len(rewards) < limit + self.horizon:
                if len(rewards) < limit and self.rng.random() < share:
                    chosen.append((len(rewards), copy.deepcopy(self.observations.one(self.raw))))
                self.raw, reward, ended, truncated, _ = self.env.step(self.policy.act(self.raw))
                rewards.append(float(reward))
                if truncated and not ended:
                    self.broken_off += sum(t + self.horizon > len(rewards) for t, _ in chosen)
                    break
            steps, episodes = steps + len(rewards), episodes + 1
            tail = np.array(rewards)
            for t, row in chosen[: n - found]:
                part = tail[t : t + self.horizon]
                rows[found], returns[found, 0] = row, part @ self.discounts[: len(part)]
                if len(part) == self.horizon and not (ended and t + self.horizon == len(tail)):
                    returns[found] = self.whole(returns[found])
                found += 1
            self.raw, _ = self.env.reset()
        method = f"one return from each of {n:,} visited states, because {reason}"
        return self._result(rows, returns, method)

    def _result(self, rows: Any, returns: FloatArray, method: str) -> Rollouts:
        found = self.observations.problem(rows)
        if found is not None:
            raise fail("rollouts", "finite observations", found[1])
        if not np.isfinite(returns).all():
            raise fail("rollouts", "finite rewards", "a return that is not finite")
        if self.broken_off:
            method += f"; the environment itself cut {self.broken_off:,} of them short"
        return Rollouts(rows, returns, method, self.horizon, self.broken_off)


def _method(n: int, per_state: int) -> str:
    return f"{per_state:,} rollouts from copies of the environment at each of {n:,} visited states"


def _vector_version(
    environment: Environment, env: Any, options: Mapping[str, Any] | None, work: _Work
) -> Callable[[int], Any] | None:
    """Return what makes a vector environment whose ``state`` we can set, if there is one.

    It must move as the single one does: that is tried out, not assumed.
    """
    spec = env.spec
    if not isinstance(environment, str) or spec is None or spec.vector_entry_point is None:
        return None
    state = getattr(env.unwrapped, "state", None)
    if bare(env) is not env.unwrapped or not isinstance(state, np.ndarray) or state.ndim != 1:
        return None

    def make(n: int) -> Any:
        chosen = {**(options or {}), "max_episode_steps": work.horizon + 1}
        return open_environment(environment, chosen, n_envs=n)

    try:
        vector = make(2)
    except InvalidInputError:
        return None
    try:
        return make if _moves_alike(vector, env, state, work) else None
    finally:
        vector.close()


def _moves_alike(vector: Any, env: Any, state: FloatArray, work: _Work) -> bool:
    """Put two of the vector's environments where the single one is, and step all of them."""
    vector.reset(seed=0)
    start = getattr(vector.unwrapped, "state", None)
    if not isinstance(start, np.ndarray) or start.shape != (len(state), 2):
        return False
    vector.unwrapped.state = np.stack([state, state], axis=1)
    single, _ = copied(env)
    raw = np.stack([np.array(work.raw)] * 2)
    for _ in range(20):
        actions = np.repeat(work.policy.act_many(raw[:1], 1), 2, axis=0)
        raw, reward, terminated, _, _ = vector.step(actions)
        one, gain, ended, _, _ = single.step(actions[0])
        alike = np.allclose(raw, one, rtol=1e-4, atol=1e-6) and np.allclose(reward, gain)
        if not alike or (terminated != ended).any():
            return False
        if ended:
            break
    return True
