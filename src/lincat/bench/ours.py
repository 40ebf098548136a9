"""lincat itself: the calls of the compiled loops that the learners make, and the learner."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lincat import kernels
from lincat._typing import FloatArray
from lincat.bench.cases import GAMMA, STEP, Data
from lincat.bench.contender import Contender
from lincat.data.transitions import Transitions
from lincat.learners.linear_ctd import LinearCTD


def kernel(
    data: Data, label: str = "lincat", *, dtype: type = np.float64, averaging: bool = False
) -> Contender:
    """Return the kernel of Linear-CTD for this kind of features."""
    case, n = data.case, len(data)
    Theta, U = kernels.layout.parameters_and_sums(
        case.d, case.K, dtype, averaging=averaging, paired=case.kind != "dense"
    )
    clipped, limit, rule, seen = np.zeros(2), 1e12, int(kernels.rules.CTD), 0
    start = (Theta, U, clipped)
    rest = (data.rho, data.delta, data.step, limit, case.K, rule, seen)
    phi, phi_next = (kernel_features(data, x, dtype) for x in (data.phi, data.phi_next))
    run: Callable[[], object]
    if case.kind == "dense" and case.batch == 1:

        def run() -> object:
            return kernels.dense.dense_updates(*start, phi, phi_next, *rest)
    else:
        loop = {
            "dense": kernels.dense.dense_batches,
            "states": kernels.states.state_updates,
            "tiles": kernels.csr.csr_updates,
        }[case.kind]

        def run() -> object:
            return loop(*start, phi, phi_next, *rest, case.batch)

    tolerance = 1e-9 if dtype is np.float64 else 1e-3
    return Contender(label, run, n, lambda: Theta[:, : case.K], tolerance)


def variants(data: Data) -> list[Contender]:
    """Return float32, averaging, and the learner around the kernel."""
    return [
        kernel(data, "float32", dtype=np.float32),
        kernel(data, "averaging", averaging=True),
        learner(data),
    ]


def learner(data: Data) -> Contender:
    """Return ``LinearCTD.partial_fit``: the kernel with all its checks, and without averaging."""
    case = data.case
    model = LinearCTD(
        grid=data.grid, gamma=GAMMA, step_size=STEP, averaging="none", n_features=case.d
    )
    phi, phi_next = (public_features(data, x) for x in (data.phi, data.phi_next))
    transitions = Transitions(phi, data.reward, phi_next)

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rounding may clip a last bit of mass
            model.partial_fit(transitions, batch_size=case.batch)

    return Contender("learner", run, len(data), lambda: model.Theta_)


def reference(data: Data) -> Callable[[int], FloatArray]:
    """Return a function that gives the parameters after the first n transitions."""

    def after(n: int) -> FloatArray:
        contender = kernel(data.first(n))
        contender.run()
        assert contender.theta is not None
        return contender.theta()

    return after


def kernel_features(data: Data, phi: Any, dtype: type) -> Any:
    """Features as the loops take them."""
    case = data.case
    if case.kind == "dense":
        return phi.astype(dtype)
    if case.kind == "states":
        return phi
    indptr = np.arange(0, phi.size + 1, case.active, dtype=np.int32)
    return indptr, phi.ravel(), np.full(phi.size, case.value, dtype)


def public_features(data: Data, phi: Any) -> Any:
    """Features as users give them."""
    if data.case.kind != "tiles":
        return phi
    import scipy.sparse

    indptr, indices, values = kernel_features(data, phi, np.float64)
    return scipy.sparse.csr_array((values, indices, indptr), shape=(len(data), data.case.d))
