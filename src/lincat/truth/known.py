"""What is known of a problem: probes, samples of their true returns, and how much a row tells.

Everything is simulated once with a fixed seed, and kept in a folder if one is given.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lincat._files import write_atomically
from lincat._typing import BoolArray, FloatArray
from lincat.truth.problem import Problem
from lincat.truth.simulation import Log, Moved, known_returns, simulate, simulate_returns

N_STARTS, N_TYPICAL = 2, 6  # probes
_SEED = 20_240_117
_VERSION = 3  # of what is kept
_LOGS = 100  # records from which typical states are taken
_CHUNK = 40_000  # walkers together: more fall out of the processor's caches


@dataclass(frozen=True)
class Known:
    """The truth about a problem.

    ``rows_a_return`` is the number of rows that tell as much of a probe's mean return as one return
    from there does. An estimate that wastes nothing (least-squares TD) has the variance
    1/n sum_s' d(s')² sigma²(s')/mu(s'), with d the discounted time that is spent in s', sigma² the
    variance of the TD error at the true values, and mu the share of rows in s'; one return has
    sum_s' d2(s') sigma²(s'), d2 the time at discount gamma². For ids their ratio is taken. For
    numbers, states are visited as in the log, d = D mu: then it is D²/D2, with D = E sum gamma^t
    and D2 = E sum gamma^(2t) over the steps that remain from a typical state. Where nothing ends
    that is (1 + gamma)/(1 - gamma), and the mean length where gamma = 1.
    """

    probes: FloatArray  # (p, m): states, first where records begin, then typical ones
    returns: FloatArray  # (p, samples): sorted
    pooled_std: float  # of the return from a typical state, whichever it is
    rows_a_return: FloatArray  # (p,)

    def at(self, which: BoolArray) -> Known:
        """Return the same about some of the probes only."""
        return replace(
            self,
            probes=self.probes[which],
            returns=self.returns[which],
            rows_a_return=self.rows_a_return[which],
        )


def known(problem: Problem, cache: Path | None = None, *, samples: int | None = None) -> Known:
    """Return the truth about a problem, from the cache folder if it is there.

    ``samples``, of each probe, are the problem's own number unless given.

    Examples
    --------
    >>> from lincat.truth.known import known
    >>> from lincat.truth.problems import problem_named
    >>> truth = known(problem_named("chain"), samples=100)
    >>> truth.probes.shape, truth.returns.shape
    ((8, 1), (8, 100))
    """
    samples = samples or problem.samples
    file = None if cache is None else cache / f"{_key(problem, samples)}.npz"
    if file is not None and file.exists():
        with np.load(file, allow_pickle=False) as kept:
            return Known(
                kept["probes"],
                kept["returns"],
                float(kept["pooled_std"]),
                kept["rows_a_return"],
            )
    found = _simulate(problem, samples)
    if file is not None:
        buffer = io.BytesIO()
        np.savez(
            buffer,
            probes=found.probes,
            returns=found.returns,
            pooled_std=found.pooled_std,
            rows_a_return=found.rows_a_return,
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, buffer.getvalue())
    return found


def _key(problem: Problem, samples: int) -> str:
    """A name that changes with the problem: a few of its steps are part of it."""
    rng = np.random.default_rng(_SEED)
    log = simulate(problem.start, problem.step, 200, rng, walkers=20)
    parts = (log.observation, log.reward, log.following, log.terminated)
    digest = hashlib.sha256(repr((_VERSION, problem.gamma, problem.limit, samples)).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return f"{problem.name.replace(' ', '_')}-{digest.hexdigest()[:12]}"


def _simulate(problem: Problem, samples: int) -> Known:
    rng = np.random.default_rng(_SEED)
    gamma = problem.gamma
    length = 2000 if gamma == 1.0 else max(2000, round(30 / (1.0 - gamma)))
    log = simulate(
        problem.start, problem.step, _LOGS * length, rng, walkers=_LOGS, limit=problem.limit
    )
    visited = log.observation[rng.choice(len(log), 50 * N_TYPICAL)]
    typical = _some(visited, N_TYPICAL, rng)
    starts = _some(problem.start(50, rng), N_STARTS, rng)
    if problem.layout.kind == "record":  # which begins once: nothing else is known of its start
        starts = starts[:0]
    _, first = np.unique(np.concatenate([starts, typical]), axis=0, return_index=True)
    probes = np.concatenate([starts, typical])[np.sort(first)]
    return Known(
        probes=probes,
        returns=np.stack([_returns(problem, probe, samples, rng) for probe in probes]),
        pooled_std=float(_all_returns(problem, log, rng).std()),
        rows_a_return=_rows_a_return(problem, log, visited, probes, rng),
    )


def _some(states: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """At most n different ones of many states."""
    different = np.unique(states, axis=0)
    return different[rng.permutation(len(different))[:n]]


def _all_returns(problem: Problem, log: Log, rng: np.random.Generator) -> FloatArray:
    """The return from each row of a log; records that break off are simulated on."""
    returns, weight, _ = known_returns(log, problem.gamma, residual=0.0)
    broken = log.last & ~log.terminated
    after = np.zeros(int(log.last.sum()))
    after[log.record[broken]] = simulate_returns(
        problem.step, log.following[broken], problem.gamma, rng
    )
    return returns + weight * after[log.record]


def _rows_a_return(
    problem: Problem,
    log: Log,
    visited: FloatArray,
    probes: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    def one(state: FloatArray, rng: np.random.Generator) -> Moved:
        return problem.step(state, rng)._replace(reward=np.ones(len(state)))

    once = simulate_returns(one, visited, problem.gamma, rng).mean()
    twice = simulate_returns(one, visited, problem.gamma**2, rng).mean()
    rows = np.full(len(probes), once**2 / twice)
    if problem.ids:
        variance, of_return = efficient_variance(log, problem.gamma)
        probe = probes[:, 0].astype(np.int64)
        chance = of_return[probe] > 1e-12 * log.reward.var()  # else nothing is left to learn
        rows[chance] = variance[probe[chance]] / of_return[probe[chance]]
    return rows


def efficient_variance(log: Log, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Return what the docstring of ``Known`` says of ids, by the frequencies of a long log.

    Returns
    -------
    variance : array of shape (S,)
        n times the variance of the value of each id, as estimated from n rows.
    of_return : array of shape (S,)
        The variance of one return.

    Examples
    --------
    >>> import numpy as np
    >>> from lincat.truth.known import efficient_variance
    >>> from lincat.truth.simulation import Log
    >>> state, never = np.zeros((4, 1)), np.zeros(4, bool)
    >>> coin = Log(state, np.array([0.0, 1.0, 1.0, 0.0]), state, never, never)
    >>> efficient_variance(coin, 0.5)
    (array([1.]), array([0.33333333]))
    """
    state, following = log.observation[:, 0].astype(int), log.following[:, 0].astype(int)
    going, size = ~log.terminated, 1 + max(state.max(), following.max())
    visits = np.maximum(np.bincount(state, minlength=size), 1)

    def mean(values: FloatArray) -> FloatArray:
        return np.bincount(state, values, minlength=size) / visits

    P = np.zeros((size, size))
    np.add.at(P, (state[going], following[going]), 1.0)
    P /= visits[:, None]
    time = np.linalg.inv(np.eye(size) - gamma * P)
    value = time @ mean(log.reward)
    error = log.reward + gamma * going * value[following] - value[state]
    noise = mean(error**2)
    variance: FloatArray = time**2 @ (noise * len(log) / visits)
    of_return: FloatArray = np.linalg.inv(np.eye(size) - gamma**2 * P) @ noise
    return variance, of_return


def _returns(
    problem: Problem, probe: FloatArray, samples: int, rng: np.random.Generator
) -> FloatArray:
    """Sorted samples of the return from one state."""
    parts = [
        simulate_returns(
            problem.step,
            np.tile(probe, (min(_CHUNK, samples - done), 1)),
            problem.gamma,
            rng,
        )
        for done in range(0, samples, _CHUNK)
    ]
    return np.sort(np.concatenate(parts))
