/* One-hot states, AVX2: the error row of dense_best.c, then one row added. */
#include "dense_best.c"

void states_best(double *Theta, const long *s, const long *s_next, const double *rho, const double *delta,
                 const double *step, long n, long K, long width)
{
    size_t bytes = (6 * width + 2 * PAD + 16) * sizeof(double);
    double *work = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(work, 0, bytes);
    double *f = work, *e = f + width, *off = e + width, *edges = off + width, *g = edges + width;
    int *sources = (int *)(g + width + 2 * PAD);
    for (long k = 0; k < width; k++) off[k] = k < K ? (k + 1.0) / (K + 1.0) : 1.0;
    for (long k = 0; k < PAD; k++) g[PAD + width + k] = 1.0;
    for (long t = 0; t < n; t++) {
        double *row = Theta + s[t] * width;
        const double *next = Theta + s_next[t] * width;
        for (long k = 0; k < width; k += 4) {
            v4 o = _mm256_loadu_pd(off + k);
            _mm256_storeu_pd(f + k, _mm256_add_pd(_mm256_loadu_pd(row + k), o));
            _mm256_storeu_pd(g + PAD + k, _mm256_add_pd(_mm256_loadu_pd(next + k), o));
        }
        error_row(e, f, g, edges, sources, rho[t], delta[t], step[t], K);
        for (long k = 0; k < width; k += 4)
            _mm256_storeu_pd(row + k, _mm256_add_pd(_mm256_loadu_pd(row + k), _mm256_loadu_pd(e + k)));
    }
    free(work);
}
