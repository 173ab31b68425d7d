/* Every golden pipeline, gone through again on the native backend: those of the tree, and all of the shared ones where they are. */
#include "test.h"

#include "engine/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;

/* All cases of a file pass. */
static void replay_with(const char *path, const struct engine_replay_conf *conf)
{
	struct engine_replay_result result;
	struct strata_engine *engine;

	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	int rc = engine_replay_file(engine, path, conf, &memory, &result, &err);

	CHECK_OK(rc);
	if (result.passed != result.case_count || !(result.worst <= 1))
		test_fail(__FILE__, __LINE__, "%zu of %zu passed: %s", result.passed,
			  result.case_count, result.failed);
	CHECK(result.case_count > 0 && result.worst > 0);
	strata_engine_free(engine);
	printf("# %s: %zu cases, worst %.3g of what is allowed\n", path, result.case_count,
	       result.worst);
	CHECK_INT(memory.used_bytes, 0);
}

static void replay_shared(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "golden/pipelines/%s/cases.json", name);
	replay_with(strcpy(path, test_shared_file(path)), NULL);
}

TEST(digits_of_the_tree)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/pipelines/digits/cases.json", test_data_dir());
	replay_with(path, NULL);
}

TEST(digits_within_a_third_of_their_weights)
{
	const struct engine_replay_conf conf = { .budget_share = 1.0 / 3 };
	char path[512];

	snprintf(path, sizeof(path), "%s/pipelines/digits/cases.json", test_data_dir());
	replay_with(path, &conf);
}

TEST(digits)
{
	replay_shared("digits");
}

TEST(stable_diffusion)
{
	replay_shared("tiny-sd");
}

TEST(stable_diffusion_of_half_precision)
{
	replay_shared("tiny-sd-fp16");
}

TEST(sd3)
{
	replay_shared("tiny-flow");
}

TEST(sd3_with_weights_in_other_files)
{
	struct engine_replay_conf conf = { 0 };
	char over[512], path[512];

	snprintf(over, sizeof(over), "%s",
		 test_shared_file("golden/pipelines/tiny-flow-ext/model_index.json"));
	*strrchr(over, '/') = '\0';
	conf.over = over;
	snprintf(path, sizeof(path), "%s",
		 test_shared_file("golden/pipelines/tiny-flow/cases.json"));
	replay_with(path, &conf);
}

TEST(flux)
{
	replay_shared("tiny-flux");
}

TEST(gpt2)
{
	replay_shared("tiny-lm/gpt2");
}

TEST(llama)
{
	replay_shared("tiny-lm/llama");
}

TEST(what_is_no_file_of_cases_is_refused)
{
	struct engine_replay_result result;
	struct strata_engine *engine;
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cases.json", test_temp_dir());
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_ERROR(engine_replay_file(engine, path, NULL, &memory, &result, &err), -ENOENT,
		    "cases.json");
	CHECK(file = fopen(path, "w"));
	fputs("[]", file);
	fclose(file);
	CHECK_ERROR(engine_replay_file(engine, path, NULL, &memory, &result, &err), -EBADMSG,
		    "list of cases");
	CHECK(file = fopen(path, "w"));
	fputs("[{\"prompt\":\"x\"}]", file);
	fclose(file);
	CHECK_ERROR(engine_replay_file(engine, path, NULL, &memory, &result, &err), -ENOENT,
		    "model_index.json");
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}
