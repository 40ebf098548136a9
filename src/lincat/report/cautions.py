"""What may be wrong with an answer: its own warnings, and those that its figures give rise to."""

from __future__ import annotations

from lincat.inference.answer import Answer, Caution
from lincat.report.numbers import show_share

_NEGLIGIBLE = 1e-3  # negative mass


def lost_mass(answer: Answer) -> bool:
    """Whether mass fell off the grid, so that nothing is known of what lies outside."""
    return any(caution.code == "off_grid" for caution in answer.warnings)


def cautions(answer: Answer) -> list[Caution]:
    """Return the answer's warnings, with those that its own figures give rise to."""
    found = list(answer.warnings)
    if not answer.complete:
        text = "The run was interrupted: this is what it had learned by then."
        found.insert(0, Caution("interrupted", text))
    negative = answer.returns.negative_mass
    if negative.max() > _NEGLIGIBLE:
        worst = int(negative.argmax())
        share = show_share(float(negative[worst]))
        text = (
            f"Negative mass: up to {share} (state {answer.state_names[worst]}). Figures are "
            "of the nearest proper distributions."
        )
        found.append(Caution("negative_mass", text))
    return found
