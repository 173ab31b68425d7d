/*
 * Runs brought forward together; worker_batch.h says how they are kept. What a call took is shared
 * out by the numbers of latents: in a batch they are what the time goes by. A call that fails has
 * changed no run, so each is tried alone, and only who fails alone has failed.
 */
#include "worker/worker_batch.h"

#include "worker/worker_latents.h"

#include "engine/picture_text.h"
#include "engine/png.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREVIEW_NS STRATA_SECOND_NS

void worker_batch_init(struct worker_batch *batch, struct strata_pipeline *pipeline,
		       const char *model, const struct worker_link *link,
		       struct strata_memory *memory)
{
	memset(batch, 0, sizeof(*batch));
	batch->memory = memory;
	batch->pipeline = pipeline;
	batch->model = model;
	batch->link = link;
	batch->save_ns = -1;
}

static void run_fini(struct worker_run *run)
{
	strata_pipeline_run_free(run->run);
	strata_arena_fini(&run->arena);
}

void worker_batch_fini(struct worker_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		run_fini(&batch->runs[i]);
	batch->count = 0;
}

void worker_batch_drop(struct worker_batch *batch, size_t index)
{
	run_fini(&batch->runs[index]);
	batch->count--;
	memmove(&batch->runs[index], &batch->runs[index + 1],
		(batch->count - index) * sizeof(batch->runs[0]));
}

static void break_run(struct worker_run *run, const struct strata_error *why)
{
	strata_pipeline_run_free(run->run);
	run->run = NULL;
	run->state = WORKER_BROKEN;
	run->why = *why;
}

/* ---- the batch that was picked ---- */

static int64_t now(const struct worker_batch *batch)
{
	return batch->link->now_ns(batch->link->context);
}

static const struct worker_task *find_task(const struct worker_pick *pick, int64_t id)
{
	for (size_t i = 0; i < pick->count; i++)
		if (pick->tasks[i].id == id)
			return &pick->tasks[i];
	return NULL;
}

static bool is_held(const struct worker_batch *batch, int64_t id)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->runs[i].id == id)
			return true;
	return false;
}

static void add_task(struct worker_batch *batch, const struct worker_task *task)
{
	struct worker_run *run = &batch->runs[batch->count++];
	struct strata_error why;

	*run = (struct worker_run){ .id = task->id,
				    .told = task->steps_done,
				    .taken_ns = now(batch),
				    .key = worker_latents_key(batch->model, task),
				    .latents = task->latents };
	strata_arena_init(&run->arena, batch->memory, 0);
	if (worker_request_read(task, &run->arena, &run->request, &why))
		break_run(run, &why);
}

void worker_batch_take(struct worker_batch *batch, const struct worker_pick *pick)
{
	for (size_t i = batch->count; i-- > 0;) {
		const struct worker_task *task = find_task(pick, batch->runs[i].id);

		if (task) {
			batch->runs[i].told = task->steps_done;
			continue;
		}
		worker_batch_save(batch, &batch->runs[i]);
		worker_batch_drop(batch, i);
	}
	if (pick->save_ns >= 0)
		batch->save_ns = pick->save_ns;
	for (size_t i = 0; i < pick->count; i++)
		if (!is_held(batch, pick->tasks[i].id))
			add_task(batch, &pick->tasks[i]);
}

/* ---- forward ---- */

int64_t worker_run_steps(const struct worker_run *run)
{
	int64_t steps = run->request.steps;

	if (!run->run)
		return 0;
	if (!steps)
		steps = (int64_t)strata_pipeline_steps(run->run);
	int64_t calls = (int64_t)strata_pipeline_calls(run->run);
	int64_t left = (int64_t)strata_pipeline_left(run->run);

	return left ? (calls - left) * steps / calls : steps;
}

/* Gets the picture that it starts from. A service that is away, or has lost the lease, is asked
 * again in the next round. */
static int fetch_init(struct worker_batch *batch, struct worker_run *run, struct strata_error *err)
{
	struct buf file;

	buf_init(&file, batch->memory, STRATA_INIT_BYTES_MAX);
	int rc = worker_api_init(batch->link, run->id, &file, err);

	if (rc == 0)
		rc = worker_request_begin(&run->request, file.text, file.length, &run->arena, err);
	buf_fini(&file);
	return rc;
}

