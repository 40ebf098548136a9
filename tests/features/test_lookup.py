import numpy as np
import pytest
import scipy.sparse

import lincat
from lincat.features.files import save_bytes


def test_rows_of_a_sparse_matrix(tmp_path):
    Phi = scipy.sparse.csr_array(np.eye(4)[:, :3])
    features = lincat.Lookup(Phi).fit([3])
    np.testing.assert_array_equal(features.transform([1, 3]), np.eye(4)[[1, 3], :3])
    (tmp_path / "file").write_bytes(save_bytes(features))
    other = lincat.load_features(tmp_path / "file")
    np.testing.assert_array_equal(other.transform([1, 3]), np.eye(4)[[1, 3], :3])
    np.testing.assert_array_equal(other.clone().fit([0]).transform([2]), np.eye(4)[[2], :3])


def test_large_matrices_are_not_in_the_header():
    content = save_bytes(lincat.Lookup(np.ones((2000, 500))).fit([0]))
    assert int.from_bytes(content[:8], "little") < 1000


def test_states_beyond_the_matrix_are_refused():
    features = lincat.Lookup(np.eye(3)).fit([0])
    with pytest.raises(lincat.InvalidInputError, match="states below 3, got 3 at index 1"):
        features.transform([0, 3])
    with pytest.raises(lincat.InvalidInputError, match="Phi: expected finite numbers"):
        lincat.Lookup([[np.nan]]).fit([0])
