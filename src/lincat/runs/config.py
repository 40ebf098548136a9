"""What an evaluation depends on: one frozen record, kept in its run folder as TOML."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from lincat._arguments import InvalidInputError, fail
from lincat._reach import Words
from lincat._text import one_line, shown
from lincat.learners.registry import AveragingName, DtypeName, LearnerName, StepSizeName
from lincat.runs.reach import (
    EnvOptions,
    FeatureOptions,
    FeaturesWord,
    Place,
    PolicyWord,
    SchedulerAddress,
    SourceWord,
)
from lincat.tables.columns import Columns
from lincat.tables.formats import FormatName

_Discount = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
_Share = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class EvaluationConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that the result of ``lincat evaluate`` depends on, and how it is shown.

    Each field says in its type how far a value reaches that a file has in it (lincat/_reach.py).

    Examples
    --------
    >>> from lincat.runs.config import EvaluationConfig, config_from_toml, config_to_toml
    >>> config = EvaluationConfig(source=["gym:CartPole-v1"], gamma=0.95)
    >>> config_from_toml(config_to_toml(config)) == config
    True
    """

    # Where transitions come from: files, "-", "gym:NAME", "minari:NAME", or a finite process.
    source: list[SourceWord]
    # The folder from which relative paths are meant: where they were given.
    given_in: Place | None = None
    # Discount factor; by default 0.99, or that of the finite process. 1 where episodes end.
    gamma: _Discount | None = None
    # At most so many transitions; by default all of a file, 200,000 of anything without an end.
    steps: _Positive | None = None
    # Rewards of so many steps are summed before the learner sees them; by default one, or as many
    # as held-out returns speak for.
    n_step: _Positive | None = None
    # Random numbers of the environment, the policy and the sampled states.
    seed: _Count = 0

    # --- files ---
    # Format of a file whose name does not tell, and of standard input.
    format: FormatName | None = None
    # Which column holds what; found by their names where not given.
    columns: Columns | None = None
    # What to do with a row that cannot be used.
    on_bad_rows: Literal["stop", "skip"] = "stop"
    # What to do with cells of observations that are missing: an indicator and the mean, leaving the
    # row out, or stopping; "auto": the first if there are any, unless bad rows are to be skipped.
    missing: Literal["auto", "indicator", "skip", "stop"] = "auto"
    # What the last row of an episode means, where no column says so.
    episode_end: Literal["terminated", "truncated"] = "terminated"

    # --- who reads them ---
    # So many processes of this machine, or the address of a Dask scheduler, sum Parquet files by
    # parts; by default this process reads them as one stream.
    workers: _Positive | None = None
    scheduler: SchedulerAddress | None = None

    # --- environments and processes ---
    # "random", "balance", "module:function", a table (JSON, NPY), or a Stable-Baselines3 file.
    policy: PolicyWord = "random"
    # Copies of the environment that are stepped together.
    n_envs: _Positive = 1
    # Keyword arguments of the environment.
    env_options: EnvOptions = {}
    # Whether files that can run code when they are read (Stable-Baselines3) may be read.
    trust_pickle: bool = False
    # How to draw from a finite process.
    sampling: Literal["markov", "generative"] = "markov"

    # --- features ---
    # "auto", "tabular", "tiles", "fourier", "rbf", "scaling", "identity", or "module:object".
    features: FeaturesWord = "auto"
    # Keyword arguments of the features.
    feature_options: FeatureOptions = {}
    # Transitions from which features are fitted, and states chosen for the report; by default
    # 200,000, or 10,000 where learning goes step by step.
    warm_up: _Positive | None = None

    # --- learner ---
    # "auto": the batch solution (lstd), or Linear-CTD for very many features.
    learner: LearnerName = "auto"
    # Ends of the grid; where the returns are, if not given.
    low: float | None = None
    high: float | None = None
    # K; there are K + 1 atoms. By default as many as the returns ask for.
    intervals: _Positive | None = None
    # A number, or "auto".
    step_size: Annotated[float, msgspec.Meta(gt=0.0)] | StepSizeName = "auto"
    # With it the step of update t is step_size * t**(-step_power), which has to be a number then.
    step_power: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] | None = None
    averaging: AveragingName = "tail"
    # Learn from about the last so many transitions, where the world drifts; by default from all.
    window: _Positive | None = None
    # How often a log is read by a learner that goes step by step; by default until it has settled.
    passes: _Positive | Literal["auto"] = "auto"
    # Transitions per update.
    batch_size: _Positive = 1
    dtype: DtypeName = "float64"

    # --- what is shown ---
    # Returns to check the result against: rolled out, held out, or (finite process) exact. By
    # default a tenth of a record that is long enough, or four thousand rollouts; 0 for none.
    validate: _Count | None = None
    # Level of quantiles and CVaR.
    level: _Share = 0.05
    # Threshold: the chance of a return below it is shown.
    below: float | None = None
    # How many typical states the report shows.
    n_states: _Positive = 8

    # --- of statistics (lincat stats) ---
    # Only blocks of time from this time on, before that time, or the last so many of each site.
    since: Words | None = None
    until: Words | None = None
    last_blocks: _Positive | None = None

    @property
    def from_sums(self) -> bool:
        """Whether sums are added up, if they fit, rather than parameters learned step by step."""
        return self.learner in ("auto", "lstd")

    def __post_init__(self) -> None:
        if not self.source or "" in self.source:  # an empty path would be the current folder
            raise ValueError("expected at least one source, and none of them empty")
        if (self.low is None) != (self.high is None):
            raise ValueError("expected both low and high, or none of them")
        for name in ("low", "high", "below", "step_size"):
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"expected a finite number for {name}, got {value}")
        if self.step_power is not None and self.step_size == "auto":
            raise ValueError("expected a number for step_size beside step_power, got 'auto'")
        for name in ("env_options", "feature_options"):
            if _holds_none(getattr(self, name)):
                raise ValueError(f"expected no null in {name}, which TOML cannot hold")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"expected low below high, got {self.low:g} and {self.high:g}")


