/* Weights of stochastic Adams steps: see adams.h. */
#include "solver/adams.h"

#include <math.h>

/* The integral from `from` to 0 of e^(k·u)·u^power: moments of a step's weight, measured from where it ends. */
static double moment(int power, double from, double k)
{
	if (power == 0)
		return -expm1(k * from) / k;
	return (-exp(k * from) * pow(from, power) - power * moment(power - 1, from, k)) / k;
}

void adams_integrals(size_t count, const double *places, double from, double k,
		     double *ret_integrals)
{
	for (size_t j = 0; j < count; j++) {
		double poly[ADAMS_POINTS_MAX] = { 1 }, total = 0;
		size_t degree = 0;

		for (size_t i = 0; i < count; i++) {
			if (i == j)
				continue;
			double scale = 1 / (places[j] - places[i]);

			for (size_t n = ++degree; n > 0; n--)
				poly[n] = scale * (poly[n - 1] - places[i] * poly[n]);
			poly[0] *= -places[i] * scale;
		}
		for (size_t n = 0; n <= degree; n++)
			total += poly[n] * moment((int)n, from, k);
		ret_integrals[j] = total;
	}
}
