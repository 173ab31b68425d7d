/*
 * The loop of a worker: pick, forward, hand over, done. A round holds the lease that the pick gave
 * and ends with one done for all of its tasks; it ends early when it takes long, so that the
 * service hears from a worker that lives. When the service goes away in the middle, the worker
 * keeps what it has drawn and says what it holds when it comes back; a lease that is lost for any
 * other reason makes it forget everything.
 */
#include "worker/worker_loop.h"

#include "worker/worker_batch.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	WAIT_MS = 2000, /* that an idle worker lets the service wait; so long it may take to end */
	REFUSALS_MAX = 16, /* of done, one after the other */
};
#define ROUND_NS (10 * STRATA_SECOND_NS) /* a third of the pool's lease */
#define ASK_NS_MAX STRATA_SECOND_NS
#define BACK_OFF_NS (200 * STRATA_MS_NS)
#define BACK_OFF_NS_MAX (5 * STRATA_SECOND_NS)

struct worker {
	const struct worker_link *link;
	struct worker_batch batch;
	struct worker_trace *trace; /* NULL: nothing is recorded */
	struct strata_memory *memory;
	bool away;                    /* the service was, since the last pick */
	int64_t away_ns, away_ns_max; /* since when it is; for how long it may be */
	bool gone;                    /* for longer */
	bool stop;                    /* the service wants it to end */
	int refusals;                 /* of done, since one was taken */
	int64_t ask_ns;               /* what a pick and a done cost lately, together */
	int64_t pick_ns;              /* the last pick, if it did not wait for tasks; else -1 */
};

static int64_t now(const struct worker *worker)
{
	return worker->link->now_ns(worker->link->context);
}

static bool ending(const struct worker *worker)
{
	return worker->stop || worker->link->ending(worker->link->context);
}

