"""One BLAS thread, whoever else asks for it."""

from threadpoolctl import threadpool_limits

from lincat._threads import _blas_threads, blas_threads, one_blas_thread, steady_blas


def test_the_last_to_leave_restores_what_the_first_found():
    blas_threads()  # loads all of BLAS: a limit holds for what is there
    with threadpool_limits(2):
        one_blas_thread.__enter__()  # as two threads do, of which the first is done first
        one_blas_thread.__enter__()
        one_blas_thread.__exit__()
        assert blas_threads() == 1
        one_blas_thread.__exit__()
        assert blas_threads() == 2


def test_loops_of_ours_keep_their_threads_where_only_blas_is_held():
    blas_threads()
    with threadpool_limits(2):
        with steady_blas():
            assert (_blas_threads(), blas_threads()) == (1, 2)
            with one_blas_thread:
                assert (_blas_threads(), blas_threads()) == (1, 1)
            assert (_blas_threads(), blas_threads()) == (1, 2)
        assert (_blas_threads(), blas_threads()) == (2, 2)
