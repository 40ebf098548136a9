"""Finished runs as objects."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lincat._arguments import fail
from lincat._files import TemporaryFolder, copy_folder, new_folder, write_atomically
from lincat._reach import NOTHING_ALLOWED, Allowed
from lincat._rows import text_table
from lincat._text import as_arguments
from lincat.core.distribution import ReturnDistribution
from lincat.core.figures import ridgelines
from lincat.core.frames import frame_of
from lincat.data.mixed import is_mixed
from lincat.inference.answer import Answer
from lincat.inference.validation import Validation
from lincat.report.answer_page import evaluation_page
from lincat.report.answer_rows import answer_rows
from lincat.report.summary import RunSummary, summary_of_answer
from lincat.runs.config import EvaluationConfig
from lincat.runs.folder import RunFolder
from lincat.runs.given import frames_of, library_of
from lincat.runs.model import Model
from lincat.runs.shown import ShownStates
from lincat.runs.so_far import newest

if TYPE_CHECKING:
    import altair


class Run:
    """What a run learned, or has learned so far; see :func:`evaluate` and :func:`read_run`.

    Attributes
    ----------
    path : Path
        The run folder.
    config : EvaluationConfig
        What the result depends on.
    answer : Answer
        The content of result.json: everything that its page shows.
    allowed : Allowed
        What the folder may have done: features of the form "module:name" imported, and so on.
    temporary : TemporaryFolder or None
        The folder itself, if it is there for only as long as the run is.
    """

    def __init__(
        self,
        folder: RunFolder,
        *,
        allowed: Allowed = NOTHING_ALLOWED,
        transformer: object = None,
        temporary: TemporaryFolder | None = None,
    ) -> None:
        self.path = folder.path
        self.config: EvaluationConfig = folder.config
        self.answer, self._model_folder = newest(
            folder, trust_code=allowed.code, transformer=transformer
        )
        self._folder = folder
        self.allowed = allowed
        self._transformer = transformer
        self.temporary = temporary

    @property
    def names(self) -> list[str]:
        """Names of the states that the report shows."""
        return list(self.answer.state_names)

    @property
    def returns(self) -> ReturnDistribution:
        """The distribution of the return from each of these states."""
        return self.answer.returns.proper().labelled(self.names, frames=self._frames)

    @property
    def validation(self) -> Validation | None:
        """How the distributions compare with returns that were not learned from."""
        return self.answer.validation

    @property
    def trusted(self) -> bool | None:
        """Whether the figures hold against what they were checked with; None: not checked."""
        return self.answer.verdict.trusted

    @property
    def verdict(self) -> str:
        """The same as a sentence, with what is known to help."""
        return as_arguments(self.answer.verdict.sentence)

    @property
    def warnings(self) -> list[str]:
        """What may be wrong with the answer."""
        return [as_arguments(caution.text) for caution in self.answer.warnings]

    @cached_property
    def model(self) -> Model:
        """Features and learner: ``model.features``, ``model.learner``."""
        return Model.read(
            self._model_folder, trust_code=self.allowed.code, transformer=self._transformer
        )

    @cached_property
    def shown(self) -> ShownStates:
        """The states that the report shows, as observations."""
        shown = self._folder.shown
        if shown.names != self.names:
            expected = f"the states of {self._folder.result_file.name}"
            raise fail(str(self._folder.states_file), expected, "others", "evaluate again")
        return shown

    def predict(self, observations: Any, *, confidence: float | None = None) -> ReturnDistribution:
        """Return the distribution of the return from each observation, as the source gives them.

        The nearest proper ones of those that ``model.predict`` has as they were learned, with
        masses that may be negative.

        Parameters
        ----------
        observations : array, list, frame or column
            One for each answer: rows of numbers, ids, or rows with names. The columns of a frame
            are found by their names, wherever they stand.
        confidence : float, optional
            With it, :meth:`ReturnDistribution.interval` and ``band`` tell how far sampling error
            reaches; for models that were solved from sums, as they are by default.
        """
        from lincat.runs.asking import observations_of

        frames = library_of(observations) or self._frames
        rows = observations_of(self, observations)
        found = self.model.predict(rows, confidence=confidence).proper()
        if rows.ndim == 1 and not is_mixed(rows):
            found.names = tuple(map(str, rows.tolist()))
        found.frames = frames
        return found

    def predict_quantiles(
        self, observations: Any, alpha: Sequence[float] = (0.05, 0.5, 0.95)
    ) -> Any:
        """Return quantiles of the return from each observation, as forecasters do.

        A frame with a column for each level: q0.05, q0.5, q0.95.
        """
        dist = self.predict(observations)
        columns = {f"q{q:g}": dist.quantile(q) for q in alpha}
        return frame_of(columns, dist.frames)

    def predict_interval(self, observations: Any, coverage: float | Sequence[float] = 0.9) -> Any:
        """Return the ends between which so much of the returns from each observation lies.

        A frame with columns lower and upper; of several coverages lower0.8, upper0.8 and so on.
        These are intervals of the *return*; :meth:`ReturnDistribution.interval` has those of
        figures.
        """
        dist = self.predict(observations)
        shares = [coverage] if isinstance(coverage, int | float) else list(coverage)
        columns: dict[str, Any] = {}
        for share in shares:
            which = "" if len(shares) == 1 else f"{share:g}"
            columns[f"lower{which}"], columns[f"upper{which}"] = dist.prediction_interval(share)
        return frame_of(columns, dist.frames)

    def plot(self, *, level: float | None = None) -> altair.Chart:
        """Return an Altair chart of the states that the report shows: the last line of a cell."""
        level = self.answer.level if level is None else level
        title = f"{self.answer.source}, γ = {self.answer.gamma:g}"
        return ridgelines(self.returns, self.names, title=title, subtitle=self.verdict, level=level)

    def summary_frame(
        self,
        *,
        level: float | None = None,
        threshold: float | None = None,
        library: str | None = None,
    ) -> Any:
        """Return a frame with the figures of the states that the report shows, and intervals."""
        rows = answer_rows(self.answer, level=level, threshold=threshold)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return frame_of(columns, library or self._frames)

    def summary(self, *, level: float | None = None, threshold: float | None = None) -> RunSummary:
        """Return everything there is to say in a table: ``print(run.summary())``."""
        return summary_of_answer(
            self.answer, str(self.path), answer_rows(self.answer, level=level, threshold=threshold)
        )

    def __repr__(self) -> str:
        kept = " (temporary)" if self.temporary is not None else ""
        head = f"Run of {self.answer.source}, gamma {self.answer.gamma:g}, in {self.path}{kept}"
        return f"{head}\n{text_table(answer_rows(self.answer))}\n{self.verdict}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    @property
    def _frames(self) -> str | None:
        return frames_of(self.config.source[0]) or None

    def _alike(self, folder: RunFolder) -> Run:
        return Run(folder, allowed=self.allowed, transformer=self._transformer)

    def save(self, path: str | Path) -> Run:
        """Copy the run folder to a new one, and return the run there: temporary ones do not last.

        Examples
        --------
        >>> import tempfile
        >>> import lincat
        >>> run = lincat.evaluate(lincat.catalog.uniform_coin(), steps=1000)
        >>> kept = run.save(tempfile.mkdtemp())
        >>> lincat.read_run(kept.path).answer == run.answer
        True
        """
        place = new_folder(Path(path), "path", force=False)
        copy_folder(self.path, place)
        return self._alike(RunFolder.open(place))

    def export(self, path: str | Path, *, force: bool = False) -> Run:
        """Write a small copy that answers: averages in single precision, without intervals.

        Examples
        --------
        >>> import tempfile
        >>> import lincat
        >>> run = lincat.evaluate(lincat.catalog.uniform_coin(), steps=1000)
        >>> small = run.export(tempfile.mkdtemp())
        >>> bool(abs(small.predict([0]).mean() - run.predict([0]).mean()) < 1e-5)
        True
        """
        answer = msgspec.structs.replace(
            self.answer,
            bands=None,
            intervals=None,
            curves=None,
            no_intervals="No intervals: an exported run has averages alone.",
        )
        files = self.model.small_files()
        folder = RunFolder.create(Path(path), self.config, force=force)
        folder.write_model(files)
        folder.shown = self.shown
        folder.answer = answer
        folder.finish_writing()
        return self._alike(folder)

    def answer_on(self, shown: ShownStates) -> Answer:
        """Return the answer for other states, such as those of a run to compare with.

        What belongs to the run's own states, its bands and intervals, is left out.
        """
        distribution = self.model.predict_shown(shown)
        return msgspec.structs.replace(
            self.answer,
            state_names=tuple(shown.names),
            grid=distribution.grid,
            cdf=tuple(tuple(row) for row in distribution.cdf_values.tolist()),
            bands=None,
            intervals=None,
            no_intervals="",
        )

    def report(
        self,
        path: str | Path | None = None,
        *,
        level: float | None = None,
        threshold: float | None = None,
    ) -> Path:
        """Write the page, by default report.html in the run folder; return where it is.

        Parameters
        ----------
        path : str or path, optional
        level, threshold : float, optional
            Of quantiles and CVaR, and of the chance to end below; the run's own by default.
        """
        command = f"lincat evaluate --config {shlex.quote(str(self._folder.config_file))}"
        page = evaluation_page(self.answer, level=level, threshold=threshold, command=command)
        place = self._folder.report_file if path is None else Path(path)
        write_atomically(place, page)
        return place


def read_run(path: str | Path, *, trust_code: bool = False, features: object = None) -> Run:
    """Open the folder of a run; of one that is learning, what its newest checkpoint knows.

    Parameters
    ----------
    path : str or path
    trust_code : bool
        Allow features of the form "module:name", which are imported and run code.
    features : object, optional
        The scikit-learn transformer that the run was given, if it was given one.
    """
    allowed = Allowed(code=trust_code)
    return Run(RunFolder.open(Path(path)), allowed=allowed, transformer=features)
