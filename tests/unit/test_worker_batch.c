#include "worker_world.h"

#include "engine/png.h"
#include "worker/worker_batch.h"

static struct strata_memory memory;
static struct strata_error err;
static struct strata_engine *engine;
static struct strata_pipeline *pipeline;
static struct world world;
static struct worker_link link_of_world;
static struct worker_batch batch;

static void open_all(void)
{
	char folder[512];

	snprintf(folder, sizeof(folder), "%s/pipelines/digits", test_data_dir());
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_pipeline_open(engine, folder, NULL, &memory, &pipeline, &err));
	world = (struct world){ 0 };
	link_of_world = world_link(&world);
	worker_batch_init(&batch, pipeline, "digits", &link_of_world, &memory);
}

static void close_all(void)
{
	worker_batch_fini(&batch);
	strata_pipeline_close(pipeline);
	strata_engine_free(engine);
	world_fini(&world);
	CHECK_INT(memory.used_bytes, 0);
}

/* A pick of tasks whose parameters are written with ' for ". */
static struct worker_pick tasks(size_t count, const char *const *parameters)
{
	struct worker_pick pick = { .steps = 1, .count = count, .answer = json_array() };

	for (size_t i = 0; i < count; i++) {
		char text[256];

		snprintf(text, sizeof(text), "%s", parameters[i]);
		for (char *at = text; *at; at++)
			*at = *at == '\'' ? '"' : *at;
		json_t *json = json_loads(text, 0, NULL);

		CHECK(json);
		json_array_append_new(pick.answer, json);
		pick.tasks[i] = (struct worker_task){ (int64_t)i + 1, 0, 7, json };
	}
	return pick;
}

static void take(size_t count, const char *const *parameters)
{
	struct worker_pick pick = tasks(count, parameters);

	worker_batch_take(&batch, &pick);
	json_decref(pick.answer);
}

TEST(a_picture_to_start_from_is_fetched_and_asked_for_again)
{
	static const char *const wanted[] = { "{'prompt':'a seven','steps':5,'init_image':'ab'}",
					      "{'prompt':'a seven','steps':5}" };
	static const int again[] = { -ECONNREFUSED, -ESTALE };

	open_all();
	world.init = "no picture";
	world.init_bytes = 10;
	take(2, wanted);
	for (size_t i = 0; i < 2; i++) {
		world.init_rc = again[i];
		world.init_fails = 1;
		worker_batch_advance(&batch, 1, INT64_MAX);
		CHECK_INT(batch.runs[0].state, WORKER_NEW);
		CHECK_INT(worker_run_steps(&batch.runs[1]), i + 1);
	}
	worker_batch_advance(&batch, 1, INT64_MAX);
	CHECK_INT(world.inits, 3);
	CHECK_INT(batch.runs[0].state, WORKER_BROKEN);
	CHECK(strstr(batch.runs[0].why.text, "not a PNG"));
	CHECK_INT(worker_run_steps(&batch.runs[1]), 3);
	close_all();
}

TEST(runs_go_forward_by_steps_each_from_where_it_stands)
{
	static const char *const wanted[] = { "{'prompt':'a seven','steps':5}",
					      "{'prompt':'3','steps':4,'scheduler':'heun'}",
					      "{'prompt':'4','steps':2}" };

	open_all();
	take(3, wanted);
	CHECK_INT(batch.runs[0].state, WORKER_NEW);
	worker_batch_advance(&batch, 2, INT64_MAX);
	CHECK_INT(worker_run_steps(&batch.runs[0]), 2);
	CHECK_INT(worker_run_steps(&batch.runs[1]), 2);
	CHECK_INT(batch.runs[2].state, WORKER_DRAWN);
	CHECK_INT(worker_run_steps(&batch.runs[2]), 2);
	for (size_t i = 0; i < 3; i++)
		CHECK(batch.runs[i].cost_ns > 0);
	worker_batch_advance(&batch, 2, INT64_MAX);
	CHECK_INT(worker_run_steps(&batch.runs[0]), 4);
	CHECK_INT(batch.runs[0].state, WORKER_RUNNING);
	CHECK_INT(batch.runs[1].state, WORKER_DRAWN);
	CHECK_INT(worker_run_steps(&batch.runs[1]), 4);
	close_all();
}

