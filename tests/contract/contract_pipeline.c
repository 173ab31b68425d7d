/* What holds for pipelines: batches, interruptions and seeds do not change a picture; bad requests change nothing. On the digits of the tree, and on the
 * shared pipelines where they are. */
#include "test.h"

#include "engine/pipeline.h"

#include <strata/limits.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;
static struct strata_engine *engine;
static struct strata_pipeline *pipeline;

TEST(every_class_is_well_formed)
{
	const struct strata_class *const *classes = strata_pipeline_kind.classes;
	size_t count = 0;

	for (; classes[count]; count++) {
		CHECK_OK(strata_class_check(classes[count], &err));
		CHECK(classes[count]->aliases);
		CHECK(!count || strcmp(classes[count - 1]->name, classes[count]->name) < 0);
	}
	CHECK_INT(count, 4);
}

static const char *digits_folder(void)
{
	static char folder[512];

	snprintf(folder, sizeof(folder), "%s/pipelines/digits", test_data_dir());
	return folder;
}

static void open_folder(const char *folder)
{
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_pipeline_open(engine, folder, NULL, &memory, &pipeline, &err));
}

static void open_shared(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "golden/pipelines/%s/model_index.json", name);
	snprintf(path, sizeof(path), "%s", test_shared_file(path));
	*strrchr(path, '/') = '\0';
	open_folder(path);
}

