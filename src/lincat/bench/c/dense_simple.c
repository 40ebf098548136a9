/* Linear-CTD as one would write it: dot products, target, update, three plain loops.
   The compiler vectorises what it can (-O3 -march=native, restrict). */
#include <math.h>
#include <stdlib.h>

void dense_simple(double *restrict Theta, const double *restrict phi, const double *restrict phi_next,
                  const double *restrict rho, const double *restrict delta, const double *restrict step,
                  long n, long d, long K, long width)
{
    double *restrict f = malloc(K * sizeof(double));
    double *restrict g = malloc(K * sizeof(double));
    double *restrict target = malloc((K + 1) * sizeof(double));
    for (long t = 0; t < n; t++) {
        for (long k = 0; k < K; k++) f[k] = g[k] = (k + 1.0) / (K + 1.0);
        for (long i = 0; i < d; i++) {
            const double *row = Theta + i * width;
            double a = phi[t * d + i], b = phi_next[t * d + i];
            for (long k = 0; k < K; k++) {
                f[k] += a * row[k];
                g[k] += b * row[k];
            }
        }
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
        for (long i = 0; i < d; i++) {
            double *row = Theta + i * width;
            double a = phi[t * d + i];
            for (long k = 0; k < K; k++) row[k] -= a * f[k];
        }
    }
    free(f); free(g); free(target);
}
