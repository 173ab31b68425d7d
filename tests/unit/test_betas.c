#include "solver_sample.h"

#include "solver/betas.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static struct solver_sample sample;
static struct strata_error err;

/* The golden numbers: alphas_cumprod at some indices for each schedule. */
static void check_case(const json_t *one)
{
	const json_t *index = json_object_get(one, "index");
	const json_t *want = json_object_get(one, "alphas_cumprod_f32");
	char *config = json_dumps(json_object_get(one, "config"), 0);
	struct strata_solver_name ddpm;
	struct strata_spec spec;
	struct alphas alphas;

	CHECK_OK(strata_solver_find(sample.solvers, NULL, "ddpm", 4, &ddpm, &err));
	CHECK_OK(strata_solver_read_config(sample.solvers, config, strlen(config), &ddpm,
					   &sample.arena, &spec, &err));
	CHECK_OK(betas_alphas(spec.conf, &sample.arena, &alphas, &err));
	for (size_t i = 0; i < json_array_size(index); i++) {
		double alpha = json_number_value(json_array_get(want, i));
		size_t t = (size_t)json_integer_value(json_array_get(index, i));

		CHECK_NEAR(alphas.product[t], alpha, 2e-6 * alpha + 1e-10);
	}
	free(config);
}

TEST(alphas_are_those_of_torch)
{
	char path[4096];
	size_t size;

	snprintf(path, sizeof(path), "%s/solver/betas.json", test_data_dir());
	char *text = test_read_file(path, &size);
	json_t *file = json_loads(text, 0, NULL);
	const json_t *cases = json_object_get(file, "cases");

	solver_sample_start(&sample);
	CHECK(json_array_size(cases) >= 5);
	for (size_t i = 0; i < json_array_size(cases); i++)
		check_case(json_array_get(cases, i));
	json_decref(file);
	free(text);
	solver_sample_end(&sample);
}

TEST(zero_snr_ends_in_pure_noise)
{
	struct alphas alphas, plain;

	solver_sample_start(&sample);
	CHECK_OK(betas_alphas(solver_sample_conf(&sample, "ddim"), &sample.arena, &plain, &err));
	CHECK_OK(betas_alphas(solver_sample_conf(&sample, "ddim:rescale_betas_zero_snr"),
			      &sample.arena, &alphas, &err));
	CHECK(alphas.product[alphas.count - 1] == 0);
	CHECK_NEAR(alphas.product[0], plain.product[0], 1e-6);
	for (size_t t = 1; t < alphas.count; t++)
		CHECK(alphas.product[t] < alphas.product[t - 1]);
	solver_sample_end(&sample);
}

TEST(betas_that_say_nothing_are_refused)
{
	struct alphas alphas;

	solver_sample_start(&sample);
	CHECK_ERROR(betas_alphas(solver_sample_conf(&sample, "ddim:beta_start=0:beta_end=0:"
							     "rescale_betas_zero_snr"),
				 &sample.arena, &alphas, &err),
		    -EINVAL, "add no noise");
	CHECK_ERROR(betas_alphas(solver_sample_conf(&sample, "ddim:beta_start=0.9:beta_end=0.9"),
				 &sample.arena, &alphas, &err),
		    -EINVAL, "nothing of the signal");
	CHECK_OK(betas_alphas(solver_sample_conf(&sample, "ddim:trained_betas='0.1,0.5'"),
			      &sample.arena, &alphas, &err));
	CHECK_INT(alphas.count, 2);
	CHECK_NEAR(alphas.product[1], 0.45, 1e-7);
	solver_sample_end(&sample);
}
