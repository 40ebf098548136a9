"""JAX, compiled: Linear-CTD as one ``lax.scan``, in formulations of which the fastest counts.

What is fast on a CPU is not what one writes first:

- *Delayed*: the carry holds the last error row, which is added at the start of the next step. In
  the plain order XLA fuses the computation of the row into the update, and repeats it for each
  feature; an optimization barrier does not help.
- Dot products as sums of products fuse with the update for small d; as one product with both
  feature vectors they use the matrix library, which is faster for large d.
- The target by three gathers and clamped edges, by prefix sums, or by scattering: neither is best
  everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lincat.bench.cases import GAMMA, Case, Data
from lincat.bench.contender import Contender, UnavailableError

BEST = "JAX best"

# Traced functions: JAX knows what they take.
Rows = Callable[[Any, Any, Any], tuple[Any, Any]]  # Theta, phi, phi_next -> their rows
Add = Callable[[Any, Any, Any], Any]  # Theta, phi, row -> Theta - phi ⊗ row
Target = Callable[[Any, Any, Any], Any]  # F(s'), rho, delta -> target


def contenders(data: Data) -> list[Contender]:
    """Return "JAX best" in its formulations, "JAX plain" and "JAX rlax-style"."""
    jax = _import()
    case = data.case
    gather, prefix, scatter, l2 = (
        _over_batches(jax, target, case)
        for target in (_by_gathers(jax, case.K), _by_prefix_sums(jax, case.K),
                       _by_scattering(jax, case.K), _l2_project(jax, case.K))
    )  # fmt: skip
    rows, add = _features(jax, case)
    scan, n = _Scans(jax, data), len(data)
    made = []
    for take in rows:
        made += [scan.delayed(BEST, take, add, gather, n)]
    made += [
        scan.delayed(BEST, rows[0], add, prefix, n),
        scan.plain(BEST, rows[0], add, scatter, n),
        scan.plain("JAX plain", rows[0], add, gather, n),
    ]
    if case.batch == 1:
        few = max(20, int(1e7 / case.K**2))
        made += [scan.plain("JAX rlax-style", rows[0], add, l2, few)]
    return made


def _import() -> Any:
    try:
        import jax
    except ImportError:
        raise UnavailableError("JAX: not installed; pip install jax (or lincat[bench])") from None
    jax.config.update("jax_enable_x64", True)
    return jax


class _Scans:
    """Makes contenders of formulations."""

    def __init__(self, jax: Any, data: Data) -> None:
        self.jax, self.data = jax, data
        K = data.case.K
        self.offset = jax.numpy.asarray(np.arange(1, K + 1) / (K + 1))

    def plain(self, label: str, rows: Rows, add: Add, target: Target, n: int) -> Contender:
        """Rows, error, update."""

        def step(Theta: Any, x: Any) -> tuple[Any, None]:
            phi, phi_next, *rest = x
            return add(Theta, phi, self._error(rows(Theta, phi, phi_next), target, *rest)), None

        return self._contender(label, lambda Theta, xs: self.jax.lax.scan(step, Theta, xs)[0], n)

    def delayed(self, label: str, rows: Rows, add: Add, target: Target, n: int) -> Contender:
        """Update of the step before, rows, error."""

        def step(carry: Any, x: Any) -> tuple[Any, None]:
            Theta, phi_before, error = carry
            phi, phi_next, *rest = x
            Theta = add(Theta, phi_before, error)
            error = self._error(rows(Theta, phi, phi_next), target, *rest)
            return (Theta, phi, error), None

        def run(Theta: Any, xs: Any) -> Any:
            error = self.jax.numpy.zeros((*xs[2].shape[1:], self.data.case.K))
            start = (Theta, xs[0][0], error)
            return add(*self.jax.lax.scan(step, start, xs)[0])

        return self._contender(label, run, n)

    def _error(self, rows: tuple[Any, Any], target: Target, rho: Any, delta: Any, step: Any) -> Any:
        row, ahead = (x + self.offset for x in rows)
        return step[..., None] * (row - target(ahead, rho, delta))

    def _contender(self, label: str, function: Callable[[Any, Any], Any], n: int) -> Contender:
        case = self.data.case
        part = self.data.first(min(n, len(self.data)))
        arrays = [part.phi, part.phi_next, part.rho, part.delta, part.step]
        if case.batch > 1:
            arrays = [x.reshape(-1, case.batch, *x.shape[1:]) for x in arrays]
        xs = tuple(map(self.jax.numpy.asarray, arrays))
        compiled = self.jax.jit(function, donate_argnums=0)
        state = [self.jax.numpy.zeros((case.d, case.K))]

        def run() -> None:
            state[0] = compiled(state[0], xs).block_until_ready()

        also = "" if label == BEST else BEST
        return Contender(label, run, len(part), lambda: np.asarray(state[0]), also=also)


# ------------------------------------------------------------------------------------ features


def _features(jax: Any, case: Case) -> tuple[list[Rows], Add]:
    """Ways to take the rows of two states, the first for large d, and the update."""
    jnp = jax.numpy

    if case.kind == "states":
        return (
            [lambda Theta, s, s_next: (Theta[s], Theta[s_next])],
            lambda Theta, s, row: Theta.at[s].add(-row),
        )
    if case.kind == "tiles":

        def read(Theta: Any, index: Any) -> Any:
            return case.value * Theta[index].sum(axis=0)

        def subtract(Theta: Any, index: Any, row: Any) -> Any:
            rows = jnp.broadcast_to(-case.value * row, (case.active, case.K))
            return Theta.at[index].add(rows, indices_are_sorted=True, unique_indices=True)

        return [lambda Theta, phi, phi_next: (read(Theta, phi), read(Theta, phi_next))], subtract

    def two_products(Theta: Any, phi: Any, phi_next: Any) -> tuple[Any, Any]:
        return phi @ Theta, phi_next @ Theta

    if case.batch > 1:
        return [two_products], lambda Theta, phi, row: Theta - phi.T @ row

    def one_product(Theta: Any, phi: Any, phi_next: Any) -> tuple[Any, Any]:
        both = jnp.stack([phi, phi_next]) @ Theta
        return both[0], both[1]

    def sums(Theta: Any, phi: Any, phi_next: Any) -> tuple[Any, Any]:
        return (phi[:, None] * Theta).sum(axis=0), (phi_next[:, None] * Theta).sum(axis=0)

    return [one_product, two_products, sums], lambda Theta, phi, row: Theta - phi[:, None] * row


# ------------------------------------------------------------------------------------- targets


def _over_batches(jax: Any, target: Target, case: Case) -> Target:
    return target if case.batch == 1 else jax.vmap(target)


def _by_gathers(jax: Any, K: int) -> Target:
    """Three source cells meet an output cell (delta >= 1/2), weighted by clamped edges."""
    jnp = jax.numpy

    def target(ahead: Any, rho: Any, delta: Any) -> Any:
        padded = jnp.concatenate([jnp.zeros(1), ahead, jnp.ones(1)])
        k = jnp.arange(float(K))
        m = jnp.floor((k - rho) / delta)
        edge = rho + delta * m - k
        first, second = jnp.clip(edge + delta, 0.0, 1.0), jnp.clip(edge + 2.0 * delta, 0.0, 1.0)
        at = m.astype(jnp.int32) + 1
        x0, x1, x2 = (
            padded.at[jnp.clip(at + j, 0, K + 1)].get(mode="promise_in_bounds") for j in range(3)
        )
        return x2 + second * (x1 - x2) + first * (x0 - x1)

    return target


def _by_prefix_sums(jax: Any, K: int) -> Target:
    """delta [H((k+1-rho)/delta) - H((k-rho)/delta)], H the integral of F'."""
    jnp = jax.numpy

    def target(ahead: Any, rho: Any, delta: Any) -> Any:
        H = jnp.concatenate([jnp.zeros(1), jnp.cumsum(ahead)])
        u = (jnp.arange(K + 1.0) - rho) / delta
        m = jnp.clip(jnp.floor(u), 0, K - 1).astype(jnp.int32)
        at = H[m] + (jnp.clip(u, 0.0, K) - m) * ahead[m] + jnp.maximum(u - K, 0.0)
        return delta * (at[1:] - at[:-1])

    return target


