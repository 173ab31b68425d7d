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
	CHECK_TEXT(meaning(""), "there is no solver ''; `strata solver list` has them");
	memset(longest, 'e', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	CHECK(strstr(meaning(longest), "there is no solver"));
	longest[sizeof(longest) - 2] = 0; /* as long as a name may be */
	CHECK(strstr(meaning(longest), "there is no solver"));
	solver_sample_end(&sample);
}

static void check_sampler(const char *name)
{
	struct strata_solver_name found;
	char with[200];

	if (strata_solver_find(sample.solvers, sample.schedules, name, strlen(name), &found,
			       &sample.err))
		test_fail(__FILE__, __LINE__, "%s: %s", name, sample.err.text);
	snprintf(with, sizeof(with), "%s Karras", name);
	CHECK_INT(strata_solver_find(sample.solvers, sample.schedules, with, strlen(with), &found,
				     &sample.err),
		  0);
	CHECK_TEXT(found.schedule->name, "karras");
}

/* By itself and behind a solver. "Uniform / Normal" are two names. */
static void check_schedule(const char *names)
{
	const char *slash = strstr(names, " / ");
	char name[100], with[200];
	struct strata_solver_name found;
	struct strata_spec spec;

	snprintf(name, sizeof(name), "%.*s", slash ? (int)(slash - names) : 99, names);
	snprintf(with, sizeof(with), "euler %s", name);
	if (strata_spec_read(sample.schedules, name, strlen(name), &sample.arena, &spec,
			     &sample.err))
		test_fail(__FILE__, __LINE__, "%s: %s", name, sample.err.text);
	CHECK_INT(strata_solver_find(sample.solvers, sample.schedules, with, strlen(with), &found,
				     &sample.err),
		  0);
	CHECK(found.schedule == spec.cls);
	if (slash)
		check_schedule(slash + 3);
}

static void check_names(const json_t *value, void (*check)(const char *name))
{
	if (json_is_string(value))
		check(json_string_value(value));
	for (size_t i = 0; i < json_array_size(value); i++)
		check(json_string_value(json_array_get(value, i)));
}

static void check_list(const json_t *list, void (*check)(const char *name))
{
	static const char *const keys[] = { "id", "a1111", "comfyui", "sd_cpp" };

	CHECK(json_array_size(list) > 10);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			check_names(json_object_get(one, keys[k]), check);
		if (check == check_sampler)
			check_names(json_object_get(one, "diffusers"), check);
	}
}

TEST(every_alias_of_the_list_is_known)
{
	char path[4096];
	size_t size;

	snprintf(path, sizeof(path), "%s/solver/aliases.json", test_data_dir());
	char *text = test_read_file(path, &size);
	json_t *file = json_loads(text, 0, NULL);

	solver_sample_start(&sample);
	check_list(json_object_get(file, "samplers"), check_sampler);
	check_list(json_object_get(file, "schedules"), check_schedule);
	json_decref(file);
	free(text);
	solver_sample_end(&sample);
}
