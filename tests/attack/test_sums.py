"""Statistics with a right checksum whose sums no rows can have, and honest ones at every edge."""

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import lincat
from lincat.statistics import files
from lincat.statistics.parts import some_blocks
from lincat.statistics.possible import check_possible
from tests import packed
from tests.attack import fuzz, targets
from tests.cli.command import assert_one_line, lincat_here
from tests.runs import logs

KEY = "lincat source statistics"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Statistics of ids with names, of points, and of a process that names its states."""
    place = tmp_path_factory.mktemp("sums")
    smooth = {"features": "smooth", "feature_options": {"bumps": 12}}
    many = {"points": (logs.write_points(place / "log.parquet", 4000), smooth)}
    many["ids"] = (logs.write_names(place / "log.csv", 1500), {})
    many["named"] = (lincat.read_problem("examples/inventory.json"), {"steps": 1500})
    for name, (source, options) in many.items():
        lincat.stats(source, **options).save(place / f"{name}.stats")
    return place


def signed(content, header=None, arrays=None):
    """The file with other content, and the checksum that belongs to it."""
    return packed.rewritten(content, KEY, header, arrays)


def scaled(name, factor):
    """Numbers, dense or not, times a factor."""

    def change(arrays):
        for found in (name, f"{name}_value", name.replace("phi_sum", "cells") + "_value"):
            if found in arrays:
                with np.errstate(over="ignore"):
                    arrays[found] = (arrays[found] * factor).astype(arrays[found].dtype)

    return {"arrays": change}


def another(key, number):
    def change(header):
        site = header["state"]["sites"][0]
        (site if key in site else header["state"])[key] = number

    return {"header": change}


IMPOSSIBLE = [
    ("points", scaled("0.cell_sums", 1e300)),
    ("points", scaled("0.cell_sums", 3.0)),
    ("points", scaled("0.cell_counts", 0)),
    ("points", scaled("0.cell_counts", -1)),
    ("points", scaled("0.sums.block_weights", 0.0)),
    ("points", scaled("0.sums.block_weights", -1.0)),
    ("points", scaled("0.sums.Sigma", 1e-300)),
    ("points", scaled("0.sums.Sigma", -1.0)),
    ("points", scaled("0.sums.Sigma", 1e10)),
    ("points", scaled("0.sums.phi_sum", 1e10)),
    ("points", scaled("0.sums.cross", 1e300)),
    ("points", scaled("0.start_sum", 1e200)),
    ("points", scaled("centres", 1e200)),
    ("points", another("start_count", -3)),
    ("points", another("skipped_rows", -3)),
    ("named", another("labels", ["only one"])),
    *(
        (name, change)
        for name in ("ids", "named")
        for change in (
            scaled("0.sums.block_weights", 0.0),
            scaled("0.sums.block_weights", 0.01),
            scaled("0.sums.phi_sum", 0.0),
            scaled("0.sums.phi_sum", -1.0),
            scaled("0.sums.Sigma", 1e-300),
            scaled("0.sums.Sigma", 2.0),
        )
    ),
    ("ids", scaled("0.start_sum", -1.0)),
    ("ids", scaled("0.start_sum", 1e6)),
]


@pytest.mark.parametrize(("name", "change"), IMPOSSIBLE)
def test_sums_that_no_rows_can_have_are_refused_where_they_are_read(made, tmp_path, name, change):
    file = tmp_path / "stranger.stats"
    content = (made / f"{name}.stats").read_bytes()
    file.write_bytes(signed(content, **change))
    assert file.read_bytes() != signed(content)
    with pytest.raises(lincat.InvalidInputError, match=r"stranger\.stats: "):
        lincat.SourceStatistics.load(file).returns(intervals=20)
    words = ("evaluate", file, "--gamma", 0.9, "--intervals", 20, "--out", tmp_path / "run")
    assert_one_line(lincat_here(*words), "stranger.stats: ")
    words = ("merge", file, made / f"{name}.stats", "--out", tmp_path / "both.stats")
    assert_one_line(lincat_here(*words), "stranger.stats: ")


def test_statistics_that_were_changed_and_signed_again_give_no_traceback(tmp_path):
    """A small `make fuzz` of these files alone."""
    list(targets.object_targets(tmp_path))
    for target in targets.sums_targets(tmp_path):
        found = [x["wrong"] for x in fuzz.attack(target, 0, 25, 3)]
        assert found == [None] * 25, target.name


# ------------------------------------------------------------------------------------- honest rows

WIDE = st.floats(-1e30, 1e30) | st.floats(-1.0, 1.0) | st.floats(-1e-170, 1e-170) | st.just(0.0)
REWARDS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1.0])
WEIGHTS = st.floats(0.0, 10.0) | st.just(0.0) | st.floats(0.0, 1e-300) | st.floats(1e9, 1e12)


@st.composite
def honest(draw, kind):
    """Transitions of any kind, with weights, ends and rewards, many of one value."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    reward = np.array(draw(st.lists(REWARDS, min_size=1, max_size=n)))
    reward = reward[rng.integers(len(reward), size=n)]
    if draw(st.booleans()):  # too many different ones to be kept as they are
        reward = reward + rng.normal(size=n) * draw(st.sampled_from([1e-3, 1.0, 1e3]))
    given = {"terminated": rng.random(n) < 0.2}
    if draw(st.booleans()):
        weight = np.array(draw(st.lists(WEIGHTS, min_size=1, max_size=n)))
        given["weight"] = weight[rng.integers(len(weight), size=n)]
    if kind == "states":
        phi, phi_next = rng.integers(d, size=n), rng.integers(d, size=n)
    else:
        values = np.array(draw(st.lists(WIDE, min_size=1, max_size=8)))
        phi, phi_next = (values[rng.integers(len(values), size=(n, d))] for _ in range(2))
        if draw(st.booleans()):  # columns of nearly one number: bounds are nearly reached
            phi = np.repeat(phi[:1], n, axis=0) * (1.0 + 1e-15 * rng.normal(size=(n, 1)))
        if kind == "sparse":
            phi, phi_next = (scipy.sparse.csr_array(x) for x in (phi, phi_next))
    return d, lincat.Transitions(phi, reward, phi_next, **given)


def is_taken(statistics):
    """Written and read, as it is and in windows."""
    again = files.load_bytes(files.save_bytes(statistics))
    check_possible(again)
    for i in range(again.n_blocks):
        check_possible(some_blocks(again, [i]))
    return again


@pytest.mark.parametrize("kind", ["dense", "sparse", "states", "large table"])
def test_sums_of_honest_rows_are_never_refused(kind):
    @given(st.data())
    def holds(data):
        d, first = data.draw(honest(kind.removeprefix("large table") or "states"))
        d = 200 if kind == "large table" else d
        nodes = data.draw(st.sampled_from(["auto", 5, np.array([-2e6, -1.0, 0.0, 1e-3, 2e6])]))
        limits = {"max_blocks": data.draw(st.sampled_from([1, 4])), "nodes": nodes}
        make = functools.partial(lincat.Statistics, d, **limits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                statistics = make().update(first)
                statistics.totals()
            except lincat.InvalidInputError:
                return  # rewards too far apart for nodes, say
            whole = is_taken(statistics)
            is_taken(statistics.copy().merge(whole).update(first))

    holds()
