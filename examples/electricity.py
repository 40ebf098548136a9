"""A battery on the Dutch day-ahead market: learn its earnings up to 2022, be judged on later years.

    pip download --no-deps --dest . ev2gym==2.0.0
    python examples/electricity.py --wheel ev2gym-2.0.0-py3-none-any.whl

The prices, in EUR/MWh, are a CSV file inside the wheel of the package ev2gym (MIT licence), and are
read from there; nothing is installed. The file is two downloads behind each other: the second one
repeats nine months of the first and writes dates in another way, one row is empty, and two hours
are missing.

The policy: charge while the price is in the lowest quarter of the last seven days, discharge while
it is in the highest. Decisions and observations use the price of the hour, which the auction has
fixed the day before, and earlier ones. The reward is the cash flow of the hour, in EUR.

Prices are not stationary. The crisis of 2021-22 is a quarter of what is learned from, unlike the
years before; in 2023 and 2024 the battery earned almost as much a day as in the crisis, from a
spread a third smaller. No learner can know that: expect means too low and intervals that hold less
than they say. What can be done without looking ahead is done: prices are taken relative to the last
week, and the spread of that week is part of the observation.

Features, grid, learner and steps are lincat's own choice; it is told gamma, the columns, and that
the record breaks off while the market continues. The last tenth of what is learned from is held
out, and that is the height of the crisis: the verdict says that the figures are not to be trusted.
On 2023 and 2024 they have a CRPS of 134 EUR, where one distribution for all hours has 182 (and 128
came out of features, n-step, grid and passes chosen by hand, with a look at these years).
"""

import argparse
import csv
import datetime
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

import lincat

TABLE = "ev2gym/data/Netherlands_day-ahead-2015-2024.csv"
WEEK = 168  # hours that the policy looks back

CAPACITY = 4.0  # MWh
POWER = 1.0  # MW, at the meter
EFFICIENCY = 0.93  # each way

GAMMA = 0.98  # per hour: what comes in two days counts about a third
OBSERVATION = ["hour", "weekend", "stock", "price_level", "spread"]


def read_prices(wheel):
    """Return local times (datetime64) and prices, hour after hour."""
    with zipfile.ZipFile(wheel) as archive, archive.open(TABLE) as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, "utf-8")))
    known = {}
    for row in rows:
        if row["Datetime (UTC)"]:
            known[_time(row["Datetime (UTC)"])] = (
                _time(row["Datetime (Local)"]) - _time(row["Datetime (UTC)"]),
                float(row["Price (EUR/MWhe)"]),
            )
    utc, last = min(known), max(known)
    times, prices, missing = [], [], 0
    while utc <= last:
        if utc in known:
            offset, price = known[utc]
        else:
            missing += 1  # and the price of the hour before stands in
        times.append(utc + offset)
        prices.append(price)
        utc += datetime.timedelta(hours=1)
    print(
        f"{len(prices):,} hours, {times[0]:%Y-%m-%d} to {times[-1]:%Y-%m-%d}; left out: "
        f"{len(rows) - len(known):,} empty or repeated rows; filled in: {missing} hours."
    )
    return np.array(times, "datetime64[h]"), np.array(prices)


def _time(text):
    form = "%Y-%m-%d %H:%M:%S" if "-" in text else "%d/%m/%Y %H:%M"
    return datetime.datetime.strptime(text, form)


def run_battery(times, prices):
    """Return a log of the policy: observations, and the cash flow of each hour."""
    weeks = np.lib.stride_tricks.sliding_window_view(prices, WEEK)  # each ends with its own hour
    low, middle, high = np.quantile(weeks, [0.25, 0.5, 0.75], axis=1)
    times, prices = times[WEEK - 1 :], prices[WEEK - 1 :]
    spread = np.maximum(high - low, 1.0)
    charge, cash = np.empty(len(prices)), np.empty(len(prices))
    stored = 0.0
    for t, price in enumerate(prices):
        charge[t], cash[t] = stored, 0.0
        if price <= low[t]:
            bought = min(POWER, (CAPACITY - stored) / EFFICIENCY)
            stored = min(stored + EFFICIENCY * bought, CAPACITY)
            cash[t] = -bought * price
        elif price >= high[t]:
            sold = min(POWER, EFFICIENCY * stored)
            stored = max(stored - sold / EFFICIENCY, 0.0)
            cash[t] = sold * price
    days = times.astype("datetime64[D]")
    return {
        "time": times.astype("datetime64[s]"),
        "hour": (times - days).astype(np.float64),
        "weekend": ((days.astype(np.int64) + 3) % 7 >= 5).astype(np.float64),  # 1970: a Thursday
        # What the store is worth at the median price. It varies a hundredfold, hence the logarithm.
        "stock": np.log1p(charge * np.maximum(middle, 0.0) / 20.0),
        "price_level": np.clip((prices - middle) / spread, -3.0, 3.0),
        "spread": np.log(spread),
        "cash": cash,
    }


