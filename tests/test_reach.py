"""Fields that say how far their values reach, and those that do not."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from lincat._reach import Allowed, NotAllowedError, Reach, Reaches, Words, check_allowed, named

Code = Annotated[str, Reaches(lambda word: Reach.CODE if ":" in word else Reach.NOTHING)]


class Inner(msgspec.Struct):
    names: Words | tuple[Words, ...] | None = None
    code: Code | None = None


class Record(msgspec.Struct):
    number: float | Literal["auto"] = "auto"
    said: Words = ""
    code: list[Code] = []
    inner: Inner | None = None
    unsaid: str | None = None
    many: tuple[str, ...] = ()
    anything: Any = None
    options: dict[str, Any] | None = None


def fields(record):
    return [(one.field, one.reach) for one in named(record)]


def test_numbers_and_words_that_are_only_said_reach_nowhere():
    inner = Inner(names=("evil:T", "s3://x"))
    record = Record(number=1.5, said="evil:T", code=["a", "b"], inner=inner, anything=3)
    assert fields(record) == []
    check_allowed(record, "x", Allowed())


@pytest.mark.parametrize(
    "given",
    [{"unsaid": "a"}, {"many": ("a",)}, {"anything": "a"}, {"options": {"a": 1}}, {"number": "b"}],
    ids=str,
)
def test_a_field_that_says_nothing_reaches_everywhere(given):
    record = Record(**given)
    assert fields(record) == [(next(iter(given)), Reach.EVERYTHING)]
    with pytest.raises(NotAllowedError, match="--trust-code --connect, since it has"):
        check_allowed(record, "x", Allowed())


def test_values_within_lists_and_records_are_found():
    record = Record(code=["a", "b:c", "d:e"], inner=Inner(names="x", code="f:g"))
    assert fields(record) == [("code", Reach.CODE)] * 2 + [("inner.code", Reach.CODE)]
    check_allowed(record, "x", Allowed(), "code", "inner")
