"""What chooses the actions: at random, a function, a table, a trained model.

A policy sees the environment's own observations, before they are flattened or numbered.
"""

from __future__ import annotations

import copy
import inspect
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from lincat._arguments import InvalidInputError, fail, reason
from lincat._imports import import_name
from lincat._text import shown
from lincat._typing import FloatArray
from lincat.environments.action_noise import action_numbers, n_numbers, uniform_means
from lincat.environments.policy_words import policy_kind

_DRAWS = 8  # of a function's action, from which its chances are told


class Predictor(Protocol):
    """A trained model, as Stable-Baselines3 has them."""

    def predict(self, observation: Any, /) -> Any:
        """Return an action, or a tuple that begins with one."""


class Policy(ABC):
    """Chooses actions, with random numbers of its own.

    Parameters
    ----------
    observation_space, action_space : gymnasium.Space
        Of a single environment.
    """

    #: A few words for the report.
    description = "a policy"

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self.rng = np.random.default_rng(0)

    def seed(self, seed: int) -> None:
        """Begin the random numbers again."""
        self.rng = np.random.default_rng(seed)

    @abstractmethod
    def act(self, observation: Any) -> Any:
        """Return the action for one observation."""

    @abstractmethod
    def act_many(self, observations: Any, n: int) -> Any:
        """Return the actions for a batch of n, as vector environments give and take them."""

    @property
    def tells_chances(self) -> bool:
        """Whether :meth:`noise` has an answer."""
        return False

    def _mean_numbers(self, observations: Any, n: int) -> FloatArray:
        """The means of the numbers of the actions it may take, shape (n, k), or about them.

        Draws will do that depend on nothing but the observation.
        """
        raise fail("policy", "one that tells its chances", self.description)

    def noise(self, observations: Any, actions: Any, n: int) -> FloatArray:
        """Return what chance added to n actions: numbers of mean 0 given the observation, (n, k).

        Only if :attr:`tells_chances`; see ``environments/action_noise.py``.
        """
        means = self._mean_numbers(observations, n)
        return action_numbers(actions, self.action_space, n) - means


class Uniform(Policy):
    """Every action is as likely as any other, as ``action_space.sample()`` draws them."""

    description = "random"

    def seed(self, seed: int) -> None:
        """Begin the random numbers again."""
        super().seed(seed)
        self._space = copy.deepcopy(self.action_space)  # the environment may use its own
        self._space.seed(seed)

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        super().__init__(observation_space, action_space)
        self.seed(0)

    def act(self, observation: Any) -> Any:
        """Return a random action."""
        return self._space.sample()

    def act_many(self, observations: Any, n: int) -> Any:
        """Return n random actions."""
        space = self._space
        if _is_discrete(space):
            return self.rng.integers(space.start, space.start + space.n, size=n, dtype=space.dtype)
        return together(space, [space.sample() for _ in range(n)])

    @property
    def tells_chances(self) -> bool:
        """True of actions that are numbered, or bounded."""
        return uniform_means(self.action_space) is not None

    def _mean_numbers(self, observations: Any, n: int) -> FloatArray:
        means = uniform_means(self.action_space)
        return np.broadcast_to(np.asarray(means), (n, n_numbers(self.action_space)))


class Balance(Policy):
    """Keeps CartPole's pole up, clumsily: the push goes the wrong way 35 times in a hundred.

    The right way is where the pole leans or is about to lean. So many errors make episodes end
    anywhere between 10 and 200 steps, and the return uncertain.

    Examples
    --------
    >>> import gymnasium
    >>> from lincat.environments.policies import Balance
    >>> env = gymnasium.make("CartPole-v1")
    >>> Balance(env.observation_space, env.action_space).act([0.0, 0.0, 0.1, 0.0])
    1
    """

    description = "noisy balancing"
    wrong = 0.35  # at gamma 0.95: 5 % of returns below 10, half above 18, of at most 20
    look_ahead = 0.2  # seconds, ten time steps

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        super().__init__(observation_space, action_space)
        if getattr(observation_space, "shape", None) != (4,) or not (
            _is_discrete(action_space) and action_space.n == 2
        ):
            raise fail(
                "policy",
                "an environment like CartPole for 'balance'",
                f"observations {observation_space}, actions {action_space}",
            )

    def act(self, observation: Any) -> int:
        """Return 1, a push to the right, or 0."""
        right = observation[2] + self.look_ahead * observation[3] > 0.0
        return int(right != (self.rng.random() < self.wrong))

    def act_many(self, observations: Any, n: int) -> Any:
        """Return n pushes."""
        right = observations[:, 2] + self.look_ahead * observations[:, 3] > 0.0
        return (right != (self.rng.random(n) < self.wrong)).astype(np.int64)

    @property
    def tells_chances(self) -> bool:
        """True."""
        return True

    def _mean_numbers(self, observations: Any, n: int) -> FloatArray:
        right = observations[:, 2] + self.look_ahead * observations[:, 3] > 0.0
        left = np.where(right, self.wrong, 1.0 - self.wrong)  # the chance of action 0
        return np.asarray(left, np.float64)[:, None]


