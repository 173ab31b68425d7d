#include "solver_sample.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

static struct solver_sample sample;

/* "class + schedule", or what the refusal says. */
static const char *meaning(const char *name)
{
	static char text[600];
	struct strata_solver_name found;
	int rc = strata_solver_find(sample.solvers, sample.schedules, name, strlen(name), &found,
				    &sample.err);

	if (rc)
		snprintf(text, sizeof(text), "%s", sample.err.text);
	else
		snprintf(text, sizeof(text), "%s%s%s%s%s", found.cls->name,
			 found.options ? ":" : "", found.options ? found.options : "",
			 found.schedule ? " + " : "", found.schedule ? found.schedule->name : "");
	return text;
}

TEST(names_as_people_write_them)
{
	solver_sample_start(&sample);
	CHECK_TEXT(meaning("DPM++ 2M Karras"), "dpmpp_2m + karras");
	CHECK_TEXT(meaning("dpmpp_2m"), "dpmpp_2m");
	CHECK_TEXT(meaning("k_dpmpp_2m_ka"), "dpmpp_2m + karras");
	CHECK_TEXT(meaning("DPM++ 2M SDE"), "dpmpp_2m:algorithm_type=sde-dpmsolver++");
	CHECK_TEXT(meaning("DPM++ 2M SDE Heun Exponential"),
		   "dpmpp_2m:algorithm_type=sde-dpmsolver++:solver_type=heun + exponential");
	CHECK_TEXT(meaning("DPM++ 3M SDE Automatic"), "dpmpp_3m_sde + exponential");
	CHECK_TEXT(meaning("Euler Automatic"), "euler");
	CHECK_TEXT(meaning("Euler a"), "euler_ancestral");
	CHECK_TEXT(meaning("Euler A Align Your Steps"), "euler_ancestral + align_your_steps");
	CHECK_TEXT(meaning("euler sgm uniform"), "euler + sgm_uniform");
	CHECK_TEXT(meaning("uni_pc"), "unipc:solver_type=bh1");
	CHECK_TEXT(meaning("uni-pc Karras"), "unipc:solver_type=bh1 + karras");
	CHECK_TEXT(meaning("UniPC"), "unipc");
	CHECK_TEXT(meaning("plms"), "pndm:skip_prk_steps=true");
	CHECK_TEXT(meaning("EulerDiscreteScheduler"), "euler");
	CHECK_TEXT(meaning("seeds_3 Karras"), "seeds:stages=3 + karras");
	CHECK_TEXT(meaning("res_2s"), "seeds:stages=2:r=0.5:solver_type=phi_2:eta=0");
	CHECK_TEXT(meaning("FlowMatchEulerDiscreteScheduler"), "flow_euler");
	solver_sample_end(&sample);
}

TEST(unknown_names_are_refused_with_the_nearest)
{
	char longest[STRATA_NAME_BYTES_MAX + 2];

	solver_sample_start(&sample);
	CHECK_TEXT(meaning("eular"), "there is no solver 'eular'; did you mean 'euler'?");
	CHECK_TEXT(meaning("DPM++ 2M Karas"),
		   "there is no solver 'DPM++ 2M Karas'; `strata solver list` has them");
	CHECK_TEXT(meaning("euler_cfg_pp"),
		   "euler_cfg_pp is not here: it steps by the unconditional prediction beside the "
		   "guided one, and a row has one output of the model; the nearest is euler");
	CHECK_TEXT(meaning(""), "there is no solver ''; `strata solver list` has them");
	memset(longest, 'e', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	CHECK(strstr(meaning(longest), "there is no solver"));
	longest[sizeof(longest) - 2] = 0; /* as long as a name may be */
	CHECK(strstr(meaning(longest), "there is no solver"));
	solver_sample_end(&sample);
}

/* Whatever the table offers instead can be had. */
static void check_instead(const char *refusal)
{
	const char *nearest = strstr(refusal, "the nearest is ");

	if (!nearest)
		test_fail(__FILE__, __LINE__, "%s", refusal);
	char *copy = strdup(nearest + strlen("the nearest is "));
	int rc = solver_sample_read(&sample, copy);

	if (rc)
		test_fail(__FILE__, __LINE__, "'%s' is offered: %s", copy, sample.err.text);
	free(copy);
}

static void check_name(const char *name)
{
	struct strata_solver_name found;

	if (strata_solver_find(sample.solvers, sample.schedules, name, strlen(name), &found,
			       &sample.err)) {
		char text[sizeof(sample.err.text)];

		memcpy(text, sample.err.text, sizeof(text));
		check_instead(text);
	} else {
		char with[200];

		snprintf(with, sizeof(with), "%s Karras", name);
		CHECK_INT(strata_solver_find(sample.solvers, sample.schedules, with, strlen(with),
					     &found, &sample.err),
			  0);
		CHECK_TEXT(found.schedule->name, "karras");
	}
}

static void check_names(const json_t *value)
{
	if (json_is_string(value))
		check_name(json_string_value(value));
	for (size_t i = 0; i < json_array_size(value); i++)
		check_name(json_string_value(json_array_get(value, i)));
}

TEST(every_alias_of_the_list_is_known)
{
	char path[4096];
	size_t size;

	snprintf(path, sizeof(path), "%s/solver/aliases.json", test_data_dir());
	char *text = test_read_file(path, &size);
	json_t *file = json_loads(text, 0, NULL);
	const json_t *samplers = json_object_get(file, "samplers");

	solver_sample_start(&sample);
	CHECK(json_array_size(samplers) > 30);
	for (size_t i = 0; i < json_array_size(samplers); i++) {
		const json_t *one = json_array_get(samplers, i);
		const char *keys[] = { "id", "a1111", "comfyui", "sd_cpp", "diffusers" };

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			check_names(json_object_get(one, keys[k]));
	}
	json_decref(file);
	free(text);
	solver_sample_end(&sample);
}
