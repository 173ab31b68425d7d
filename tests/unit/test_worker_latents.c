#include "worker_world.h"

#include "worker/worker_latents.h"

static struct strata_memory memory;
static struct strata_error err;
static struct strata_engine *engine;
static struct strata_pipeline *pipeline;

static void open_all(void)
{
	char folder[512];

	snprintf(folder, sizeof(folder), "%s/pipelines/digits", test_data_dir());
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_pipeline_open(engine, folder, NULL, &memory, &pipeline, &err));
}

static void close_all(void)
{
	strata_pipeline_close(pipeline);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

static struct strata_pipeline_run *encode(const char *solver, int64_t steps)
{
	static const char *const prompts[] = { "a seven" };
	const struct strata_pipeline_request request = {
		.image_count = 1, .prompts = prompts, .solver = solver, .steps = steps
	};
	struct strata_pipeline_run *run;

	CHECK_OK(strata_pipeline_encode(pipeline, &request, &run, &err));
	return run;
}

static void step(struct strata_pipeline_run *run, size_t calls)
{
	for (size_t i = 0; i < calls; i++)
		CHECK_OK(strata_pipeline_step(pipeline, &run, 1, &err));
}

/* Solvers that remember earlier steps, that draw noise, that call twice, that choose their steps. */
TEST(a_run_goes_on_elsewhere_to_the_same_numbers)
{
	static const char *const solvers[] = { "euler",           "dpmpp_2m", "heun",
					       "euler_ancestral", "unipc",    "lms" };

	open_all();
	for (size_t i = 0; i < sizeof(solvers) / sizeof(solvers[0]); i++) {
		struct strata_pipeline_run *whole = encode(solvers[i], 6);
		struct strata_pipeline_run *other = encode(solvers[i], 6);
		struct buf bytes;
		size_t count;

		buf_init(&bytes, &memory, 0);
		step(whole, 4);
		CHECK_OK(worker_latents_save(whole, 7, &bytes, &err));
		step(whole, strata_pipeline_left(whole));
		CHECK_OK(worker_latents_restore(other, 7, bytes.text, bytes.length, &err));
		CHECK_INT(strata_pipeline_left(other), strata_pipeline_calls(other) - 4);
		step(other, strata_pipeline_left(other));
		const float *want = strata_pipeline_latents(whole, &count);

		CHECK_BYTES(strata_pipeline_latents(other, &count), want, count * sizeof(*want));
		strata_pipeline_run_free(whole);
		strata_pipeline_run_free(other);
		buf_fini(&bytes);
	}
	close_all();
}

TEST(what_is_torn_old_or_anothers_is_refused)
{
	open_all();
	struct strata_pipeline_run *run = encode("euler", 6);
	struct strata_pipeline_run *longer = encode("euler", 7);
	struct buf bytes;
	size_t count;

	buf_init(&bytes, &memory, 0);
	CHECK_OK(worker_latents_save(run, 7, &bytes, &err));
	step(run, 2);
	size_t left = strata_pipeline_left(run);

	CHECK_ERROR(worker_latents_restore(run, 8, bytes.text, bytes.length, &err), -EBADMSG,
		    "another task");
	CHECK_ERROR(worker_latents_restore(run, 0, bytes.text, bytes.length, &err), -EBADMSG,
		    "another task");
	CHECK_ERROR(worker_latents_restore(longer, 7, bytes.text, bytes.length, &err), -EBADMSG,
		    "not one of this request");
	for (size_t cut = 0; cut < bytes.length; cut += cut < 64 ? 1 : 97)
		CHECK_ERROR(worker_latents_restore(run, 7, bytes.text, cut, &err), -EBADMSG,
			    "torn");
	for (size_t at = 0; at < bytes.length; at += at < 128 ? 1 : 97) {
		bytes.text[at] ^= 4;
		CHECK_INT(worker_latents_restore(run, 7, bytes.text, bytes.length, &err), -EBADMSG);
		bytes.text[at] ^= 4;
	}
	CHECK_INT(strata_pipeline_left(run), left); /* it was not touched */
	CHECK_OK(worker_latents_restore(run, 7, bytes.text, bytes.length, &err));
	CHECK_INT(strata_pipeline_left(run), 6);
	CHECK(strata_pipeline_latents(run, &count));
	buf_fini(&bytes);
	strata_pipeline_run_free(run);
	strata_pipeline_run_free(longer);
	close_all();
}

TEST(a_key_stands_for_all_that_a_picture_depends_on)
{
	json_t *one = json_pack("{s:s,s:i}", "prompt", "a seven", "steps", 5);
	json_t *same = json_pack("{s:i,s:s}", "steps", 5, "prompt", "a seven");
	json_t *other = json_pack("{s:s,s:i}", "prompt", "a seven", "steps", 6);
	struct worker_task task = { .id = 1, .seed = 5, .parameters = one };
	uint64_t key = worker_latents_key("digits", &task);

	CHECK(key);
	task.steps_done = 3;
	task.parameters = same;
	CHECK(worker_latents_key("digits", &task) == key);
	CHECK(worker_latents_key("letters", &task) != key);
	task.seed = 6;
	CHECK(worker_latents_key("digits", &task) != key);
	task.seed = 5;
	task.id = 2;
	CHECK(worker_latents_key("digits", &task) != key);
	task.id = 1;
	task.parameters = other;
	CHECK(worker_latents_key("digits", &task) != key);
	json_decref(one);
	json_decref(same);
	json_decref(other);
}

TEST(no_memory_is_an_answer)
{
	open_all();
	struct strata_pipeline_run *run = encode("dpmpp_2m", 6);
	struct buf bytes;

	step(run, 2);
	for (uint64_t at = 1; at < 20; at++) {
		buf_init(&bytes, &memory, 0);
		memory.fail_at = memory.calls + at;
		int rc = worker_latents_save(run, 7, &bytes, &err);
		bool over = memory.calls < memory.fail_at;

		memory.fail_at = 0;
		CHECK(rc == (over ? 0 : -ENOMEM));
		buf_fini(&bytes);
		if (over)
			break;
	}
	buf_init(&bytes, &memory, 0);
	CHECK_ERROR(worker_latents_save(run, 0, &bytes, &err), -ENOMEM, "memory");
	CHECK_INT(bytes.length, 0);
	buf_fini(&bytes);
	strata_pipeline_run_free(run);
	close_all();
}
