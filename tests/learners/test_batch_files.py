"""Files of learners from sums: identity, continuing, tampering."""

import json

import numpy as np
import pytest

import lincat
from lincat.learners.files import save_bytes
from tests import packed
from tests.learners import cases

GRID = lincat.Grid(-6.0, 11.0, 9)
MODELS = {
    "lstd": lambda **more: lincat.LSTD(gamma=cases.GAMMA, **more),
    "given grid": lambda **more: lincat.CategoricalLSTD(gamma=cases.GAMMA, grid=GRID, **more),
    "auto grid": lambda **more: lincat.CategoricalLSTD(gamma=cases.GAMMA, intervals=30, **more),
}


def make(name, kind, **more):
    return MODELS[name](n_features=cases.STATES if kind == "states" else None, **more)


def states(kind):
    return np.arange(cases.STATES) if kind == "states" else cases.features(kind)


def figures(model, kind):
    found = model.predict(states(kind))
    return found if isinstance(found, np.ndarray) else found.pmf


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_learners_come_back_and_continue(name, kind, tmp_path):
    path, t = tmp_path / "model.safetensors", cases.stream(kind, 3000)
    model = make(name, kind).partial_fit(t[:2000])
    model.save(path)
    back = lincat.load(path)
    assert type(back) is type(model)
    assert back.get_params() == model.get_params()
    assert save_bytes(back) == path.read_bytes()
    np.testing.assert_array_equal(figures(back, kind), figures(model, kind))
    np.testing.assert_array_equal(back.moments_.second, model.moments_.second)
    assert back.n_seen_ == 2000
    if name != "lstd":
        assert back.grid_ == model.grid_
        assert back.residual_ == model.residual_
        assert (back.choice_ is None) == (name == "given grid")
        np.testing.assert_array_equal(back.Theta_, model.Theta_)
        np.testing.assert_array_equal(back.clipped_mass_, model.clipped_mass_)
        np.testing.assert_array_equal(back.solution_.Theta, model.solution_.Theta)
    if name == "auto grid":
        assert back.choice_.wanted == model.choice_.wanted
        assert back.choice_.widening == model.choice_.widening
    for x in (model, back):
        x.partial_fit(t[2000:])
    assert save_bytes(back) == save_bytes(model)
    np.testing.assert_array_equal(figures(back, kind), figures(model, kind))


def test_checkpoints_need_no_solution(tmp_path):
    path, t = tmp_path / "model.safetensors", cases.stream("dense", 300)
    model = make("given grid", "dense").partial_fit(t)
    path.write_bytes(save_bytes(model))
    back = lincat.load(path)
    assert back.n_seen_ == 300
    np.testing.assert_array_equal(back.Theta_, model.Theta_)


@pytest.mark.parametrize("many", [False, True])
def test_nodes_of_other_statistics_come_back_as_numbers(many, tmp_path):
    path, t = tmp_path / "model.safetensors", cases.stream("dense", 300)
    reward = np.random.default_rng(0).normal(size=300) if many else t.reward
    other = lincat.Statistics().update(lincat.Transitions(t.phi, reward, t.phi_next))
    model = make("lstd", "dense", nodes=other).fit(t.phi, reward, t.phi_next)
    model.save(path)
    back = lincat.load(path)
    assert back.nodes == (other.nodes_.tolist() if many else "auto")
    np.testing.assert_array_equal(back.psi_, model.psi_)
    array = make("lstd", "dense", nodes=np.array([-9.0, 0.0, 9.0])).fit(t)
    array.save(path)
    assert lincat.load(path).nodes == [-9.0, 0.0, 9.0]


def test_a_flipped_bit_anywhere_is_noticed(tmp_path):
    path, t = tmp_path / "model.safetensors", cases.stream("dense", 4)
    model = lincat.CategoricalLSTD(gamma=0.5, grid=lincat.Grid(0.0, 1.0, 2)).fit(t)
    model.predict(t.phi)
    content = save_bytes(model)
    for i in range(0, len(content), 7):
        broken = bytearray(content)
        broken[i] ^= 1 << i % 8
        packed.refused(lincat.load, path, bytes(broken))


def test_changed_files_are_refused_by_name(tmp_path):
    path, t = tmp_path / "model.safetensors", cases.stream("dense", 200)
    make("given grid", "dense").fit(t).save(path)
    content = path.read_bytes()

    def answer(arrays):
        arrays["Theta"] = arrays["Theta"] + 1e-9

    def sample(arrays):
        arrays["sample"] = arrays["sample"] * 2.0

    def sums(arrays):
        arrays["sums.waiting_reward"] = arrays["sums.waiting_reward"] * 2.0

    def gamma(header):
        header["params"]["gamma"] = 0.5

    def no_checksum(header):
        del header["sha256"]

    for change in (answer, sample, sums):
        changed = packed.rewritten(content, "lincat", change_arrays=change, sign=False)
        packed.refused(lincat.load, path, changed, "checksum: .*changed or damaged")
    changed = packed.rewritten(content, "lincat", change_header=gamma, sign=False)
    packed.refused(lincat.load, path, changed, "checksum")
    changed = packed.rewritten(content, "lincat", change_header=no_checksum, sign=False)
    packed.refused(lincat.load, path, changed)
    packed.refused(lincat.load, path, content[: len(content) // 2])
    packed.refused(lincat.load, path, json.dumps({"a": 1}).encode())
    path.write_bytes(content)
    assert lincat.load(path).n_seen_ == 200
