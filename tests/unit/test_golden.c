#include "test.h"

#include "formats/golden.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static const char bank_text[] =
	"{\"shape\": [2, 1], \"init\": [1, 2], \"x0\": [3, 4], \"add\": [5, 6],"
	"\"noise\": [[7, 8], [9, 10]], \"unknown\": {}}";

static struct golden_bank small_bank(void)
{
	struct golden_bank bank;

	CHECK_OK(golden_read_bank(bank_text, strlen(bank_text), &arena, &bank, &err));
	return bank;
}

TEST(a_bank_has_a_shape)
{
	strata_arena_init(&arena, &memory, 0);
	struct golden_bank bank = small_bank();

	CHECK_INT(bank.element_count, 2);
	CHECK_INT(bank.batch, 2);
	CHECK_INT(bank.noise_count, 2);
	CHECK(bank.noise[1].values[1] == 10 && bank.clean.values[0] == 3);
	const char *bad[] = {
		"{}",
		"{\"shape\": [2, 0]}",
		"{\"shape\": [1048577]}",
		"{\"shape\": [1.5]}",
		"{\"shape\": [2], \"init\": [1]}",
		"{\"shape\": [2], \"init\": [1, \"2\"], \"x0\": [1, 2], \"add\": [1, 2]}",
		"[",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(golden_read_bank(bad[i], strlen(bad[i]), &arena, &bank, &err) < 0);
		CHECK(err.text[0]);
	}
	strata_arena_fini(&arena);
}

static int read_cases(const char *cases, struct golden_file *file)
{
	struct golden_bank bank = small_bank();
	char text[2000];
	int length = snprintf(text, sizeof(text),
			      "{\"format\": \"solver-golden-1\", \"cases\": [%s]}", cases);

	return golden_read(text, (size_t)length, &bank, &arena, file, &err);
}

TEST(a_case_is_read)
{
	struct golden_file file;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(
		read_cases("{\"id\": \"a\", \"config\": {\"_class_name\": \"X\"}, \"surprise\": [],"
			   "\"num_inference_steps\": 3, \"set_timesteps\": {\"mu\": 0.5},"
			   "\"step_args\": {\"eta\": 1}, \"timesteps\": [3, 2, 1], \"scale\": 1,"
			   "\"noise\": [1, null, [0]], \"at\": [2], \"samples\": [[1, 2]],"
			   "\"dev64\": 1e-6, \"jitter\": 2e-6, \"strength\": 0.6,"
			   "\"start_index\": 1, \"sample0\": [1, 2]}",
			   &file));
	const struct golden_case *one = &file.cases[0];

	CHECK_INT(file.case_count, 1);
	CHECK_INT(one->request.steps, 3);
	CHECK(one->request.has_mu && one->request.mu == 0.5);
	CHECK(one->request.has_strength && one->request.strength == 0.6);
	CHECK(strstr(one->config, "\"eta\":1") && strstr(one->config, "_class_name"));
	CHECK(one->noise.values[0] == 1 && one->noise.values[1] == -1 && one->noise.values[2] == 0);
	CHECK_NEAR(one->tolerance, 2e-6 + 8e-6, 1e-12);
	CHECK(isnan(one->init_noise_sigma));
	CHECK_INT(one->start_index, 1);
	strata_arena_fini(&arena);
}

static void refused(const char *cases, const char *words)
{
	struct golden_file file;

	CHECK_ERROR(read_cases(cases, &file), -EINVAL, words);
}

TEST(hostile_cases_are_refused)
{
	strata_arena_init(&arena, &memory, 0);
	refused("{}", "no config");
	refused("3", "no config");
	refused("{\"config\": {}, \"at\": [0], \"samples\": []}", "0 samples for 1 calls");
	refused("{\"config\": {}, \"at\": [0], \"samples\": [[1]]}", "expected 2");
	refused("{\"config\": {}, \"at\": [], \"samples\": []}", "0 samples");
	refused("{\"config\": {}, \"noise\": [2]}", "not in the bank");
	refused("{\"config\": {}, \"noise\": [0.5]}", "not in the bank");
	refused("{\"config\": {}, \"noise\": [-3]}", "not in the bank");
	refused("{\"config\": {}, \"num_inference_steps\": -1}", "num_inference_steps is -1");
	refused("{\"config\": {}, \"start_index\": 1e30}", "start_index");
	refused("{\"config\": {}, \"timesteps\": {}}", "not a list");
	struct golden_bank bank = small_bank();
	struct golden_file file;
	const char other[] = "{\"format\": \"other-1\", \"cases\": []}";

	CHECK_ERROR(golden_read(other, strlen(other), &bank, &arena, &file, &err), -EINVAL,
		    "other-1");
	strata_arena_fini(&arena);
}