def config_to_toml(config: EvaluationConfig) -> str:
    """Return the record as TOML; what is not given is left out."""
    import tomli_w

    given = {k: v for k, v in msgspec.to_builtins(config).items() if v is not None and v != {}}
    if "columns" in given:
        given["columns"] = {k: v for k, v in given["columns"].items() if v is not None}
    return tomli_w.dumps(given)


def config_from_toml(text: str | bytes, place: str = "config") -> EvaluationConfig:
    """Return the record that TOML text describes; unknown keys and wrong types are refused."""
    import tomllib

    try:
        text = text if isinstance(text, str) else text.decode()
        return config_from_dict(tomllib.loads(text), place)
    except UnicodeDecodeError:
        raise fail(place, "a readable configuration (TOML)", "not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise fail(place, "TOML text", f"something else ({error})") from None


def config_from_dict(values: dict[str, Any], place: str = "config") -> EvaluationConfig:
    """Return the record with these values, checked."""
    try:
        return msgspec.convert(values, EvaluationConfig)
    except msgspec.ValidationError as error:
        # "Expected `int` >= 1 - at `$.steps`"
        match = re.fullmatch(r"(.*?) - at `\$\.?(.*?)`", one_line(error))
        what, where = match.groups() if match else (str(error), "")
        text = what[0].lower() + what[1:].replace("`", "")
        if where in values and text.startswith(("expected", "invalid")) and "got" not in text:
            expected = _choices(where) or text.removeprefix("expected ")
            text = f"expected {expected}, got {values[where]!r:.80}"
        raise InvalidInputError(
            f"{place}, {where}: {text}" if where else f"{place}: {text}"
        ) from None


def read_config(path: Path) -> EvaluationConfig:
    """Read a configuration file."""
    try:
        text = path.read_bytes()
    except OSError as error:
        expected = "a readable configuration (TOML)"
        raise fail(str(path), expected, error.strerror or "an error") from None
    return config_from_toml(text, str(path))


def differences(then: dict[str, Any], now: dict[str, Any]) -> str:
    """Return what differs between two configurations, in words.

    Examples
    --------
    >>> from lincat.runs.config import differences
    >>> differences({"gamma": 0.95, "seed": 0}, {"gamma": 0.5, "seed": 0, "level": 0.1})
    'gamma was 0.95 and is 0.5, level was not given and is 0.1'
    """
    keys = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    return ", ".join(f"{key} was {_said(then, key)} and is {_said(now, key)}" for key in keys)


def _said(values: dict[str, Any], key: str) -> str:
    return shown(values[key]) if values.get(key) is not None else "not given"


def _choices(name: str) -> str:
    """The words that a field may hold; empty for fields that hold something else."""
    hint = get_type_hints(EvaluationConfig)[name]
    kinds = get_args(hint) if get_origin(hint) is not Literal else (hint,)
    words = [repr(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if not words:
        return ""
    return f"a number above 0 or {words[0]}" if float in kinds else f"one of {', '.join(words)}"


def _holds_none(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_none(x) for x in value.values())
    return value is None or (isinstance(value, list) and any(_holds_none(x) for x in value))
