/* Key figures by day: see figures.h. A day is closed in one transaction with what it changes:
 * its row without the sketch, and the event of a figure that is not as usual any more, so that a
 * service that is killed on the way tells it once. */
#include "server/figures.h"

#include "core/env_log.h"
#include "server/decider.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITE_PAUSE_NS (300 * STRATA_SECOND_NS) /* what a crash may lose of today */

enum { STALE_DAYS = 7, KEY_BYTES = 2 * STRATA_NAME_BYTES_MAX + 64 };

/* Differences below the floor are nothing to anybody. */
static const struct {
	const char *name;
	bool time;
	double floor;
} kinds[FIGURE_KIND_COUNT] = {
	[FIGURE_WAIT] = { "wait", true, 30 },   [FIGURE_TASK_WAIT] = { "task_wait", true, 1 },
	[FIGURE_PASS] = { "pass", true, 1e-3 }, [FIGURE_STORE] = { "store", true, 5e-3 },
	[FIGURE_STEP] = { "step", true, 1e-3 }, [FIGURE_PREDICTION] = { "prediction", false, 0.5 },
};

const char *figure_name(enum figure_kind kind)
{
	return kinds[kind].name;
}

bool figure_is_time(enum figure_kind kind)
{
	return kinds[kind].time;
}

bool figure_is_worse(const struct figure *figure)
{
	return figure->verdict.state == BASELINE_HIGHER;
}

const struct figure *figures_next(const struct figures *figures, const struct figure *figure)
{
	const struct map_text_entry *entry = NULL;
	char key[KEY_BYTES];

	if (figure) {
		int length =
			snprintf(key, sizeof(key), "%s/%s", figure_name(figure->kind), figure->of);

		entry = map_text_find(&figures->all, key, (size_t)length);
	}
	entry = figures ? map_text_next(&figures->all, entry) : NULL;
	return entry ? entry->value : NULL;
}

/* ---- the table ---- */

static void remove_figure(struct decider *decider, struct figure *figure)
{
	char key[KEY_BYTES];
	int length = snprintf(key, sizeof(key), "%s/%s", figure_name(figure->kind), figure->of);

	if (decider->figures->service[figure->kind] == figure)
		decider->figures->service[figure->kind] = NULL;
	map_text_remove(&decider->figures->all, key, (size_t)length);
	strata_memory_put(&decider->memory, figure, figure->bytes);
}

/* NULL: no memory, or there are too many. */
static struct figure *make(struct decider *decider, enum figure_kind kind, const char *of,
			   const char *key, size_t key_bytes)
{
	size_t bytes = sizeof(struct figure) + strlen(of) + 1;
	struct figure *figure = decider->figures->all.count < STRATA_FIGURES_MAX
					? strata_memory_get(&decider->memory, bytes)
					: NULL;

	if (!figure)
		return NULL;
	figure->kind = kind;
	figure->bytes = bytes;
	memcpy(figure->of, of, strlen(of) + 1);
	if (map_text_put(&decider->figures->all, key, key_bytes, figure, NULL)) {
		strata_memory_put(&decider->memory, figure, bytes);
		return NULL;
	}
	if (!*of)
		decider->figures->service[kind] = figure;
	return figure;
}

static struct figure *get(struct decider *decider, enum figure_kind kind, const char *of)
{
	struct figures *figures = decider->figures;
	char key[KEY_BYTES];

	if (!*of && figures->service[kind])
		return figures->service[kind];
	int length = snprintf(key, sizeof(key), "%s/%s", figure_name(kind), of);

	if (length < 0 || (size_t)length >= sizeof(key))
		return NULL;
	struct figure *figure = map_text_get(&figures->all, key, (size_t)length);

	return figure ? figure : make(decider, kind, of, key, (size_t)length);
}

void figures_add(struct decider *decider, enum figure_kind kind, const char *of, double value)
{
	struct figure *figure = decider->figures ? get(decider, kind, of) : NULL;

	if (!figure)
		return;
	if (!figure->today.count)
		figure->open_day = decider->figures->day;
	day_sketch_add(&figure->today, value);
	figure->changed = true;
}

void figures_predicted(struct decider *decider, int64_t predicted_ns, int64_t ran_ns)
{
	struct figures *figures = decider->figures;
	/* below a second nobody can, or need, say how long something runs */
	double predicted_s = fmax((double)predicted_ns / 1e9, 1),
	       ran_s = fmax((double)ran_ns / 1e9, 1);

	if (!figures)
		return;
	figures->predictions++;
	figures->predicted_s += predicted_s;
	figures->ran_s += ran_s;
	figures->prediction_error_s += fabs(predicted_s - ran_s);
	figures_add(decider, FIGURE_PREDICTION, "",
		    predicted_s > ran_s ? predicted_s / ran_s : ran_s / predicted_s);
}

/* ---- what is usual ---- */

