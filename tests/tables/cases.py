"""Writes one table in every format that is read."""

import gzip
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

FORMATS = ["parquet", "csv", "csv.gz", "jsonl", "arrow", "arrows"]
TYPED = ["parquet", "arrow", "arrows"]


def write(path, columns, ending, *, rows_per_group=None):
    """Write ``columns`` (a dict, or an Arrow table) to path.ending and return the file."""
    file = path.with_name(f"{path.name}.{ending}")
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if ending == "parquet":
        pa.parquet.write_table(table, file, row_group_size=rows_per_group)
    elif ending.startswith("csv"):
        with pa.output_stream(str(file)) as out:
            pa.csv.write_csv(table, out)
    elif ending == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif ending == "arrow":
        with pa.ipc.new_file(str(file), table.schema) as out:
            out.write_table(table, max_chunksize=rows_per_group)
    else:
        with pa.ipc.new_stream(str(file), table.schema) as out:
            out.write_table(table, max_chunksize=rows_per_group)
    assert ending != "csv.gz" or gzip.open(file).read(1)
    return file
