/* Noise on a clean sample: the first sample of a trajectory, and one at any of its rows. */
#include "solver/row.h"

static void mix(double clean_scale, const void *clean, double noise_scale, const float *noise,
		size_t element_count, enum strata_element element, void *ret_sample)
{
	for (size_t i = 0; i < element_count; i++) {
		float value = (float)noise_scale * noise[i];

		if (clean_scale != 0)
			value += (float)clean_scale * row_load(clean, element, i);
		row_store(ret_sample, element, i, value);
	}
}

void strata_solver_begin(const struct strata_solver_table *table, const void *clean,
			 const float *noise, size_t element_count, enum strata_element element,
			 void *ret_sample)
{
	mix(clean ? table->init_clean : 0, clean, table->init_noise_sigma, noise, element_count,
	    element, ret_sample);
}

void strata_solver_add_noise(const struct strata_solver_row *row, const void *clean,
			     const float *noise, size_t element_count, enum strata_element element,
			     void *ret_sample)
{
	mix(row->alpha, clean, row->sigma, noise, element_count, element, ret_sample);
}
