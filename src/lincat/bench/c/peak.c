/* Nothing but fused multiply-adds, `count` vectors of them n times, in twelve independent chains:
   what the arithmetic of an update costs at least. */
#include <immintrin.h>

void peak(double *x, long n, long count)
{
    const __m256d a = _mm256_set1_pd(0.999), b = _mm256_set1_pd(0.001);
    __m256d s[12];
    for (int j = 0; j < 12; j++) s[j] = _mm256_set1_pd(j);
    for (long t = 0; t < n; t++)
        for (long i = 0; i < count; i += 12)
            for (int j = 0; j < 12; j++) s[j] = _mm256_fmadd_pd(s[j], a, b);
    for (int j = 1; j < 12; j++) s[0] = _mm256_add_pd(s[0], s[j]);
    _mm256_storeu_pd(x, s[0]);
}
