#include "test.h"

#include "solver/adams.h"

#include <math.h>

/* Polynomials of a degree below the number of places come out exactly: here 1, u and u² under e^(k·u). */
TEST(polynomials_are_integrated_exactly)
{
	const double places[] = { -0.7, -1.3, -2.1, -2.2 }, from = -0.7, k = 2;
	double weights[ADAMS_POINTS_MAX];

	for (size_t count = 1; count <= ADAMS_POINTS_MAX; count++) {
		double sums[3] = { 0 }, e = exp(k * from);
		double want[3] = { (1 - e) / k, (-e * from - (1 - e) / k) / k, 0 };

		want[2] = (-e * from * from - 2 * want[1]) / k;
		adams_integrals(count, places, from, k, weights);
		for (size_t i = 0; i < count; i++)
			for (int power = 0; power < 3; power++)
				sums[power] += weights[i] * pow(places[i], power);
		for (size_t power = 0; power < 3 && power < count; power++)
			CHECK_NEAR(sums[power], want[power], 1e-12);
	}
}