static void close_all(void)
{
	strata_pipeline_close(pipeline);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

static const char *quality; /* of the runs that are encoded */

static struct strata_pipeline_run *encode(const char *const *prompts, const uint64_t *seed,
					  int64_t steps, const char *solver)
{
	const struct strata_pipeline_request request = { .prompts = prompts,
							 .negatives = prompts,
							 .seeds = seed,
							 .seed_count = 1,
							 .steps = steps,
							 .solver = solver,
							 .quality = quality,
							 .has_guidance = true,
							 .guidance = 2 };
	struct strata_pipeline_run *run;

	CHECK_OK(strata_pipeline_encode(pipeline, &request, &run, &err));
	return run;
}

static void finish(struct strata_pipeline_run *run)
{
	while (strata_pipeline_left(run))
		CHECK_OK(strata_pipeline_step(pipeline, &run, 1, &err));
}

static void same_latents(const struct strata_pipeline_run *a, const struct strata_pipeline_run *b)
{
	size_t count, other;
	const float *one = strata_pipeline_latents(a, &count);
	const float *two = strata_pipeline_latents(b, &other);

	CHECK_INT(count, other);
	CHECK_BYTES(one, two, count * sizeof(*one));
}

/* Three runs alone; then in a batch that they join and leave at different rows. */
static void batches_change_nothing(const char *const *prompts, const char *solver)
{
	static const uint64_t seeds[] = { 1, 2, 3 };
	static const int64_t steps[] = { 5, 3, 4 };
	struct strata_pipeline_run *alone[3], *batch[3], *now[3];

	for (int i = 0; i < 3; i++) {
		alone[i] = encode(&prompts[i], &seeds[i], steps[i], solver);
		batch[i] = encode(&prompts[i], &seeds[i], steps[i], solver);
		CHECK(strata_pipeline_batch_key(batch[i]) == strata_pipeline_batch_key(batch[0]));
		finish(alone[i]);
	}
	CHECK_OK(strata_pipeline_step(pipeline, batch, 1, &err)); /* one is ahead */
	CHECK_OK(strata_pipeline_step(pipeline, batch, 2, &err));
	for (;;) {
		size_t count = 0;

		for (int i = 0; i < 3; i++)
			if (strata_pipeline_left(batch[i]))
				now[count++] = batch[i];
		if (!count)
			break;
		CHECK_OK(strata_pipeline_step(pipeline, now, count, &err));
	}
	for (int i = 0; i < 3; i++) {
		same_latents(alone[i], batch[i]);
		CHECK_ERROR(strata_pipeline_step(pipeline, &batch[i], 1, &err), -EINVAL, "no call");
		strata_pipeline_run_free(alone[i]);
		strata_pipeline_run_free(batch[i]);
	}
}

TEST(a_batch_of_digits_is_what_they_are_alone)
{
	static const char *const prompts[] = { "a seven", "3", "the digit eight, please" };

	open_folder(digits_folder());
	batches_change_nothing(prompts, NULL);
	batches_change_nothing(prompts, "heun");
	close_all();
}

/* Runs that use features again stand beside others, join and leave, and are what they are alone. */
TEST(features_of_an_earlier_call_belong_to_a_run)
{
	static const char *const prompts[] = { "a seven", "3", "the digit eight, please" };
	static const uint64_t seed = 9;
	struct strata_pipeline_run *exact, *before, *reused;
	size_t count;

	open_folder(digits_folder());
	before = encode(prompts, &seed, 9, NULL);
	finish(before);
	quality = "features:every=3:first=1";
	batches_change_nothing(prompts, NULL);
	batches_change_nothing(prompts, "heun");
	reused = encode(prompts, &seed, 9, NULL);
	CHECK_INT(strata_pipeline_left(reused), 9);
	finish(reused);
	quality = NULL;
	exact = encode(prompts, &seed, 9, NULL);
	finish(exact);
	same_latents(before, exact); /* the model has been opened anew for features meanwhile */
	const float *one = strata_pipeline_latents(exact, &count);
	const float *two = strata_pipeline_latents(reused, &count);
	double apart = 0, size = 0;

	for (size_t i = 0; i < count; i++) {
		apart += (double)((one[i] - two[i]) * (one[i] - two[i]));
		size += (double)(one[i] * one[i]);
	}
	CHECK(apart > 0 && apart < size / 4); /* another picture, of the same thing */
	strata_pipeline_run_free(before);
	strata_pipeline_run_free(exact);
	strata_pipeline_run_free(reused);
	close_all();
}

TEST(a_transformer_has_no_features_to_use_again)
{
	static const char *const prompts[] = { "p0" };
	const struct strata_pipeline_request request = { .prompts = prompts,
							 .quality = "features" };
	struct strata_pipeline_run *run;

	open_shared("tiny-flow");
	CHECK_ERROR(strata_pipeline_encode(pipeline, &request, &run, &err), -ENOTSUP,
		    "no connection past its inner part");
	close_all();
}

TEST(a_batch_of_stable_diffusion_is_what_it_is_alone)
{
	static const char *const prompts[] = { "a red fox", "a castle", "" };

	open_shared("tiny-sd");
	batches_change_nothing(prompts, "euler a");
	batches_change_nothing(prompts, "DPM++ 2M Karras");
	close_all();
}

TEST(a_batch_of_sd3_is_what_it_is_alone)
{
	static const char *const prompts[] = { "p0", "p1", "neg" };

	open_shared("tiny-flow");
	batches_change_nothing(prompts, NULL);
	close_all();
}

TEST(a_batch_of_flux_is_what_it_is_alone)
{
	static const char *const prompts[] = { "p0", "p1", "neg" };

	open_shared("tiny-flux");
	batches_change_nothing(prompts, NULL);
	close_all();
}

TEST(a_run_that_was_put_aside_goes_on)
{
	static const char *const prompts[] = { "four" };
	static const uint64_t seed = 9, other_seed = 10;
	struct strata_pipeline_run *run, *later;
	struct strata_picture one, two;
	struct strata_arena arena;
	void *bytes;
	size_t count;

	open_folder(digits_folder());
	strata_arena_init(&arena, &memory, 0);
	run = encode(prompts, &seed, 6, "heun");
	for (int i = 0; i < 3; i++)
		CHECK_OK(strata_pipeline_step(pipeline, &run, 1, &err));
	CHECK_OK(strata_pipeline_save(run, &arena, &bytes, &count, &err));
	later = encode(prompts, &seed, 6, "heun");
	CHECK_OK(strata_pipeline_restore(later, bytes, count, &err));
	CHECK_INT(strata_pipeline_left(later), strata_pipeline_left(run));
	finish(run);
	finish(later);
	same_latents(run, later);
	CHECK_OK(strata_pipeline_decode(pipeline, run, 0, &arena, &one, &err));
	CHECK_OK(strata_pipeline_decode(pipeline, later, 0, &arena, &two, &err));
	CHECK_INT(one.width, 16);
	CHECK_BYTES(one.rgb, two.rgb, (size_t)one.width * one.height * 3);
	CHECK_ERROR(strata_pipeline_restore(later, bytes, count - 1, &err), -EBADMSG, "not one of");
	CHECK_ERROR(strata_pipeline_restore(later, bytes, 3, &err), -EBADMSG, "not one of");
	CHECK_ERROR(strata_pipeline_restore(later, bytes,
					    (size_t)STRATA_PIPELINE_STATE_BYTES_MAX + 1, &err),
		    -E2BIG, "1073741825");
	strata_pipeline_run_free(later);
	later = encode(prompts, &other_seed, 7, "heun");
	CHECK_ERROR(strata_pipeline_restore(later, bytes, count, &err), -EBADMSG, "not one of");
	strata_pipeline_run_free(later);
	strata_pipeline_run_free(run);
	strata_arena_fini(&arena);
	close_all();
}

TEST(features_are_put_aside_too)
{
	static const char *const prompts[] = { "four" };
	static const uint64_t seed = 9;
	struct strata_pipeline_run *run, *later;
	struct strata_arena arena;
	uint64_t *rank;
	size_t count;
	void *bytes;

	open_folder(digits_folder());
	strata_arena_init(&arena, &memory, 0);
	quality = "features:every=4:first=2:last=0";
	run = encode(prompts, &seed, 8, NULL);
	for (int i = 0; i < 3; i++)
		CHECK_OK(strata_pipeline_step(pipeline, &run, 1, &err));
	CHECK_OK(strata_pipeline_save(run, &arena, &bytes, &count, &err));
	later = encode(prompts, &seed, 8, NULL);
	CHECK_OK(strata_pipeline_restore(later, bytes, count, &err));
	finish(run);
	finish(later);
	same_latents(run, later);
	strata_pipeline_run_free(run);
	CHECK_ERROR(strata_pipeline_restore(later, bytes, count - 4, &err), -EBADMSG, "damaged");
	/* dimensions whose product would be as large as nobody has memory */
	for (rank = bytes; *rank != 4 || rank[1] != 2; rank++)
		CHECK((char *)rank < (char *)bytes + count - 100);
	rank[2] = rank[3] = UINT64_C(1) << 40;
	CHECK_ERROR(strata_pipeline_restore(later, bytes, count, &err), -EBADMSG, "damaged");
	*rank = 99;
	CHECK_ERROR(strata_pipeline_restore(later, bytes, count, &err), -EBADMSG, "damaged");
	quality = NULL;
	strata_pipeline_run_free(later);
	strata_arena_fini(&arena);
	close_all();
}

TEST(previews_are_small_and_cheap)
{
	static const char *const prompts[] = { "four" };
	static const uint64_t seed = 9;
	struct strata_picture preview, picture;
	struct strata_pipeline_run *run;
	struct strata_arena arena;
	int64_t off = 0;

	open_folder(digits_folder());
	strata_arena_init(&arena, &memory, 0);
	run = encode(prompts, &seed, 6, NULL);
	CHECK_OK(strata_pipeline_preview(pipeline, run, 0, &arena, &preview, &err));
	finish(run);
	CHECK_OK(strata_pipeline_preview(pipeline, run, 0, &arena, &preview, &err));
	CHECK_OK(strata_pipeline_decode(pipeline, run, 0, &arena, &picture, &err));
	CHECK_INT(preview.width, 16);
	/* Without a decoder the map is the identity. */
	for (size_t i = 0; i < 16 * 16 * 3; i++)
		off += preview.rgb[i] > picture.rgb[i] + 1 || picture.rgb[i] > preview.rgb[i] + 1;
	CHECK_INT(off, 0);
	CHECK_ERROR(strata_pipeline_preview(pipeline, run, 1, &arena, &preview, &err), -EINVAL,
		    "picture 1");
	CHECK_ERROR(strata_pipeline_decode(pipeline, run, 1, &arena, &preview, &err), -EINVAL,
		    "picture 1");
	strata_pipeline_run_free(run);
	strata_arena_fini(&arena);
	close_all();
}

static int64_t taken(struct strata_engine_model *model)
{
	struct strata_engine_metrics metrics = { 0 };

	if (model)
		strata_engine_metrics(model, &metrics);
	return metrics.kept_bytes + metrics.frame_bytes;
}

TEST(all_models_share_a_budget_of_bytes)
{
	struct strata_pipeline_conf conf = { .budget_bytes = 1200 << 10 };
	const char *const prompts[] = { "a red bicycle" };
	struct strata_picture free_one, bound_one;
	struct strata_pipeline_run *run;
	struct strata_arena arena;
	const uint64_t seed = 3;
	char folder[512];

	strata_arena_init(&arena, &memory, 0);
	open_shared("tiny-sd");
	snprintf(folder, sizeof(folder), "%s", pipeline->folder);
	run = encode(prompts, &seed, 3, NULL);
	finish(run);
	CHECK_OK(strata_pipeline_decode(pipeline, run, 0, &arena, &free_one, &err));
	CHECK(taken(pipeline->denoiser) > conf.budget_bytes);
	strata_pipeline_run_free(run);
	strata_pipeline_close(pipeline);
	CHECK_OK(strata_pipeline_open(engine, folder, &conf, &memory, &pipeline, &err));
	run = encode(prompts, &seed, 3, NULL);
	finish(run);
	CHECK_OK(strata_pipeline_decode(pipeline, run, 0, &arena, &bound_one, &err));
	int64_t all = taken(pipeline->denoiser) + taken(pipeline->texts[0].encoder) +
		      taken(pipeline->vae_decoder);

	CHECK(all > 0 && all <= conf.budget_bytes);
	CHECK_BYTES(bound_one.rgb, free_one.rgb, (size_t)free_one.width * free_one.height * 3);
	strata_pipeline_run_free(run);
	strata_arena_fini(&arena);
	close_all();
}

TEST(what_is_not_a_number_is_refused)
{
	static float values[2 * 77 * 32];
	struct strata_pipeline_request request = {
		.embeds = { .dtype = STRATA_DTYPE_F32,
			    .rank = 3,
			    .dims = { 1, 77, 32 },
			    .data = values },
		.has_guidance = true,
		.guidance = 1,
	};
	struct strata_pipeline_run *run;
	size_t count;
	float before;

	for (size_t i = 0; i < 2 * 77 * 32; i++)
		values[i] = NAN;
	open_shared("tiny-sd");
	CHECK_OK(strata_pipeline_encode(pipeline, &request, &run, &err));
	before = strata_pipeline_latents(run, &count)[0];
	CHECK_ERROR(strata_pipeline_step(pipeline, &run, 1, &err), -EBADMSG, "nan");
	CHECK(strata_pipeline_latents(run, &count)[0] == before);
	strata_pipeline_run_free(run);
	request.embeds.dims[0] = 2;
	CHECK_ERROR(strata_pipeline_encode(pipeline, &request, &run, &err), -EINVAL, "2 pictures");
	close_all();
}

static int try(struct strata_pipeline_request request)
{
	static const char *const prompts[] = { "one", "two" };
	struct strata_pipeline_run *run;

	request.prompts = request.prompts ? request.prompts : prompts;
	int rc = strata_pipeline_encode(pipeline, &request, &run, &err);

	if (rc == 0)
		strata_pipeline_run_free(run);
	return rc;
}

TEST(bad_requests_are_refused)
{
	static const char *const odd[] = { "a horse" };
	static const uint64_t seeds[] = { 1, 2, 3 };
	static const int64_t labels[] = { 11 };
	static const struct strata_picture picture = { 16, 16, NULL };
	static const char *many[STRATA_PIPELINE_IMAGES_MAX + 1];

	for (size_t i = 0; i < STRATA_PIPELINE_IMAGES_MAX + 1; i++)
		many[i] = "5";
	open_folder(digits_folder());
	CHECK_OK(try((struct strata_pipeline_request){ 0 }));
	CHECK_OK(try((struct strata_pipeline_request){ .image_count = STRATA_PIPELINE_IMAGES_MAX,
						       .prompts = many }));
	CHECK_ERROR(try((struct strata_pipeline_request){
			    .image_count = STRATA_PIPELINE_IMAGES_MAX + 1, .prompts = many }),
		    -E2BIG, "65 pictures");
	CHECK_ERROR(try((struct strata_pipeline_request){ .prompts = odd }), -EINVAL, "a horse");
	CHECK_ERROR(try((struct strata_pipeline_request){ .labels = labels }), -ERANGE, "class 11");
	CHECK_ERROR(try((struct strata_pipeline_request){ .solver = "nonsense" }), -ENOENT,
		    "nonsense");
	CHECK_ERROR(try((struct strata_pipeline_request){ .steps = -1 }), -EINVAL, "steps");
	CHECK_ERROR(try((struct strata_pipeline_request){ .has_guidance = true, .guidance = -1 }),
		    -ERANGE, "guidance");
	CHECK_ERROR(try((struct strata_pipeline_request){
			    .image_count = 2, .seeds = seeds, .seed_count = 3 }),
		    -EINVAL, "3 seeds for 2");
	CHECK_ERROR(try((struct strata_pipeline_request){ .init = &picture, .strength = 0.5 }),
		    -ENOTSUP, "start from a picture");
	CHECK_ERROR(try((struct strata_pipeline_request){ .init = &picture, .strength = 2 }),
		    -ERANGE, "strength");
	CHECK_ERROR(try((struct strata_pipeline_request){ .width = STRATA_IMAGE_SIDE_MAX + 1 }),
		    -ERANGE, "8193x16");
	close_all();
}

TEST(odd_folders_are_refused)
{
	char path[512];
	FILE *file;

	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_ERROR(strata_pipeline_open(engine, test_temp_dir(), NULL, &memory, &pipeline, &err),
		    -ENOENT, "model_index.json");
	snprintf(path, sizeof(path), "%s/model_index.json", test_temp_dir());
	CHECK(file = fopen(path, "w"));
	fputs("{\"_class_name\":\"KandinskyPipeline\"}", file);
	fclose(file);
	CHECK_ERROR(strata_pipeline_open(engine, test_temp_dir(), NULL, &memory, &pipeline, &err),
		    -ENOTSUP, "KandinskyPipeline");
	CHECK(file = fopen(path, "w"));
	fputs("{\"_class_name\":\"StableDiffusionPipeline\"}", file);
	fclose(file);
	CHECK_ERROR(strata_pipeline_open(engine, test_temp_dir(), NULL, &memory, &pipeline, &err),
		    -ENOTSUP, "unet/model.onnx");
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

/* A file of a folder that comes before the pipeline's own. */
static void put_over(const char *name, const char *text)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%.*s", test_temp_dir(), (int)strcspn(name, "/"), name);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	FILE *file = fopen(path, "w");

	CHECK(file);
	fputs(text, file);
	fclose(file);
}

/* tiny-sd with another configuration of its decoder. */
static int open_with_vae(const char *text)
{
	char path[600];

	put_over("vae_decoder/config.json", text);
	snprintf(path, sizeof(path), "%s",
		 test_shared_file("golden/pipelines/tiny-sd/model_index.json"));
	*strrchr(path, '/') = '\0';
	return strata_pipeline_open(engine, path,
				    &(struct strata_pipeline_conf){ .over = test_temp_dir() },
				    &memory, &pipeline, &err);
}

TEST(absurd_numbers_of_configurations_are_refused)
{
	static const char *const prompts[] = { "a cat" };
	const struct strata_pipeline_request request = { .prompts = prompts };
	struct strata_pipeline_run *run;

	test_shared_file("golden/pipelines/tiny-sd/model_index.json"); /* or it is skipped here */
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_ERROR(open_with_vae("{\"latent_channels\":1e308}"), -EBADMSG,
		    "1e+308 latent channels");
	CHECK_ERROR(open_with_vae("{\"scaling_factor\":1e-320}"), -EBADMSG, "the scaling factor");
	CHECK_ERROR(open_with_vae("{\"scaling_factor\":1e7}"), -EBADMSG, "1e+07");
	CHECK_ERROR(open_with_vae("{\"shift_factor\":-1e300}"), -EBADMSG, "shift factor -1e+300");
	put_over("scheduler/scheduler_config.json",
		 "{\"_class_name\":\"DDIMScheduler\",\"num_train_timesteps\":-1}");
	CHECK_OK(open_with_vae("{\"block_out_channels\":[8,16,16,32]}"));
	CHECK_ERROR(strata_pipeline_encode(pipeline, &request, &run, &err), -ERANGE,
		    "scheduler_config.json: num_train_timesteps is -1");
	close_all();
}

/* A decoder whose result is no picture: its latents are far beyond what it was made for. */
TEST(a_picture_of_no_numbers_is_refused)
{
	static const char *const prompts[] = { "a cat" };
	const struct strata_pipeline_request request = { .prompts = prompts, .steps = 1 };
	struct strata_picture picture = { 0 };
	struct strata_pipeline_run *run;
	struct strata_arena arena;
	size_t count;

	open_shared("tiny-sd");
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_pipeline_encode(pipeline, &request, &run, &err));
	float *latents = (float *)(uintptr_t)strata_pipeline_latents(run, &count);

	latents[0] = INFINITY;
	CHECK_ERROR(strata_pipeline_decode(pipeline, run, 0, &arena, &picture, &err), -EBADMSG,
		    "nan in it");
	CHECK(!picture.rgb);
	strata_pipeline_run_free(run);
	strata_arena_fini(&arena);
	close_all();
}