/* Goes on where another worker left it; what is no good is left alone. */
static void restore(struct worker_batch *batch, struct worker_run *run)
{
	char text[STRATA_ERROR_TEXT_BYTES + 64];
	struct strata_error why = { 0 };
	struct buf bytes;

	buf_init(&bytes, batch->memory, STRATA_LATENTS_BYTES_MAX);
	int rc = worker_api_saved(batch->link, run->id, &bytes, &why);

	if (rc == 0)
		rc = worker_latents_restore(run->run, run->key, bytes.text, bytes.length, &why);
	if (rc) {
		snprintf(text, sizeof(text),
			 "task %" PRId64 " begins anew; its saved latents are no good: %s", run->id,
			 why.text);
		batch->link->say(batch->link->context, text);
	} else {
		run->saved_steps = worker_run_steps(run);
	}
	buf_fini(&bytes);
}

void worker_batch_save(struct worker_batch *batch, struct worker_run *run)
{
	int64_t steps = worker_run_steps(run);
	struct buf bytes;

	if (batch->save_ns < 0 || steps <= run->saved_steps ||
	    (run->state != WORKER_RUNNING && run->state != WORKER_DRAWN))
		return;
	run->saved_ns = now(batch);
	buf_init(&bytes, batch->memory, STRATA_LATENTS_BYTES_MAX);
	if (worker_latents_save(run->run, run->key, &bytes, NULL) == 0 &&
	    worker_api_save(batch->link, run->id, steps, bytes.text, bytes.length, NULL) == 0)
		run->saved_steps = steps;
	buf_fini(&bytes);
}

static void save_due(struct worker_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->runs[i].state == WORKER_RUNNING &&
		    now(batch) - batch->runs[i].saved_ns >= batch->save_ns)
			worker_batch_save(batch, &batch->runs[i]);
}

static void encode(struct worker_batch *batch, struct worker_run *run)
{
	int64_t start_ns = now(batch);
	struct strata_error why;
	int rc = run->request.init_image ? fetch_init(batch, run, &why) : 0;

	if (worker_is_away(rc) || worker_is_lost(rc))
		return;
	if (rc) {
		break_run(run, &why);
		return;
	}
	worker_beat_sign(batch->beat);
	if (strata_pipeline_encode(batch->pipeline, &run->request.pipeline, &run->run, &why)) {
		break_run(run, &why);
		return;
	}
	if (run->latents)
		restore(batch, run);
	run->preview_ns = run->saved_ns = now(batch);
	run->cost_ns += run->preview_ns - start_ns;
	run->state = strata_pipeline_left(run->run) ? WORKER_RUNNING : WORKER_DRAWN;
}

/* Shares out what a call took. */
static void charge(struct worker_run *const *active, size_t count, int64_t ns)
{
	size_t all = 0, own;

	for (size_t i = 0; i < count; i++) {
		strata_pipeline_latents(active[i]->run, &own);
		all += own;
	}
	for (size_t i = 0; i < count; i++) {
		strata_pipeline_latents(active[i]->run, &own);
		active[i]->cost_ns += (int64_t)((double)ns * (double)own / (double)all);
	}
}

/* What a call took says something of its size when all of it was one call of the model. */
static void learn(struct worker_batch *batch, struct worker_run *const *active, size_t count,
		  int rc, int64_t ns)
{
	uint64_t key = strata_pipeline_batch_key(active[0]->run);

	for (size_t i = 1; i < count; i++)
		if (strata_pipeline_batch_key(active[i]->run) != key)
			return;
	if (rc == 0)
		worker_caps_note(&batch->caps, key, count, ns);
	else if (rc == -ENOMEM)
		worker_caps_misfit(&batch->caps, key, count);
}

/* One call for all of them; what fails is broken. */
static void call(struct worker_batch *batch, struct worker_run **active, size_t count)
{
	struct strata_pipeline_run *runs[STRATA_BATCH_MAX];
	int64_t start_ns = now(batch);
	struct strata_error why;

	for (size_t i = 0; i < count; i++)
		runs[i] = active[i]->run;
	worker_beat_sign(batch->beat);
	int rc = strata_pipeline_step(batch->pipeline, runs, count, &why);

	int64_t ns = now(batch) - start_ns;

	charge(active, count, ns);
	learn(batch, active, count, rc, ns);
	for (size_t i = 0; rc && count > 1 && i < count; i++)
		call(batch, &active[i], 1);
	if (rc && count == 1)
		break_run(active[0], &why);
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (!strata_pipeline_left(active[i]->run))
			active[i]->state = WORKER_DRAWN;
}

