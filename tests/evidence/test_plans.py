from lincat.evidence.plans import CASES, check_case


def test_the_plan_of_boyans_chain_holds_in_a_small_version():
    rows = list(check_case(CASES[3], 24, from_sample=False))
    assert [row.learner for row in rows] == ["LinearCTD", "VarianceReducedCTD", "CategoricalLSTD"]
    assert all(row.share >= 0.875 and row.transitions <= 10 * row.least for row in rows)
