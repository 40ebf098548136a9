"""What is attacked: every parser, with small files that it reads, and what is done with them."""

import functools
import gzip
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lincat
from lincat import _seals
from lincat.runs import checkpoints
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.tables.file_source import FileSource
from tests.attack import mutations
from tests.cli.command import lincat_here
from tests.features import cases as features
from tests.learners import cases as learners
from tests.runs import logs

_ROWS = 400


@dataclass(frozen=True)
class Target:
    """A parser.

    Attributes
    ----------
    name : str
    file : Path
        Where the damaged content is put.
    content : bytes
        That is read without complaint.
    mutate : callable
        From a generator and the content to damaged content.
    use : callable
        Reads the file and uses what is in it; gets a generator, for options.
    weight : float
        Share of all inputs; those that take long get few.
    """

    name: str
    file: Path
    content: bytes
    mutate: Callable
    use: Callable
    weight: float = 1.0


def command(*arguments, stdin=b""):
    """Run a command; one that fails says so in one line."""
    ended = lincat_here(*arguments, stdin=stdin)
    lines = [line for line in ended.err.splitlines() if line.startswith("Error")]
    if ended.code not in (0, 2, 3, 4, 130) or (ended.code in (2, 3)) != (len(lines) == 1):
        raise AssertionError(f"exit code {ended.code}, {ended.err!r}")
    if lines and len(lines[0]) > 4000:
        raise AssertionError(f"a line of {len(lines[0])} letters")


# ----------------------------------------------------------------------------------------- tables


def _table():
    log = logs.walk(_ROWS)
    cell = [f"place {x:.0f}" for x in 3.0 * log["x"][:, 0]]
    when = np.datetime64("2024-05-31T08:30") + np.arange(_ROWS)
    number = pa.array([x if i % 7 else None for i, x in enumerate(log["x"][:, 1].tolist())])
    columns = {"episode": log["episode"], "step": log["step"], "state": cell, "load": number}
    return pa.table({**columns, "when": when.astype(str), "reward": log["reward"]})


def _points():
    log = logs.walk(_ROWS)
    lists = pa.array(log["x"].tolist(), pa.list_(pa.float32()))
    return pa.table({"obs": lists, "next_obs": lists, "reward": log["reward"]})


def _written(table, ending):
    out = io.BytesIO()
    if ending == "parquet":
        pq.write_table(table, out, row_group_size=150)
    elif ending.startswith("csv"):
        pa.csv.write_csv(table, out)
    elif ending == "jsonl":
        out.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    elif ending == "json":
        out.write(json.dumps(table.to_pylist()).encode())
    else:
        new = pa.ipc.new_file if ending == "arrow" else pa.ipc.new_stream
        with new(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=150)
    return gzip.compress(out.getvalue()) if ending.endswith("gz") else out.getvalue()


def _retyped(rng, content, ending):
    """A table with a column of another type, name or content; or its bytes damaged."""
    table = _points() if rng.random() < 0.3 else _table()
    for _ in range(int(rng.integers(1, 3))):
        at = int(rng.integers(table.num_columns))
        array = table.column(at)
        values = array.to_pylist()
        made = pa.nulls(len(values))
        match int(rng.integers(6)):
            case 0:
                pass  # nothing in it
            case 1:
                made = pa.array([str(x) for x in values]).dictionary_encode()
            case 2:
                made = pa.array([[x] * (i % 3) for i, x in enumerate(values)])
            case 3:
                made = pa.array([{"a": x} for x in values])
            case 4:
                numbers = [float(mutations.pick(rng, mutations.NUMBERS[:11])) for _ in values]
                made = pa.array(numbers, pa.float64())
            case _:
                kinds = [pa.int8(), pa.uint64(), pa.binary(), pa.date32(), pa.decimal128(5, 2)]
                kinds += [pa.timestamp("ns", "UTC"), pa.time64("ns"), pa.bool_(), pa.float16()]
                made = pa.nulls(len(values), mutations.pick(rng, kinds))
        name = table.column_names[at]
        name = mutations.pick(rng, mutations.TEXTS) if rng.random() < 0.1 else name
        table = table.set_column(at, name, made)
    content = _written(table, ending)
    return mutations.in_bytes(rng, content) if rng.random() < 0.3 else content


