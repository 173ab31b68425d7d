#include "test.h"

#include "core/half.h"

#include <strata/trajectory.h>

#include <errno.h>
#include <math.h>
#include <string.h>

enum { COUNT = 16 };

static struct strata_memory memory;
static struct strata_error err;

static struct strata_trajectory_conf usual(const char *solver, int64_t steps)
{
	return (struct strata_trajectory_conf){ .solver = solver,
						.request = { .steps = steps },
						.element_count = COUNT,
						.noise = "torch",
						.seed = 3 };
}

static struct strata_trajectory *open_trajectory(const struct strata_trajectory_conf *conf)
{
	struct strata_trajectory *trajectory = NULL;

	CHECK_OK(strata_trajectory_new(conf, &memory, &trajectory, &err));
	return trajectory;
}

/* Heun calls the model twice for a step and once for the last. */
TEST(timesteps_are_those_of_the_model_calls)
{
	const struct strata_trajectory_conf conf = usual("heun", 3);
	struct strata_trajectory *trajectory = open_trajectory(&conf);
	size_t count;
	const double *timesteps = strata_trajectory_timesteps(trajectory, &count);

	CHECK_INT(count, 5);
	CHECK(timesteps[0] > timesteps[1] && timesteps[1] == timesteps[2]);
	CHECK(!strata_trajectory_row(trajectory)); /* before it began */
	strata_trajectory_free(trajectory);
	CHECK_INT(memory.used_bytes, 0);
}

/* Churn adds noise between two calls: rows without a model are none that a caller sees. */
TEST(rows_without_a_model_are_applied_at_once)
{
	const struct strata_trajectory_conf conf = usual("heun:s_churn=5", 4);
	struct strata_trajectory *trajectory = open_trajectory(&conf);
	const struct strata_solver_row *row;
	float sample[COUNT], output[COUNT] = { 0 };
	size_t calls = 0, count;

	strata_trajectory_timesteps(trajectory, &count);
	CHECK(strata_trajectory_table(trajectory)->row_count > count);
	strata_trajectory_begin(trajectory, NULL, sample);
	for (; (row = strata_trajectory_row(trajectory)); calls++) {
		CHECK(!(row->flags & STRATA_ROW_NO_MODEL));
		CHECK_OK(strata_trajectory_step(trajectory, output, row->timestep, sample, &err));
	}
	CHECK_INT(calls, count);
	strata_trajectory_free(trajectory);
}

TEST(a_step_that_is_not_due_changes_nothing)
{
	const struct strata_trajectory_conf conf = usual("ddim", 2);
	struct strata_trajectory *trajectory = open_trajectory(&conf);
	float sample[COUNT], before[COUNT], output[COUNT] = { 0 };

	CHECK_ERROR(strata_trajectory_step(trajectory, output, 1, sample, &err), -EINVAL, "begin");
	strata_trajectory_begin(trajectory, NULL, sample);
	memcpy(before, sample, sizeof(sample));
	const struct strata_solver_row *row = strata_trajectory_row(trajectory);

	CHECK_ERROR(strata_trajectory_step(trajectory, output, row->timestep - 1, sample, &err),
		    -EINVAL, "expected 501");
	CHECK(row == strata_trajectory_row(trajectory));
	CHECK_BYTES(sample, before, sizeof(sample));
	CHECK_OK(strata_trajectory_step(trajectory, output, 501, sample, &err));
	CHECK_OK(strata_trajectory_step(trajectory, output, 1, sample, &err));
	CHECK_ERROR(strata_trajectory_step(trajectory, output, 1, sample, &err), -EINVAL,
		    "no model call left");
	strata_trajectory_free(trajectory);
}

TEST(an_unguided_output_is_asked_for)
{
	const struct strata_trajectory_conf conf = usual("euler_cfg_pp", 4);
	struct strata_trajectory *trajectory = open_trajectory(&conf);
	float sample[COUNT], output[COUNT] = { 0 };

	strata_trajectory_begin(trajectory, NULL, sample);
	double timestep = strata_trajectory_row(trajectory)->timestep;

	CHECK_ERROR(strata_trajectory_step(trajectory, output, timestep, sample, &err), -EINVAL,
		    "strata_trajectory_step_unguided");
	CHECK_OK(strata_trajectory_step_unguided(trajectory, output, output, timestep, sample,
						 &err));
	strata_trajectory_free(trajectory);
}

