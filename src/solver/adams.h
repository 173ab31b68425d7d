/* Weights of Adams steps under an exponential, which SA-Solver and its variant of two calls share. */
#ifndef SOLVER_ADAMS_H
#define SOLVER_ADAMS_H

#include <stddef.h>

enum { ADAMS_POINTS_MAX = 4 };

/* Integrals over a step, from `from` below 0 to 0, of the Lagrange polynomials through `count` places, all measured from where the
 * step ends, under the weight e^(k·u). A polynomial's coefficients are built up factor by factor. */
void adams_integrals(size_t count, const double *places, double from, double k,
		     double *ret_integrals);

#endif