TEST(a_sampler_is_read)
{
	strata_arena_init(&arena, &memory, 0);
	struct golden_bank bank = small_bank();
	struct golden_file file;
	const char text[] =
		"{\"format\": \"kdiffusion-golden-1\", \"cases\": [{\"sampler\": \"lms\","
		"\"args\": {\"order\": 2}, \"n\": 2, \"sigma_min\": 0.1, \"sigma_max\": 9,"
		"\"sigmas\": [9, 1, 0], \"at\": [1], \"samples\": [[1, 2]]}]}";

	CHECK_OK(golden_read(text, strlen(text), &bank, &arena, &file, &err));
	CHECK_TEXT(file.cases[0].solver, "lms");
	CHECK(file.cases[0].denoiser && file.cases[0].init_noise_sigma == 9);
	CHECK_INT(file.cases[0].request.sigma_count, 3);
	CHECK(strstr(file.cases[0].config, "\"order\":2"));
	strata_arena_fini(&arena);
}

TEST(samplers_and_betas_that_lack_something_are_refused)
{
	static const struct {
		const char *form, *cases, *words;
	} bad[] = {
		{ "kdiffusion", "{\"sigmas\": [9, 0]}", "a case has no sampler" },
		{ "kdiffusion", "{\"sampler\": \"lms\", \"sigmas\": [9]}",
		  "a case has 1 sigmas; expected at least two" },
		{ "kdiffusion", "{\"sampler\": \"lms\", \"sigmas\": [9, 0], \"sigma_min\": \"x\"}",
		  "sigma_min is not a number" },
		{ "kdiffusion", "{\"sampler\": \"lms\", \"sigmas\": [9, 0], \"sigma_max\": \"x\"}",
		  "sigma_max is not a number" },
		{ "kdiffusion", "{\"sampler\": \"lms\", \"sigmas\": [9, 0], \"n\": -1}", "n is -1" },
		{ "kdiffusion", "{\"sampler\": \"lms\", \"sigmas\": {}}",
		  "sigmas is not a list of finite numbers" },
		{ "betas", "{}", "a case has no config" },
		{ "betas", "{\"config\": {}, \"index\": {}}", "index is not a list" },
		{ "betas", "{\"config\": {}, \"index\": []}", "0 timesteps for 0 and 0 alphas" },
		{ "betas",
		  "{\"config\": {}, \"index\": [0], \"alphas_cumprod_f32\": [1], "
		  "\"alphas_cumprod_f64\": [1, 1]}",
		  "1 timesteps for 1 and 2 alphas" },
	};

	strata_arena_init(&arena, &memory, 0);
	struct golden_bank bank = small_bank();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct golden_file file;
		char text[512];

		snprintf(text, sizeof(text), "{\"format\": \"%s-golden-1\", \"cases\": [%s]}",
			 bad[i].form, bad[i].cases);
		CHECK_ERROR(golden_read(text, strlen(text), &bank, &arena, &file, &err), -EINVAL,
			    bad[i].words);
	}
	strata_arena_fini(&arena);
}

TEST(a_bank_has_no_cases_and_betas_have_alphas)
{
	strata_arena_init(&arena, &memory, 0);
	struct golden_bank bank = small_bank();
	struct golden_file file;
	const char betas[] =
		"{\"format\": \"betas-golden-1\", \"cases\": [{\"config\": {}, \"index\": "
		"[0, 5], \"alphas_cumprod_f32\": [1, 0.5], \"alphas_cumprod_f64\": [1, "
		"0.5]}]}";
	const char uneven[] = "{\"format\": \"betas-golden-1\", \"cases\": [{\"config\": {}, "
			      "\"index\": [0, 5], \"alphas_cumprod_f32\": [1]}]}";

	CHECK_OK(golden_read(bank_text, strlen(bank_text), &bank, &arena, &file, &err));
	CHECK_INT(file.case_count, 0);
	CHECK_OK(golden_read(betas, strlen(betas), &bank, &arena, &file, &err));
	CHECK_INT(file.cases[0].request.timestep_count, 2);
	CHECK(file.cases[0].request.timesteps[0] == 5 && file.cases[0].alphas.values[0] == 0.5);
	CHECK_ERROR(golden_read(uneven, strlen(uneven), &bank, &arena, &file, &err), -EINVAL,
		    "as many of each");
	strata_arena_fini(&arena);
}

TEST(there_is_a_most_of_cases)
{
	size_t size = STRATA_GOLDEN_CASES_MAX * 2 + 100;
	char *text = strata_memory_get(&memory, size);
	struct golden_bank bank;
	struct golden_file file;
	size_t length;

	strata_arena_init(&arena, &memory, 0);
	bank = small_bank();
	length = (size_t)snprintf(text, size, "{\"format\": \"solver-golden-1\", \"cases\": [1");
	for (int i = 1; i < STRATA_GOLDEN_CASES_MAX; i++, length += 2)
		memcpy(text + length, ",1", 2);
	memcpy(text + length, "]}", 2);
	CHECK_ERROR(golden_read(text, length + 2, &bank, &arena, &file, &err), -EINVAL,
		    "no config");
	memcpy(text + length, ",1]}", 4);
	CHECK_ERROR(golden_read(text, length + 4, &bank, &arena, &file, &err), -EINVAL,
		    "at most 65536");
	strata_arena_fini(&arena);
	strata_memory_put(&memory, text, size);
}