TEST(a_clean_sample_is_noised_to_a_timestep)
{
	struct strata_trajectory_conf conf = usual("euler", 10);
	struct strata_trajectory *trajectory = open_trajectory(&conf);
	const struct strata_solver_row *row = &strata_trajectory_table(trajectory)->rows[4];
	float clean[COUNT], noise[COUNT], got[COUNT], sample[COUNT];

	for (int i = 0; i < COUNT; i++)
		clean[i] = (float)i, noise[i] = (float)(i % 3) - 1;
	strata_trajectory_add_noise(trajectory, row->timestep, clean, noise, got);
	for (int i = 0; i < COUNT; i++)
		CHECK_NEAR(got[i], clean[i] + row->sigma * noise[i], 1e-5 * row->sigma + 1e-5);
	strata_trajectory_free(trajectory);
	/* image to image: half of the steps, from the clean sample with noise on it */
	conf.request.has_strength = true;
	conf.request.strength = 0.5;
	trajectory = open_trajectory(&conf);
	size_t count;

	strata_trajectory_timesteps(trajectory, &count);
	CHECK_INT(count, 5);
	strata_trajectory_begin(trajectory, clean, sample);
	double off = 0, sigma = strata_trajectory_row(trajectory)->sigma;

	for (int i = 0; i < COUNT; i++)
		off += pow((sample[i] - clean[i]) / sigma, 2) / COUNT;
	CHECK(off > 0.2 && off < 3);
	strata_trajectory_free(trajectory);
}

TEST(inputs_are_scaled_in_any_element)
{
	struct strata_trajectory_conf conf = usual("euler", 5);
	float plain[COUNT], input[COUNT];
	uint16_t half[COUNT], half_input[COUNT];
	struct strata_trajectory *trajectory = open_trajectory(&conf);

	strata_trajectory_begin(trajectory, NULL, plain);
	strata_trajectory_scale(trajectory, plain, input);
	float scale = (float)strata_trajectory_row(trajectory)->input_scale;

	CHECK(scale < 0.1f);
	CHECK(input[3] == scale * plain[3]);
	strata_trajectory_free(trajectory);
	conf.element = STRATA_F16;
	trajectory = open_trajectory(&conf);
	strata_trajectory_begin(trajectory, NULL, half);
	strata_trajectory_scale(trajectory, half, half_input);
	CHECK_INT(half[3], half_from_float(plain[3]));
	CHECK_INT(half_input[3], half_from_float(scale * half_to_float(half[3])));
	strata_trajectory_free(trajectory);
}

TEST(what_makes_no_trajectory_is_refused)
{
	struct strata_trajectory *trajectory = NULL;
	struct strata_trajectory_conf conf = usual("ddim", 5);

	conf.element_count = 0;
	CHECK_ERROR(strata_trajectory_new(&conf, &memory, &trajectory, &err), -EINVAL, "elements");
	conf = usual("ddim", 5);
	conf.element_count = SIZE_MAX / 2;
	CHECK_ERROR(strata_trajectory_new(&conf, &memory, &trajectory, &err), -EINVAL, "elements");
	conf = usual(NULL, 5);
	CHECK_ERROR(strata_trajectory_new(&conf, &memory, &trajectory, &err), -EINVAL, "no solver");
	conf = usual("ddim", 5);
	conf.noise = NULL;
	CHECK_ERROR(strata_trajectory_new(&conf, &memory, &trajectory, &err), -EINVAL, "no noise");
	conf.noise = "torhc";
	CHECK_ERROR(strata_trajectory_new(&conf, &memory, &trajectory, &err), -ENOENT, "torch");
	conf = usual("dim", 5);
	CHECK_ERROR(strata_trajectory_new(&conf, &memory, &trajectory, &err), -ENOENT, "ddim");
	CHECK(!trajectory);
	strata_trajectory_free(NULL);
	CHECK_INT(memory.used_bytes, 0);
}

static int make_once(struct strata_memory *limited, void *context, struct strata_error *error)
{
	struct strata_trajectory *trajectory = NULL;
	int rc = strata_trajectory_new(context, limited, &trajectory, error);

	CHECK((rc == 0) == (trajectory != NULL));
	strata_trajectory_free(trajectory);
	return rc;
}

TEST(every_allocation_may_fail)
{
	struct strata_trajectory_conf conf = usual("DPM++ 2M Karras", 5);

	conf.member_count = 3;
	CHECK(test_every_allocation(make_once, &conf) > 5);
}
