"""Minari data sets as sources: recorded episodes, with their last observations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lincat._arguments import InvalidInputError, check_integer, fail, reason
from lincat.data.steps import Steps, joined
from lincat.environments.encoding import EncodedSource, Observations
from lincat.environments.making import quiet

_BATCH_STEPS = 4096


class MinariSource(EncodedSource):
    """The steps of a Minari data set, episode by episode, the same each time.

    Parameters
    ----------
    dataset_id : str
        Such as "D4RL/pen/human-v2". It has to be on this machine: ``minari download`` gets it.

    Examples
    --------
    >>> from lincat import MinariSource
    >>> MinariSource("no/such-v0")
    Traceback (most recent call last):
        ...
    lincat._arguments.InvalidInputError: minari: expected the id of a data set on this machine, ...
    """

    def __init__(self, dataset_id: str) -> None:
        self.dataset_id = dataset_id
        self._data = _opened(dataset_id)
        spec = self._data.env_spec
        name = "" if spec is None else spec.name
        super().__init__(Observations(self._data.observation_space, env_name=name))
        self.length: int = int(self._data.total_steps)
        if self.length == 0:
            raise fail(f"minari {dataset_id}", "at least one step", "an empty data set")
        self.description = f"Minari {dataset_id}, {self._data.total_episodes:,} episodes"

    def batches(self, *, skip: int = 0) -> Iterator[Steps]:
        """Yield the steps after the first ``skip``."""
        skip = check_integer(skip, "skip", low=0)
        parts: list[Steps] = []
        waiting = place = 0
        for episode in self._episodes():
            n = len(episode.rewards)
            first = min(max(skip - place, 0), n)
            place += n
            if first == n:
                continue
            steps = self._steps(episode, n)
            if first == 0:
                self._starts.add(steps.observation[0])
            parts.append(steps[first:])
            waiting += n - first
            if waiting >= _BATCH_STEPS:
                yield joined(parts)
                parts, waiting = [], 0
        if parts:
            yield joined(parts)

    def _episodes(self) -> Iterator[Any]:
        """One at a time: a data set may be larger than memory."""
        for index in self._data.episode_indices:
            try:
                with quiet():
                    episode = next(iter(self._data.iterate_episodes([index])))
            except Exception as error:
                raise fail(
                    f"minari {self.dataset_id}, episode {index}", "readable data", reason(error)
                ) from error
            yield episode

    def _steps(self, episode: Any, n: int) -> Steps:
        place = f"minari {self.dataset_id}, episode {episode.id}"
        try:
            # One observation more than steps: the last one is where the episode came to.
            rows = self._observations.many(episode.observations, n + 1)
        except InvalidInputError:
            raise
        except Exception as error:
            raise fail(place, f"{n + 1} observations for {n} steps", reason(error)) from error
        reward = np.asarray(episode.rewards, np.float64)
        self._observations.check(lambda t: f"{place}, step {t}", reward, rows)
        terminated = np.asarray(episode.terminations, bool)
        truncated = np.asarray(episode.truncations, bool).copy()
        truncated[-1] = True  # whatever the record says, the next row does not follow
        record = rows if rows.ndim == 2 else None
        columns = (rows[:-1], reward, rows[1:], terminated, truncated & ~terminated)
        return Steps(*columns, record=record)


def _opened(dataset_id: str) -> Any:
    install = "pip install 'lincat[minari]'"
    try:
        import minari
    except ImportError as error:
        raise fail("minari", "the package minari", "no such package", install) from error
    with quiet():
        try:
            return minari.load_dataset(dataset_id)
        except FileNotFoundError as error:
            expected = "the id of a data set on this machine"
            remedy = f"get it with: minari download {dataset_id}"
            raise fail("minari", expected, repr(dataset_id), remedy) from error
        except ImportError as error:
            expected = "its packages installed"
            raise fail(f"minari {dataset_id}", expected, reason(error), install) from error
        except Exception as error:
            raise fail("minari", "a data set", f"{dataset_id!r} ({reason(error)})") from error
