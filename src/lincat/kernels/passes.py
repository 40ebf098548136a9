"""Which passes the loops use: vectors, or plain loops with LINCAT_VECTORS=0.

Compiled code in Numba's on-disk cache does not follow the variable: give a process
that changes it a cache of its own (NUMBA_CACHE_DIR).
"""

from lincat.kernels.layout import VECTORS

if VECTORS:
    from lincat.kernels.blocks import cdf_error
    from lincat.kernels.matrix_passes import add_outers, dots, lagged, update, update_and_dots
    from lincat.kernels.row_passes import (
        add_row,
        add_rows,
        add_rows_twice,
        copy_rows,
        dot_rows,
        expect_rows,
    )
else:
    from lincat.kernels.plain_passes import (
        add_outers,
        add_row,
        add_rows,
        add_rows_twice,
        copy_rows,
        dot_rows,
        dots,
        expect_rows,
        lagged,
        update,
        update_and_dots,
    )
    from lincat.kernels.target import error_by_sources as cdf_error

__all__ = [
    "add_outers",
    "add_row",
    "add_rows",
    "add_rows_twice",
    "cdf_error",
    "copy_rows",
    "dot_rows",
    "dots",
    "expect_rows",
    "lagged",
    "update",
    "update_and_dots",
]
