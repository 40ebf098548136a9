"""A run folder fills up, resumes, and does not depend on threads."""

import contextlib
import json
from dataclasses import replace

import pytest

import lincat
from lincat.paper.beyond import beyond_units
from lincat.paper.experiments import Unit, paper_units, simulated_bracket
from lincat.paper.run import clear_folder, missing, open_folder, read_rows, run, total_seconds
from lincat.paper.settings import Settings
from lincat.paper.trials import Arena

TINY = replace(
    Settings.quick(),
    intervals=(5, 6),
    border_intervals=(),
    iterations=300,
    alpha_intervals=10,
    alphas=(0.01, 10.0),
    replicas=3,
    replica_updates=200,
    bracket_width=0.2,
    error_target=1e-2,
    seeds=2,
    comparation_updates=100,
    bound_lengths=(50,),
    bound_seeds=2,
    large_intervals=(12,),
    gammas=(0.5,),
    gamma_intervals=5,
    gamma_seeds=1,
    random_states=6,
    random_intervals=(4,),
    markov_intervals=5,
    markov_updates=200,
    markov_seeds=1,
)


def units():
    return [*paper_units(TINY), *beyond_units(TINY)]


def files(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("rows/*/*.jsonl")
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    list(run(units(), folder, threads=1))
    return files(folder)


def test_every_unit_leaves_a_file_of_its_own(whole):
    names = [f"rows/{unit.dataset}/{unit.name}.jsonl" for unit in units()]
    assert len(set(names)) == len(names)
    assert set(whole) == set(names)
    assert all(whole.values())


def test_threads_change_nothing(whole, tmp_path):
    list(run(units(), tmp_path, threads=3))
    assert files(tmp_path) == whole


def test_a_killed_run_resumes(whole, tmp_path):
    todo = units()
    for stop in (3, 11):
        with contextlib.closing(run(todo, tmp_path, threads=2)) as running:
            for _ in range(stop):
                next(running)
        assert stop <= len(files(tmp_path)) < len(todo)
        assert not list(tmp_path.rglob(".*"))  # no file half written
    done = files(tmp_path)
    stamps = {name: (tmp_path / name).stat().st_mtime_ns for name in done}
    assert len(missing(todo, tmp_path)) == len(todo) - len(done)
    assert len(list(run(todo, tmp_path, threads=2))) == len(todo) - len(done)
    assert missing(todo, tmp_path) == []
    assert files(tmp_path) == whole
    assert all((tmp_path / name).stat().st_mtime_ns == stamp for name, stamp in stamps.items())


def test_a_failing_unit_is_heard_and_leaves_nothing(tmp_path):
    def breaks():
        yield {"a": 1}
        raise RuntimeError("broken")

    bad = Unit("thresholds", "bad", ("x",), 1.0, breaks)
    with pytest.raises(RuntimeError, match="broken"):
        list(run([bad], tmp_path, threads=1))
    assert files(tmp_path) == {}


def test_rows_come_back_by_dataset_in_order(tmp_path):
    made = [Unit("d", str(i), ("x",), float(i), lambda i=i: iter([{"i": i}])) for i in range(4)]
    list(run(made, tmp_path, threads=2))
    assert read_rows(tmp_path, made) == {"d": [{"i": i} for i in range(4)]}
    assert total_seconds(tmp_path, made) >= 0.0
    assert read_rows(tmp_path, [Unit("e", "0", (), 1.0, lambda: iter([]))]) == {}


def test_other_settings_are_refused_and_force_begins_anew(tmp_path):
    folder = tmp_path / "run"
    open_folder(folder, TINY)
    open_folder(folder, TINY)
    other = replace(TINY, seed=1)
    with pytest.raises(lincat.InvalidInputError, match=r"same settings.*seed"):
        open_folder(folder, other)
    (folder / "rows").mkdir()
    clear_folder(folder)
    open_folder(folder, other)
    assert json.loads((folder / "settings.json").read_text())["seed"] == 1


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "settings.json").write_text('{"theirs": 1}')
    clear_folder(tmp_path)
    assert (tmp_path / "rows").exists()
    with pytest.raises(lincat.InvalidInputError, match="others"):
        open_folder(tmp_path, TINY)
    (tmp_path / "settings.json").unlink()
    with pytest.raises(lincat.InvalidInputError, match="new or empty"):
        open_folder(tmp_path, TINY)


def test_simulation_finds_the_noise_free_threshold():
    arena = Arena(lincat.catalog.paper(), 10)
    settings = replace(TINY, replicas=3, replica_updates=1500, bracket_width=0.02)
    for rule in ("ctd", "pmf"):
        low, high = simulated_bracket(arena, rule, settings)
        assert low < high <= 1.03 * low
        assert arena.max_step(rule) == pytest.approx((low + high) / 2, rel=0.04)


def test_bound_falls_with_the_length_of_the_run():
    problem = lincat.catalog.paper("unit_norm")
    grid = problem.grid(30)
    Theta = lincat.solve_categorical(problem.process, problem.Phi, grid, problem.gamma)
    constants = lincat.error_constants(problem.process, problem.Phi, grid, problem.gamma, Theta)
    setting = lincat.Setting.of(constants)
    short, long = (
        lincat.bounds.l2_error(setting, step=1e-3, transitions=T).total for T in (10**8, 10**10)
    )
    assert short / long == pytest.approx(10.0, rel=0.05)  # T^(-1/2) in the end
    # The leading term, written out.
    V1 = constants.norm_theta_Sigma / (30**0.5 * 0.25)
    root = (1e-3 / (0.25 * constants.lambda_min)) ** 0.5
    leading = (V1 + 1) / (1e10 * constants.lambda_min) ** 0.5 / 0.25 * (1 + root)
    assert long == pytest.approx(leading, rel=0.01)
