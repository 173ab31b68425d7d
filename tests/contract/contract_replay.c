/* Every golden pipeline, gone through again on the native backend: those of the tree, and all of the shared ones where they are. */
#include "test.h"

#include "engine/replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;
static struct strata_engine *engine;

/* All cases of a file pass. */
static void replay_with(const char *path, const struct engine_replay_conf *conf)
{
	struct engine_replay_result result;

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

/* The shared pipelines within a third of the weights of each model. */
static void replay_third(const char *name)
{
	const struct engine_replay_conf conf = { .budget_share = 1.0 / 3 };
	char path[512];

	snprintf(path, sizeof(path), "golden/pipelines/%s/cases.json", name);
	replay_with(strcpy(path, test_shared_file(path)), &conf);
}

TEST(sd3_within_a_third_of_its_weights)
{
	replay_third("tiny-flow");
}

TEST(flux_within_a_third_of_its_weights)
{
	replay_third("tiny-flux");
}

TEST(language_models_within_a_third_of_their_weights)
{
	replay_third("tiny-lm/gpt2");
	replay_third("tiny-lm/llama");
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

/* ---- single calls: io/MODEL.TENSOR.npy ---- */

static void read_io(const char *pipeline, const char *model, const char *tensor, struct npy *npy,
		    char **ret_file)
{
	char path[512];
	size_t length;

	snprintf(path, sizeof(path), "golden/pipelines/%s/io/%s.%s.npy", pipeline, model, tensor);
	*ret_file = test_read_file(test_shared_file(path), &length);
	CHECK_OK(npy_read(*ret_file, length, npy, &err));
}

static void check_output(const char *pipeline, const char *name, const char *tensor,
			 const struct strata_array *got)
{
	double most = 0, off = 0;
	struct npy want;
	char *file;

	read_io(pipeline, name, tensor, &want, &file);
	CHECK_INT(want.dtype, got->dtype);
	CHECK_INT(want.data_bytes, strata_array_bytes(got));
	for (size_t i = 0; i < want.data_bytes / sizeof(float); i++) {
		float value, other = ((const float *)got->data)[i];

		memcpy(&value, (const char *)want.data + i * sizeof(value), sizeof(value));
		most = fabs((double)value) > most ? fabs((double)value) : most;
		if (!(fabs((double)value - (double)other) <= off))
			off = fabs((double)value - (double)other);
	}
	printf("# %s/%s %s: %.3g of what is allowed\n", pipeline, name, tensor,
	       off / (2e-5 * most));
	CHECK(off <= 2e-5 * most);
	free(file);
}

static void call_model(const char *pipeline, const char *name)
{
	struct strata_array inputs[8] = { { 0 } }, outputs[8] = { { 0 } };
	struct strata_engine_model *model;
	char path[512], *files[8];

	snprintf(path, sizeof(path), "golden/pipelines/%s/%s/model.onnx", pipeline, name);
	CHECK_OK(strata_engine_open(engine, test_shared_file(path), NULL, &model, &err));
	CHECK(strata_engine_input_count(model) <= 8 && strata_engine_output_count(model) <= 8);
	for (size_t i = 0; i < strata_engine_input_count(model); i++) {
		struct npy npy;

		read_io(pipeline, name, strata_engine_input_at(model, i)->name, &npy, &files[i]);
		CHECK_OK(
			strata_array_make(engine, npy.dtype, npy.rank, npy.dims, &inputs[i], &err));
		memcpy(inputs[i].data, npy.data, npy.data_bytes);
	}
	CHECK_OK(strata_engine_run(model, inputs, outputs, &err));
	for (size_t i = 0; i < strata_engine_output_count(model); i++) {
		check_output(pipeline, name, strata_engine_output_at(model, i)->name, &outputs[i]);
		strata_array_drop(&outputs[i]);
	}
	for (size_t i = 0; i < strata_engine_input_count(model); i++) {
		strata_array_drop(&inputs[i]);
		free(files[i]);
	}
	strata_engine_close(model);
}

TEST(each_model_by_itself)
{
	(void)test_shared_file("golden/pipelines/tiny-sd/io/unet.sample.npy");
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	call_model("tiny-sd", "text_encoder");
	call_model("tiny-sd", "unet");
	call_model("tiny-sd", "vae_decoder");
	call_model("tiny-sd", "vae_encoder");
	call_model("tiny-flow", "transformer");
	call_model("tiny-flux", "transformer");
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_no_file_of_cases_is_refused)
{
	struct engine_replay_result result;
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
