"""From files of several sites to one answer, as commands."""

import itertools

import numpy as np

import lincat
from tests.cli.command import lincat_here


def test_files_of_sites_with_ids_agree_with_one_pass(here):
    """Ids that not all sites know, in tables with room to spare, through files and back."""
    rng, names = np.random.default_rng(0), []
    for site in range(3):
        state = rng.integers(0, 4 + site, 1500)
        rows = [f"m{s},{s % 2},m{x}" for s, x in itertools.pairwise(state)]
        (here / f"{site}.csv").write_text("\n".join(["state,reward,next_state", *rows]) + "\n")
        names.append(f"{site}.stats")
        like = [] if site == 0 else ["--like", "0.stats"]
        made = lincat_here("stats", f"{site}.csv", "--validate", 0, "--out", names[-1], *like)
        assert made.code == 0, made.err
    lincat_here("merge", *names, "--out", "all.stats")
    ended = lincat_here("evaluate", "all.stats", "--gamma", 0.5, "--out", "run")
    assert ended.code == 0, ended.err
    tables = [(here / f"{site}.csv").read_text().splitlines()[1:] for site in range(3)]
    every = [line.split(",") for table in tables for line in table]
    states, rewards, following = zip(*every, strict=True)
    ids = sorted(set(states))
    one_pass = lincat.CategoricalLSTD(gamma=0.5, n_features=len(ids)).fit(
        [ids.index(s) for s in states], np.array(rewards, float), [ids.index(s) for s in following]
    )
    asked = lincat.read_run("run").predict(np.array(ids, dtype=object))
    np.testing.assert_allclose(asked.mean(), one_pass.predict(range(len(ids))).mean(), rtol=1e-9)
