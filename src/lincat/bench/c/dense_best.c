/* The fastest dense Linear-CTD in C that we know: AVX2 intrinsics, fused sweep.
   Same layout as the Numba kernels: width a multiple of 8, 64-byte rows. */
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define PAD 16
#ifndef LINES
#define LINES 2 /* cache lines in a block of columns */
#endif
typedef __m256d v4;

static inline void error_row(double *restrict e, const double *restrict f, const double *restrict g,
                             double *restrict edges, int *restrict sources, double rho, double delta, double step,
                             long K)
{   /* delta >= 0.8: three loads a block; see lincat/kernels/blocks.py */
    const v4 w = _mm256_set1_pd(delta), s = _mm256_set1_pd(-step), one = _mm256_set1_pd(1.0);
    const v4 lane = _mm256_set_pd(3, 2, 1, 0), zero = _mm256_setzero_pd();
    const v4 slope1 = _mm256_fmadd_pd(lane, _mm256_set1_pd(delta - 1.0), w), slope2 = _mm256_add_pd(slope1, w);
    const v4 inverse = _mm256_set1_pd(1.0 / delta), low = _mm256_set1_pd(-PAD), high = _mm256_set1_pd(K);
    v4 k_rho = _mm256_fmsub_pd(lane, _mm256_set1_pd(4.0), _mm256_set1_pd(rho));
    for (long b = 0; b < (K + 3) / 4; b += 4) {
        v4 m = _mm256_floor_pd(_mm256_mul_pd(k_rho, inverse));
        _mm256_storeu_pd(edges + b, _mm256_fmsub_pd(w, m, k_rho));
        m = _mm256_min_pd(_mm256_max_pd(m, low), high);
        _mm_storeu_si128((__m128i *)(sources + b), _mm256_cvttpd_epi32(m));
        k_rho = _mm256_add_pd(k_rho, _mm256_set1_pd(16.0));
    }
    for (long k = 0; k < K; k += 4) {
        v4 edge = _mm256_broadcast_sd(edges + k / 4);
        v4 c1 = _mm256_min_pd(_mm256_max_pd(_mm256_add_pd(edge, slope1), zero), one);
        v4 c2 = _mm256_min_pd(_mm256_max_pd(_mm256_add_pd(edge, slope2), zero), one);
        const double *p = g + PAD + sources[k / 4];
        v4 x0 = _mm256_loadu_pd(p), x1 = _mm256_loadu_pd(p + 1), x2 = _mm256_loadu_pd(p + 2);
        v4 t = _mm256_fmadd_pd(c1, _mm256_sub_pd(x0, x1), _mm256_fmadd_pd(c2, _mm256_sub_pd(x1, x2), x2));
        _mm256_storeu_pd(e + k, _mm256_mul_pd(s, _mm256_sub_pd(_mm256_loadu_pd(f + k), t)));
    }
    for (long k = K; k < (K + 3) / 4 * 4; k++) e[k] = 0.0;
}

#define SWEEP(N)                                                                        \
    {                                                                                   \
        v4 e_[N], f_[N], g_[N];                                                         \
        for (int j = 0; j < N; j++) {                                                   \
            e_[j] = _mm256_loadu_pd(e + k + 4 * j);                                     \
            f_[j] = g_[j] = _mm256_loadu_pd(off + k + 4 * j);                           \
        }                                                                               \
        for (long i = 0; i < d; i++) {                                                  \
            double *p = Theta + i * width + k;                                          \
            v4 a = _mm256_broadcast_sd(phi + i), b = _mm256_broadcast_sd(phi1 + i),     \
               c = _mm256_broadcast_sd(next1 + i);                                      \
            for (int j = 0; j < N; j++) {                                               \
                v4 x = _mm256_fmadd_pd(a, e_[j], _mm256_loadu_pd(p + 4 * j));           \
                _mm256_storeu_pd(p + 4 * j, x);                                         \
                f_[j] = _mm256_fmadd_pd(b, x, f_[j]);                                   \
                g_[j] = _mm256_fmadd_pd(c, x, g_[j]);                                   \
            }                                                                           \
        }                                                                               \
        for (int j = 0; j < N; j++) {                                                   \
            _mm256_storeu_pd(f + k + 4 * j, f_[j]);                                     \
            _mm256_storeu_pd(g + PAD + k + 4 * j, g_[j]);                               \
        }                                                                               \
    }

static inline void sweep(double *restrict Theta, double *restrict f, double *restrict g, const double *restrict e,
                         const double *restrict off, const double *restrict phi, const double *restrict phi1,
                         const double *restrict next1, long d, long width)
{
    long k = 0;
    for (; k + 8 * LINES <= width; k += 8 * LINES) SWEEP(2 * LINES)
    if (k < width) SWEEP(2)
}

void dense_best(double *Theta, const double *phi, const double *phi_next, const double *rho, const double *delta,
                const double *step, long n, long d, long K, long width)
{
    size_t bytes = (6 * width + 2 * PAD + 16) * sizeof(double);
    double *work = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(work, 0, bytes);
    double *f = work, *e = f + width, *off = e + width, *edges = off + width, *g = edges + width;
    int *sources = (int *)(g + width + 2 * PAD);
    for (long k = 0; k < width; k++) off[k] = k < K ? (k + 1.0) / (K + 1.0) : 1.0;
    for (long k = 0; k < PAD; k++) g[PAD + width + k] = 1.0;
    sweep(Theta, f, g, e, off, phi, phi, phi_next, d, width); /* e = 0: dots only */
    for (long t = 0; t < n; t++) {
        long u = t + 1 < n ? t + 1 : t;
        error_row(e, f, g, edges, sources, rho[t], delta[t], step[t], K);
        sweep(Theta, f, g, e, off, phi + t * d, phi + u * d, phi_next + u * d, d, width);
    }
    free(work);
}
