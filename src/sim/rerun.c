/*
 * What is decided over is compared as text: a line of the record is written again with what the cluster has now decided, and
 * must have the same bytes.
 */
#include "sim/rerun_int.h"

#include <errno.h>
#include <string.h>

void rerun_init(struct rerun_result *result, struct strata_memory *memory)
{
	*result = (struct rerun_result){ 0 };
	buf_init(&result->recorded, memory, 0);
	buf_init(&result->decided, memory, 0);
}

void rerun_fini(struct rerun_result *result)
{
	buf_fini(&result->recorded);
	buf_fini(&result->decided);
}

static void end_cluster(struct rerun *rerun)
{
	strata_cluster_free(rerun->cluster);
	rerun->cluster = NULL;
	for (size_t i = 0; i < RERUN_SPEC_COUNT; i++) {
		strata_registry_free(rerun->registries[i]);
		rerun->registries[i] = NULL;
	}
	strata_arena_reset(&rerun->specs);
}

static int begin_cluster(struct rerun *rerun, const struct recording_begin *begin,
			 struct strata_error *err)
{
	struct strata_cluster_conf conf = { .half_life_ns = begin->half_life_ns,
					    .checkpoint_bytes_max = begin->checkpoint_bytes_max };
	const struct {
		const struct strata_kind *kind;
		const char *text;
		struct strata_spec *spec;
	} specs[RERUN_SPEC_COUNT] = {
		{ &strata_order_kind, begin->order, &conf.order },
		{ &strata_placement_kind, begin->placement, &conf.placement },
		{ &strata_backfill_kind, begin->backfill, &conf.backfill },
		{ &strata_prediction_kind, begin->prediction, &conf.prediction },
		{ &strata_victims_kind, begin->victims, &conf.victims },
	};

	end_cluster(rerun);
	rerun_pool_end_all(rerun);
	for (size_t i = 0; i < RERUN_SPEC_COUNT; i++) {
		if (!specs[i].text)
			continue;
		int rc = strata_registry_new(specs[i].kind, rerun->memory, &rerun->registries[i],
					     err);

		if (rc == 0)
			rc = strata_spec_read(rerun->registries[i], specs[i].text,
					      strlen(specs[i].text), &rerun->specs, specs[i].spec,
					      err);
		if (rc)
			return rc;
	}
	rerun->result->clusters++;
	return strata_cluster_new(&conf, rerun->memory, &rerun->cluster, err);
}

int rerun_compare(struct rerun *rerun, const struct recording_line *line, const char *text,
		  size_t length, bool *ret_same, struct strata_error *err)
{
	struct rerun_result *result = rerun->result;

	buf_reset(&rerun->text);
	recording_add(&rerun->text, line);
	int rc = buf_check(&rerun->text, err);

	if (rc)
		return rc;
	*ret_same = rerun->text.length == length + 1 &&
		    memcmp(rerun->text.text, text, length) == 0;
	if (*ret_same || result->differing++ > 0)
		return 0;
	result->line = result->lines;
	buf_add_bytes(&result->recorded, text, length);
	buf_add_bytes(&result->decided, rerun->text.text, rerun->text.length - 1);
	rc = buf_check(&result->recorded, err);
	return rc ? rc : buf_check(&result->decided, err);
}

static int do_event(struct rerun *rerun, struct recording_line *line, const char *text,
		    size_t length, struct strata_error *err)
{
	struct rerun_result *result = rerun->result;
	struct strata_event *event = &line->event;
	const struct strata_effect *effects = NULL;
	size_t count = 0;

	if (!rerun->cluster)
		return result->clusters ? 0
					: strata_fail(err, -EINVAL,
						      "the record has no line 'begin' before this");
	int rc = strata_cluster_apply(rerun->cluster, event, &rerun->line, &effects, &count, err);

	if (rc == -ENOMEM)
		return rc;
	result->events++;
	result->refused += rc != 0;
	if (event->kind != STRATA_EVENT_PASS)
		return 0;
	result->passes++;
	result->decisions += count;
	for (size_t i = 0; i < count; i++)
		result->starts += effects[i].kind == STRATA_EFFECT_START;
	event->effects = effects;
	event->effect_count = count;
	if (line->digest) {
		result->digests++;
		line->digest = strata_cluster_digest(rerun->cluster);
	}
	bool same;

	rc = rerun_compare(rerun, line, text, length, &same, err);
	if (rc == 0 && !same)
		end_cluster(rerun);
	return rc;
}

/* Was the line the last that a service wrote before it was killed? */
static bool is_last(const char *next, const char *end)
{
	static const char begin[] = "{\"event\":\"begin\"";

	return (size_t)(end - next) < sizeof(begin) - 1 ||
	       memcmp(next, begin, sizeof(begin) - 1) == 0;
}

static int do_line(struct rerun *rerun, const char *text, size_t length, bool last,
		   struct strata_error *err)
{
	struct recording_line line;
	int rc = recording_read(text, length, &rerun->line, &line, err);

	if (rc == -EINVAL && last && rerun->result->clusters) {
		rerun->result->torn++;
		return 0;
	}
	if (rc == 0 && line.pool)
		rc = rerun_pool_line(rerun, &line, text, length, err);
	else if (rc == 0)
		rc = line.begins ? begin_cluster(rerun, &line.begin, err)
				 : do_event(rerun, &line, text, length, err);
	strata_arena_reset(&rerun->line);
	return rc;
}

static int do_all(struct rerun *rerun, const char *text, const char *end, struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *next = stop ? stop + 1 : end;
		struct strata_error why = { 0 };

		rerun->result->lines++;
		rc = do_line(rerun, text, (size_t)((stop ? stop : end) - text), is_last(next, end),
			     &why);
		if (rc)
			strata_fail(err, rc, "line %zu: %s", rerun->result->lines, why.text);
		text = next;
	}
	if (rc == 0 && rerun->result->clusters == 0)
		rc = strata_fail(err, -EINVAL, "the record is empty");
	return rc;
}

int rerun_run(const char *text, size_t length, struct strata_memory *memory,
	      struct rerun_result *result, struct strata_error *err)
{
	struct rerun rerun = { .memory = memory, .result = result };

	strata_arena_init(&rerun.specs, memory, 0);
	strata_arena_init(&rerun.line, memory, 0);
	map_text_init(&rerun.pools, memory);
	buf_init(&rerun.text, memory, 0);
	int rc = do_all(&rerun, text, text + length, err);

	end_cluster(&rerun);
	rerun_pool_end_all(&rerun);
	map_text_fini(&rerun.pools);
	buf_fini(&rerun.text);
	strata_arena_fini(&rerun.line);
	strata_arena_fini(&rerun.specs);
	return rc;
}
