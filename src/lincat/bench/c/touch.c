/* The memory traffic of a fused update and nothing else: read and write each number once, n times. */
#include <immintrin.h>

void touch(double *x, long n, long size)
{
    const __m256d a = _mm256_set1_pd(0.999);
    for (long t = 0; t < n; t++) {
        __asm__ volatile("" ::: "memory"); /* or gcc swaps the loops and keeps x in registers */
        for (long i = 0; i < size; i += 16)
            for (int j = 0; j < 16; j += 4)
                _mm256_storeu_pd(x + i + j, _mm256_mul_pd(a, _mm256_loadu_pd(x + i + j)));
    }
}