def _read_log(file, rng):
    options = {"on_bad_rows": mutations.pick(rng, ["stop", "skip"])}
    options["missing"] = mutations.pick(rng, ["auto", "stop", "skip", "indicator"])
    source = FileSource(str(file), **options)
    _ = source.n_rows, source.length
    for steps in source.batches():
        assert np.isfinite(steps.reward).all()
    _ = source.notes, source.skipped_rows


def _evaluate_log(file, rng):
    out = file.with_name("evaluated")
    shutil.rmtree(out, ignore_errors=True)
    command("evaluate", file, "--out", out, "--gamma", 0.9, "--intervals", 10, "--json")


def table_targets(folder):
    """Logs in every format."""
    for ending in ("csv", "csv.gz", "jsonl", "json", "parquet", "arrow", "arrows"):
        content = _written(_table(), ending)
        file = folder / f"log.{ending}"
        mutate = {"jsonl": mutations.in_json_lines, "json": mutations.in_json}.get(ending)
        mutate = mutations.in_text if ending == "csv" else mutate or mutations.in_bytes
        yield Target(f"log.{ending}", file, content, mutate, _read_log, 2.0)
        if ending in ("parquet", "arrow"):
            mutate = functools.partial(_retyped, ending=ending)
            yield Target(f"types.{ending}", folder / f"t.{ending}", content, mutate, _read_log)
        if ending in ("csv", "parquet"):
            yield Target(f"evaluate.{ending}", file, content, mutate, _evaluate_log, 0.02)


# ----------------------------------------------------------------------------------- small files


def _solve(file, rng):
    lincat.read_problem(file)
    if rng.random() < 0.1:
        command("solve", file, "--json", "--intervals", 20)


def _policy(file, rng):
    from gymnasium.spaces import Discrete

    from lincat.environments.policies import policy_from

    policy_from(str(file), Discrete(16), Discrete(4)).act(3)


def _config(file, rng):
    from lincat.runs.config import read_config

    read_config(file)


def small_targets(folder):
    """Processes, policies, configurations."""
    problem = Path("examples/inventory.json").read_bytes()
    yield Target("process", folder / "process.json", problem, mutations.in_json, _solve, 2.0)
    table = np.full((16, 4), 0.25)
    content = json.dumps(table.tolist()).encode()
    yield Target("policy.json", folder / "policy.json", content, mutations.in_json, _policy)
    out = io.BytesIO()
    np.save(out, table)
    yield Target("policy.npy", folder / "policy.npy", out.getvalue(), mutations.in_text, _policy)
    config = b'source = ["a.csv"]\ngamma = 0.9\nseed = 3\n[columns]\nreward = "r"\n'
    config += b"[env_options]\nsize = 4\n[feature_options]\nbumps = 3\n"
    yield Target("config", folder / "config.toml", config, mutations.in_text, _config, 2.0)


def _learner(file, rng, Phi):
    found = lincat.load(file)
    found.predict(Phi)
    found.save(file.with_name("again"))


def _features(file, rng, observations):
    found = lincat.load_features(file)
    found.transform(observations)
    found.lookup(observations)
    found.describe()


def _statistics(file, rng):
    found = lincat.Statistics.load(file)
    found.save(file.with_name("again"))
    found.merge(lincat.Statistics.load(file))
    found.totals()


