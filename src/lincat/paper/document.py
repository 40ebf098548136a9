"""What a reproduction leaves behind: tables, figures, one page, and docs/reproduction.md."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lincat._files import is_own_folder, write_atomically
from lincat.paper.analysis import Rows, Table, all_tables
from lincat.paper.checks import check_table
from lincat.paper.figures import all_figures
from lincat.paper.page import Section, as_html
from lincat.paper.settings import BEYOND, PROVENANCE, Settings
from lincat.report.figures import save_figure
from lincat.report.tables import as_csv, as_latex, as_markdown

if TYPE_CHECKING:
    import altair


_TITLE = "The paper's experiments, reproduced"
_UNIT_NORM = (
    "This process keeps to the theorems' assumption that no feature is longer than 1, and meets "
    "the brackets of SSGD-PMF but not all of Linear-CTD's."
)
_FIGURES = {
    "loss_cdf": "Figure loss_cdf",
    "loss_pmf": "Figure loss_pmf",
    "loss_change_alpha": "Figure loss_change_alpha",
    "dependence": "Figure dependence",
    "comparation": "Figure comparation",
    "bound": "The bound beside the error",
    "large_K": "Larger K",
    "gammas": "Discount factors",
    "random_process": "A random process",
    "markov": "One walk",
}


class Document:
    """Everything to show of the rows of one reproduction."""

    def __init__(self, rows: Rows, settings: Settings, command: str) -> None:
        self.settings, self.command = settings, command
        self._rows = rows
        self.tables = all_tables(rows, settings)
        self.checks = check_table(self.tables)

    @property
    def intro(self) -> str:
        """Which process, and that the paper's is not known."""
        s = self.settings
        other = "" if s.process == "main" else " All this is said of main. " + _UNIT_NORM
        return (
            f"Process {s.process}, gamma = 0.75, Theta started at 0, batches of {s.batch_size}, "
            f"seed {s.seed}, {s.seeds} runs for each count of iterations. {PROVENANCE}{other}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "settings": asdict(self.settings),
            "provenance": PROVENANCE,
            "checks": self.checks.rows,
            "tables": {table.name: table.rows for table in self.tables},
        }

    def write(self, folder: Path) -> Path:
        """Write tables, figures and the page into the run folder; return the page."""
        for name in ("tables", "figures"):
            is_own_folder(folder / name)
            (folder / name).mkdir(exist_ok=True)
        for table in self._shown():
            stem = folder / "tables" / table.name
            write_atomically(stem.with_suffix(".csv"), as_csv(table.rows))
            write_atomically(stem.with_suffix(".md"), self._markdown(table))
            write_atomically(stem.with_suffix(".tex"), as_latex(table.rows))
        figures = all_figures(self._rows, self.settings)
        for name, figure in figures.items():
            save_figure(figure, folder / "figures", name, ("svg", "png"))
        page = folder / "index.html"
        write_atomically(page, as_html(_TITLE, self.intro, self._sections(figures)))
        return page

    def write_docs(self, docs: Path, seconds: float) -> Path:
        """Write reproduction.md, with its figures, into the folder of the documentation."""
        images = docs / "images" / "reproduction"
        images.mkdir(parents=True, exist_ok=True)
        figures = all_figures(self._rows, self.settings)
        for name, figure in figures.items():
            save_figure(figure, images, name, ("svg",))
        parts = [
            f"# {_TITLE}\n",
            f"This page was written by `{self.command}`; do not edit it.\n",
            f"{self.intro}\n",
            f"The runs took {seconds / 60:.1f} minutes of processor time, shared by all cores.\n",
            f"## {self.checks.title}\n\n{self._markdown(self.checks)}",
            "## The paper's tables and figures\n",
            *self._markdown_parts(figures, beyond=False),
            "## Beyond the paper\n",
            *self._markdown_parts(figures, beyond=True),
        ]
        page = docs / "reproduction.md"
        write_atomically(page, "\n".join(parts))
        return page

    def _shown(self) -> list[Table]:
        return [self.checks, *self.tables] if self.checks.rows else self.tables

    def _sections(self, figures: dict[str, altair.Chart]) -> list[Section]:
        """A figure stands with the first table that is part of it, or by itself."""
        sections, left = [], dict(figures)
        for table in self._shown():
            figure = left.pop(table.part_of, None)
            sections.append(Section(table.title, table.note, table.rows, figure))
        sections += [Section(_FIGURES[name], figure=figure) for name, figure in left.items()]
        return sections

    def _markdown_parts(self, figures: dict[str, altair.Chart], *, beyond: bool) -> list[str]:
        parts = []
        for table in self.tables:
            if (table.part_of in BEYOND) != beyond:
                continue
            parts.append(f"### {table.title}\n")
            if table.part_of in figures:
                name = table.part_of
                parts.append(f"![{_FIGURES[name]}](images/reproduction/{name}.svg)\n")
            parts.append(self._markdown(table))
        return parts

    def _markdown(self, table: Table) -> str:
        return f"{as_markdown(table.rows)}\n{table.note}\n"
