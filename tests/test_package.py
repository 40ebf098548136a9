"""What the package promises as a whole."""

import ast
import importlib.metadata
import pathlib
import subprocess
import sys

import lincat

ROOT = pathlib.Path(lincat.__file__).parent

# The names of DESIGN section 4 that exist so far; they are called from outside and stay.
PROMISED = {
    "FiniteMDP",
    "Grid",
    "MarkovRewardProcess",
    "ReturnDistribution",
    "bellman_matrix",
    "bellman_offset",
    "bellman_target",
    "catalog",
    "cramer",
    "project",
    "solve_categorical",
    "solve_value",
    "true_returns",
    "wasserstein",
}


def test_public_names_exist_and_are_listed():
    assert set(lincat.__all__) >= PROMISED
    assert len(set(lincat.__all__)) == len(lincat.__all__)
    for name in lincat.__all__:
        assert getattr(lincat, name) is not None
    assert set(dir(lincat)) >= set(lincat.__all__)


def test_every_public_name_says_what_it_is():
    for name in lincat.__all__:
        if name != "__version__":
            assert getattr(lincat, name).__doc__, name


def test_version_is_the_installed_one():
    assert importlib.metadata.version("lincat") == lincat.__version__


def test_heavy_libraries_wait_until_they_are_needed():
    code = (
        "import sys, lincat, lincat.cli.main;"
        "heavy = {'numpy', 'scipy', 'numba', 'altair', 'rich', 'gymnasium', 'msgspec'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_numba_waits_for_the_first_kernel():
    code = (
        "import sys, lincat; lincat.Grid(0, 1, 2); lincat.catalog.paper().process.stationary;"
        "print('numba' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


def test_kernels_know_only_numpy_and_numba():
    allowed = {
        "numba",
        "llvmlite",
        "numpy",
        "lazy_loader",
        "lincat",
        "collections",
        "math",
        "os",
        "pkgutil",
    }
    compiler = ROOT / "kernels" / "compiled.py"  # which keeps files
    for file in {*(ROOT / "kernels").glob("*.py")} - {compiler}:
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in allowed, f"{file.name} imports {name}"
                assert not name.startswith("lincat") or name.startswith("lincat.kernels")


def test_nothing_of_ours_is_read_through_pickle():
    """No import of it, and no NumPy array that may hold it.

    But for compiled code, in the user's own cache: whoever can write there can run code anyway;
    and for work that goes to processes of our own, through pipes or by Dask.
    """
    work = {ROOT / "scale" / "pool.py", ROOT / "scale" / "worker.py"}
    for file in {*ROOT.rglob("*.py")} - {ROOT / "kernels" / "compiled.py"} - work:
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert ast.unparse(node.value) == "False", file.name
            for name in names:
                assert name.split(".")[0] not in {"pickle", "joblib", "dill", "cloudpickle"}, file


def test_types_are_shipped():
    assert (ROOT / "py.typed").exists()
    assert (ROOT / "__init__.pyi").exists()
