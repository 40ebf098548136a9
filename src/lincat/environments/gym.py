"""Gymnasium environments as sources: steps of one environment, or of many at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from lincat._arguments import InvalidInputError, check_integer, fail, reason
from lincat._typing import BoolArray, FloatArray
from lincat.data.steps import Steps
from lincat.environments.encoding import EncodedSource, Observations
from lincat.environments.making import (
    Environment,
    autoreset_mode,
    environment_name,
    open_environment,
    quiet,
)
from lincat.environments.policies import Policy, Predictor, policy_from, together

_BATCH_STEPS = 4096
_BATCH_BYTES = 64 << 20  # of observations: pictures come in smaller batches
_FEW_NUMBERS = 8  # of an observation, for the noise of actions to be undone near each


class GymSource(EncodedSource):
    """Steps that a policy takes in a Gymnasium environment.

    An episode that *terminated* ends there; one that was *truncated*, by a time limit say, is cut
    off there, and its last next observation is the true last one. With several environments a batch
    holds ``block`` consecutive steps of the first one, then of the second, and so on; where a block
    ends within an episode, its last step is marked truncated, since the next row does not follow.

    Parameters
    ----------
    environment : str or function
        An id such as "CartPole-v1", "module:id", or a function that makes an environment.
    policy : str or function
        See :func:`lincat.environments.policies.policy_from`.
    steps : int
        How many to take, over all environments.
    seed : int
        The same seed gives the same steps.
    n_envs : int
        Environments that run side by side; faster, above all where the environment has a vector
        version of its own.
    env_options : mapping, optional
        Keyword arguments for the environment.
    block : int, optional
        Consecutive steps of each environment in a batch.
    trust_pickle : bool
        Needed for Stable-Baselines3 files.
    action_noise : bool
        Whether steps have their action noise, where observations are a few numbers and the policy
        tells its chances.

    Examples
    --------
    >>> from lincat.environments.gym import GymSource
    >>> source = GymSource("CartPole-v1", "balance", steps=1000, n_envs=8)
    >>> source.description
    'CartPole-v1, noisy balancing policy'
    >>> sum(len(batch) for batch in source.batches())
    1000
    >>> source.starts.shape[1]
    4
    """

    def __init__(
        self,
        environment: Environment,
        policy: str | Callable[..., Any] | Policy | Predictor = "random",
        *,
        steps: int,
        seed: int = 0,
        n_envs: int = 1,
        env_options: Mapping[str, Any] | None = None,
        block: int | None = None,
        trust_pickle: bool = False,
        action_noise: bool = False,
    ) -> None:
        self.environment = environment
        self.env_options = dict(env_options or {})
        self.length: int = check_integer(steps, "steps", low=1)
        self.seed = check_integer(seed, "seed", low=0)
        self.n_envs = check_integer(n_envs, "n_envs", low=1)
        env = self._open()  # what is wrong with it should be said now, not later
        try:
            self.n_envs = getattr(env, "num_envs", 1)
            if self._is_vector(env):
                autoreset_mode(env)
                seen, done = env.single_observation_space, env.single_action_space
            else:
                seen, done = env.observation_space, env.action_space
            self.name = env.spec.id if env.spec is not None else environment_name(environment)
            plain_name = env.spec.name if env.spec is not None else ""
            super().__init__(Observations(seen, env_name=plain_name))
            self.policy = policy_from(policy, seen, done, trust_pickle=trust_pickle)
        finally:
            env.close()
        points = self.space.low is not None and self._observations.width <= _FEW_NUMBERS
        self.with_noise = action_noise and points and self.policy.tells_chances
        self.block = (
            self._default_block() if block is None else check_integer(block, "block", low=1)
        )
        self.description = f"{self.name}, {self.policy.description} policy"

    def batches(self, *, skip: int = 0) -> Iterator[Steps]:
        """Yield ``length - skip`` steps from new episodes, whose seeds depend on ``skip``."""
        left = self.length - check_integer(skip, "skip", low=0)
        if left <= 0:
            return
        seeds = np.random.SeedSequence(self.seed, spawn_key=(0, skip)).generate_state(2)
        self.policy.seed(int(seeds[0]))
        env = self._open()
        kind = _VectorWalk if self._is_vector(env) else _SingleWalk
        try:
            with quiet():
                walk = kind(self, env, int(seeds[1]))
            while left > 0:
                with quiet():  # not around the yield: filters are global
                    batch = walk.take(min(self.block, -(-left // self.n_envs)))
                batch = batch[:left]
                left -= len(batch)
                yield batch
        finally:
            env.close()

    def _open(self) -> Any:
        return open_environment(self.environment, self.env_options, n_envs=self.n_envs)

    @staticmethod
    def _is_vector(env: Any) -> bool:
        import gymnasium

        return isinstance(env, gymnasium.vector.VectorEnv)

    def _default_block(self) -> int:
        """Long enough for n-step returns, short enough for bounded memory."""
        at_once = _BATCH_STEPS if self.n_envs == 1 else 4 * _BATCH_STEPS
        wanted = max(at_once // self.n_envs, 64)
        room = _BATCH_BYTES // (16 * self._observations.width * self.n_envs)
        return max(min(wanted, room), 1)


class _Walk:
    """What both ways of stepping share: where they are, and what they say when it fails."""

    def __init__(self, source: GymSource, env: Any, seed: int) -> None:
        self.env, self.policy, self.name = env, source.policy, source.name
        self.observations, self.starts = source._observations, source._starts
        self.with_noise = source.with_noise
        self.taken = 0  # steps before the current batch, of each environment
        try:
            self.raw, _ = env.reset(seed=seed)
        except Exception as error:
            raise fail(f"environment {self.name}", "reset to work", reason(error)) from error

    def error(self, t: int, error: Exception) -> InvalidInputError:
        """Say which step failed; a policy's own errors say what they need to."""
        if isinstance(error, InvalidInputError):
            return error
        place = f"environment {self.name}, step {self.taken + t}"
        return fail(place, "step to work", reason(error))


