import numpy as np

from lincat.data.starts import Starts


def test_few_are_all_kept_and_copied():
    batch = np.arange(6.0).reshape(3, 2)
    starts = Starts()
    starts.add_many(batch)
    batch[:] = 0.0
    np.testing.assert_array_equal(starts.sample(), [[0, 1], [2, 3], [4, 5]])


def test_many_are_kept_with_equal_chance():
    kept = np.zeros(60)
    for seed in range(400):
        starts = Starts(capacity=6, seed=seed)
        starts.add_many(np.arange(25))
        for i in range(25, 60):
            starts.add(i)
        assert starts.seen == 60
        sample = starts.sample()
        assert len(set(sample)) == 6
        kept[sample] += 1
    # Each stays in a tenth of the runs: 40 of 400, with a deviation of 6.
    assert kept.sum() == 2400
    assert abs(kept - 40).max() < 30


def test_texts_stay_texts():
    starts = Starts()
    starts.add("a")
    starts.add_many(np.array(["b", "cc"], object))
    assert starts.sample().tolist() == ["a", "b", "cc"]
    assert len(Starts().sample()) == 0
