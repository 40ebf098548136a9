"""The experiments of App. numerical_experiment as units of work, each of which yields rows.

A unit depends on the settings alone, so that units may be done in any order, on any thread, today
or after an interruption, and give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lincat.paper.settings import RULES, Settings
from lincat.paper.trials import Arena
from lincat.processes import catalog

Row = dict[str, Any]
_FAR = 1e3  # an error (not squared) that no run comes to which still converges


@dataclass(frozen=True)
class Unit:
    """A piece of an experiment."""

    #: What its rows are about; the folder that they land in.
    dataset: str
    #: Which piece, the name of its file.
    name: str
    #: Tables and figures that need it.
    serves: tuple[str, ...]
    #: About how many seconds it takes on one core, to tell the time left.
    cost: float
    #: Does the work.
    rows: Callable[[], Iterator[Row]]


def paper_units(settings: Settings) -> list[Unit]:
    """Return the units of all tables and figures of the paper."""
    units = []
    for K in settings.intervals:
        for rule, table in RULES.items():
            serves = (table, "dependence") if rule == "pmf" else (table,)
            piece = _Piece(settings, rule, K)
            name, slow = f"{rule}-{K}", rule == "pmf"
            run = 1.6e-3 * (K + 150) if slow else 4e-4 * (K + 250)
            votes = settings.replicas * settings.replica_updates / 6e4
            moment = (K / 200) ** 3 if settings.mean_square else 0.0
            units += [
                Unit("thresholds", name, serves, 0.3 + K / 1000 + moment, piece.thresholds),
                Unit("simulated", name, serves, votes * (1 + K / 150), piece.simulated),
                Unit("iterations", name, (table,), settings.seeds * run, piece.iterations),
            ]
        pieces = _Piece(settings, "ctd", K), _Piece(settings, "pmf", K)
        update = 1.6e-8 * (K + 80)
        both = update * settings.comparation_updates * settings.comparation_seeds
        units += [
            Unit(
                "loss_cdf",
                f"{K}",
                ("loss_cdf",),
                settings.iterations * update,
                pieces[0].convergence,
            ),
            Unit("comparation", f"{K}", ("comparation",), 0.3 + 2 * both, pieces[1].comparation),
        ]
    for K in sorted({*settings.intervals, *settings.border_intervals}):
        piece = _Piece(settings, "pmf", K)
        cost = settings.iterations * 2.4e-6 if K < 44 else 0.02
        units.append(Unit("loss_pmf", f"{K}", ("loss_pmf",), cost, piece.convergence))
    piece = _Piece(settings, "pmf", settings.alpha_intervals)
    cost = settings.iterations * 5.6e-6
    units += [
        Unit("loss_change_alpha", f"{alpha:g}", ("loss_change_alpha",), cost, piece.at_step(alpha))
        for alpha in settings.alphas
    ]
    return units


@dataclass(frozen=True)
class _Piece:
    """The experiments for one algorithm and one K."""

    settings: Settings
    rule: str
    K: int

    def _arena(self) -> Arena:
        problem = catalog.paper(self.settings.process)
        return Arena(problem, self.K, self.settings.batch_size)

    def thresholds(self) -> Iterator[Row]:
        """The noise-free maximum step size, in each sense of ``lincat.max_step_size``."""
        arena = self._arena()
        notions = ["deterministic", "almost_sure"]
        if self.settings.mean_square:
            notions.append("mean_square")
        for notion in notions:
            step = arena.max_step(self.rule, notion, self.settings.seed)
            yield {"rule": self.rule, "K": self.K, "notion": notion, "step": step}

    def simulated(self) -> Iterator[Row]:
        """The maximum step size as the paper finds it, by watching runs."""
        low, high = simulated_bracket(self._arena(), self.rule, self.settings)
        yield {"rule": self.rule, "K": self.K, "low": low, "high": high}

    def iterations(self) -> Iterator[Row]:
        """Column "Iterations": both averages, because the paper does not say which it takes."""
        arena, settings = self._arena(), self.settings
        step = settings.step_share * arena.max_step(self.rule)
        for replicate in range(settings.seeds):
            for averaging in ("full", "tail"):
                count = iterations_to_target(arena, self.rule, step, averaging, replicate, settings)
                yield {
                    "rule": self.rule,
                    "K": self.K,
                    "averaging": averaging,
                    "step": step,
                    "replicate": replicate,
                    "iterations": count,
                }

    def convergence(self) -> Iterator[Row]:
        """Figs. loss_cdf and loss_pmf."""
        return self._curve(self.settings.step_size)

    def at_step(self, step_size: float) -> Callable[[], Iterator[Row]]:
        """Fig. loss_change_alpha: the same for another step size."""
        return lambda: self._curve(step_size)

    def _curve(self, step_size: float) -> Iterator[Row]:
        arena = self._arena()
        trial = arena.trial(self.rule, step_size, (self.settings.seed, 0))
        for stop in _stops(self.settings.iterations):
            trial.advance(stop - trial.updates)
            yield {
                "rule": self.rule,
                "K": self.K,
                "step": step_size,
                "iterations": trial.updates,
                "error": trial.error(),
                "diverged": trial.diverged,
            }
            if trial.diverged:
                return

    def comparation(self) -> Iterator[Row]:
        """Both sides of Lemma loss_bound_PMF along runs of SSGD-PMF."""
        arena, settings = self._arena(), self.settings
        step = settings.step_share * arena.max_step(self.rule)
        for replicate in range(settings.comparation_seeds):
            trial = arena.trial(self.rule, step, (settings.seed, replicate))
            for stop in _stops(settings.comparation_updates, linear=25):
                trial.advance(stop - trial.updates)
                yield {
                    "K": self.K,
                    "step": step,
                    "replicate": replicate,
                    "iterations": stop,
                    "left": arena.loss(trial.mean),
                    "right": arena.residual(trial.mean),
                }


def iterations_to_target(
    arena: Arena,
    rule: str,
    step: float,
    averaging: str,
    replicate: int,
    settings: Settings,
    target: float | None = None,
) -> int | None:
    """Return after how many updates the averaged iterate's error is first seen below the target.

    It is looked at every ``check_every`` updates from 1.25 of the target on, and before that
    each time that two per cent more updates were made. None if the run diverges or gives up.
    """
    every, target = settings.check_every, settings.error_target if target is None else target
    trial = arena.trial(rule, step, (settings.seed, replicate), averaging)
    error = np.inf
    while error >= target:
        if trial.updates >= settings.most_updates:
            return None
        pause = every if error < 1.25 * target else max(trial.updates // (50 * every), 1) * every
        if not trial.advance(pause):
            return None
        error = trial.error()
    return trial.updates


def simulated_bracket(arena: Arena, rule: str, settings: Settings) -> tuple[float, float]:
    """Return two step sizes close to each other: most runs converge at one, and not at the other.

    Bisection by a vote. All votes are on the same random numbers, and nothing is taken from theory
    but where to begin.
    """

    def diverges(step: float) -> bool:
        against = 0
        for replicate in range(settings.replicas):
            against += _diverges(arena, rule, step, (settings.seed, replicate), settings)
            if 2 * max(against, replicate + 1 - against) > settings.replicas:
                break  # the rest cannot change it
        return 2 * against > settings.replicas

    # Linear-CTD diverges from about 2/λ_max(Sigma) on, SSGD-PMF K² sooner (Lemma pmf_convergence).
    high = 1.0 if rule == "ctd" else 1.0 / arena.grid.intervals**2
    while not diverges(high):
        high *= 2.0
    low = high / 2.0
    while diverges(low):
        low, high = low / 2.0, low
    while high / low > 1.0 + settings.bracket_width:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if diverges(middle) else (middle, high)
    return low, high


def _diverges(
    arena: Arena, rule: str, step: float, seed: tuple[int, ...], settings: Settings
) -> bool:
    """Whether the last iterate of a run is far off: noise alone keeps it within a few units."""
    trial = arena.trial(rule, step, seed, "none")
    if not trial.advance(settings.replica_updates):
        return True
    return bool(np.sqrt(arena.error(trial.Theta)) > _FAR)


def _stops(updates: int, linear: int = 50) -> list[int]:
    """When to look at a run: dense at first, then evenly."""
    stops = np.concatenate([np.geomspace(1, updates, 50), np.linspace(0, updates, linear + 1)[1:]])
    return [int(stop) for stop in np.unique(stops.astype(int))]
