"""Which options each kind of source takes: attacks are in tests/attack/test_twins.py."""

import numpy as np
import pytest

import lincat
from lincat.runs.config import EvaluationConfig
from lincat.runs.given import Given
from lincat.runs.source_options import ENVIRONMENT, FILES, PROCESS, check_options, only_of

SECRET = {"key": "hush"}
OF_AN_ENVIRONMENT = EvaluationConfig(
    source=["log.csv"], policy="balance", n_envs=4, env_options={"a": 1}, gamma=0.5
)


def test_what_is_usual_goes_with_everything():
    usual = EvaluationConfig(source=["log.csv"], gamma=0.5, learner="lstd", features="rbf")
    for kind in (ENVIRONMENT, FILES, PROCESS):
        check_options(kind, usual, Given(storage_options={}))


def test_other_options_are_left_out_where_they_are_nobodys():
    kept = only_of(FILES, OF_AN_ENVIRONMENT)
    assert kept == EvaluationConfig(source=["log.csv"], gamma=0.5)
    check_options(FILES, kept, Given())
    with pytest.raises(lincat.InvalidInputError, match="policy: expected none beside a log"):
        check_options(FILES, OF_AN_ENVIRONMENT, Given())


def test_a_policy_may_be_anything():
    with pytest.raises(lincat.InvalidInputError, match="policy: expected none beside a finite"):
        check_options(PROCESS, EvaluationConfig(source=["paper"]), Given(policy=np.zeros(3)))


def test_secrets_are_not_told():
    with pytest.raises(lincat.InvalidInputError, match=r"got key; .* at an address") as error:
        check_options(FILES, EvaluationConfig(source=["log.csv"]), Given(storage_options=SECRET))
    assert "hush" not in str(error.value)
