import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat.data.transitions import check_state_features


def dense(n=6, d=3, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, d)).astype(dtype),
        rng.random(n),
        rng.normal(size=(n, d)).astype(dtype),
    )


def unsorted_csr():
    """Two rows whose indices descend, as some libraries leave them."""
    matrix = scipy.sparse.csr_array(
        (np.array([3.0, 1.0, 2.0, 5.0]), np.array([2, 0, 2, 1]), np.array([0, 2, 4])), shape=(2, 3)
    )
    assert not matrix.has_sorted_indices
    return matrix


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_features_keep_their_precision(dtype):
    phi, reward, phi_next = dense(dtype=dtype)
    t = lincat.Transitions(phi, reward, phi_next)
    assert (len(t), t.kind, t.n_features) == (6, "dense", 3)
    assert t.phi.dtype == t.phi_next.dtype == dtype
    np.testing.assert_array_equal(t.phi, phi)
    np.testing.assert_array_equal(t.phi_next, phi_next)
    assert t.reward.dtype == np.float64
    assert t.terminated is t.discount is t.weight is None
    assert repr(t) == "Transitions(6, dense features of shape (6, 3))"


def test_mixed_precision_becomes_double():
    phi, reward, phi_next = dense()
    t = lincat.Transitions(phi.astype(np.float32), reward, phi_next)
    assert t.phi.dtype == t.phi_next.dtype == np.float64


@pytest.mark.parametrize("order", ["C", "F"])
def test_features_become_contiguous(order):
    phi, reward, phi_next = dense()
    t = lincat.Transitions(np.asarray(phi, order=order), reward, phi_next[:, ::-1])
    assert t.phi.flags.c_contiguous
    assert t.phi_next.flags.c_contiguous


def test_lists_and_integer_matrices_will_do():
    t = lincat.Transitions([[1, 0], [0, 1]], [1, 2], [[0, 1], [1, 0]])
    assert (t.kind, t.phi.dtype) == ("dense", np.float64)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_sparse_features_become_sorted_rows(make):
    phi, reward, phi_next = dense()
    phi[phi < 0] = 0.0
    t = lincat.Transitions(make(phi), reward, make(phi_next))
    assert (len(t), t.kind, t.n_features) == (6, "sparse", 3)
    assert t.phi.format == t.phi_next.format == "csr"
    np.testing.assert_array_equal(t.phi.toarray(), phi)


def test_unsorted_indices_are_sorted_without_touching_the_callers():
    matrix = unsorted_csr()
    t = lincat.Transitions(matrix, [0.0, 1.0], matrix)
    assert t.phi.has_sorted_indices
    np.testing.assert_array_equal(t.phi.indices, [0, 2, 1, 2])
    np.testing.assert_array_equal(t.phi.toarray(), matrix.toarray())
    np.testing.assert_array_equal(matrix.indices, [2, 0, 2, 1])


def test_sparse_features_become_double():
    matrix = scipy.sparse.csr_array(np.eye(3, dtype=np.float32))
    assert lincat.Transitions(matrix, np.zeros(3), matrix).phi.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_state_numbers(dtype):
    states = np.array([0, 2, 1], dtype)
    t = lincat.Transitions(states, [0.0, 1.0, 2.0], states[::-1])
    assert (len(t), t.kind, t.n_features) == (3, "states", None)
    assert t.phi.dtype == t.phi_next.dtype == np.int64


def test_slices_are_views():
    phi, reward, phi_next = dense()
    t = lincat.Transitions(
        phi, reward, phi_next, terminated=np.zeros(6, bool), discount=reward, weight=reward
    )
    piece = t[2:5]
    assert len(piece) == 3
    for name in ("phi", "phi_next", "reward", "terminated", "discount", "weight"):
        part, whole = getattr(piece, name), getattr(t, name)
        assert np.shares_memory(part, whole), name
        np.testing.assert_array_equal(part, whole[2:5])
    assert piece.n_features == 3
    assert len(t[6:]) == 0


@pytest.mark.parametrize("kind", ["sparse", "states"])
def test_other_kinds_slice_too(kind):
    if kind == "sparse":
        phi = scipy.sparse.csr_array(np.eye(4))
        piece = lincat.Transitions(phi, np.arange(4.0), phi)[1:3]
        np.testing.assert_array_equal(piece.phi.toarray(), np.eye(4)[1:3])
    else:
        piece = lincat.Transitions([0, 1, 2, 3], np.arange(4.0), [1, 2, 3, 0])[1:3]
        np.testing.assert_array_equal(piece.phi, [1, 2])
    assert (piece.kind, len(piece)) == (kind, 2)
    assert piece.terminated is piece.discount is piece.weight is None
    np.testing.assert_array_equal(piece.reward, [1.0, 2.0])


