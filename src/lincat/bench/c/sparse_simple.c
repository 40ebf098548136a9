/* Straightforward loops for sparse rows; a state is a row with one value of one. */
#include <math.h>
#include <stdlib.h>

void sparse_simple(double *restrict Theta, const int *restrict indptr, const int *restrict index,
                   const double *restrict value, const int *restrict indptr1, const int *restrict index1,
                   const double *restrict value1, const double *restrict rho, const double *restrict delta,
                   const double *restrict step, long n, long K, long width)
{
    double *restrict f = malloc(K * sizeof(double));
    double *restrict g = malloc(K * sizeof(double));
    double *restrict target = malloc((K + 1) * sizeof(double));
    for (long t = 0; t < n; t++) {
        for (long k = 0; k < K; k++) f[k] = g[k] = (k + 1.0) / (K + 1.0);
        for (long i = indptr[t]; i < indptr[t + 1]; i++)
            for (long k = 0; k < K; k++) f[k] += value[i] * Theta[index[i] * width + k];
        for (long i = indptr1[t]; i < indptr1[t + 1]; i++)
            for (long k = 0; k < K; k++) g[k] += value1[i] * Theta[index1[i] * width + k];
        double end = rho[t] + delta[t] * K;
        for (long k = 0; k < K; k++) {
            double ones = k + 1.0 - end;
            target[k] = ones < 0.0 ? 0.0 : ones > 1.0 ? 1.0 : ones;
        }
        for (long m = 0; m < K; m++) {
            double left = rho[t] + delta[t] * m;
            long k = (long)floor(left);
            double second = left - k + delta[t] - 1.0;
            if (second < 0.0) second = 0.0;
            if (k >= 0 && k < K) target[k] += (delta[t] - second) * g[m];
            if (k + 1 >= 0 && k + 1 < K) target[k + 1] += second * g[m];
        }
        for (long k = 0; k < K; k++) f[k] = step[t] * (f[k] - target[k]);
        for (long i = indptr[t]; i < indptr[t + 1]; i++)
            for (long k = 0; k < K; k++) Theta[index[i] * width + k] -= value[i] * f[k];
    }
    free(f); free(g); free(target);
}
