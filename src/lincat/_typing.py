"""Names for the types that appear in signatures."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ArrayLike: TypeAlias = npt.ArrayLike
# FloatArray | scipy.sparse.csr_array; SciPy carries no types, so the union says no more than Any.
FeatureMatrix: TypeAlias = Any
