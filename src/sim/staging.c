/* A loop over a model on a virtual clock. */
#include "sim/staging.h"

#define NO_LAYER UINT32_MAX

struct loop {
	const struct staging_conf *conf;
	struct strata_stage_clock clock;
	uint64_t step;
	int64_t pages; /* read so far */
	double wait_ns;
	struct strata_error *err;
};

static void act(struct loop *loop, struct staging_event *event)
{
	double before = loop->clock.now_ns;

	event->span = strata_stage_clock_do(&loop->clock, event->entry);
	loop->wait_ns += loop->clock.now_ns - before;
	if (event->entry->kind == STRATA_STAGE_COMPUTE)
		loop->wait_ns -= event->span.end_ns - event->span.begin_ns;
	else if (event->entry->kind != STRATA_STAGE_RELEASE)
		loop->pages += event->entry->count;
	if (loop->conf->tell)
		loop->conf->tell(loop->conf->context, event);
}

static int call(struct loop *loop, enum strata_stage_hook hook, uint32_t layer)
{
	struct staging_event event = { .step = loop->step, .hook = hook, .layer = layer };
	struct strata_stage_due due;
	int rc = strata_stage_run_hook(loop->conf->run, hook, layer == NO_LAYER ? 0 : layer, &due,
				       loop->err);

	if (rc)
		return rc;
	event.surprise = due.surprise;
	for (size_t i = 0; i < due.count; i++) {
		event.entry = &due.entries[i];
		act(loop, &event);
	}
	return 0;
}

static int step(struct loop *loop)
{
	const struct strata_stage_model *model = loop->conf->model;
	size_t forward = model->visit_count - model->backward_count;
	int rc = call(loop, STRATA_STAGE_STEP_START, NO_LAYER);

	for (size_t v = 0; rc == 0 && v < model->visit_count; v++) {
		uint32_t layer = model->order ? model->order[v] : (uint32_t)v;

		rc = call(loop, v < forward ? STRATA_STAGE_PRE_FORWARD : STRATA_STAGE_PRE_BACKWARD,
			  layer);
		if (rc == 0)
			rc = call(loop,
				  v < forward ? STRATA_STAGE_POST_FORWARD
					      : STRATA_STAGE_POST_BACKWARD,
				  layer);
	}
	return rc ? rc : call(loop, STRATA_STAGE_STEP_END, NO_LAYER);
}

int staging_run(const struct staging_conf *conf, struct strata_arena *arena,
		struct staging_result *ret_result, struct strata_error *err)
{
	struct loop loop = { .conf = conf, .err = err };
	struct staging_result result = { 0 };
	struct strata_stage_progress progress;
	uint64_t measured = (conf->steps + 1) / 2;
	double begin_ns = 0, wait_ns = 0;
	int64_t pages = 0;
	int rc = strata_stage_clock_init(&loop.clock, conf->model, conf->page_bytes,
					 conf->bytes_per_s, arena, err);

	for (; rc == 0 && loop.step < conf->steps; loop.step++) {
		if (loop.step == conf->steps - measured) {
			begin_ns = loop.clock.now_ns;
			wait_ns = loop.wait_ns;
			pages = loop.pages;
		}
		rc = step(&loop);
		if (loop.step == 0)
			result.first_ns = loop.clock.now_ns;
	}
	if (rc)
		return rc;
	strata_stage_run_progress(conf->run, &progress);
	result.step_ns = (loop.clock.now_ns - begin_ns) / (double)measured;
	result.wait_ns = (loop.wait_ns - wait_ns) / (double)measured;
	result.bytes_per_step = (double)(loop.pages - pages) * (double)conf->page_bytes /
				(double)measured;
	result.peak_bytes = progress.peak_pages * conf->page_bytes;
	result.surprises = progress.surprises;
	*ret_result = result;
	return 0;
}
