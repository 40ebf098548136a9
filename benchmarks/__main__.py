"""``lincat bench`` from a checkout; the code is in ``src/lincat/bench``, to be installed."""

from lincat.cli.bench import bench

bench(prog_name="python -m benchmarks")
