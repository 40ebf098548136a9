import numpy as np
import pytest

from lincat.bench import c_code, jax_scan, numpy_forms, ours, torch_eager
from lincat.bench.cases import Case, draw
from lincat.bench.contender import Contender, UnavailableError, check, compare

CASES = [
    Case("dense", 3, 7),
    Case("dense", 5, 16),
    Case("dense", 3, 7, batch=4),
    Case("states", 6, 9),
    Case("tiles", 12, 9, active=3),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("module", [c_code, jax_scan, numpy_forms, torch_eager])
def test_all_learn_the_same(case, module):
    if case.batch > 1 and module in (c_code, torch_eager):
        pytest.skip("has no mini-batches")
    data = draw(case, 40, seed=1)
    try:
        contenders = module.contenders(data)
    except UnavailableError as why:
        pytest.skip(str(why))
    for contender in contenders:
        check(contender, ours.reference(data))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_our_variants_learn_the_same(case):
    data = draw(case, 40, seed=1)
    for contender in ours.variants(data):
        check(contender, ours.reference(data))


def test_a_contender_that_learns_something_else_is_refused():
    data = draw(CASES[0], 40, seed=1)
    wrong = Contender("wrong", lambda: None, 40, lambda: np.zeros((3, 7)))
    with pytest.raises(AssertionError, match="wrong learns something else"):
        check(wrong, ours.reference(data))


def test_the_fastest_of_a_label_counts(monkeypatch):
    times = {"us": 1.0, "slow": 6.0, "fast": 3.0, "plain": 4.0}
    monkeypatch.setattr("lincat.bench.contender.seconds_of", lambda c: times[c.run()])
    us = Contender("us", lambda: "us", 1)
    others = [
        Contender("best", lambda: "slow", 1),
        Contender("best", lambda: "fast", 1),
        Contender("plain", lambda: "plain", 1, also="best"),
    ]
    assert compare(us, others, 2) == (1.0, {"best": 3.0, "plain": 4.0})


def test_a_missing_compiler_is_told(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    c_code.load.cache_clear()
    with pytest.raises(UnavailableError, match="install gcc"):
        c_code.load("dense_simple")


def test_code_that_does_not_compile_is_told_with_what_the_compiler_said(monkeypatch, tmp_path):
    (tmp_path / "broken.c").write_text("this is no C\n")
    monkeypatch.setattr(c_code, "_SOURCES", tmp_path)
    with pytest.raises(UnavailableError, match=r"C: broken\.c does not compile: .*broken\.c"):
        c_code.load("broken")


def test_missing_libraries_come_with_the_install_command(monkeypatch):
    data = draw(CASES[0], 5, seed=1)
    for name, module in [("jax", jax_scan), ("torch", torch_eager)]:
        monkeypatch.setitem(__import__("sys").modules, name, None)
        with pytest.raises(UnavailableError, match="pip install"):
            module.contenders(data)
