/* Sparse rows, AVX2: dot products in registers, the error row of dense_best.c, rows added. */
#include "dense_best.c"

#define DOT(N)                                                                           \
    {                                                                                    \
        v4 f_[N];                                                                        \
        for (int j = 0; j < N; j++) f_[j] = _mm256_loadu_pd(off + k + 4 * j);            \
        for (long i = first; i < last; i++) {                                            \
            const double *p = Theta + (long)index[i] * width + k;                        \
            v4 a = _mm256_broadcast_sd(value + i);                                       \
            for (int j = 0; j < N; j++) f_[j] = _mm256_fmadd_pd(a, _mm256_loadu_pd(p + 4 * j), f_[j]); \
        }                                                                                \
        for (int j = 0; j < N; j++) _mm256_storeu_pd(out + k + 4 * j, f_[j]);            \
    }

static inline void dot_rows(double *restrict out, const double *restrict Theta, const double *restrict off,
                            const int *restrict index, const double *restrict value, long first, long last, long width)
{
    long k = 0;
    for (; k + 16 <= width; k += 16) DOT(4)
    if (k < width) DOT(2)
}

void csr_best(double *Theta, const int *indptr, const int *index, const double *value, const int *indptr1,
              const int *index1, const double *value1, const double *rho, const double *delta, const double *step,
              long n, long K, long width)
{
    size_t bytes = (6 * width + 2 * PAD + 16) * sizeof(double);
    double *work = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(work, 0, bytes);
    double *f = work, *e = f + width, *off = e + width, *edges = off + width, *g = edges + width;
    int *sources = (int *)(g + width + 2 * PAD);
    for (long k = 0; k < width; k++) off[k] = k < K ? (k + 1.0) / (K + 1.0) : 1.0;
    for (long k = 0; k < PAD; k++) g[PAD + width + k] = 1.0;
    for (long t = 0; t < n; t++) {
        dot_rows(f, Theta, off, index, value, indptr[t], indptr[t + 1], width);
        dot_rows(g + PAD, Theta, off, index1, value1, indptr1[t], indptr1[t + 1], width);
        error_row(e, f, g, edges, sources, rho[t], delta[t], step[t], K);
        for (long i = indptr[t]; i < indptr[t + 1]; i++) {
            double *p = Theta + (long)index[i] * width;
            v4 a = _mm256_broadcast_sd(value + i);
            for (long k = 0; k < width; k += 4)
                _mm256_storeu_pd(p + k, _mm256_fmadd_pd(a, _mm256_loadu_pd(e + k), _mm256_loadu_pd(p + k)));
        }
    }
    free(work);
}
