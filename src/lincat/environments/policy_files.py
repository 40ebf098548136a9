"""Policies that come from files: tables, and trained models, which may be objects too."""

from __future__ import annotations

import inspect
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lincat._arguments import check_array, check_probability_groups, fail, reason
from lincat._imports import find_local_modules
from lincat._typing import ArrayLike
from lincat.environments.policies import Policy, check_action, check_actions
from lincat.environments.policy_words import model_file


class Table(Policy):
    """An action, or the probabilities of all actions, for each state.

    Parameters
    ----------
    table : str, or array
        The path of a JSON or NPY file, or its content: shape (S,), the action for each state; or
        (S, A), the probability of each action.
    observation_space, action_space : gymnasium.spaces.Discrete

    Examples
    --------
    >>> from gymnasium.spaces import Discrete
    >>> from lincat.environments.policy_files import Table
    >>> Table([1, 0, 1], Discrete(3), Discrete(2)).act(2)
    1
    """

    def __init__(self, table: str | ArrayLike, observation_space: Any, action_space: Any) -> None:
        from gymnasium.spaces import Discrete

        super().__init__(observation_space, action_space)
        name = f"policy {table}" if isinstance(table, str) else "policy"
        self.description = f"table {Path(table).name}" if isinstance(table, str) else "table"
        for what, space in (("observations", observation_space), ("actions", action_space)):
            if not isinstance(space, Discrete):
                raise fail(name, f"an environment with numbered {what} for a table", space)
        S, A = int(observation_space.n), int(action_space.n)
        values = check_array(_content(table, name) if isinstance(table, str) else table, name)
        if values.shape == (S,):
            first, last = int(action_space.start), int(action_space.start) + A - 1
            bad = (values != np.round(values)) | (values < first) | (values > last)
            if bad.any():
                i = int(np.argmax(bad))
                raise fail(name, f"actions {first} .. {last}", f"{values[i]:g} for state {i}")
            self._cumulative = np.cumsum(np.eye(A)[values.astype(int) - first], axis=1)
        elif values.shape == (S, A):
            check_probability_groups(values, values.sum(axis=1), name, "state")
            self._cumulative = np.cumsum(values, axis=1)
        else:
            raise fail(
                name,
                f"shape ({S},), an action for each state, or ({S}, {A}), probabilities",
                f"shape {values.shape}",
            )
        # Rounding must not let an action of probability 0 come last.
        self._cumulative /= self._cumulative[:, -1:]

    def act(self, observation: Any) -> int:
        """Return the action for one state."""
        row = self._cumulative[int(observation) - self.observation_space.start]
        drawn = int(np.searchsorted(row, self.rng.random(), side="right"))
        return drawn + int(self.action_space.start)

    def act_many(self, observations: Any, n: int) -> Any:
        """Return the actions for n states."""
        rows = self._cumulative[np.asarray(observations) - self.observation_space.start]
        drawn = (rows <= self.rng.random((n, 1))).sum(axis=1)
        return (drawn + self.action_space.start).astype(self.action_space.dtype)


def _content(path: str, name: str) -> Any:
    try:
        if path.endswith(".npy"):
            # Mapped, so that a header which promises more than the file has is noticed first.
            return np.load(path, allow_pickle=False, mmap_mode="r")
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except Exception as error:  # NumPy reads headers as Python text: many things can come
        raise fail(name, "a table of numbers in a JSON or NPY file", reason(error)) from error


