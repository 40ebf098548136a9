"""Names for the types that appear in signatures."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ArrayLike: TypeAlias = npt.ArrayLike
FeatureMatrix: TypeAlias = FloatArray | scipy.sparse.csr_array