static int draw_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	static const char *const prompts[] = { "2" };
	const struct strata_pipeline_request request = { .prompts = prompts,
							 .steps = 2,
							 .quality = context };
	struct strata_pipeline_run *run = NULL;
	struct strata_pipeline *it;
	struct strata_picture picture;
	struct strata_arena arena;
	int rc = strata_pipeline_open(engine, digits_folder(), NULL, own, &it, why);

	if (rc)
		return rc;
	strata_arena_init(&arena, own, 0);
	rc = strata_pipeline_encode(it, &request, &run, why);
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = strata_pipeline_step(it, &run, 1, why);
	if (rc == 0)
		rc = strata_pipeline_decode(it, run, 0, &arena, &picture, why);
	if (rc == 0)
		test_result(picture.rgb, 16 * 16 * 3);
	strata_pipeline_run_free(run);
	strata_arena_fini(&arena);
	strata_pipeline_close(it);
	return rc;
}

TEST(memory_may_run_out_anywhere)
{
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	test_every_own_allocation(draw_once, NULL);
	test_every_own_allocation(draw_once, (char[]){ "features:first=1:last=0" });
	strata_engine_free(engine);
}

/* ---- text encoders ---- */

static char over[512];

/* A link in the folder that comes before the pipeline's, to a part of a shared pipeline. */
static void link_part(const char *name, const char *from)
{
	char path[600], target[600], whole[PATH_MAX];

	snprintf(target, sizeof(target), "golden/pipelines/%s/config.json", from);
	if (strstr(from, "tokenizer"))
		snprintf(target, sizeof(target), "golden/pipelines/%s/vocab.json", from);
	snprintf(target, sizeof(target), "%s", test_shared_file(target));
	*strrchr(target, '/') = '\0';
	snprintf(path, sizeof(path), "%s/%s", over, name);
	CHECK(realpath(target, whole));
	CHECK_INT(symlink(whole, path), 0);
}

