"""What a user writes in forty lines: it runs, and type checkers find nothing wrong with it."""

import tempfile
from pathlib import Path

import numpy as np

import lincat


def lean(observation: np.ndarray) -> int:
    return int(observation[2] > 0.0)


rng = np.random.default_rng(0)
state = rng.integers(0, 3, 3001)
log = {"place": state[:-1], "cash": state[1:] * 1.0, "next_place": state[1:]}
columns = {"observation": "place", "reward": "cash", "next_observation": "next_place"}
folder = Path(tempfile.mkdtemp())

run = lincat.evaluate(log, gamma=0.5, columns=columns, intervals=50, out=folder / "run")
returns: lincat.ReturnDistribution = run.predict([0, 1, 2], confidence=0.95)
low, high = returns.interval("cvar", 0.05)
print(run.trusted, run.verdict, returns.mean().round(2), (high - low).max() < 1.0)
page: Path = run.report(folder / "page.html", level=0.1)

pole = lincat.evaluate(
    "gym:CartPole-v1", policy=lean, gamma=0.9, steps=500, n_envs=4, validate=0, intervals=40
)
print(len(pole.names), pole.answer.transitions)

grid = lincat.Grid.for_rewards(0.0, 2.0, gamma=0.5, intervals=20)
model = lincat.LinearCTD(grid=grid, gamma=0.5, step_size=0.01, n_features=3)
model.fit(log["place"], log["cash"], log["next_place"], batch_size=5)
print(model.predict([0]).quantile(0.05), model.learn_one(0, 1.0, 2).n_seen_)
model.save(folder / "model.safetensors")
again = lincat.load(folder / "model.safetensors", lincat.LinearCTD)
assert np.array_equal(again.predict([1]).cvar(0.1), model.predict([1]).cvar(0.1))

features = lincat.Fourier(order=3).fit(rng.normal(size=(100, 2)))
phi = features.transform([[0.0, 1.0]])
means = lincat.LSTD(gamma=0.5).fit(phi, [1.0], phi).predict(phi)
print(means.shape, lincat.wasserstein(returns, returns).max())
