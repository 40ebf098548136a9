"""The learners and what can be chosen of them, each named once: configuration, commands and files.

Nothing is imported here but names, so that ``lincat --help`` stays fast.
"""

from __future__ import annotations

from typing import Literal, get_args

from lincat._registry import Registry

#: What ``lincat evaluate`` offers; "lstd" is CategoricalLSTD, which learns distributions; "auto"
#: chooses between the next two. Linear-TD is not
#: among them: it learns means only, and those of the others are the same (Prop.
#: mean_preserve_property).
LearnerName = Literal[
    "auto",
    "lstd",
    "linear_ctd",
    "linear_pmf",
    "unnormalised_ctd",
    "softmax_ctd",
    "variance_reduced_ctd",
]
#: Which iterates predictions average (averaging.py).
AveragingName = Literal["tail", "full", "none"]
#: Step sizes that have a name (schedules.py).
StepSizeName = Literal["auto"]
#: What the parameters are kept in.
DtypeName = Literal["float64", "float32"]

LEARNERS = Registry(
    "lincat.learners",
    {
        "categorical_lstd": "CategoricalLSTD",
        "linear_ctd": "LinearCTD",
        "linear_pmf": "LinearPMF",
        "linear_td": "LinearTD",
        "lstd": "LSTD",
        "softmax_ctd": "SoftmaxCTD",
        "unnormalised_ctd": "UnnormalisedCTD",
        "variance_reduced_ctd": "VarianceReducedCTD",
    },
    get_args(LearnerName),
)
AVERAGINGS: tuple[str, ...] = get_args(AveragingName)
DTYPES: tuple[str, ...] = get_args(DtypeName)
