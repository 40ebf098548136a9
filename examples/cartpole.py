"""CartPole under a clumsy policy, and under one of your own: for how long the pole stays up.

    python examples/cartpole.py

The same as `lincat evaluate` without a source, from Python: smooth features of the four numbers
that CartPole shows, the batch solution of 400,000 steps, then 10,000 rollouts from states that
were not learned from. The second policy is the function `lean` below, given as "cartpole:lean",
module:function; one of your own can be given so from any file in the current folder. The reward
is 1 a step and gamma 0.95, so a return lies between 1 (falls at once) and 20 (never falls).
"""

import argparse
from pathlib import Path

import numpy as np

import lincat


def lean(observations, rng):
    """Push where the pole leans, whatever its speed, and one time in two anywhere."""
    right = observations[:, 2] > 0.0
    return np.where(rng.random(len(right)) < 0.5, rng.integers(0, 2, len(right)), right)


lean.vectorised = True  # all environments in one call


def main(argv=None):
    """Evaluate both policies and lay them side by side."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=400_000, help="to learn from")
    parser.add_argument("--rollouts", type=int, default=10_000, help="to check against")
    parser.add_argument("--out", type=Path, default=Path("runs/cartpole"), help="folder for runs")
    options = parser.parse_args(argv)

    for policy in ("balance", "cartpole:lean"):
        run = lincat.evaluate(
            "gym:CartPole-v1",
            out=options.out / policy.rpartition(":")[2],
            force=True,
            policy=policy,
            gamma=0.95,
            steps=options.steps,
            n_envs=64,
            validate=options.rollouts,
            below=10.0,
        )
        start = run.returns[[0]].proper()
        print(
            f"{policy}: from the start the mean return is {start.mean()[0]:.2f}, the worst run in "
            f"twenty averages {start.cvar(0.05)[0]:.2f}, below 10 ends "
            f"{start.probability_below(10.0)[0]:.1%}."
        )
        found = run.validation["all"]
        width = run.returns.grid.high - run.returns.grid.low
        print(
            f"  against {found.n_returns:,} rollouts: W1 {found.w1 / width:.2%} of the grid's width"
            f"{_per_state(found, width)}; 80 % intervals hold {found.coverage[1]:.1%}."
        )
        print(f"  {run.verdict}")
    print(f"Pages: lincat report {options.out / 'balance'}, and side by side:")
    print(f"  lincat compare {options.out / 'balance'} {options.out / 'lean'} --out both.html")


def _per_state(found, width):
    if found.w1_states is None:
        return ""
    return (
        f" ({found.w1_states / width:.2%} state by state, of which "
        f"{found.w1_states_noise / width:.2%} is chance)"
    )


if __name__ == "__main__":
    main()
