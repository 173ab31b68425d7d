#include "solver_sample.h"

#include <errno.h>

static struct solver_sample sample;
static struct strata_error err;

static const char *usual(const char *name)
{
	const struct strata_model_family *family;

	CHECK_OK(strata_model_family_find(name, strlen(name), &family, &err));
	return family->solver;
}

TEST(families_have_their_usual_solver)
{
	CHECK_TEXT(usual("SD 1.5"), "ddim");
	CHECK(strncmp(usual("sdxl"), "euler", 5) == 0);
	CHECK(strncmp(usual("FLUX"), "flow_euler", 10) == 0);
	CHECK(strncmp(usual("SD3"), "flow_euler", 10) == 0);
	CHECK_TEXT(usual("LCM"), "lcm");
}

TEST(every_familys_solver_compiles)
{
	const struct strata_model_family *family, *before = NULL;

	solver_sample_start(&sample);
	for (size_t i = 0; (family = strata_model_family_at(i)); i++) {
		struct strata_solver_request request = {
			.steps = 8,
			.has_mu = strstr(family->solver, "use_dynamic_shifting") != NULL,
			.mu = 1.15,
		};
		struct strata_solver_table *table;

		if (solver_sample_compile(&sample, family->solver, &request, &table))
			test_fail(__FILE__, __LINE__, "%s: %s", family->name, sample.err.text);
		strata_solver_table_free(table, &sample.memory);
		CHECK(!before || strcmp(before->name, family->name) < 0);
		before = family;
	}
	solver_sample_end(&sample);
}

TEST(an_unknown_family_is_refused)
{
	const struct strata_model_family *family;

	CHECK_ERROR(strata_model_family_find("sdxxl", 5, &family, &err), -ENOENT,
		    "did you mean 'sdxl'?");
}

TEST(pipelines_are_known_by_their_class)
{
	const struct strata_model_family *family;

	CHECK_OK(strata_model_family_find("StableDiffusionXLPipeline", 25, &family, &err));
	CHECK_TEXT(family->name, "sdxl");
	CHECK_INT(family->steps, 50);
	CHECK_INT(family->side, 1024);
	CHECK_NEAR(family->guidance_scale, 5, 0);
	CHECK_OK(strata_model_family_find("FluxPipeline", 12, &family, &err));
	CHECK_TEXT(family->name, "flux");
}