def _by_scattering(jax: Any, K: int) -> Target:
    """Each source cell gives to the two output cells that it meets."""
    jnp = jax.numpy

    def target(ahead: Any, rho: Any, delta: Any) -> Any:
        left = rho + delta * jnp.arange(float(K))
        k = jnp.floor(left).astype(jnp.int32)
        second = jnp.maximum(left - k + delta - 1.0, 0.0)
        ones = jnp.clip(jnp.arange(1.0, K + 1.0) - (rho + delta * K), 0.0, 1.0)
        ones = ones.at[k].add((delta - second) * ahead, mode="drop")
        return ones.at[k + 1].add(second * ahead, mode="drop")

    return target


def _l2_project(jax: Any, K: int) -> Target:
    """As libraries do it (rlax, Dopamine): a (K+1) x (K+1) table of distances each."""
    jnp = jax.numpy
    atoms = jnp.arange(K + 1.0) / ((1.0 - GAMMA) * K)
    spacing = atoms[1]

    def target(ahead: Any, rho: Any, delta: Any) -> Any:
        pmf = jnp.diff(ahead, prepend=0.0, append=1.0)
        pushed = jnp.clip(rho * spacing + delta * atoms, atoms[0], atoms[-1])
        distance = jnp.abs(pushed[None, :] - atoms[:, None]) / spacing
        return jnp.cumsum((jnp.clip(1.0 - distance, 0.0, 1.0) * pmf[None, :]).sum(axis=1))[:K]

    return target
