"""What copies of environments know (how they part ways is in test_rollouts.py)."""

import numpy as np

from lincat.environments.copies import knows_more


def test_rounding_and_single_visits_say_nothing_of_what_copies_know():
    rng = np.random.default_rng(0)
    certain = np.full((4, 30), 0.1) * 3.0 + 1e-17 * rng.standard_normal((4, 30))
    assert not knows_more(np.array([0, 0, 1, 1]), certain)
    apart = certain + np.array([0.0, 1.0, 0.0, 0.0])[:, None]
    assert knows_more(np.array([0, 0, 1, 1]), apart)
    assert not knows_more(np.array([0, 2, 1, 1]), apart)
    assert not knows_more(np.array([0, 2, 1, 3]), apart)
    assert not knows_more(np.array([0, 0]), np.array([[0.0], [1.0]]))


def test_texts_and_points_are_observations_too():
    returns = np.random.default_rng(0).normal([[0.0], [3.0], [9.0]], 1.0, (3, 50))
    assert knows_more(np.array(["a", "a", "b"], dtype=object), returns)
    assert knows_more(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), returns)
    assert not knows_more(np.array([[1.0, 2.0], [1.0, 2.5], [2.0, 1.0]]), returns)


def test_chance_is_called_knowledge_hardly_ever():
    """Of rare rewards too: an analysis of variance takes two that meet for more than chance."""
    rare = (np.random.default_rng(0).random((100, 30, 40)) < 0.002).astype(float)
    assert sum(knows_more(np.arange(30) % 7, returns) for returns in rare) <= 1