TEST(a_run_that_cannot_be_breaks_alone)
{
	static const char *const wanted[] = { "{'prompt':'7','steps':2}",
					      "{'prompt':'7','scheduler':'eulr'}",
					      "{'prompt':'7','n':0}", "{'prompt':'7','width':30}" };

	open_all();
	take(4, wanted);
	worker_batch_advance(&batch, 2, INT64_MAX);
	CHECK_INT(batch.runs[0].state, WORKER_DRAWN);
	for (size_t i = 1; i < 4; i++) {
		CHECK_INT(batch.runs[i].state, WORKER_BROKEN);
		CHECK(batch.runs[i].why.text[0]);
	}
	CHECK(strstr(batch.runs[1].why.text, "did you mean"));
	close_all();
}

TEST(who_is_not_picked_again_is_dropped_and_others_stay_where_they_are)
{
	static const char *const wanted[] = { "{'prompt':'7','steps':4}",
					      "{'prompt':'8','steps':4}",
					      "{'prompt':'9','steps':4}" };
	struct worker_pick pick = tasks(3, wanted);

	open_all();
	worker_batch_take(&batch, &pick);
	worker_batch_advance(&batch, 2, INT64_MAX);
	pick.tasks[1] = pick.tasks[2];
	pick.tasks[1].steps_done = 2;
	pick.tasks[2].id = 44;
	worker_batch_take(&batch, &pick);
	CHECK_INT(batch.count, 3);
	CHECK_INT(batch.runs[0].id, 1);
	CHECK_INT(batch.runs[1].id, 3);
	CHECK_INT(batch.runs[1].told, 2);
	CHECK_INT(worker_run_steps(&batch.runs[1]), 2);
	CHECK_INT(batch.runs[2].id, 44);
	CHECK_INT(batch.runs[2].state, WORKER_NEW);
	pick.count = 0;
	worker_batch_take(&batch, &pick);
	CHECK_INT(batch.count, 0);
	json_decref(pick.answer);
	close_all();
}

TEST(time_and_the_end_are_looked_at_between_calls)
{
	static const char *const wanted[] = { "{'prompt':'7','steps':8}" };

	open_all();
	take(1, wanted);
	worker_batch_advance(&batch, 8, world.now_ns + 10 * 1000000);
	int64_t steps = worker_run_steps(&batch.runs[0]);

	CHECK(steps > 0 && steps < 8);
	world.end = true;
	worker_batch_advance(&batch, 8, INT64_MAX);
	CHECK_INT(worker_run_steps(&batch.runs[0]), steps);
	close_all();
}

TEST(previews_come_once_in_a_second)
{
	static const char *const wanted[] = { "{'prompt':'7','steps':20}" };

	open_all();
	take(1, wanted);
	worker_batch_advance(&batch, 20, INT64_MAX); /* at 1 ms for each look there is no time */
	CHECK_INT(world.previews, 0);
	close_all();
	open_all();
	world.step_ns = INT64_C(100) * 1000000;
	take(1, wanted);
	int64_t start_ns = world.now_ns;

	worker_batch_advance(&batch, 20, INT64_MAX);
	int64_t seconds = (world.now_ns - start_ns) / 1000000000;

	CHECK(world.previews >= 2 && (int64_t)world.previews <= seconds);
	close_all();
}

TEST(a_picture_has_its_settings_in_it)
{
	static const char *const wanted[] = {
		"{'prompt':'a seven','negative_prompt':'one','steps':2,'n':2,'guidance_scale':3}"
	};
	struct engine_picture picture;
	struct strata_arena arena;
	struct buf file;

	open_all();
	take(1, wanted);
	worker_batch_advance(&batch, 2, INT64_MAX);
	strata_arena_init(&arena, &memory, 0);
	buf_init(&file, &memory, 0);
	batch.runs[0].hash_count = 1;
	CHECK_OK(worker_batch_picture(&batch, &batch.runs[0], &file, &err));
	CHECK_OK(engine_png_read(file.text, file.length, &arena, &picture, &err));
	CHECK_INT(batch.runs[0].width, picture.width);
	CHECK(strstr(picture.parameters, "a seven\nNegative prompt: one\nSteps: 2, Sampler: "));
	CHECK(strstr(picture.parameters, "CFG scale: 3, Seed: 8, Size: "));
	CHECK(strstr(picture.parameters, "Model: digits"));
	buf_fini(&file);
	strata_arena_fini(&arena);
	close_all();
}