class Function(Policy):
    """A Python function of the observation, or of the observation and a random generator.

    A function with an attribute ``vectorised = True`` gets n observations at once, as one array (a
    Dict space: a dictionary of arrays), and returns n actions: much faster with many environments.

    Examples
    --------
    >>> import gymnasium
    >>> from lincat.environments.policies import Function
    >>> env = gymnasium.make("CartPole-v1")
    >>> lean = Function(lambda seen: seen[2] > 0, env.observation_space, env.action_space)
    >>> lean.act([0.0, 0.0, 0.1, 0.0])
    1
    """

    def __init__(self, function: Callable[..., Any], observation_space: Any, action_space: Any):
        super().__init__(observation_space, action_space)
        self.seed(0)
        self._function = function
        self._vectorised = bool(getattr(function, "vectorised", False))
        self._takes_rng = _takes_two(function)
        name = str(getattr(function, "__qualname__", type(function).__name__))
        self.description = name if "<" not in name else "a Python function"

    def act(self, observation: Any) -> Any:
        """Return the function's action, checked."""
        if self._vectorised:
            batch = together(self.observation_space, [observation])
            return _first(self.action_space, self.act_many(batch, 1))
        return check_action(self._call(observation), self.action_space)

    def act_many(self, observations: Any, n: int) -> Any:
        """Return the function's actions, checked."""
        if self._vectorised:
            return check_actions(self._call(observations), self.action_space, n)
        return together(self.action_space, [self.act(x) for x in apart(self, observations, n)])

    def seed(self, seed: int) -> None:
        """Begin the random numbers again."""
        super().seed(seed)
        self._other_rng = np.random.default_rng([seed, 1])  # steps are the same, asked or not

    @property
    def tells_chances(self) -> bool:
        """Whether it takes a random generator, so that it can be asked again."""
        return self._takes_rng and n_numbers(self.action_space) > 0

    def _mean_numbers(self, observations: Any, n: int) -> FloatArray:
        kept, self.rng = self.rng, self._other_rng
        try:
            drawn = [self.act_many(observations, n) for _ in range(_DRAWS)]
        finally:
            self.rng = kept
        numbers = [action_numbers(actions, self.action_space, n) for actions in drawn]
        return np.asarray(np.mean(numbers, axis=0))

    def _call(self, observation: Any) -> Any:
        try:
            if self._takes_rng:
                return self._function(observation, self.rng)
            return self._function(observation)
        except InvalidInputError:
            raise
        except (Exception, SystemExit) as error:
            raise fail(
                "policy", "a function that returns an action", f"{reason(error)} in {self._name}"
            ) from error

    @property
    def _name(self) -> str:
        return str(getattr(self._function, "__qualname__", self._function))


