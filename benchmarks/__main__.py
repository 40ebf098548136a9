"""Run every benchmark and print its table; exit 1 if a bar does not hold."""

import sys

from benchmarks import bellman_target, startup

rows = [*bellman_target.rows(), *startup.rows()]
width = max(len(row["what"]) for row in rows)
print(f"{'what':<{width}}  {'measured':>10}  {'bar':>10}  holds")
for row in rows:
    holds = row["measured"] <= row["at_most"]
    print(
        f"{row['what']:<{width}}  {row['measured']:>10.3g}  <= {row['at_most']:>7.3g}  "
        f"{'yes' if holds else 'NO'}"
    )
sys.exit(any(row["measured"] > row["at_most"] for row in rows))
