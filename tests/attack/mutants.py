"""``make mutants``: do the tests notice when the code is wrong?

    python -m tests.attack.mutants core learners inference --sample 300
    python -m tests.attack.mutants core --only risk --sample 50 --seed 1

A mutant is lincat with one small fault: ``<`` for ``<=``, ``+`` for ``-``, another number, a
condition turned round, a call or a returned value left out. The tests of its package run once,
which says who runs which line; then each mutant is put into a forked process (the code of one
function is exchanged there, no file is touched), which runs the tests of that line until one fails.
A mutant that no test notices survives: it is shown, and the tests want another one, unless nobody
could tell it from the original. The sample is seeded: the same command makes the same mutants.
"""

import argparse
import ast
import copy
import functools
import gc
import math
import os
import random
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol
from coverage import Coverage

SOURCE = Path("src/lincat")
TESTS = {
    "core": ["tests/core"],
    "learners": ["tests/learners", "tests/test_checks.py"],
    "inference": ["tests/inference", "tests/runs/test_comparing.py"],
}

# --------------------------------------------------------------------------------- small faults

_COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def _number(value):
    """Another number, or None where a constant is no number."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float) and math.isfinite(value):
        return 2.0 * value if value else 1.0
    return None


def faults(node):
    """Yield other forms of one node: the same place, wrong."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            yield ast.Compare(node.left, [_COMPARED[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in _COMPUTED:
            yield ast.BinOp(node.left, _COMPUTED[type(op)](), node.right)
        case ast.AugAssign(op=op) if type(op) in _COMPUTED:
            yield ast.AugAssign(node.target, _COMPUTED[type(op)](), node.value)
        case ast.BoolOp(op=op):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.If() | ast.IfExp() | ast.While() if isinstance(node.test, ast.Name | ast.Call):
            other = copy.copy(node)
            other.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            yield other
        case ast.Constant(value=value) if _number(value) is not None:
            yield ast.Constant(_number(value))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()


# -------------------------------------------------------------------------------------- mutants


@dataclass(frozen=True)
class Site:
    """A place of a fault: a new node for one in a field (a list: at an index) of its parent."""

    file: Path
    tree: ast.Module
    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    new: ast.AST

    def __str__(self):
        before, after = (" ".join(ast.unparse(x).split())[:70] for x in (self.node, self.new))
        return f"{self.file}:{self.node.lineno}: {before} -> {after}"

    def _put(self, node):
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node

    def changed(self, functions):
        """Return a function and its code with the fault; None where Python cannot exchange it."""
        self._put(ast.fix_missing_locations(ast.copy_location(self.new, self.node)))
        codes = {_key(x): x for x in _codes(compile(self.tree, str(self.file), "exec"))}
        self._put(self.node)
        for key, function in functions.items():
            old, new = function.__code__, codes.get(key)
            if new is not None and old.co_freevars == new.co_freevars and not _same(old, new):
                return function, new
        return None


def _codes(code):
    """A code object, and all within it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _key(code):
    return code.co_qualname, code.co_firstlineno


def _same(one, other):
    """Whether two codes do the same; what is within them, too."""
    pairs = list(zip(_codes(one), _codes(other), strict=False))
    return len(pairs) == len(list(_codes(one))) == len(list(_codes(other))) and all(
        a.co_code == b.co_code
        and a.co_names == b.co_names
        and repr([x for x in a.co_consts if not isinstance(x, CodeType)])
        == repr([x for x in b.co_consts if not isinstance(x, CodeType)])
        for a, b in pairs
    )


def _functions(file):
    """The functions of an imported module, by where they begin; not those within functions."""
    name = str(file.resolve())
    found = (x for x in gc.get_objects() if type(x) is FunctionType)
    return {
        _key(x.__code__): x
        for x in found
        if x.__code__.co_filename == name and "<locals>" not in x.__qualname__
    }


def _unsaid(function):
    """Nodes without mutants: what is computed at import, annotations, and texts for people."""
    left_out = [function.args, *function.decorator_list]
    for node in ast.walk(function):
        if isinstance(node, ast.arg | ast.AnnAssign):
            left_out.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            left_out.append(node.returns)
        elif isinstance(node, ast.JoinedStr):
            left_out.append(node)
    return [inner for node in left_out if node is not None for inner in ast.walk(node)]


def _outermost(tree):
    """Functions and methods, not those within them."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node)


def sites(file):
    """Yield every place of a fault in the functions of a file."""
    tree = ast.parse(file.read_text())
    for function in _outermost(tree):
        unsaid = set(map(id, _unsaid(function)))
        for parent in ast.walk(function):
            for field, value in ast.iter_fields(parent):
                for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    if isinstance(node, ast.AST) and id(node) not in unsaid:
                        for new in faults(node):
                            yield Site(file, tree, parent, field, index, node, new)


# ---------------------------------------------------------------------------------------- tests


