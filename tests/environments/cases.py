"""Environments whose steps are known in advance, and the plain loop that is right about them."""

import threading

import gymnasium
import numpy as np
from gymnasium import spaces


class Counting(gymnasium.Env):
    """Observes (who, episode, time); episodes last as long as ``lengths`` says, in turn.

    Even episodes terminate, odd ones are truncated.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, who=0, lengths=(3, 1, 4), careless=True):
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.who, self.lengths, self.episode, self.careless = who, lengths, -1, careless
        self._seen = np.zeros(3, np.float32)

    def _observe(self):
        self._seen[:] = (self.who, self.episode, self.time)
        # Careless environments return the same array each time.
        return self._seen if self.careless else self._seen.copy()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode += 1
        self.time = 0
        return self._observe(), {}

    def step(self, action):
        self.time += 1
        reward = 100 * self.episode + 10 * self.time + action
        over = self.time >= self.lengths[self.episode % len(self.lengths)]
        odd = self.episode % 2 == 1
        return self._observe(), reward, over and not odd, over and odd, {}


def turns(observation):
    """A policy: the action depends on time alone."""
    return int(observation[2]) % 2


def plain_loop(env, policy, n):
    """n steps as (observation, reward, next observation, terminated, truncated)."""
    rows = []
    seen, _ = env.reset(seed=0)
    seen = np.array(seen, float)
    while len(rows) < n:
        following, reward, terminated, truncated, _ = env.step(policy(seen))
        following = np.array(following, float)
        rows.append((seen, reward, following, terminated, truncated))
        seen = following
        if terminated or truncated:
            seen = np.array(env.reset()[0], float)
    return rows


class Noisy(gymnasium.Env):
    """A random walk with a generator where Gymnasium does not know of it; ends beyond +-5."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, limit=None):
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = spaces.Discrete(2)
        self.limit = limit

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None or not hasattr(self, "hidden"):
            self.hidden = {"generator": np.random.default_rng(seed)}
        self.place, self.time = 0.0, 0
        return np.array([self.place]), {}

    def step(self, action):
        self.place += self.hidden["generator"].normal()
        self.time += 1
        truncated = self.limit is not None and self.time >= self.limit
        return np.array([self.place]), self.place, abs(self.place) > 5, truncated, {}


class Uncopyable(Noisy):
    """Holds what cannot be copied."""

    def __init__(self, **options):
        super().__init__(**options)
        self.lock = threading.Lock()


class Hollow(Noisy):
    """Copies well, but its copies cannot be stepped, as those of Box2D."""

    def __init__(self, **options):
        super().__init__(**options)
        self.world = [object()]

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({**self.__dict__, "world": []})
        return made

    def step(self, action):
        assert self.world
        return super().step(action)


class Outside(Noisy):
    """All copies move one and the same point, as with a simulator outside Python."""

    shared = {"place": 0.0}  # noqa: RUF012

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.shared["place"] = 0.0
        return np.zeros(1), {}

    def step(self, action):
        self.shared["place"] += 0.25
        place = self.shared["place"]
        return np.array([place]), 1.0, place > 5, False, {}
