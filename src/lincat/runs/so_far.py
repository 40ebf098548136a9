"""Where a run stands: what a checkpoint knows beside the model, and the answer until the end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from lincat._arguments import fail
from lincat._json import decoded
from lincat._reach import Words
from lincat.inference.answer import Answer, Caution
from lincat.runs.conclude import SourceFacts, answer_of
from lincat.runs.folder import RunFolder, read_bytes
from lincat.runs.model import Model
from lincat.runs.reach import SourceWord
from lincat.runs.recorder import Recorder
from lincat.tables.fingerprints import Fingerprint

Count = Annotated[int, msgspec.Meta(ge=0)]


class SoFar(msgspec.Struct):
    """The content of progress.json."""

    seconds: float
    notes: list[Words]
    n_step: Annotated[int, msgspec.Meta(ge=1)]
    held: Count
    # Steps that were looked at before the first was learned from; a run is stopped after these.
    warmed: Count
    # Passes before this one, and how many transitions each of them had.
    passes: Count
    in_pass: Count
    # The configuration, as TOML, and what tells the source from others, when this began.
    config: Words = ""
    prints: list[Fingerprint] = []
    # A row that cannot be used ended it: the source is going to be mended.
    to_mend: bool = False
    # Of the source, as it was read so far.
    facts: SourceFacts | None = None
    # Its tables, and how many rows they had; where held-out steps begin and end, if all over it.
    places: list[SourceWord] = []
    rows: Count | None = None
    edges: list[Count] | None = None
    # Nodes of the first rewards, for parts that are summed apart from each other.
    nodes: tuple[float, ...] | None = None

    @classmethod
    def read(cls, checkpoint: Path) -> SoFar:
        """Read it from a checkpoint."""
        file = checkpoint / "progress.json"
        return decoded(read_bytes(file), str(file), "the progress of a run", cls)


def newest(
    folder: RunFolder, *, trust_code: bool = False, transformer: object = None
) -> tuple[Answer, Path]:
    """Return the answer of a run, and the folder of its model.

    Of a run that is learning, or was cut off, they are those of its newest checkpoint.
    """
    last = folder.checkpoints.newest()
    done = folder.answer if folder.finished or last is None else None
    if last is None or (done is not None and done.complete):
        assert done is not None  # without a checkpoint there is an answer, or there was an error
        return done, folder.path
    if done is not None and int(last.name) <= done.transitions:
        return done, folder.path
    intact = folder.checkpoints.intact()
    checkpoint = intact.place
    assert checkpoint is not None  # there is one, and if it is damaged there was an error
    so_far = SoFar.read(checkpoint)
    if so_far.facts is None:
        remedy = f"lincat resume {folder.path} continues it"
        raise fail(str(folder.path), "a finished run", "one of another version", remedy)
    model = Model.read(checkpoint, trust_code=trust_code, transformer=transformer)
    answer = answer_of(
        folder,
        so_far.facts,
        model,
        Recorder(folder, model, folder.shown),
        validation=None,
        seconds=so_far.seconds,
        complete=False,
        notes=so_far.notes,
        cautions=[
            Caution("not_validated", "Not checked yet: the run is not at its end."),
            *([Caution("damaged_checkpoint", intact.word)] if intact.damaged else []),
        ],
    )
    return answer, checkpoint
