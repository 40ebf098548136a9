"""A run folder that fills up with rows: one file per unit, written whole or not at all.

    settings.json            what the rows depend on; a folder with others is refused
    rows/<dataset>/<unit>.jsonl
    seconds.jsonl            processor time of each unit (not part of the rows)

What is there is not done again, so that an interrupted reproduction continues where it was.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lincat._arguments import fail
from lincat._files import append, is_own_folder, read_regular, remove, write_atomically
from lincat._threads import one_blas_thread
from lincat.paper.experiments import Row, Unit
from lincat.paper.settings import Settings


def open_folder(folder: Path, settings: Settings) -> None:
    """Make a run folder, or check that an existing one has the same settings."""
    wanted = json.dumps(asdict(settings), indent=1) + "\n"
    file = folder / "settings.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = any(folder.iterdir())
        present = read_regular(file).decode() if file.exists() else None
    except OSError as error:
        got = f"{folder} ({error.strerror})"
        raise fail("--out", "a folder that can be written", got) from None
    if present is None and occupied:
        raise fail("--out", "a new or empty folder, or one of a reproduction", str(folder))
    if present is not None and present != wanted:
        raise fail(
            "--out",
            "a folder of a reproduction with the same settings",
            f"{folder} with others ({_difference(present, settings)})",
            "name another folder, or add --force to begin again in this one",
        )
    if present is None:
        write_atomically(file, wanted)


def clear_folder(folder: Path) -> None:
    """Forget an earlier reproduction in this folder; one that holds anything else is left alone."""
    try:
        found = json.loads(read_regular(folder / "settings.json"))
    except (OSError, ValueError):
        return
    if not isinstance(found, dict) or not {"process", "step_share", "error_target"} <= set(found):
        return
    files = ("index.html", "seconds.jsonl", "settings.json")
    for name in ("rows", "tables", "figures", *files):
        remove(folder / name)


def _difference(present: str, settings: Settings) -> str:
    try:
        found = json.loads(present)
        ours = json.loads(json.dumps(asdict(settings)))
        names = [name for name in ours if found.get(name) != ours[name]]
    except (ValueError, AttributeError):
        return "not readable"
    return ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")


def missing(units: Sequence[Unit], folder: Path) -> list[Unit]:
    """Return the units that are still to be done."""
    return [unit for unit in units if not _file(folder, unit).exists()]


def run(units: Sequence[Unit], folder: Path, *, threads: int) -> Iterator[Unit]:
    """Do the units that are not done yet; yield each of them once it is on disk.

    The longest come first. To stop, close the generator: units under way are given up.
    """
    todo = missing(units, folder)
    is_own_folder(folder / "rows")
    for dataset in {unit.dataset for unit in todo}:
        is_own_folder(folder / "rows" / dataset)
        (folder / "rows" / dataset).mkdir(parents=True, exist_ok=True)
    stop = threading.Event()

    def work(unit: Unit) -> tuple[Unit, list[Row], float] | None:
        started, rows = time.thread_time(), []
        for row in unit.rows():
            if stop.is_set():
                return None
            rows.append(row)
        return unit, rows, time.thread_time() - started

    # BLAS on one thread each: more would change the order of sums, and get in each other's way.
    with one_blas_thread, ThreadPoolExecutor(threads) as pool:
        waiting = {
            pool.submit(work, unit) for unit in sorted(todo, key=lambda u: u.cost, reverse=True)
        }
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    if result is not None:
                        _write(folder, *result)
                        yield result[0]
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _write(folder: Path, unit: Unit, rows: list[Row], seconds: float) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    write_atomically(_file(folder, unit), text)
    line = {"dataset": unit.dataset, "unit": unit.name, "seconds": round(seconds, 3)}
    append(folder / "seconds.jsonl", f"{json.dumps(line)}\n".encode())


def read_rows(folder: Path, units: Iterable[Unit]) -> dict[str, list[Row]]:
    """Return the rows of units that are done, by dataset, in the order of the units."""
    rows: dict[str, list[Row]] = {}
    for unit in units:
        file = _file(folder, unit)
        if file.exists():
            lines = read_regular(file).decode().splitlines()
            rows.setdefault(unit.dataset, []).extend(json.loads(line) for line in lines)
    return rows


def total_seconds(folder: Path, units: Iterable[Unit]) -> float:
    """Return the processor time that these units took, over all threads and interruptions."""
    file = folder / "seconds.jsonl"
    if not file.exists():
        return 0.0
    took: dict[Any, float] = {}
    for line in read_regular(file).decode().splitlines():
        entry = json.loads(line)
        took[entry["dataset"], entry["unit"]] = entry["seconds"]
    return sum(took.get((unit.dataset, unit.name), 0.0) for unit in units)


def _file(folder: Path, unit: Unit) -> Path:
    return folder / "rows" / unit.dataset / f"{unit.name}.jsonl"
