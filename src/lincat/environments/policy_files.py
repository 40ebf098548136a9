"""Policies that come from files: tables, and models that Stable-Baselines3 has trained."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lincat._arguments import check_array, check_probability_groups, fail, reason
from lincat._typing import ArrayLike
from lincat.environments.policies import Policy, check_actions


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
            return np.load(path, allow_pickle=False)
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, EOFError) as error:
        raise fail(name, "a table of numbers in a JSON or NPY file", reason(error)) from error


class Trained(Policy):
    """A model that Stable-Baselines3 has trained, acting as it does when it is evaluated.

    Where the model can choose between its most likely action and a random one, it takes the most
    likely: ``predict(..., deterministic=True)``.

    Parameters
    ----------
    text : str
        "model.zip", or "sb3:PPO:model.zip" where the kind of model cannot be told from the file.
    observation_space, action_space : gymnasium.Space
    trust_pickle : bool
        Loading runs whatever code the file holds, so without True it is refused.
    """

    def __init__(
        self, text: str, observation_space: Any, action_space: Any, *, trust_pickle: bool = False
    ) -> None:
        super().__init__(observation_space, action_space)
        path, kind = text, ""
        if text.startswith("sb3:"):
            kind, _, path = text.removeprefix("sb3:").rpartition(":")
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
            raise fail(
                "policy", "Stable-Baselines3", "no such package", "pip install 'lincat[sb3]'"
            ) from error
        algorithm: Any = getattr(stable_baselines3, kind, None)
        if not hasattr(algorithm, "load"):
            raise fail("policy", "sb3:PPO:, A2C, DQN, SAC, TD3 or DDPG and a file", repr(text))
        try:
            self._model = algorithm.load(path, device="cpu")
        except Exception as error:
            raise fail(
                "policy", f"a file that {kind}.load reads", f"{path} ({reason(error)})"
            ) from error
        self.description = f"{kind} from {Path(path).name}"
        for what, own, wanted in (
            ("observations", self._model.observation_space, observation_space),
            ("actions", self._model.action_space, action_space),
        ):
            if type(own) is not type(wanted) or own.shape != wanted.shape:
                raise fail(
                    "policy", f"a model trained for {what} {wanted}", f"{own} in {Path(path).name}"
                )

    def act(self, observation: Any) -> Any:
        """Return the model's action."""
        action = self._model.predict(observation, deterministic=True)[0]
        return int(action) if np.ndim(action) == 0 else action

    def act_many(self, observations: Any, n: int) -> Any:
        """Return the model's actions, in one call."""
        actions = self._model.predict(observations, deterministic=True)[0]
        return check_actions(actions, self.action_space, n)


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