/* A look at a run for who waits for it, at most one in a second; where that fails, there is
 * none. */
static void show(struct worker_batch *batch, struct worker_run *run)
{
	struct strata_picture picture;
	struct strata_arena arena;
	struct buf file;

	if (now(batch) - run->preview_ns < PREVIEW_NS)
		return;
	run->preview_ns = now(batch);
	strata_arena_init(&arena, batch->memory, 0);
	buf_init(&file, batch->memory, 0);
	if (strata_pipeline_preview(batch->pipeline, run->run, 0, &arena, &picture, NULL) == 0) {
		const struct engine_picture whole = { picture.width, picture.height, picture.rgb,
						      NULL };

		if (engine_png_write(&file, &whole, NULL) == 0)
			(void)worker_api_preview(batch->link, run->id, file.text, file.length,
						 NULL);
	}
	buf_fini(&file);
	strata_arena_fini(&arena);
}

void worker_batch_advance(struct worker_batch *batch, int64_t steps, int64_t until_ns)
{
	struct worker_run *active[STRATA_BATCH_MAX];
	int64_t goals[STRATA_BATCH_MAX];

	for (size_t i = 0; i < batch->count; i++) {
		if (batch->runs[i].state == WORKER_NEW)
			encode(batch, &batch->runs[i]);
		goals[i] = worker_run_steps(&batch->runs[i]) + steps;
	}
	while (!batch->link->ending(batch->link->context) && now(batch) < until_ns) {
		size_t count = 0;

		for (size_t i = 0; i < batch->count; i++)
			if (batch->runs[i].state == WORKER_RUNNING &&
			    worker_run_steps(&batch->runs[i]) < goals[i])
				active[count++] = &batch->runs[i];
		if (count == 0)
			break;
		call(batch, active, count);
		for (size_t i = 0; i < count; i++)
			if (active[i]->state == WORKER_RUNNING)
				show(batch, active[i]);
	}
	save_due(batch);
}

/* ---- to the end ---- */

static void describe(const struct worker_batch *batch, const struct worker_run *run,
		     const struct strata_picture *picture, struct buf *text)
{
	const struct worker_request *request = &run->request;
	const struct engine_settings settings = {
		.prompt = request->prompt,
		.negative = request->negative,
		.quality = request->quality,
		.solver = request->pipeline.solver ? request->pipeline.solver
						   : strata_pipeline_solver(run->run),
		.model = batch->model,
		.seed = request->pipeline.seeds[run->hash_count],
		.steps = strata_pipeline_steps(run->run),
		.guidance = strata_pipeline_guidance(run->run),
		.width = picture->width,
		.height = picture->height,
		.has_strength = request->pipeline.init != NULL,
		.strength = request->strength,
	};

	engine_picture_text(&settings, text);
}

int worker_batch_picture(struct worker_batch *batch, struct worker_run *run, struct buf *file,
			 struct strata_error *err)
{
	int64_t start_ns = now(batch);
	struct strata_picture picture;
	struct strata_arena arena;
	struct buf text;

	strata_arena_init(&arena, batch->memory, 0);
	buf_init(&text, batch->memory, 0);
	worker_beat_sign(batch->beat);
	int rc = strata_pipeline_decode(batch->pipeline, run->run, run->hash_count, &arena,
					&picture, err);

	if (rc == 0) {
		describe(batch, run, &picture, &text);
		rc = buf_check(&text, err);
	}
	if (rc == 0) {
		const struct engine_picture whole = { picture.width, picture.height, picture.rgb,
						      text.text };

		rc = engine_png_write(file, &whole, err);
	}
	if (rc == 0) {
		run->width = picture.width;
		run->height = picture.height;
	}
	run->cost_ns += now(batch) - start_ns;
	buf_fini(&text);
	strata_arena_fini(&arena);
	return rc;
}
