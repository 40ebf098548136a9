"""The plain passes equal the vector ones."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lincat.kernels.layout import VECTORS
from tests.kernels.samples import KINDS, run, step, transitions

SCRIPT = """
import sys
import numpy as np
from lincat.kernels.layout import VECTORS
from tests.kernels.samples import KINDS, run
assert not VECTORS
data = np.load(sys.argv[1])
for kind in KINDS:
    case = [data[x] for x in ("phi", "phi_next", "rho", "delta")]
    out = run(kind, case, data["step"], 51, "ctd", batch=1 if kind == "dense" else 5)
    np.savez(sys.argv[2] + f"-{kind}.npz", *out)
"""


@pytest.mark.skipif(not VECTORS, reason="compares the two")
def test_plain_passes_equal_vector_passes(tmp_path):
    phi, phi_next, rho, delta = transitions(500, 6, 51, one_hot=True)
    steps = np.full(500, step("ctd", 51))
    np.savez(tmp_path / "data.npz", phi=phi, phi_next=phi_next, rho=rho, delta=delta, step=steps)
    environment = {
        **os.environ,
        "LINCAT_VECTORS": "0",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    arguments = [str(tmp_path / "data.npz"), str(tmp_path / "out")]
    subprocess.run([sys.executable, "-c", SCRIPT, *arguments], env=environment, check=True)
    for kind in KINDS:
        batch = 1 if kind == "dense" else 5
        vectors = run(kind, (phi, phi_next, rho, delta), steps, 51, "ctd", batch=batch)
        plain = np.load(tmp_path / f"out-{kind}.npz")
        for a, key in zip(vectors, plain.files, strict=True):
            np.testing.assert_allclose(plain[key], a, rtol=1e-13, atol=1e-13)