class Trained(Policy):
    """A trained model, acting as it does when it is evaluated: Stable-Baselines3's, and their like.

    Where the model can choose between its most likely action and a random one, it takes the most
    likely: ``predict(observation, deterministic=True)``.

    Parameters
    ----------
    model : object
        With a method ``predict`` that returns an action, or a tuple that begins with one; of many
        observations many actions. Its spaces, if it has any, must be those of the environment.
    observation_space, action_space : gymnasium.Space
    description : str, optional
    """

    def __init__(
        self, model: Any, observation_space: Any, action_space: Any, description: str | None = None
    ) -> None:
        super().__init__(observation_space, action_space)
        self._model = model
        self.description = description or type(model).__name__
        self._options = {"deterministic": True} if _takes_deterministic(model.predict) else {}
        for what, own, wanted in (
            ("observations", getattr(model, "observation_space", None), observation_space),
            ("actions", getattr(model, "action_space", None), action_space),
        ):
            if own is not None and (type(own) is not type(wanted) or own.shape != wanted.shape):
                got = f"{own} in {self.description}"
                raise fail("policy", f"a model trained for {what} {wanted}", got)

    def act(self, observation: Any) -> Any:
        """Return the model's action."""
        return check_action(self._predict(observation), self.action_space)

    def act_many(self, observations: Any, n: int) -> Any:
        """Return the model's actions, in one call."""
        return check_actions(self._predict(observations), self.action_space, n)

    def _predict(self, observations: Any) -> Any:
        try:
            found = self._model.predict(observations, **self._options)
        except Exception as error:  # other people's code: anything can come
            expected = "a model that predicts actions"
            raise fail("policy", expected, f"{reason(error)} in {self.description}") from error
        found = found[0] if isinstance(found, tuple) else found
        return found[()] if isinstance(found, np.ndarray) and found.ndim == 0 else found


def _takes_deterministic(predict: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(predict).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(x.name == "deterministic" or x.kind is x.VAR_KEYWORD for x in parameters)


def read_trained(
    text: str, observation_space: Any, action_space: Any, *, trust_pickle: bool = False
) -> Trained:
    """Return a model that Stable-Baselines3 has written.

    Parameters
    ----------
    text : str
        "model.zip", or "sb3:PPO:model.zip" where the kind of model cannot be told from the file.
    observation_space, action_space : gymnasium.Space
    trust_pickle : bool
        Loading runs whatever code the file holds, so without True it is refused.
    """
    kind, path = model_file(text)
    if not trust_pickle:
        raise fail(
            "policy",
            "--trust-pickle (trust_pickle=True) for a Stable-Baselines3 file",
            f"{path} without it",
            "such a file can run any code when it is loaded: do so only if you know its origin",
        )
    saved = _saved_fields(path)
    kind = kind or _guessed_kind(saved, path)
    try:
        import stable_baselines3
    except ImportError as error:
        remedy = "pip install 'lincat[sb3]'"
        raise fail("policy", "Stable-Baselines3", "no such package", remedy) from error
    algorithm: Any = getattr(stable_baselines3, kind, None)
    if not hasattr(algorithm, "load"):
        raise fail("policy", "sb3:PPO:, A2C, DQN, SAC, TD3 or DDPG and a file", repr(text))
    find_local_modules()  # where its own classes may be
    try:
        model = algorithm.load(path, device="cpu")
    except Exception as error:
        got = f"{path} ({reason(error)})"
        raise fail("policy", f"a file that {kind}.load reads", got) from error
    return Trained(model, observation_space, action_space, f"{kind} from {Path(path).name}")


def _saved_fields(path: str) -> dict[str, Any]:
    """Read the names of the model's settings, which are JSON: nothing is unpickled here."""
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(archive.read("data"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise fail("policy", "a Stable-Baselines3 file", f"{path} ({reason(error)})") from error
    return content if isinstance(content, dict) else {}


def _guessed_kind(saved: dict[str, Any], path: str) -> str:
    """Each algorithm has a setting that no other has."""
    marks = (
        ("clip_range", "PPO"),
        ("exploration_fraction", "DQN"),
        ("target_entropy", "SAC"),
        ("target_policy_noise", "TD3"),  # and DDPG, which acts alike
        ("normalize_advantage", "A2C"),
    )
    for mark, kind in marks:
        if mark in saved:
            return kind
    raise fail("policy", "its kind, as in sb3:PPO:model.zip", path)