static void judge(const struct decider *decider, struct figure *figure)
{
	const struct server_conf *conf = decider->conf;
	const struct baseline_conf baseline = {
		.warm_up_days = conf->regression_warm_up,
		.window_days = conf->regression_window,
		.out_days = conf->regression_days,
		.of_days = conf->regression_of,
		.deviation = conf->regression_deviation,
		.ratio = conf->regression_ratio,
	};
	struct baseline_day days[BASELINE_DAYS_MAX];

	for (size_t i = 0; i < figure->day_count; i++)
		days[i] = (struct baseline_day){ figure->days[i].day, figure->days[i].median };
	baseline_judge(days, figure->day_count, &baseline, kinds[figure->kind].floor,
		       &figure->verdict);
	/* nothing new of it is nothing to tell */
	if (figure->verdict.state > BASELINE_STEADY &&
	    figure->days[figure->day_count - 1].day < decider->figures->day - STALE_DAYS)
		figure->verdict.state = BASELINE_STEADY;
}

static void tell(struct decider *decider, const struct figure *figure, bool worse)
{
	const struct baseline_verdict *verdict = &figure->verdict;

	batch_event(decider, 0, worse ? "regression.began" : "regression.ended",
		    json_pack("{s:s,s:s,s:o,s:f,s:f}", "figure", figure_name(figure->kind), "of",
			      figure->of, "since",
			      worse ? view_time(verdict->since_day * STRATA_DAY_NS) : json_null(),
			      "usual", verdict->usual, "now", verdict->now));
	if (worse)
		log_warning("figures", "%s%s%s is %.3g, usual is %.3g", figure_name(figure->kind),
			    *figure->of ? " of " : "", figure->of, verdict->now, verdict->usual);
}

static void judge_and_tell(struct decider *decider, struct figure *figure)
{
	bool before = figure_is_worse(figure);

	judge(decider, figure);
	if (figure_is_worse(figure) != before)
		tell(decider, figure, !before);
}

/* ---- rows ---- */

static struct store_figure row_of(const struct figure *figure, const struct figure_day *day,
				  const char *sketch)
{
	return (struct store_figure){ .kind = figure_name(figure->kind),
				      .of = figure->of,
				      .day = day->day,
				      .median = day->median,
				      .low = day->low,
				      .high = day->high,
				      .count = day->count,
				      .sketch = sketch };
}

static struct figure_day today(const struct figure *figure)
{
	return (struct figure_day){ .day = figure->open_day,
				    .median = day_sketch_quantile(&figure->today, 0.5),
				    .low = day_sketch_quantile(&figure->today, 0.1),
				    .high = day_sketch_quantile(&figure->today, 0.9),
				    .count = (int64_t)figure->today.count };
}

static void delete_row(struct decider *decider, const struct figure *figure, int64_t day)
{
	const struct store_figure row = { .kind = figure_name(figure->kind),
					  .of = figure->of,
					  .day = day };

	batch_put(decider, STORE_DELETE(&row));
}

static void write_today(struct decider *decider, struct figure *figure)
{
	struct figure_day day = today(figure);
	json_t *kept = day_sketch_keep(&figure->today);
	char *text = kept ? json_dumps(kept, JSON_COMPACT) : NULL;

	json_decref(kept);
	if (!text)
		return; /* the next time */
	const struct store_figure row = row_of(figure, &day, text);

	batch_put(decider, STORE_PUT(&row));
	free(text);
	figure->written = true;
	figure->changed = false;
}

static void write_all(struct decider *decider)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);
	const struct map_text_entry *entry = NULL;

	if (now_ns < decider->figures->write_ns)
		return;
	decider->figures->write_ns = now_ns + WRITE_PAUSE_NS;
	while ((entry = map_text_next(&decider->figures->all, entry))) {
		struct figure *figure = entry->value;

		if (figure->changed)
			write_today(decider, figure);
	}
}

/* ---- days ---- */

/* One more that is over, in memory; the first goes when there is no room. Returns the day that
 * went, or -1. */
static int64_t append(struct figure *figure, const struct figure_day *day)
{
	int64_t gone = -1;

	if (figure->day_count == BASELINE_DAYS_MAX) {
		gone = figure->days[0].day;
		memmove(figure->days, figure->days + 1,
			(BASELINE_DAYS_MAX - 1) * sizeof(figure->days[0]));
		figure->day_count--;
	}
	figure->days[figure->day_count++] = *day;
	return gone;
}

/* A day with a handful of values says nothing about what is usual. */
static void close_day(struct decider *decider, struct figure *figure)
{
	struct figure_day day = today(figure);

	if (day.count >= decider->conf->regression_samples) {
		const struct store_figure row = row_of(figure, &day, NULL);
		int64_t gone = append(figure, &day);

		batch_put(decider, STORE_PUT(&row));
		if (gone >= 0)
			delete_row(decider, figure, gone);
	} else if (figure->written) {
		delete_row(decider, figure, day.day);
	}
	figure->today = (struct day_sketch){ 0 };
	figure->written = figure->changed = false;
}