@pytest.mark.parametrize("index", [0, [0, 1], np.array([True, False])])
def test_only_slices_index(index):
    phi, reward, phi_next = dense(2)
    with pytest.raises(lincat.InvalidInputError, match="index: expected a slice of transitions"):
        lincat.Transitions(phi, reward, phi_next)[index]


def test_discounts_are_gamma_or_as_given_and_zero_at_the_end():
    states, reward = [0, 1, 0], np.zeros(3)
    plain = lincat.Transitions(states, reward, states)
    np.testing.assert_array_equal(plain.discounts(0.9), [0.9, 0.9, 0.9])
    ended = lincat.Transitions(states, reward, states, terminated=[0, 1, 0])
    np.testing.assert_array_equal(ended.discounts(0.9), [0.9, 0.0, 0.9])
    given = lincat.Transitions(states, reward, states, [False, True, False], [0.81, 0.9, 1.0])
    np.testing.assert_array_equal(given.discounts(0.5), [0.81, 0.0, 1.0])
    one = lincat.Transitions(states, reward, states, discount=0.7)
    np.testing.assert_array_equal(one.discounts(0.5), [0.7, 0.7, 0.7])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_norms_are_taken_in_double(dtype):
    phi, reward, phi_next = dense(50, 7, dtype)
    expected = (phi.astype(float) ** 2).sum(axis=1)
    for t in (
        lincat.Transitions(phi, reward, phi_next),
        lincat.Transitions(
            *(scipy.sparse.csr_array(x) for x in (phi,)), reward, scipy.sparse.csr_array(phi_next)
        ),
    ):
        norms = t.squared_norms()
        assert norms.dtype == np.float64
        assert norms.shape == (50,)
        np.testing.assert_allclose(norms, expected, rtol=1e-14)
    states = lincat.Transitions([3, 1], [0.0, 0.0], [1, 3])
    np.testing.assert_array_equal(states.squared_norms(), [1.0, 1.0])


def test_squared_norms_do_not_depend_on_the_slice():
    phi, reward, phi_next = dense(3000, 61, np.float32)
    t = lincat.Transitions(phi, reward, phi_next)
    ones = np.concatenate([t[i : i + 1].squared_norms() for i in range(3000)])
    np.testing.assert_array_equal(t.squared_norms(), ones)


def test_squared_norms_of_entries_given_twice():
    twice = scipy.sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2)
    )
    t = lincat.Transitions(twice, [0.0], twice)
    np.testing.assert_allclose(t.squared_norms(), [9.0])


def test_no_transitions_at_all():
    t = lincat.Transitions(np.empty((0, 3)), [], np.empty((0, 3)))
    assert (len(t), t.n_features, len(t.squared_norms()), len(t.discounts(0.5))) == (0, 3, 0, 0)


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "states"])
def test_state_features_of_every_kind(kind):
    value = {
        "dense": np.eye(2),
        "float32": np.eye(2, dtype=np.float32),
        "sparse": scipy.sparse.csr_array(np.eye(2)),
        "states": np.array([0, 1]),
    }[kind]
    assert check_state_features(value, "Phi").shape == value.shape