class _SingleWalk(_Walk):
    """One environment, reset when an episode is over."""

    fresh = True

    def take(self, n: int) -> Steps:
        """Take n steps."""
        rows, next_rows = self.observations.empty(n), self.observations.empty(n)
        reward = np.empty(n)
        terminated, truncated = np.empty(n, bool), np.empty(n, bool)
        env, act, one = self.env, self.policy.act, self.observations.one
        raw, t = self.raw, 0
        seen: list[Any] = []  # with what was done, for its noise
        done: list[Any] = []
        try:
            for t in range(n):
                rows[t] = one(raw)
                if self.fresh:
                    self.starts.add(rows[t])
                action = act(raw)
                if self.with_noise:
                    seen.append(copy.copy(raw))  # some environments write over it
                    done.append(action)
                raw, reward[t], terminated[t], truncated[t], _ = env.step(action)
                next_rows[t] = one(raw)
                self.fresh = bool(terminated[t] or truncated[t])
                if self.fresh:
                    raw, _ = env.reset()
        except Exception as error:
            raise self.error(t, error) from error
        self.raw = raw
        first, self.taken = self.taken, self.taken + n
        self.observations.check(
            lambda i: f"environment {self.name}, step {first + i}", reward, rows, next_rows
        )
        noise = self._noise(seen, done) if self.with_noise else None
        return Steps(
            *(rows, reward, next_rows, terminated, truncated & ~terminated), action_noise=noise
        )

    def _noise(self, seen: list[Any], done: list[Any]) -> FloatArray:
        policy = self.policy
        actions = together(policy.action_space, done)
        return policy.noise(together(policy.observation_space, seen), actions, len(seen))


class _VectorWalk(_Walk):
    """Many environments, that reset themselves in one of three ways.

    NEXT_STEP: the step after an episode's last one does nothing but reset; it is left out.
    SAME_STEP: the last step returns the *next* episode's first observation, and the true last one
    in ``info["final_obs"]``. DISABLED: nothing happens until we reset those that are done.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.mode = autoreset_mode(self.env)
        self.n = int(self.env.num_envs)
        self.rows = self.observations.many(self.raw, self.n)
        self.starts.add_many(self.rows)
        self.resetting = np.zeros(self.n, bool)

    def take(self, steps: int) -> Steps:
        """Take so many steps in every environment; return them one environment after the other."""
        n, shape = self.n, (steps, self.n)
        rows, next_rows = self.observations.empty(*shape), self.observations.empty(*shape)
        reward = np.empty(shape)
        terminated, truncated = np.empty(shape, bool), np.empty(shape, bool)
        valid = np.ones(shape, bool)
        noise: list[FloatArray] = []
        t = 0
        try:
            for t in range(steps):
                rows[t] = self.rows
                action = self.policy.act_many(self.raw, n)
                if self.with_noise:
                    noise.append(self.policy.noise(self.raw, action, n))
                self.raw, reward[t], terminated[t], truncated[t], info = self.env.step(action)
                self.rows = self.observations.many(self.raw, n)
                next_rows[t] = self.rows
                valid[t] = ~self.resetting
                self._go_on(terminated[t] | truncated[t], info, next_rows[t])
        except Exception as error:
            raise self.error(t, error) from error
        # A block ends here: what follows in the batch is another environment.
        truncated[-1] |= valid[-1]
        truncated &= ~terminated
        order = np.argwhere(valid.T)  # (environment, step), environment by environment
        e, s = order[:, 0], order[:, 1]
        batch = Steps(
            *(rows[s, e], reward[s, e], next_rows[s, e], terminated[s, e], truncated[s, e]),
            action_noise=np.array(noise)[s, e] if noise else None,
        )
        first, self.taken = self.taken, self.taken + steps
        self.observations.check(
            lambda i: f"environment {self.name}, step {first + s[i]} of copy {e[i]}",
            *(batch.reward, batch.observation, batch.next_observation),
        )
        return batch

    def _go_on(self, done: BoolArray, info: dict[str, Any], next_rows: Any) -> None:
        """Put true last observations into ``next_rows`` and note the first ones that follow."""
        if self.mode == "NextStep":
            if self.resetting.any():
                self.starts.add_many(self.rows[self.resetting])
            self.resetting = done
            return
        if not done.any():
            return
        if self.mode == "SameStep":
            last = self._last_observations(info)
            for i in np.flatnonzero(done):
                next_rows[i] = self.observations.one(last[i])
        else:
            self.raw, _ = self.env.reset(options={"reset_mask": done.copy()})
            self.rows = self.observations.many(self.raw, self.n)
        self.starts.add_many(self.rows[done])

    def _last_observations(self, info: dict[str, Any]) -> Any:
        last = info.get("final_obs", info.get("final_observation"))  # as older libraries say
        if last is None:
            expected = 'info["final_obs"] at the end of an episode (SAME_STEP)'
            raise fail(f"environment {self.name}", expected, "none")
        if isinstance(last, np.ndarray | list):
            return last
        from gymnasium.vector.utils import iterate

        return list(iterate(self.env.observation_space, last))
