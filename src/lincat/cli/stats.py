"""``lincat stats`` and ``lincat merge``: sums of a source, and sums of sums, as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lincat.cli.evaluate import settings_of
from lincat.cli.options import (
    WHOLE,
    check_place,
    environment_options,
    file_options,
    pairs,
    storage_option,
)
from lincat.features.registry import FEATURE_NAMES
from lincat.tables.formats import FORMATS

if TYPE_CHECKING:
    from lincat import SourceStatistics

_ENDING = ".stats"


@click.command(short_help="Sum up a source in one pass, for every later question.")
@click.argument("source", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--site", default="", help="Where the rows are from.  [default: as SOURCE is called]")
@click.option(
    "--like",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Statistics to agree with, so that they can be merged: features, groups of states and "
    "reward nodes are theirs.",
)
@click.option(
    "--gamma",
    "gammas",
    type=click.FloatRange(0, 1),
    multiple=True,
    help="A discount factor for which held-out returns are kept, by which answers are checked; "
    "several times for several.  [default: ten, from 0 to 1]",
)
@click.option("--steps", type=WHOLE, help="Transitions to sum; all of a file by default.")
@environment_options
@click.option("--format", type=click.Choice(list(FORMATS)), help="Where the name does not tell.")
@storage_option
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=pairs,
    metavar="ROLE=NAMES",
    help="Column for a role, as for lincat evaluate; step=COLUMN with times lets questions be "
    "about a window of time.",
)
@click.option("--on-bad-rows", type=click.Choice(["stop", "skip"]), help="[default: stop]")
@click.option("--missing", type=click.Choice(["auto", "indicator", "skip", "stop"]))
@click.option("--episode-end", type=click.Choice(["terminated", "truncated"]))
@click.option("--features", help=f"{', '.join(FEATURE_NAMES)}.")
@click.option(
    "--feature-option",
    "feature_options",
    multiple=True,
    callback=pairs,
    metavar="KEY=VALUE",
    help="Parameter of the features, such as bumps=200.",
)
@click.option(
    "--validate",
    type=WHOLE,
    metavar="N",
    help="Hold N returns out of the sums, to check answers by. By default a tenth of the rows; 0 "
    "for none, so that the file holds nothing but sums.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@file_options("File to write.  [default: SITE.stats]")
def stats(
    source: tuple[str, ...],
    site: str,
    like: Path | None,
    gammas: tuple[float, ...],
    storage_options: dict[str, Any],
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Read SOURCE once, and write sums from which lincat evaluate answers any question.

    The file depends on no discount factor, grid, level or threshold, and holds no row. Files of
    several sites, or of one site at several times, are added by lincat merge. SOURCE is what lincat
    evaluate takes.

    \b
    Examples:
      lincat stats north.parquet --out north.stats
      lincat stats south.parquet --like north.stats --out south.stats
      lincat merge north.stats south.stats --out all.stats
      lincat evaluate all.stats --gamma 0.99
    """
    from lincat.cli.progress import run_to_the_end
    from lincat.runs.given import Given
    from lincat.runs.source_statistics import SourceStatistics
    from lincat.runs.sources import open_source
    from lincat.runs.summing import Summing

    given = {name: value for name, value in flags.items() if value not in (None, {})}
    settings = settings_of(source, None, given)
    agreed = None if like is None else SourceStatistics.load(like)
    objects = Given(policy=given.get("policy"), storage_options=storage_options)
    opened = open_source(settings, objects)
    summing = Summing(settings, opened, site=site, like=agreed, gammas=gammas)
    place = _place(Path(f"{summing.site}{_ENDING}") if out is None else out)
    run_to_the_end(summing, quiet=quiet)
    summing.result.save(place)
    _say(summing.result, place, as_json=as_json, notes=() if quiet else summing.notes)


@click.command(short_help="Add statistics of several sites, or times.")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@file_options("File to write, whose name ends in .stats.")
def merge(files: tuple[Path, ...], out: Path | None, as_json: bool, quiet: bool) -> None:
    """Add statistics that lincat stats wrote: the answer of all sites, and no row is moved.

    Files whose features, reward nodes or versions differ are refused, with what differs. In
    whatever order they are given, the sum is the same to the last bit.

    \b
    Examples:
      lincat merge north.stats south.stats --out all.stats
    """
    from lincat.runs.source_statistics import SourceStatistics, merged

    if out is None:
        raise click.UsageError("--out: expected a file to write, got none")
    place = _place(out)
    whole = merged([SourceStatistics.load(file) for file in files], [str(x) for x in files])
    whole.save(place)
    _say(whole, place, as_json=as_json, notes=())


def _place(out: Path) -> Path:
    if out.suffix != _ENDING:
        message = f"expected a name that ends in {_ENDING}, got {out.name}"
        raise click.BadParameter(message, param_hint="--out")
    return check_place(out)


def _say(whole: SourceStatistics, place: Path, *, as_json: bool, notes: Any) -> None:
    import json

    size = place.stat().st_size
    held = sorted({held.gamma for site in whole.sites for held in site.held})
    if as_json:
        said = {
            "file": str(place),
            "bytes": size,
            "transitions": whole.count,
            "features": whole.features.n_features_,
            "blocks": whole.n_blocks,
            "sites": {site.name: site.statistics.count for site in whole.sites},
            "gammas": held,
        }
        click.echo(json.dumps(said))
        return
    for note in notes:
        click.echo(note)
    sites = ", ".join(f"{site.name} {site.statistics.count:,}" for site in whole.sites)
    click.echo(
        f"{whole.count:,} transitions ({sites}) in {whole.n_blocks} blocks of time, "
        f"{whole.features.n_features_} features; {size / 1e6:.2g} MB."
    )
    if held:
        click.echo(f"Held-out returns, to check by, at gamma {', '.join(f'{g:g}' for g in held)}.")
    click.echo(f"Statistics: {place}")
