"""The formats of tables, each named once, and how the names of their files end."""

from __future__ import annotations

from typing import Literal

FormatName = Literal["parquet", "csv", "jsonl", "arrow"]
FORMATS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq", ".parq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "jsonl": (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
}
