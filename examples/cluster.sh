#!/bin/sh
# A Dask scheduler and two workers from the shell, and a folder of Parquet that they sum.
#   sh examples/cluster.sh FOLDER [PORT]
set -e
logs=${1:?a folder of Parquet files}
port=${2:-8786}
address=tcp://127.0.0.1:$port
# Without this Dask's workers give memory back to the system at once, and ask for it again.
export DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON__MALLOC_TRIM_THRESHOLD_=1073741824

dask scheduler --host 127.0.0.1 --port "$port" --no-dashboard & scheduler=$!
dask worker "$address" --nthreads 1 --no-dashboard & one=$!
dask worker "$address" --nthreads 1 --no-dashboard & two=$!
trap 'kill $one $two $scheduler 2>/dev/null' EXIT
sleep 3

lincat evaluate "$logs" --features fourier --gamma 0.9 --scheduler "$address" --out cluster-run