EYE = np.eye(2)
NAN = np.array([[1.0, np.nan], [0.0, 1.0]])
CASES = [
    (dict(phi=NAN), r"phi: expected finite numbers, got nan at index \(0, 1\)"),
    (dict(phi_next=NAN), r"phi_next: expected finite numbers, got nan at index \(0, 1\)"),
    (dict(phi=NAN.astype(np.float32)), r"phi: expected finite numbers, got nan at index \(0, 1\)"),
    (
        dict(phi=scipy.sparse.csr_array(NAN), phi_next=scipy.sparse.csr_array(EYE)),
        "phi: expected finite numbers, got nan at",
    ),
    (dict(phi=[0.5, 1.5]), r"phi: expected an array of shape \(any, any\), got shape \(2,\)"),
    (dict(phi=np.ones((2, 2, 2))), r"phi: expected an array of shape \(any, any\)"),
    (dict(phi="features"), "phi: expected an array"),
    (dict(phi=[[1.0, 2.0], [3.0]]), "phi: expected an array"),
    (dict(phi=[0, -1], phi_next=[0, 1]), "phi: expected integers of at least 0, got -1 at index 1"),
    (dict(phi=[0, 1], phi_next=[0, -3]), "phi_next: expected integers of at least 0, got -3"),
    (dict(phi_next=np.eye(3)), r"phi_next: expected dense features of shape \(2, 2\) like phi"),
    (dict(phi_next=np.eye(3)[:2]), r"phi_next: expected dense features of shape \(2, 2\) like phi"),
    (dict(phi_next=[0, 1]), "phi_next: expected dense features .*, got states of shape"),
    (
        dict(phi_next=scipy.sparse.csr_array(EYE)),
        "phi_next: expected dense features .*, got sparse",
    ),
    (dict(phi=[0, 1]), "phi_next: expected states features"),
    (dict(reward=[1.0]), r"reward: expected an array of shape \(2\), got shape \(1,\)"),
    (dict(reward=[1.0, np.inf]), "reward: expected finite numbers, got inf at index 1"),
    (dict(reward=[1.0, None]), "reward: expected"),
    (dict(reward=["a", "b"]), "reward: expected an array of numbers"),
    (dict(terminated=[True]), r"terminated: expected an array of shape \(2\)"),
    (dict(terminated=[0, 2]), "terminated: expected true or false for each row, got 2 at index 1"),
    (dict(discount=[0.5, 1.5]), r"discount: expected discounts in \[0, 1\], got 1.5 at index 1"),
    (dict(discount=-0.5), r"discount: expected discounts in \[0, 1\], got -0.5"),
    (dict(discount=[0.5, np.nan]), "discount: expected finite numbers, got nan at index 1"),
    (dict(discount=[0.5]), r"discount: expected an array of shape \(2\)"),
    (dict(weight=[1.0, -1.0]), "weight: expected numbers of at least 0, got -1 at index 1"),
    (dict(weight=[1.0, np.nan]), "weight: expected finite numbers, got nan at index 1"),
    (dict(weight=2.0), r"weight: expected an array of shape \(2\)"),
]


@pytest.mark.parametrize(("changes", "message"), CASES)
def test_bad_input_is_named_in_one_line(changes, message):
    good = {"phi": EYE, "reward": [0.0, 1.0], "phi_next": EYE}
    with pytest.raises(lincat.InvalidInputError, match=f"^{message}") as error:
        lincat.Transitions(**(good | changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_norms_are_sums_of_squares(dtype):
    phi, reward, phi_next = dense(n=9, d=19, dtype=dtype)
    norms = lincat.Transitions(phi, reward, phi_next).squared_norms()
    np.testing.assert_allclose(norms, (phi.astype(float) ** 2).sum(axis=1), rtol=1e-14)
    assert norms.dtype == np.float64


def everything(n=6):
    phi, reward, phi_next = dense(n=n, d=3)
    rng = np.random.default_rng(0)
    return lincat.Transitions(
        phi,
        reward,
        phi_next,
        terminated=np.arange(n) == 2,
        discount=rng.random(n),
        weight=rng.random(n),
        truncated=np.arange(n) == 4,
    )


def test_centred_rewards_are_td_errors():
    t = everything()
    V, V_next = np.random.default_rng(1).normal(size=(2, 6))
    about = t.centred(V, V_next, gamma=0.9)
    for i in range(6):
        ahead = 0.0 if i == 2 else t.discount[i] * V_next[i]
        assert about.reward[i] == pytest.approx(t.reward[i] + ahead - V[i], abs=1e-15)
    for name in ("phi", "phi_next", "terminated", "discount", "weight", "truncated"):
        assert getattr(about, name) is not None
        np.testing.assert_array_equal(getattr(about, name), getattr(t, name))
    np.testing.assert_array_equal(t.reward, everything().reward)


def test_centring_twice_adds_up_and_zero_changes_nothing():
    t = everything()
    V, V_next, W, W_next = np.random.default_rng(1).normal(size=(4, 6))
    twice = t.centred(V, V_next, 0.9).centred(W, W_next, 0.9).reward
    np.testing.assert_allclose(twice, t.centred(V + W, V_next + W_next, 0.9).reward, atol=1e-12)
    np.testing.assert_array_equal(t.centred(np.zeros(6), np.zeros(6), 0.9).reward, t.reward)


@pytest.mark.parametrize(
    ("value", "value_next", "message"),
    [
        ([0.0], np.zeros(6), r"value: expected an array of shape \(6\)"),
        (np.zeros(6), [np.nan] * 6, "value_next: expected finite numbers"),
    ],
)
def test_values_that_do_not_fit_are_named(value, value_next, message):
    with pytest.raises(lincat.InvalidInputError, match=message):
        everything().centred(value, value_next, 0.9)


def test_slices_keep_where_records_break_off():
    assert everything()[3:].truncated.tolist() == [False, True, False]
    with pytest.raises(lincat.InvalidInputError, match="truncated: expected true or false"):
        lincat.Transitions(EYE, [0.0, 1.0], EYE, truncated=[0, 2])
