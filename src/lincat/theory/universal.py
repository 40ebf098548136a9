"""The universal constants that the paper hides, as measurement has them.

Each is the smallest that covers what was measured on the catalog, rounded up to two digits
(``make evidence``, which also tries them on processes that were not used: docs/theory.md). Keys are
the paper's LaTeX labels.
"""

from __future__ import annotations

UNIVERSAL: dict[str, float] = {
    "thm:l2_error_linear_ctd": 0.46,
    "thm:lp_error_linear_ctd": 0.38,
    "thm:exponential_stability_l2_convergence": 1.2,
    "thm:l2_error_linear_ctd_PMF": 0.04,
    "coro:l2_sample_complexity_linear_ctd": 1.3,
    "thm:whp_error_linear_ctd": 0.85,
    "remark:markovian_setting": 0.02,
    "subsection:convergence_linear_TD": 0.45,
    "subsection:convergence_linear_TD, sample size": 33.0,
}
