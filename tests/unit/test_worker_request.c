#include "test.h"

#include "engine/png.h"
#include "worker/worker_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

/* Reads parameters that are written with ' for ". */
static int read_with(const char *text, int64_t seed, struct worker_request *ret_request)
{
	char json[1 << 12];
	size_t length = strlen(text);

	CHECK(length < sizeof(json));
	for (size_t i = 0; i <= length; i++)
		json[i] = text[i] == '\'' ? '"' : text[i];
	json_t *parameters = json_loads(json, 0, NULL);
	const struct worker_task task = { .id = 1, .seed = seed, .parameters = parameters };

	CHECK(parameters);
	strata_arena_init(&arena, &memory, 0);
	int rc = worker_request_read(&task, &arena, ret_request, &err);

	json_decref(parameters);
	return rc;
}

static void end(void)
{
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(parameters_become_a_request)
{
	struct worker_request it;

	CHECK_OK(read_with("{'prompt':'a\\nseven','negative_prompt':'eight','model':'digits',"
			   "'scheduler':'euler','schedule':'karras','steps':20,'seed':5,'width':28,"
			   "'height':32,'guidance_scale':2.5,'strength':0.5,'n':3,'priority':-3,"
			   "'deadline':'2026-11-20T00:00:00Z'}",
			   -1, &it));
	CHECK_INT(it.pipeline.image_count, 3);
	CHECK_TEXT(it.pipeline.prompts[2], "a\nseven");
	CHECK_TEXT(it.pipeline.negatives[2], "eight");
	CHECK_TEXT(it.pipeline.solver, "euler karras");
	CHECK_INT(it.pipeline.steps, 20);
	CHECK_INT(it.pipeline.seed_count, 3);
	CHECK_INT(it.pipeline.seeds[0], 5);
	CHECK_INT(it.pipeline.seeds[2], 7);
	CHECK_INT(it.pipeline.width, 28);
	CHECK_INT(it.pipeline.height, 32);
	CHECK(it.pipeline.has_guidance);
	CHECK_NEAR(it.pipeline.guidance, 2.5, 0);
	end();
}

TEST(what_is_not_said_is_the_models)
{
	struct worker_request it;

	CHECK_OK(read_with("{'prompt':'3','scheduler':null,'guidance_scale':null}", 9, &it));
	CHECK_INT(it.pipeline.image_count, 1);
	CHECK(!it.pipeline.negatives && !it.pipeline.solver && !it.pipeline.has_guidance);
	CHECK_INT(it.pipeline.steps, 0);
	CHECK_INT(it.pipeline.width, 0);
	CHECK_INT(it.pipeline.seeds[0], 9);
	end();
}

TEST(a_schedule_stands_before_a_solvers_options)
{
	struct worker_request it;

	CHECK_OK(read_with("{'solver':'dpmpp_2m:solver_order=3','schedule':'karras'}", 0, &it));
	CHECK_TEXT(it.pipeline.solver, "dpmpp_2m karras:solver_order=3");
	end();
	CHECK_ERROR(read_with("{'schedule':'karras'}", 0, &it), -EINVAL, "name one");
	end();
}

TEST(what_cannot_be_is_said_in_a_sentence)
{
	static const struct {
		const char *text, *words;
		int code;
	} bad[] = {
		{ "{'prompt':3}", "prompt", -EINVAL },
		{ "{'n':0}", "n", -ERANGE },
		{ "{'n':65}", "n", -ERANGE },
		{ "{'steps':10001}", "steps", -ERANGE },
		{ "{'width':8193}", "width", -ERANGE },
		{ "{'guidance_scale':1001}", "guidance_scale", -ERANGE },
		{ "{'num_frames':2}", "num_frames", -EINVAL },
		{ "{'seed':-1}", "seed", -EINVAL },
	};
	struct worker_request it = { .n = 77 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_ERROR(read_with(bad[i].text, -1, &it), bad[i].code, bad[i].words);
		CHECK_INT(it.n, 77);
		end();
	}
	CHECK_OK(read_with("{'n':64,'steps':10000,'width':8192,'guidance_scale':1000}", 1, &it));
	end();
}

static int read_all(struct strata_memory *own, void *context, struct strata_error *why)
{
	const struct worker_task task = { .id = 1, .seed = 4, .parameters = context };
	struct strata_arena scratch;
	struct worker_request it;

	strata_arena_init(&scratch, own, 0);
	int rc = worker_request_read(&task, &scratch, &it, why);

	if (rc == 0) {
		test_result_text(it.pipeline.solver);
		test_result_text(it.pipeline.prompts[1]);
		test_result_int((int64_t)it.pipeline.seeds[1]);
	}
	strata_arena_fini(&scratch);
	return rc;
}

TEST(no_memory_is_no_half_request)
{
	json_t *parameters = json_pack("{s:s,s:s,s:s,s:i}", "prompt", "seven", "scheduler", "euler",
				       "schedule", "karras", "n", 2);

	test_every_own_allocation(read_all, parameters);
	json_decref(parameters);
}

TEST(a_picture_to_start_from_gets_the_size_that_is_drawn)
{
	uint8_t grey[100 * 70 * 3];
	const struct engine_picture picture = { 100, 70, grey, NULL };
	struct worker_request request;
	struct buf file;

	memset(grey, 77, sizeof(grey));
	buf_init(&file, &memory, 0);
	CHECK_OK(engine_png_write(&file, &picture, &err));
	CHECK_OK(read_with("{'prompt':'x','init_image':'ab','strength':0.25}", 1, &request));
	CHECK_TEXT(request.init_image, "ab");
	CHECK(!request.pipeline.init);
	CHECK_OK(worker_request_begin(&request, file.text, file.length, &arena, &err));
	CHECK_INT(request.pipeline.width, 64);
	CHECK_INT(request.pipeline.height, 64);
	CHECK_INT(request.pipeline.init->width, 64);
	CHECK_INT(request.pipeline.init->rgb[5], 77);
	CHECK(request.pipeline.strength == 0.25);
	strata_arena_fini(&arena);
	CHECK_OK(read_with("{'prompt':'x','init_image':'ab','width':128,'height':192}", 1,
			   &request));
	CHECK_OK(worker_request_begin(&request, file.text, file.length, &arena, &err));
	CHECK_INT(request.pipeline.init->height, 192);
	CHECK_ERROR(worker_request_begin(&request, "no", 2, &arena, &err), -EBADMSG, "PNG");
	buf_fini(&file);
	end();
}