class Runner:
    """A plugin of pytest that runs all tests once, and then those of each mutant's line."""

    def __init__(self, files, asked):
        self.files, self.asked = files, asked
        self.killed, self.survivors, self.unseen = 0, [], []

    def pytest_collection(self):
        """Let Hypothesis stop at the first failure: nobody reads the smallest one."""
        from hypothesis import Phase, settings  # which pytest wants to import itself

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.default, phases=phases, database=None)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session):
        """Run the tests; then the mutants."""
        seconds, failed = {}, []
        watch = Coverage(data_file=None, config_file=False, include=list(map(str, self.files)))
        watch.start()
        for item, after in zip(session.items, [*session.items[1:], None], strict=True):
            watch.switch_context(item.nodeid)
            begun = time.perf_counter()
            reports = runtestprotocol(item, nextitem=after, log=False)
            seconds[item.nodeid] = time.perf_counter() - begun
            failed += [x.nodeid for x in reports if x.failed]
        watch.stop()
        if failed:
            raise pytest.UsageError(f"these fail without any fault: {failed}")
        print(f"{len(seconds)} tests in {sum(seconds.values()):.0f} s", flush=True)
        self._mutate(session.items, seconds, watch.get_data())
        return True

    def _mutate(self, items, seconds, data):
        every = [site for file in self.files for site in sites(file)]
        random.Random(self.asked.seed).shuffle(every)
        functions = {file: _functions(file) for file in self.files}
        ends = time.monotonic() + 60.0 * self.asked.minutes
        order = {item.nodeid: i for i, item in enumerate(items)}
        for site in every:
            done = self.killed + len(self.survivors) + len(self.unseen)
            if done == self.asked.sample or time.monotonic() > ends:
                break
            exchange = site.changed(functions[site.file])
            if exchange is None:
                continue
            lines = data.contexts_by_lineno(str(site.file.resolve()))
            last = site.node.end_lineno if isinstance(site.node, ast.expr) else site.node.lineno
            names = {x for line in range(site.node.lineno, last + 1) for x in lines.get(line, [])}
            own = f"/test_{site.file.stem.strip('_')}.py::"
            names = sorted(names & set(seconds), key=lambda x: (own not in x, seconds[x]))
            names = _cut(names, own, seconds, self.asked.seconds)
            if not names:
                self.unseen.append(site)
                print(f"no test: {site}", flush=True)
                continue
            chosen = [items[order[name]] for name in names]
            limit = 10.0 + 4.0 * sum(seconds[name] for name in names)
            if _survives(*exchange, chosen, limit):
                self.survivors.append(site)
                print(f"survives {len(names)} tests: {site}", flush=True)
            else:
                self.killed += 1


def _cut(names, own, seconds, most):
    """All tests of its own file, and as many of the others as take no longer than this."""
    total = 0.0
    for number, name in enumerate(names):
        total += seconds[name]
        if total > most and number and own not in name:
            return names[:number]
    return names


def _survives(function, code, items, limit):
    """Whether all of these tests pass in a process with that fault."""
    process = os.fork()
    if process == 0:
        passed = False
        try:
            signal.alarm(math.ceil(limit))  # ends the process: a fault that takes for ever is seen
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            for x in gc.get_objects():
                if type(x) is functools._lru_cache_wrapper:
                    x.cache_clear()  # what was computed without the fault
            function.__code__ = code
            passed = all(
                not report.failed
                for item in items
                for report in runtestprotocol(item, nextitem=None, log=False)
            )
        finally:
            os._exit(not passed)
    return os.waitpid(process, 0)[1] == 0


def attack(package, asked):
    """Return the numbers of mutants of a package: noticed, not noticed, in lines without a test."""
    runner = Runner(sorted((SOURCE / package).glob(f"{asked.only or '*'}.py")), asked)
    pytest.main([*TESTS[package], "-q", "-n0", "-p", "no:cacheprovider"], [runner])
    return runner.killed, len(runner.survivors), len(runner.unseen)


def main():
    """Make mutants, run their tests, and say how many were noticed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", nargs="*", default=list(TESTS), help="core learners inference")
    parser.add_argument("--only", help="one module of the package")
    parser.add_argument("--sample", type=int, default=150, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="of tests for each mutant")
    parser.add_argument("--minutes", type=float, default=7.0, help="for each package, at most")
    asked = parser.parse_args()
    figures = {}
    for package in asked.packages:  # each in a process that has imported nothing
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            figures[package] = pool.submit(attack, package, asked).result()
    for name, (killed, surviving, unseen) in figures.items():
        print(f"{name}: {killed} noticed, {surviving} not, {unseen} in lines without a test")
    noticed, total = sum(x[0] for x in figures.values()), sum(map(sum, figures.values()))
    print(f"{noticed} of {total} mutants noticed: {100.0 * noticed / total:.1f} %")


if __name__ == "__main__":
    main()