def part(log, which):
    """Return some rows of a log."""
    return {name: column[which] for name, column in log.items()}


def observations(log):
    """Return the observations as one array."""
    return np.stack([log[name] for name in OBSERVATION], axis=1)


def realised(log):
    """Return what came in from each hour on, and where enough of it is known."""
    never = np.zeros(len(log["cash"]), bool)
    return lincat.returns_to_go(log["cash"], never, never, GAMMA)


def main(argv=None):
    """Learn up to a year's end, then compare with what came."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, required=True, help="ev2gym-2.0.0-py3-none-any.whl")
    parser.add_argument("--last-year", type=int, default=2022, help="the last to learn from")
    parser.add_argument("--out", type=Path, default=Path("runs/electricity"))
    options = parser.parse_args(argv)

    log = run_battery(*read_prices(options.wheel))
    year = log["time"].astype("datetime64[Y]").astype(int) + 1970
    early, later = part(log, year <= options.last_year), part(log, year > options.last_year)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "until.parquet"
    pyarrow.parquet.write_table(pyarrow.table(early), file)
    print(f"Learned from: {len(early['cash']):,} hours until {options.last_year} ({file}).")
    for first, last in ((2015, 2020), (2021, 2022), (2023, 2024)):
        some = (first <= year) & (year <= last)
        if some.any():
            print(
                f"  {first}-{last}: half of a week's prices within "
                f"{np.median(np.exp(log['spread'][some])):.0f} EUR/MWh, "
                f"cash flow {24 * log['cash'][some].mean():.0f} EUR a day"
            )

    run = lincat.evaluate(
        file,
        out=options.out / "run",
        force=True,
        gamma=GAMMA,
        columns={"observation": OBSERVATION, "reward": "cash"},
        episode_end="truncated",  # the log breaks off, the market continues
        below=0.0,
    )
    for note in run.answer.notes:
        print(note)
    print(run.verdict)
    score(run, early, later)
    for warning in run.warnings:
        print("Warning:", warning)
    subprocess.run([sys.executable, "-m", "lincat", "report", str(run.path)], check=True)


def score(run, early, later):
    """Print how the predictions did by year, and beside them a distribution without states."""
    returns, usable = realised(later)
    later, returns = part(later, usable), returns[usable]
    month = later["time"].astype("datetime64[M]")
    year = month.astype("datetime64[Y]").astype(str)
    judged = {"blocks": month.astype(int), "groups": year}
    found = lincat.validate(run.predict(observations(later)), returns, **judged)

    # Beside it: every hour gets the distribution of all returns that were learned from.
    grid = run.returns.grid
    all_early, usable = realised(early)
    distribution = lincat.project(
        all_early[usable], np.full(usable.sum(), 1.0 / usable.sum()), grid
    )
    pooled = lincat.ReturnDistribution(
        np.tile(np.cumsum(distribution)[:-1], (len(returns), 1)), grid
    )
    alike = lincat.validate(pooled, returns, **judged)

    print("           mean return              CRPS  in the 80 %    below the      CVaR 5 %")
    print("year    came  predicted  with state  none     interval  5 % quantile  came  predicted")
    for group, other in zip(found.groups, alike.groups, strict=True):
        mean = returns.mean() if group.group == "all" else returns[year == group.group].mean()
        print(
            f"{group.group:4}{mean:8.0f}{mean + group.mean_error:11.0f}"
            f"{group.crps:12.1f}{other.crps:6.1f}"
            f"{group.coverage[1]:8.0%} ± {group.coverage_se[1] or 0.0:2.0%}"
            f"{group.below_tail:9.0%} ± {group.below_tail_se or 0.0:.0%}"
            f"{group.cvar_realised:6.0f}{group.cvar_predicted:11.0f}"
        )
    fifths = np.array(found["all"].pit).reshape(5, -1).mean(axis=1)
    print("PIT in fifths (1 each if calibrated):", *(f"{height:.2f}" for height in fifths))


if __name__ == "__main__":
    main()
