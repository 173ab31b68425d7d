#include "solver_sample.h"

#include "solver/spacing.h"

#include <errno.h>
#include <stdio.h>

static struct solver_sample sample;
static struct strata_error err;

/* The timesteps of `options` of ddim, as text. */
static const char *spaced(const char *options, int64_t steps, unsigned rules)
{
	static char text[256];
	struct strata_solver_request request = { .steps = steps };
	struct timesteps timesteps;
	size_t length = 0;

	CHECK_OK(spacing_timesteps(solver_sample_conf(&sample, options), &request, 1000, 1000,
				   rules, &sample.arena, &timesteps, &err));
	for (size_t i = 0; i < timesteps.count && length < sizeof(text) - 32; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%g",
					   i ? " " : "", timesteps.at[i]);
	return text;
}

TEST(spacings_are_those_of_the_paper)
{
	solver_sample_start(&sample);
	CHECK_TEXT(spaced("ddim", 5, 0), "801 601 401 201 1");
	CHECK_TEXT(spaced("ddim", 5, SPACING_ONE_MORE), "831 665 499 333 167");
	CHECK_TEXT(spaced("ddim:timestep_spacing=trailing", 5, 0), "999 799 599 399 199");
	CHECK_TEXT(spaced("ddim:timestep_spacing=linspace", 5, 0), "999 749 500 250 0");
	CHECK_TEXT(spaced("ddim:timestep_spacing=linspace", 5, SPACING_FRACTIONS),
		   "999 749.25 499.5 249.75 0");
	CHECK_TEXT(spaced("ddim:timestep_spacing=linspace", 5, SPACING_ONE_MORE),
		   "999 799 599 400 200");
	solver_sample_end(&sample);
}

TEST(what_does_not_fit_is_refused)
{
	struct strata_solver_request request = { .steps = 1000 };
	struct timesteps timesteps;

	solver_sample_start(&sample);
	const void *leading = solver_sample_conf(&sample, "ddim");

	CHECK_ERROR(spacing_timesteps(leading, &request, 1000, 1000, 0, &sample.arena, &timesteps,
				      &err),
		    -EINVAL, "timestep 1000 is outside");
	request.steps = 1001; /* all at the offset, as in the reference */
	CHECK_OK(spacing_timesteps(leading, &request, 1000, 1000, 0, &sample.arena, &timesteps,
				   &err));
	CHECK(timesteps.at[0] == 1 && timesteps.at[1000] == 1);
	double own[] = { 900, -1 };

	request = (struct strata_solver_request){ .timesteps = own, .timestep_count = 2 };
	CHECK_ERROR(spacing_timesteps(leading, &request, 1000, 1000, 0, &sample.arena, &timesteps,
				      &err),
		    -EINVAL, "timestep -1");
	solver_sample_end(&sample);
}

TEST(steps_beyond_the_training_are_for_those_on_noise_levels)
{
	struct strata_solver_request request = { .steps = 61 };
	struct timesteps timesteps;

	solver_sample_start(&sample);
	const void *trailing = solver_sample_conf(&sample, "ddim:timestep_spacing=trailing");

	CHECK_ERROR(spacing_timesteps(trailing, &request, 1000, 1000, 0, &sample.arena, &timesteps,
				      &err),
		    -EINVAL,
		    "61 trailing steps of 1000 timesteps end at timestep -1, which has no noise "
		    "level; expected another number of steps (such as 60)");
	request.steps = 122; /* 121 is one of them too */
	CHECK_ERROR(spacing_timesteps(trailing, &request, 1000, 1000, 0, &sample.arena, &timesteps,
				      &err),
		    -EINVAL, "such as 120");
	request.steps = 61;
	CHECK_OK(spacing_timesteps(trailing, &request, 1000, 1000, SPACING_BEYOND, &sample.arena,
				   &timesteps, &err));
	CHECK_INT(timesteps.count, 62);
	CHECK(timesteps.at[60] == 15 && timesteps.at[61] == -1);
	request.steps = 60;
	CHECK_OK(spacing_timesteps(trailing, &request, 1000, 1000, 0, &sample.arena, &timesteps,
				   &err));
	CHECK_INT(timesteps.count, 60);
	request.steps = 1000;
	CHECK_OK(spacing_timesteps(solver_sample_conf(&sample, "ddim"), &request, 1000, 1000,
				   SPACING_BEYOND, &sample.arena, &timesteps, &err));
	CHECK(timesteps.at[0] == 1000);
	solver_sample_end(&sample);
}

TEST(strength_leaves_the_last_part)
{
	struct strata_solver_request request = { .has_strength = true, .strength = 0.6 };
	size_t first;

	CHECK_OK(spacing_first(&request, 20, &first, &err));
	CHECK_INT(first, 8);
	request.strength = 1;
	CHECK_OK(spacing_first(&request, 20, &first, &err));
	CHECK_INT(first, 0);
	request.strength = 0.01;
	CHECK_ERROR(spacing_first(&request, 20, &first, &err), -EINVAL, "at least 0.05");
	request.has_strength = false;
	CHECK_OK(spacing_first(&request, 20, &first, &err));
	CHECK_INT(first, 0);
}