/* What nothing was heard of for as long as days are kept goes. */
static void drop_old(struct decider *decider, struct figure *figure)
{
	int64_t oldest = decider->figures->day - BASELINE_DAYS_MAX;

	if (figure->today.count ||
	    (figure->day_count && figure->days[figure->day_count - 1].day >= oldest))
		return;
	for (size_t i = 0; i < figure->day_count; i++)
		delete_row(decider, figure, figure->days[i].day);
	remove_figure(decider, figure);
}

static void begin_day(struct decider *decider, int64_t day)
{
	struct figures *figures = decider->figures;
	const struct map_text_entry *entry = map_text_next(&figures->all, NULL), *next;

	for (; entry; entry = next) {
		struct figure *figure = entry->value;

		next = map_text_next(&figures->all, entry);
		if (figure->open_day < day)
			close_day(decider, figure);
	}
	figures->day = day;
	for (entry = map_text_next(&figures->all, NULL); entry; entry = next) {
		struct figure *figure = entry->value;

		next = map_text_next(&figures->all, entry);
		judge_and_tell(decider, figure);
		drop_old(decider, figure);
	}
}

/* The clock was set back: days that have not been yet are forgotten. */
static void go_back(struct decider *decider, int64_t day)
{
	struct figures *figures = decider->figures;
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&figures->all, entry))) {
		struct figure *figure = entry->value;

		if (figure->written)
			delete_row(decider, figure, figure->open_day);
		figure->open_day = day;
		figure->written = false;
		figure->changed = figure->today.count > 0;
		while (figure->day_count && figure->days[figure->day_count - 1].day >= day)
			delete_row(decider, figure, figure->days[--figure->day_count].day);
		judge(decider, figure);
	}
	figures->day = day;
}

void figures_look(struct decider *decider)
{
	int64_t day = decider_now_ns(decider) / STRATA_DAY_NS;

	if (day > decider->figures->day)
		begin_day(decider, day);
	else if (day < decider->figures->day)
		go_back(decider, day);
	write_all(decider);
}

/* ---- beginning and end ---- */

static bool find_kind(const char *name, enum figure_kind *ret_kind)
{
	for (int i = 0; i < FIGURE_KIND_COUNT; i++)
		if (strcmp(kinds[i].name, name) == 0) {
			*ret_kind = (enum figure_kind)i;
			return true;
		}
	return false; /* of another version */
}

/* A day that went on; should there be two, the clock was set back in between and the first is
 * over. */
static void load_today(struct figures *figures, struct figure *figure,
		       const struct store_figure *row)
{
	json_t *kept = json_loads(row->sketch, 0, NULL);

	if (figure->written) {
		struct figure_day before = today(figure);

		append(figure, &before);
	}

	day_sketch_restore(&figure->today, kept);
	json_decref(kept);
	figure->written = true;
	figure->open_day = row->day;
	if (row->day < figures->day)
		figures->day = row->day; /* closed in the first round */
}

static int load_row(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_figure *row = row_any;
	const struct figure_day day = { row->day, row->median, row->low, row->high, row->count };
	enum figure_kind kind;

	if (!find_kind(row->kind, &kind) || row->day < 0 ||
	    row->day > STRATA_TIME_NS_MAX / STRATA_DAY_NS)
		return 0;
	struct figure *figure = get(decider, kind, row->of);

	if (!figure)
		return decider->figures->all.count < STRATA_FIGURES_MAX ? strata_fail_memory(err)
									: 0;
	if (row->sketch)
		load_today(decider->figures, figure, row);
	else
		append(figure, &day); /* rows come in the order of their days */
	return 0;
}

int figures_load(struct decider *decider, struct strata_error *err)
{
	const struct map_text_entry *entry = NULL;
	int rc = conf_check_regression(decider->conf, err);

	if (rc)
		return rc;
	decider->figures = strata_memory_get(&decider->memory, sizeof(*decider->figures));
	if (!decider->figures)
		return strata_fail_memory(err);
	map_text_init(&decider->figures->all, &decider->memory);
	decider->figures->day = decider_now_ns(decider) / STRATA_DAY_NS;
	rc = store_load(decider->store, STORE_FIGURE, NULL, load_row, decider, err);

	while (rc == 0 && (entry = map_text_next(&decider->figures->all, entry)))
		judge(decider, entry->value);
	return rc;
}

void figures_free(struct decider *decider)
{
	const struct map_text_entry *entry;

	if (!decider->figures)
		return;
	while ((entry = map_text_next(&decider->figures->all, NULL)))
		remove_figure(decider, entry->value);
	map_text_fini(&decider->figures->all);
	strata_memory_put(&decider->memory, decider->figures, sizeof(*decider->figures));
	decider->figures = NULL;
}
