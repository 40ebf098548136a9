"""5,000 mutations of a file of statistics: each is refused in one line, or changes nothing.

    python -m tests.runs.mutations 5000

Bytes are flipped, cut out, doubled and overwritten; half of the files are signed again, as somebody
would who knows of checksums: these may be read, if they can be read without harm.
"""

import pathlib
import sys
import tempfile

import numpy as np

import lincat
from lincat.runs.asked_statistics import ask
from lincat.runs.statistics_files import save_bytes
from tests import packed

KEY = "lincat source statistics"


def _bytes(content, rng):
    """Change some bytes, anywhere, most often where the header is."""
    data = bytearray(content)
    size = len(data) if rng.random() < 0.5 else min(len(data), 4096)
    at = int(rng.integers(size))
    kind = rng.integers(5)
    if kind == 0:
        data[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        data[at : at + int(rng.integers(1, 64))] = rng.bytes(int(rng.integers(1, 64)))
    elif kind == 2:
        del data[at : at + int(rng.integers(1, 4096))]
    elif kind == 3:
        data[at:at] = data[at : at + int(rng.integers(1, 512))]
    else:
        data = data[:at]
    return bytes(data)


def _signed(content, rng):
    """Change one array, or one number of the header, and sign it."""

    def change(arrays):
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        array = arrays[name].copy()
        kind = rng.integers(4)
        if kind == 0 and array.size:
            flat = array.reshape(-1)
            flat[int(rng.integers(flat.size))] = rng.choice([0, 1, 127])
        elif kind == 1:
            array = array[: len(array) // 2]
        elif kind == 2:
            array = array.astype(rng.choice(["float32", "int64", "uint8", "float64"]))
        else:
            del arrays[name]
            return
        arrays[name] = array

    def other(header):
        site = header["state"]["sites"][0]
        place = (site, site["params"], site["sums"], header["state"])[int(rng.integers(4))]
        key = sorted(place)[int(rng.integers(len(place)))]
        place[key] = [None, -1, 10**9, "x", [], {}, 0.5, True][int(rng.integers(8))]

    if rng.random() < 0.5:
        return packed.rewritten(content, KEY, change_header=other)
    with np.errstate(all="ignore"):
        return packed.rewritten(content, KEY, change_arrays=change)


def mutate(content, n, seed=0):
    """Read n mutations; return how many of them did no harm, which should be all."""
    rng = np.random.default_rng(seed)
    fine = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.stats"
        for i in range(n):
            signed = i % 2 == 1
            changed = (_signed if signed else _bytes)(content, rng)
            path.write_bytes(changed)
            try:
                read = lincat.SourceStatistics.load(path)
                if signed:  # whatever it says, it can be asked
                    ask(read).pooled.totals()
                    fine += 1
                else:
                    fine += save_bytes(read) == content
            except lincat.InvalidInputError as error:
                fine += "\n" not in str(error)
    return fine


def samples():
    """Files of a small table, of many ids (sparse sums), and of numbers (groups of states)."""
    rng = np.random.default_rng(0)
    ids = {"state": [f"id {i}" for i in rng.integers(0, 90, 3000)], "reward": rng.random(3000)}
    x = rng.normal(size=3000)
    numbers = {"x": x, "reward": x + rng.integers(0, 2, 3000)}
    options = {"features": "smooth", "feature_options": {"bumps": 4}}
    yield save_bytes(lincat.stats("frozen_lake", steps=2000))
    yield save_bytes(lincat.stats(ids))
    yield save_bytes(lincat.stats(numbers, **options))


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    found = [mutate(sample, -(-wanted // 3), seed=i) for i, sample in enumerate(samples())]
    print(f"{sum(found):,} of {3 * -(-wanted // 3):,} mutations did no harm")
    sys.exit(sum(found) < wanted)
