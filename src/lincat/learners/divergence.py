"""What a learner says when its parameters run away."""

from __future__ import annotations


class DivergenceError(RuntimeError):
    """The parameters grew beyond all bounds; the learner keeps the last good ones."""

    def __init__(
        self,
        transition: int,
        step_size: float,
        largest_squared_norm: float,
        safe_step: float,
        *,
        auto: bool = False,
    ) -> None:
        other = "" if auto else " or step_size='auto'"
        super().__init__(
            f"diverged at transition {transition} with step size {step_size:.4g}; the largest "
            f"squared feature norm was {largest_squared_norm:.4g}; "
            f"try step_size={safe_step:.3g}{other}"
        )
        self.transition = transition
        self.step_size = step_size
        self.largest_squared_norm = largest_squared_norm
        self.safe_step = safe_step