def object_targets(folder):
    """Files of learners, features and statistics."""
    for rule in (*learners.LEARNERS, "lstd", "td sums"):
        kind = "states" if rule in ("pmf", "lstd") else "dense"
        stream = learners.stream(kind, 300)
        if rule == "lstd":
            learner = lincat.CategoricalLSTD(gamma=learners.GAMMA, intervals=8, n_features=6)
        elif rule == "td sums":
            learner = learners.make("ctd", step_size="auto", averaging="tail", statistics=True)
        else:
            learner = learners.make(rule, step_size=0.01, averaging="tail")
            learner.set_params(n_features=6 if kind == "states" else None)
        learner.fit(stream)
        Phi = learners.as_kind(kind, np.arange(3))
        learner.predict(Phi)
        name, use = f"learner {rule}", functools.partial(_learner, Phi=Phi)
        file = folder / f"{name}.safetensors"
        learner.save(file)
        yield Target(name, file, file.read_bytes(), mutations.in_tensors, use, 0.5)
        if rule == "lstd":
            file = folder / "statistics.safetensors"
            # A file says how much memory its sums may take, of any number of features.
            lincat.Statistics(6, memory_limit=2**27).update(stream).save(file)
            content = file.read_bytes()
            yield Target("statistics", file, content, mutations.in_tensors, _statistics, 0.5)
    for name, (make, observations) in features.ALL.items():
        if name == "transformer":
            continue  # which names code to run
        seen = observations(30, seed=1)
        use = functools.partial(_features, observations=seen)
        file = folder / f"features {name}.safetensors"
        made = make()
        if not hasattr(made, "n_features_"):
            made.fit(observations(60))
        made.save(file)
        yield Target(f"features {name}", file, file.read_bytes(), mutations.in_tensors, use, 0.5)


def _asked_sums(file, rng):
    whole = lincat.SourceStatistics.load(file)
    gamma = float(mutations.pick(rng, (0.0, 0.5, 0.9, 0.99)))
    match int(rng.integers(8)):
        case 0:
            asked = ("--gamma", gamma, "--intervals", 20, "--out", file.with_name("asked"))
            command("evaluate", file, *asked, "--force", "--quiet")
        case 1:
            command("merge", file, file.with_name("other.stats"), "--out", file.with_name("two"))
        case 2:
            lincat.merge([whole, lincat.SourceStatistics.load(file.with_name("other.stats"))])
        case 3:
            whole.returns(gamma=gamma, intervals=20, last_blocks=2)
        case _:
            whole.returns(gamma=gamma, intervals=20, confidence=0.9)


def sums_targets(folder):
    """Statistics that somebody changed and signed again: of ids, of points, and of a learner."""
    names = logs.write_names(folder / "some.csv", 800)
    points = logs.write_points(folder / "some.parquet", 1500)
    smooth = {"features": "smooth", "feature_options": {"bumps": 6}}
    for name, log, options in (("ids", names, {}), ("points", points, smooth)):
        place = folder / f"sums {name}"
        place.mkdir(exist_ok=True)
        first = lincat.stats(log, site="here", **options)
        second = logs.write_names if name == "ids" else logs.write_points
        other = second(place / Path(log).name, 1200, seed=1)
        lincat.stats(other, site="there", like=first).save(place / "other.stats")
        first.save(place / "some.stats")
        content, mutate = (place / "some.stats").read_bytes(), mutations.in_sums
        yield Target(f"sums {name}", place / "some.stats", content, mutate, _asked_sums, 0.5)
    for name in ("statistics", "learner lstd"):
        file = folder / f"{name}.safetensors"
        use = _statistics
        if name != "statistics":
            use = functools.partial(_learner, Phi=learners.as_kind("states", np.arange(3)))
        yield Target(f"sums {name}", file, file.read_bytes(), mutations.in_sums, use, 0.5)


# ------------------------------------------------------------------------------------ run folders


def _seal_of(name):
    return {"toml": _seals.TOML, "json": _seals.JSON}.get(name.rpartition(".")[2])


def _resealed(rng, content, mutate, name):
    """Damage before the checksum: a stranger can write a right one."""
    if rng.random() < 0.1:
        return mutations.in_bytes(rng, content)
    if name == "progress.json":  # whose checkpoint has a file of checksums
        return mutate(rng, content)
    if name.endswith("jsonl"):
        lines = [_seals.LINE.opened(line + b"\n", "", "") for line in content.splitlines()]
        at = int(rng.integers(len(lines)))
        lines[at] = mutate(rng, lines[at])
        return b"".join(_seals.LINE.sealed(line) for line in lines)
    seal = _seal_of(name)
    return seal.sealed(mutate(rng, seal.opened(content, "", "")))


def _read_run(file, rng, run):
    page = run.with_name("page.html")
    command("report", run, "--out", page)
    command("predict", run, "--json", "--quiet")


