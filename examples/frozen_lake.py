"""FrozenLake under a policy given as a table, against the exact answer.

    python examples/frozen_lake.py

Gymnasium's 4 x 4 lake is slippery: a step goes where it should one time in three. The policy is the
best one for reaching the goal, but one step in ten is random; its probabilities are written to
policy.json, as `lincat evaluate gym:FrozenLake-v1 --policy policy.json` would read them. Since
Gymnasium publishes the table behind the lake, `lincat.true_returns` can say what the right answer
is. The return is gamma^(steps - 1) if the goal is reached and 0 if not.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import lincat

LEFT, DOWN, RIGHT, UP = range(4)
# fmt: off
BEST = [
    LEFT,  UP,   UP,   UP,
    LEFT,  LEFT, LEFT, LEFT,
    UP,    DOWN, LEFT, LEFT,
    LEFT,  RIGHT, DOWN, LEFT,
]
# fmt: on
GAMMA = 0.99


def main(argv=None):
    """Learn from steps in the environment, and compare with the table behind it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=500_000, help="to learn from")
    parser.add_argument("--out", type=Path, default=Path("runs/frozen_lake"))
    options = parser.parse_args(argv)

    options.out.mkdir(parents=True, exist_ok=True)
    policy = 0.9 * np.eye(4)[BEST] + 0.1 / 4
    table = options.out / "policy.json"
    table.write_text(json.dumps(policy.tolist()))
    run = lincat.evaluate(
        "gym:FrozenLake-v1",
        out=options.out / "run",
        force=True,
        policy=str(table),
        gamma=GAMMA,
        steps=options.steps,
        n_envs=16,
    )
    lake = lincat.catalog.toy_text("FrozenLake-v1", policy=policy, gamma=GAMMA)
    grid = run.returns.grid
    exact = lincat.true_returns(lake.process, GAMMA, grid)
    learned = run.predict(np.arange(16))

    print(run.verdict)
    print("state              mean  5 % quantile  median  95 % quantile  CVaR 20 %    W1")
    for state, name in ((0, "start"), (6, "by two holes"), (14, "by the goal")):
        for kind, distribution in (("learned", learned), ("exact", exact)):
            one = distribution[[state]].proper()
            low, middle, high = (one.quantile(level)[0] for level in (0.05, 0.5, 0.95))
            distance = f"{lincat.wasserstein(one, exact[[state]])[0]:6.3f}"
            print(
                f"{name:14}{kind:8}{one.mean()[0]:.3f}{low:14.2f}{middle:8.2f}{high:15.2f}"
                f"{one.cvar(0.2)[0]:11.3f}{distance if kind == 'learned' else '':>6}"
            )
    visits = lake.process.stationary_distribution(allow_periodic=True)
    distance = float(lincat.wasserstein(learned, exact, weights=visits))
    print(f"All states, as often as they are visited: W1 {distance:.4f} of a width of 1.")
    print(f"Page: lincat report {run.path}")


if __name__ == "__main__":
    main()