static void prompt_is_refused(int code, const char *words)
{
	static const char *const prompts[] = { "a red fox" };
	const struct strata_pipeline_request request = { .prompts = prompts };
	struct strata_pipeline_run *run = NULL;

	CHECK_ERROR(strata_pipeline_encode(pipeline, &request, &run, &err), code, words);
	CHECK(!run);
}

TEST(what_text_encoders_lack_is_named)
{
	char path[600];

	snprintf(over, sizeof(over), "%s", test_temp_dir());
	snprintf(path, sizeof(path), "%s",
		 test_shared_file("golden/pipelines/tiny-flow/model_index.json"));
	*strrchr(path, '/') = '\0';
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_pipeline_open(engine, path, &(struct strata_pipeline_conf){ .over = over },
				      &memory, &pipeline, &err));
	prompt_is_refused(-ENOTSUP, "has no text encoders and no embeddings of the prompt");
	link_part("text_encoder", "tiny-sd/text_encoder");
	prompt_is_refused(-ENOTSUP,
			  "has no tokenizer (vocab.json and merges.txt, or tokenizer.json)");
	link_part("tokenizer", "tiny-sd/tokenizer");
	prompt_is_refused(-ENOTSUP, "text_encoder/model.onnx has no output 'hidden_states.");
	close_all();
}
