"""PyTorch, eager: a linear C51-style update, one transition at a time."""

from __future__ import annotations

from typing import Any

from lincat.bench.cases import Data
from lincat.bench.contender import Contender, UnavailableError


def contenders(data: Data) -> list[Contender]:
    """Return "torch eager": push atoms, split them by index_add, cumulative sums, rank-one step."""
    try:
        import torch
    except ImportError:
        raise UnavailableError(
            "PyTorch: not installed; pip install 'torch==2.13.0' (or lincat[bench])"
        ) from None
    torch.set_num_threads(1)
    part = data.first(min(200, len(data)))
    case, K = data.case, data.case.K
    Theta = torch.zeros((case.d, K), dtype=torch.float64)
    phi, phi_next = (torch.as_tensor(x) for x in (part.phi, part.phi_next))
    if case.kind == "tiles":
        phi, phi_next = phi.long(), phi_next.long()
    offset = torch.arange(1, K + 1, dtype=torch.float64) / (K + 1)
    atoms = torch.arange(K + 1, dtype=torch.float64)
    zero, one = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    values = torch.full((case.active,), case.value, dtype=torch.float64)

    def read(features: Any) -> Any:
        if case.kind == "dense":
            return features @ Theta
        return Theta[features] if case.kind == "states" else values @ Theta[features]

    def target(ahead: Any, rho: float, delta: float) -> Any:
        pmf = torch.diff(ahead, prepend=zero, append=one)
        position = torch.clamp(rho + delta * atoms, 0.0, float(K))
        lower = torch.floor(position)
        share = position - lower
        index = lower.long()
        pushed = torch.zeros(K + 1, dtype=torch.float64)
        pushed.index_add_(0, index, pmf * (1.0 - share))
        pushed.index_add_(0, torch.clamp(index + 1, max=K), pmf * share)
        return torch.cumsum(pushed, 0)[:K]

    def run() -> None:
        with torch.inference_mode():
            for t in range(len(part)):
                ahead = read(phi_next[t]) + offset
                rho, delta, step = float(part.rho[t]), float(part.delta[t]), float(part.step[t])
                error = read(phi[t]) + offset - target(ahead, rho, delta)
                if case.kind == "dense":
                    Theta.addr_(phi[t], error, alpha=-step)
                elif case.kind == "states":
                    Theta[phi[t]] -= step * error
                else:
                    Theta.index_add_(0, phi[t], torch.outer(values, error), alpha=-step)

    return [Contender("torch eager", run, len(part), lambda: Theta.numpy())]
