/* dense_best.c with blocks of one cache line: which is faster depends on d and K. */
#define LINES 1
#define dense_best dense_best_line
#include "dense_best.c"