static void say(const struct worker *worker, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(const struct worker *worker, const char *format, ...)
{
	char text[STRATA_ERROR_TEXT_BYTES + 64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	worker->link->say(worker->link->context, text);
}

/* Whether to ask again after rc, which says that the service is away: waits a little longer each
 * time. Not when the worker is to end. */
static bool again(struct worker *worker, int rc, int64_t *back_off_ns,
		  const struct strata_error *why)
{
	int64_t now_ns = worker->link->now_ns(worker->link->context);

	if (!worker_is_away(rc) || ending(worker))
		return false;
	if (!worker->away) {
		say(worker, "%s; waiting for it", why->text);
		worker->away_ns = now_ns;
	}
	worker->away = true;
	worker->gone = now_ns - worker->away_ns > worker->away_ns_max;
	if (worker->gone) {
		say(worker, "the service does not come back");
		return false;
	}
	worker_beat_sign(worker->batch.beat); /* it waits, it does not hang */
	worker->link->pause(worker->link->context, *back_off_ns);
	*back_off_ns = *back_off_ns * 2 < BACK_OFF_NS_MAX ? *back_off_ns * 2 : BACK_OFF_NS_MAX;
	return true;
}

/* ---- pick ---- */

/* An answer that got lost has left the service with a batch that it thinks is here: its lease ends
 * by itself. */
static bool again_lost(struct worker *worker, int rc, int64_t *back_off_ns)
{
	if (!worker_is_lost(rc) || ending(worker) || ++worker->refusals > REFUSALS_MAX)
		return false;
	worker->link->pause(worker->link->context, *back_off_ns);
	*back_off_ns = *back_off_ns * 2 < BACK_OFF_NS_MAX ? *back_off_ns * 2 : BACK_OFF_NS_MAX;
	return true;
}

static struct worker_held held_of(const struct worker_batch *batch)
{
	struct worker_held held = { .count = batch->count };

	for (size_t i = 0; i < held.count; i++) {
		held.ids[i] = batch->runs[i].id;
		held.steps[i] = worker_run_steps(&batch->runs[i]);
	}
	return held;
}

static int pick(struct worker *worker, struct worker_pick *ret_pick, struct strata_error *err)
{
	struct worker_held held = held_of(&worker->batch);
	int64_t back_off_ns = BACK_OFF_NS;
	int rc;

	worker_beat_hold(worker->batch.beat, &held, 0);
	do {
		bool wait = worker->batch.count == 0 && !ending(worker);

		int64_t start_ns = now(worker);

		rc = worker_api_pick(worker->link, &held, wait ? WAIT_MS : 0, worker->ask_ns,
				     ret_pick, err);
		worker->pick_ns = wait ? -1 : now(worker) - start_ns;
	} while (again(worker, rc, &back_off_ns, err) || again_lost(worker, rc, &back_off_ns));
	if (rc == 0) {
		worker->stop = ret_pick->stop;
		if (worker->away)
			say(worker, "the service is back");
		worker->away = false;
	}
	return rc;
}

/* ---- pictures ---- */

static int hand_over(struct worker *worker, struct worker_run *run, struct buf *file,
		     struct strata_error *err)
{
	int64_t back_off_ns = BACK_OFF_NS, begin_ns = now(worker);
	int rc;

	do
		rc = worker_api_image(worker->link, file->text, file->length,
				      run->hashes[run->hash_count], err);
	while (again(worker, rc, &back_off_ns, err));
	worker_trace_slice(worker->trace, "handing over", run->id, begin_ns, now(worker));
	return rc;
}

/* The timeline of a task whose user wants one. That there is none is no fault of the picture. */
static void send_trace(struct worker *worker, const struct worker_run *run)
{
	struct strata_error why = { 0 };
	struct buf file;

	if (!run->request.trace || !worker->trace || !worker->trace->trace)
		return;
	buf_init(&file, worker->memory, STRATA_TASK_TRACE_BYTES_MAX);
	int rc = worker_trace_write(worker->trace, run->taken_ns, &file, &why);

	if (rc == 0)
		rc = worker_api_trace(worker->link, run->id, file.text, file.length, &why);
	if (rc)
		say(worker, "task %" PRId64 " goes without its timeline: %s", run->id, why.text);
	buf_fini(&file);
}

/* It does not know this worker, or not any more: that is no fault of a picture. */
static bool is_shut_out(int rc)
{
	return rc == -EACCES || rc == -EPERM || rc == -ENOKEY;
}

/* Decodes what was drawn and hands it over. What cannot be is broken; a service that is away stays
 * to be asked. */
static int finish(struct worker *worker, struct worker_run *run, struct strata_error *err)
{
	size_t images = run->request.pipeline.image_count;
	struct strata_error why = { 0 };
	struct buf file;
	int rc = 0;

	if (!run->hashes)
		run->hashes = strata_arena_array(&run->arena, images, sizeof(*run->hashes));
	if (!run->hashes)
		rc = strata_fail_memory(&why);
	while (rc == 0 && run->hash_count < images) {
		buf_init(&file, worker->memory, 0);
		rc = worker_batch_picture(&worker->batch, run, &file, &why);
		if (rc == 0)
			rc = hand_over(worker, run, &file, &why);
		run->hash_count += rc == 0;
		buf_fini(&file);
	}
	if (is_shut_out(rc)) {
		*err = why;
		return rc;
	}
	if (rc == 0) {
		run->state = WORKER_ENDED;
		send_trace(worker, run);
	} else if (!worker_is_away(rc)) {
		run->state = WORKER_BROKEN;
		run->why = why;
	}
	return 0;
}

/* ---- done ---- */

static struct worker_row row_of(const struct worker *worker, struct worker_run *run, int64_t steps)
{
	int64_t further = worker_run_steps(run) - run->told;
	struct worker_row row = { .id = run->id, .cost_ns = run->cost_ns, .status = "denoising" };

	row.steps = further < 0 ? 0 : further < steps ? further : steps;
	if (run->run)
		row.cap =
			worker_caps_most(&worker->batch.caps, strata_pipeline_batch_key(run->run));
	switch (run->state) {
	case WORKER_ENDED:
		row.kind = WORKER_FINISHED;
		row.hashes = (const char(*)[WORKER_HASH_BYTES])run->hashes;
		row.hash_count = run->hash_count;
		row.width = run->width;
		row.height = run->height;
		break;
	case WORKER_BROKEN:
		row.kind = WORKER_FAILED;
		row.steps = 0;
		row.error = run->why.text;
		say(worker, "task %" PRId64 " failed: %s", run->id, run->why.text);
		break;
	case WORKER_NEW:
		row.status = "encoding";
		break;
	case WORKER_DRAWN:
		row.status = "decoding";
		break;
	case WORKER_RUNNING:
		break;
	}
	if (row.kind == WORKER_STEPS && ending(worker)) {
		row.kind = WORKER_BACK;
		row.steps = run->saved_steps ? row.steps : 0; /* who gets it next begins there */
	}
	return row;
}

/* What a pick and a done cost, as a mean that forgets. A pick that waited says nothing. */
static void note_cost(struct worker *worker, int64_t done_ns)
{
	if (worker->pick_ns < 0)
		return;
	int64_t both_ns = worker->pick_ns + done_ns;

	if (both_ns > ASK_NS_MAX)
		both_ns = ASK_NS_MAX;
	worker->ask_ns += worker->ask_ns ? (both_ns - worker->ask_ns) / 8 : both_ns;
}

/* Tells what came of the round, and drops what has ended. */
static int tell(struct worker *worker, int64_t steps, struct strata_error *err)
{
	struct worker_batch *batch = &worker->batch;
	struct worker_row rows[STRATA_BATCH_MAX];
	int64_t back_off_ns = BACK_OFF_NS;
	int rc;

	for (size_t i = 0; ending(worker) && i < batch->count; i++)
		worker_batch_save(batch, &batch->runs[i]);
	for (size_t i = 0; i < batch->count; i++)
		rows[i] = row_of(worker, &batch->runs[i], steps);
	do {
		int64_t start_ns = now(worker);

		rc = worker_api_done(worker->link, rows, batch->count, err);
		if (rc == 0)
			note_cost(worker, now(worker) - start_ns);
	} while (again(worker, rc, &back_off_ns, err));
	if (rc)
		return rc;
	worker->refusals = 0;
	for (size_t i = batch->count; i-- > 0;) {
		batch->runs[i].cost_ns = 0;
		if (rows[i].kind != WORKER_STEPS)
			worker_batch_drop(batch, i);
	}
	return 0;
}

/* The service did not take what it was told. After it was away it may know of nothing: what is held
 * is said with the next pick. */
static int refused(struct worker *worker, int rc, struct strata_error *err)
{
	if (!worker_is_lost(rc) && rc != -EINVAL && rc != -ENOENT)
		return rc;
	if (++worker->refusals > REFUSALS_MAX)
		return rc;
	if (worker->away && worker_is_lost(rc))
		return 0;
	say(worker, "the lease is lost: %s", err->text);
	worker_batch_fini(&worker->batch);
	return 0;
}

/* ---- the loop ---- */

static int do_round(struct worker *worker, const struct worker_pick *picked,
		    struct strata_error *err)
{
	const struct worker_link *link = worker->link;
	int64_t until_ns = link->now_ns(link->context) + ROUND_NS;

	worker_batch_take(&worker->batch, picked);
	struct worker_held held = held_of(&worker->batch);

	worker_beat_hold(worker->batch.beat, &held, picked->lease_ns);
	if (picked->count == 0) {
		/* Who is told at once that there is nothing need not ask at once again. */
		if (!ending(worker))
			link->pause(link->context, 10 * STRATA_MS_NS);
		return 0;
	}
	worker_trace_begin(worker->trace, now(worker), held.ids, held.count);
	if (!ending(worker))
		worker_batch_advance(&worker->batch, picked->steps, until_ns);
	worker_trace_end(worker->trace, now(worker));
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < worker->batch.count; i++)
		if (worker->batch.runs[i].state == WORKER_DRAWN)
			rc = finish(worker, &worker->batch.runs[i], err);
	if (rc)
		return rc;
	rc = tell(worker, picked->steps, err);
	return rc ? refused(worker, rc, err) : 0;
}

static int work(struct worker *worker, struct strata_error *err)
{
	struct worker_pick picked;
	int rc = 0;

	while (rc == 0 && !(ending(worker) && worker->batch.count == 0)) {
		rc = pick(worker, &picked, err);
		if (rc)
			break;
		rc = do_round(worker, &picked, err);
		json_decref(picked.answer);
	}
	/* The service is away, or has lost the lease, and the worker is to end or the service does
	 * not come back: there is nobody to tell. */
	bool alone = worker->gone || ending(worker);

	return alone && (worker_is_away(rc) || worker_is_lost(rc)) ? 0 : rc;
}

int worker_run(const struct worker_conf *conf, struct strata_memory *memory,
	       struct strata_error *err)
{
	struct worker *worker = strata_memory_get(memory, sizeof(*worker));

	if (!worker)
		return strata_fail_memory(err);
	worker->link = conf->link;
	worker->memory = memory;
	worker_batch_init(&worker->batch, conf->pipeline, conf->model, conf->link, memory);
	worker->batch.beat = conf->beat;
	worker->trace = conf->trace;
	worker->away_ns_max = conf->away_ns_max;
	int rc = work(worker, err);

	worker_batch_fini(&worker->batch);
	strata_memory_put(memory, worker, sizeof(*worker));
	return rc;
}