def _resume(file, rng, run):
    copy = run.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    for checkpoint in (copy / "checkpoints").iterdir():
        files = {x.name: x.read_bytes() for x in checkpoint.iterdir() if x.name != "SHA256SUMS"}
        (checkpoint / "SHA256SUMS").write_text(checkpoints._sums(files))
    command("predict", copy, "--json", "--quiet")
    command("resume", copy, "--json")


def _file_target(run, file, use, weight):
    mutate = mutations.in_tensors
    if not file.name.endswith("safetensors"):
        inner = mutations.in_text if file.suffix == ".toml" else mutations.in_json
        mutate = functools.partial(_resealed, mutate=inner, name=file.name)
    name = f"{run.name}/{file.relative_to(run)}"
    use = functools.partial(use, run=run)
    return Target(name, file, file.read_bytes(), mutate, use, weight)


def run_targets(folder):
    """Every file of run folders: of ids, of points about a potential, exported, and unfinished."""
    if not (folder / "unfinished").exists():
        _make_runs(folder)
    for name in ("ids", "points", "small"):
        run = folder / name
        for file in sorted(run.iterdir()):
            if file.suffix in (".toml", ".json", ".safetensors", ".jsonl"):
                yield _file_target(run, file, _read_run, 0.5)
    run = folder / "unfinished"
    (checkpoint,) = sorted((run / "checkpoints").iterdir())[-1:]
    for file in [*sorted(run.iterdir()), *sorted(checkpoint.iterdir())]:
        if file.suffix in (".toml", ".json", ".safetensors", ".jsonl"):
            yield _file_target(run, file, _resume, 0.1)


def _make_runs(folder):
    (folder / "logs").mkdir()
    names = logs.write_names(folder / "logs" / "names.csv", 1200)
    points = logs.write_points(folder / "logs" / "points.parquet", 3000)
    _begin(folder / "ids", EvaluationConfig(source=[names], gamma=0.9, intervals=10, n_states=2))
    config = EvaluationConfig(source=[points], gamma=0.9, intervals=10, n_states=2)
    _begin(folder / "points", config)
    lincat.read_run(folder / "points").export(folder / "small", force=True)
    config = EvaluationConfig(
        source=[points], gamma=0.9, learner="linear_ctd", intervals=10, n_states=2, validate=0
    )
    _begin(folder / "unfinished", config, 1500)


def _begin(path, config, stop=None):
    small = functools.partial(FileSource, batch_rows=500)
    with (
        mock.patch("lincat.runs.sources.FileSource", small),
        mock.patch("lincat.runs.loop._SECONDS_BETWEEN_CHECKPOINTS", 0.0),
        mock.patch("lincat._files.os.fsync"),
        mock.patch("lincat.runs.choosing.tried", return_value=0),
    ):
        folder = RunFolder.create(path, config, force=True)
        if stop is None:
            logs.finish(folder)
            return
        try:
            logs.run_until(folder, stop)
        except logs.KilledError:
            folder.finish_writing()


def _asked(file, rng, run):
    command("predict", run, "--states", file, "--json", "--quiet")


def _followed(file, rng, run):
    command("predict", run, "--follow", stdin=file.read_bytes())


def asked_targets(folder):
    """What is asked of a run."""
    for run, table in (("ids", pa.table({"state": ["place 1", "place 0"] * 5})),):
        for ending in ("csv", "json", "parquet"):
            file, content = folder / f"asked.{ending}", _written(table, ending)
            mutate = {"csv": mutations.in_text, "json": mutations.in_json}.get(ending)
            mutate = mutate or functools.partial(_retyped, ending=ending)
            use = functools.partial(_asked, run=folder / run)
            yield Target(f"asked {ending}", file, content, mutate, use, 0.1)
        use = functools.partial(_followed, run=folder / run)
        content = _written(table, "jsonl")
        file = folder / "followed.jsonl"
        yield Target("followed", file, content, mutations.in_json_lines, use, 0.5)


def all_targets(folder):
    """Every parser; the files are made in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = (table_targets, small_targets, object_targets, sums_targets)
    makers += (run_targets, asked_targets)
    return [target for make in makers for target in make(folder)]
