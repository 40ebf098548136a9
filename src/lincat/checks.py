"""Checks that every learner passes, public so that learners written elsewhere can be held to them.

    lincat.checks.check_learner(MyLearner(grid=..., gamma=...))

raises an AssertionError that names the promise which was broken. Learners from sums pass the same
checks: what has no steps has no batches of them, so that ``batch_size`` makes no difference there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from threadpoolctl import threadpool_limits

from lincat.data.transitions import Transitions
from lincat.learners._base import Learner
from lincat.learners._batch import BatchLearner
from lincat.learners.files import load
from lincat.learners.files import save_bytes as _bits

_STATES = 7
AnyLearner: TypeAlias = Learner[Any] | BatchLearner


def example_streams(n: int = 1500, *, seed: int = 0) -> dict[str, Transitions]:
    """Return the same kind of stream in each form of features, with ends, weights and discounts."""
    rng = np.random.Generator(np.random.Philox(seed))
    state, next_state = rng.integers(0, _STATES, n), rng.integers(0, _STATES, n)
    dense = rng.normal(size=(_STATES, 5)) / 4.0
    sparse = scipy.sparse.random_array(
        (_STATES, 20), density=0.2, rng=rng, format="csr", dtype=np.float64
    )
    rest = {
        "reward": rng.random(n),
        "terminated": rng.random(n) < 0.05,
        "discount": rng.choice([0.8, 0.64], size=n),
        "weight": rng.uniform(0.5, 1.5, n),
    }
    return {
        "dense": Transitions(dense[state], phi_next=dense[next_state], **rest),
        "sparse": Transitions(sparse[state], phi_next=sparse[next_state], **rest),
        "states": Transitions(state, phi_next=next_state, **rest),
    }


def check_learner(learner: AnyLearner) -> None:
    """Run all checks on a learner, with dense and sparse features and with state numbers."""
    for kind, stream in example_streams().items():
        template = learner.clone()
        if kind == "states":
            template.set_params(n_features=_STATES)
        for check in CHECKS:
            try:
                check(template, stream)
            except AssertionError as error:
                name = f"{type(learner).__name__}: {check.__name__} with {kind} features"
                raise AssertionError(f"{name}: {error}") from error


def chunked_equals_one_call(learner: AnyLearner, stream: Transitions) -> None:
    """Any way of cutting a stream into calls gives the same bits; so does one at a time."""
    whole = _bits(learner.clone().partial_fit(stream))
    for size in (1, 7, 1024):
        parts = learner.clone()
        for begin in range(0, len(stream), size):
            parts.partial_fit(stream[begin : begin + size])
        assert _bits(parts) == whole, f"chunks of {size} differ from one call"


def batches_cut_between_batches_agree(learner: AnyLearner, stream: Transitions) -> None:
    """With mini-batches, any cut between batches gives the same bits."""
    whole = _bits(learner.clone().partial_fit(stream, batch_size=5))
    parts = learner.clone()
    for begin in range(0, len(stream), 35):
        parts.partial_fit(stream[begin : begin + 35], batch_size=5)
    assert _bits(parts) == whole, "calls of 35 transitions differ from one call"


def inputs_are_unmodified(learner: AnyLearner, stream: Transitions) -> None:
    """Learning and predicting leave the user's arrays alone."""
    before = [_copy(x) for x in (stream.phi, stream.phi_next, stream.reward, stream.weight)]
    model = learner.clone().fit(stream, batch_size=3)
    model.predict(stream.phi)
    after = (stream.phi, stream.phi_next, stream.reward, stream.weight)
    for old, new in zip(before, after, strict=True):
        assert np.array_equal(_copy(new), old), "an input array has changed"


def runs_are_repeatable(learner: AnyLearner, stream: Transitions) -> None:
    """The same data give the same bits, also to a learner that has learned something else."""
    first = _bits(learner.clone().fit(stream))
    model = learner.clone().fit(stream[:50])
    assert _bits(model.fit(stream)) == first, "a second fit differs"


def clone_keeps_parameters_and_forgets_the_rest(learner: AnyLearner, stream: Transitions) -> None:
    """A clone has the same hyper-parameters, the very objects, and nothing learned."""
    model = learner.clone().fit(stream)
    copy = model.clone()
    for name, value in model.get_params().items():
        assert copy.get_params()[name] is value, f"{name} is not the same object"
    assert not copy.begun, "the clone has learned something"
    assert _bits(copy.fit(stream)) == _bits(model), "the clone learns something else"


def saved_and_loaded_goes_on(learner: AnyLearner, stream: Transitions) -> None:
    """Saving, loading and continuing equals never having stopped, bit for bit."""
    half = len(stream) * 3 // 4
    whole = learner.clone().partial_fit(stream[:half]).partial_fit(stream[half:])
    model = learner.clone().partial_fit(stream[:half])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        restored = load(path)
    assert _bits(restored) == _bits(model), "the file holds something else"
    assert _bits(restored.partial_fit(stream[half:])) == _bits(whole), "it continues differently"


def threads_do_not_change_bits(learner: AnyLearner, stream: Transitions) -> None:
    """Neither threads of BLAS nor learners side by side change what is learned."""
    alone = _bits(learner.clone().fit(stream, batch_size=4))
    for count in (1, 2):
        with threadpool_limits(count):
            assert _bits(learner.clone().fit(stream, batch_size=4)) == alone, f"{count} threads"
    with ThreadPoolExecutor(4) as pool:
        models = pool.map(lambda _: learner.clone().fit(stream, batch_size=4), range(4))
        assert all(_bits(model) == alone for model in models), "learners side by side"


#: All checks, each a function of an unfitted learner and a stream.
CHECKS: tuple[Callable[[AnyLearner, Transitions], None], ...] = (
    chunked_equals_one_call,
    batches_cut_between_batches_agree,
    inputs_are_unmodified,
    runs_are_repeatable,
    clone_keeps_parameters_and_forgets_the_rest,
    saved_and_loaded_goes_on,
    threads_do_not_change_bits,
)


def _copy(array: object) -> np.ndarray:
    return np.array(array.toarray() if scipy.sparse.issparse(array) else array)  # type: ignore[attr-defined]