def policy_from(
    policy: str | Callable[..., Any] | Policy | Predictor,
    observation_space: Any,
    action_space: Any,
    *,
    trust_pickle: bool = False,
) -> Policy:
    """Return the policy that a text, or a Python function, stands for.

    Parameters
    ----------
    policy : str, function or model
        ``"random"``; ``"balance"``, for CartPole; ``"module:function"``, also from the current
        folder; a table ``"actions.json"`` or ``".npy"``, of actions (S,) or of probabilities
        (S, A); a Stable-Baselines3 file ``"model.zip"`` or ``"sb3:PPO:model.zip"``; a function; or
        a trained model: whatever has ``predict(observation)``, as Stable-Baselines3's do.
    observation_space, action_space : gymnasium.Space
        Of a single environment.
    trust_pickle : bool
        Stable-Baselines3 files can run any code when they are loaded; True says that you know
        where this one comes from.

    Examples
    --------
    >>> import gymnasium
    >>> from lincat.environments.policies import policy_from
    >>> env = gymnasium.make("FrozenLake-v1")
    >>> policy_from("random", env.observation_space, env.action_space).description
    'random'
    """
    from lincat.environments import policy_files

    spaces = (observation_space, action_space)
    if isinstance(policy, Policy):
        return policy
    if callable(getattr(policy, "predict", None)) and not inspect.isroutine(policy):
        return policy_files.Trained(policy, *spaces)
    if callable(policy):
        return Function(policy, *spaces)
    if isinstance(policy, str):
        kind = policy_kind(policy)
        if kind == "random":
            return Uniform(*spaces)
        if kind == "balance":
            return Balance(*spaces)
        if kind == "model":
            return policy_files.read_trained(policy, *spaces, trust_pickle=trust_pickle)
        if kind == "table":
            return policy_files.Table(policy, *spaces)
        if kind == "module":
            module, name = import_name(policy, "policy")
            function = getattr(module, name, None)
            if not callable(function):
                place = f"it was looked for in {getattr(module, '__file__', 'Python itself')}"
                raise fail("policy", f"a function of {module.__name__}", f"{name!r}", place)
            made = Function(function, *spaces)
            made.description = policy
            return made
    expected = "random, balance, module:function, a .json, .npy or .zip file, a function or a model"
    raise fail("policy", expected, shown(policy))


def check_action(action: Any, space: Any) -> Any:
    """Return a function's action as the environment takes it."""
    from gymnasium import spaces

    if _is_discrete(space):
        try:
            action = int(action) if isinstance(action, np.bool_) else operator.index(action)
        except TypeError:
            raise _wrong(action, space) from None
    elif isinstance(space, spaces.Box):
        try:
            action = np.asarray(action, space.dtype)
        except (TypeError, ValueError):
            raise _wrong(action, space) from None
    if not space.contains(action):
        raise _wrong(action, space)
    return action


def check_actions(actions: Any, space: Any, n: int) -> Any:
    """Return a vectorised function's actions as a vector environment takes them."""
    from gymnasium import spaces
    from gymnasium.vector.utils import batch_space, iterate

    if not _is_discrete(space) and not isinstance(space, spaces.Box):
        try:
            parts = list(iterate(batch_space(space, n), actions))
        except Exception:
            raise _wrong(actions, space) from None
        return together(space, [check_action(action, space) for action in parts])
    try:
        array = np.asarray(actions)
        kinds = "iub" if _is_discrete(space) else "iubf"
        fits = array.shape == (n, *space.shape) and array.dtype.kind in kinds
    except ValueError:
        fits = False
    if not fits:
        raise fail("policy", f"{n} actions in {space}", shown(actions))
    if _is_discrete(space):
        outside = (array < space.start) | (array >= space.start + space.n)
    else:
        outside = ~((array >= space.low) & (array <= space.high)).reshape(n, -1).all(axis=1)
    if outside.any():
        raise _wrong(array[int(np.argmax(outside))], space)
    return array.astype(space.dtype)


def together(space: Any, parts: list[Any]) -> Any:
    """Return single elements of a space as a batch."""
    from gymnasium.vector.utils import concatenate, create_empty_array

    if _is_discrete(space):
        return np.array(parts, space.dtype)
    room: Any = create_empty_array(space, n=len(parts))
    return concatenate(space, parts, room)


def apart(policy: Policy, observations: Any, n: int) -> Any:
    """Iterate over a batch of observations."""
    if isinstance(observations, np.ndarray):
        return observations
    from gymnasium.vector.utils import batch_space, iterate

    return iterate(batch_space(policy.observation_space, n), observations)


def _first(space: Any, batch: Any) -> Any:
    from gymnasium.vector.utils import batch_space, iterate

    if _is_discrete(space):
        return int(batch[0])
    return next(iter(iterate(batch_space(space, 1), batch)))


def _is_discrete(space: Any) -> bool:
    from gymnasium.spaces import Discrete

    return isinstance(space, Discrete)


def _wrong(action: Any, space: Any) -> InvalidInputError:
    return fail("policy", f"an action in {space}", shown(action))


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether it wants the random generator too."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in positional if p.default is p.empty]
    by_name = any(p.name == "rng" for p in positional[1:2])
    return len(needed) == 2 or (by_name and len(needed) <= 2)
