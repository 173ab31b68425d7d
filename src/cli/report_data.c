/* The document of `strata report`: what the service answers, put together, with a sentence for each
 * section that says what it comes to. */
#include "cli/report.h"
#include "plot/trend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
	struct cli *cli;
	const struct report_answers *answers;
	const char *unit, *key; /* "GPU", "gpu_hours"; or "core", "cpu_hours" */
	double capacity;        /* of these units */
	double days;            /* how long the time is */
	double hours;           /* that were used */
	struct buf text;        /* the sentence at work */
};

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static double sum(const json_t *rows, const char *key)
{
	double all = 0;

	for (size_t i = 0; i < json_array_size(rows); i++)
		all += number(json_array_get(rows, i), key);
	return all;
}

static const char *span(double seconds, char text[STRATA_FORM_BYTES])
{
	if (seconds < 1)
		return "less than a second";
	return strata_duration_print_short(llround(seconds) * STRATA_SECOND_NS, text);
}

static struct buf *begin(struct making *making)
{
	buf_reset(&making->text);
	return &making->text;
}

static const char *reading(const struct making *making)
{
	return making->text.text ? making->text.text : "";
}

/* ---- days ---- */

/* Which of the rows is of this day; NULL: nothing ran then. */
static const json_t *row_of_day(const json_t *rows, const char *day)
{
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (strcmp(grid_or(json_object_get(json_array_get(rows, i), "day"), ""), day) == 0)
			return json_array_get(rows, i);
	return NULL;
}

int report_days(struct cli *cli, const struct report_answers *answers, const char *key,
		struct report_days *ret_days)
{
	int64_t zone_ns = when_zone(answers->until_ns) * STRATA_SECOND_NS;
	int64_t first = (answers->since_ns + zone_ns) / STRATA_DAY_NS;
	int64_t last = (answers->until_ns + zone_ns - 1) / STRATA_DAY_NS;

	if (last - first >= TREND_DAYS_MAX)
		first = last - TREND_DAYS_MAX + 1;
	size_t count = last >= first ? (size_t)(last - first + 1) : 0;
	struct report_days days = {
		.count = count,
		.names = strata_arena_array(&cli->arena, count + 1, sizeof(*days.names)),
		.hours = strata_arena_array(&cli->arena, count + 1, sizeof(*days.hours)),
		.first_whole = (answers->since_ns + zone_ns) % STRATA_DAY_NS == 0,
		.last_whole = (answers->until_ns + zone_ns) % STRATA_DAY_NS == 0,
	};

	for (size_t i = 0; days.names && days.hours && i < count; i++) {
		char text[STRATA_FORM_BYTES];

		strata_time_print((first + (int64_t)i) * STRATA_DAY_NS, text);
		days.names[i] = strata_arena_text(&cli->arena, text, 10);
		if (!days.names[i])
			return strata_fail_memory(&cli->err);
		days.hours[i] = number(row_of_day(answers->days, days.names[i]), key);
	}
	if (!days.names || !days.hours)
		return strata_fail_memory(&cli->err);
	*ret_days = days;
	return 0;
}

/* ---- use ---- */

/* The users by what they used, most first. */
struct user_use {
	const char *name;
	double hours, weight;
	int64_t jobs, tasks;
};

static int by_hours(const void *a_any, const void *b_any)
{
	const struct user_use *a = a_any, *b = b_any;

	return a->hours != b->hours ? (a->hours < b->hours ? 1 : -1) : strcmp(a->name, b->name);
}

static double weight_of(const json_t *shares, const char *user)
{
	for (size_t i = 0; i < json_array_size(shares); i++) {
		const json_t *row = json_array_get(shares, i);
		const json_t *weight = json_object_get(row, "weight");

		if (strcmp(grid_or(json_object_get(row, "name"), ""), user) == 0)
			return json_is_number(weight) ? json_number_value(weight) : 1;
	}
	return 1;
}

static struct user_use *list_users(struct making *making, size_t *ret_count)
{
	const json_t *rows = making->answers->users;
	struct user_use *users =
		strata_arena_array(&making->cli->arena, json_array_size(rows) + 1, sizeof(*users));
	size_t count = 0;

	for (size_t i = 0; users && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		users[count].name = grid_or(json_object_get(row, "user"), "?");
		users[count].hours = number(row, making->key);
		users[count].weight = weight_of(making->answers->shares, users[count].name);
		users[count].jobs = grid_int(row, "jobs");
		users[count++].tasks = grid_int(row, "tasks");
	}
	if (users)
		qsort(users, count, sizeof(*users), by_hours);
	*ret_count = count;
	return users;
}

static json_t *view_use(struct making *making, const struct report_days *days,
			const struct user_use *users, size_t count)
{
	double most = making->capacity * making->days * 24;
	json_t *list = json_array(), *who = json_array();
	struct buf *buf = begin(making);

	for (size_t i = 0; i < days->count; i++)
		json_array_append_new(list, json_pack("{s:s,s:f}", "day", days->names[i], "hours",
						      days->hours[i]));
	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			who,
			json_pack("{s:s,s:f,s:f,s:I,s:I}", "user", users[i].name, "hours",
				  users[i].hours, "part",
				  making->hours > 0 ? users[i].hours / making->hours : 0, "jobs",
				  (json_int_t)users[i].jobs, "tasks", (json_int_t)users[i].tasks));
	if (making->hours > 0) {
		report_add_hours(buf, making->hours);
		buf_printf(buf, " %s hours were used", making->unit);
		if (most > 0)
			buf_printf(buf, ", %.0f %% of what the nodes could have given",
				   100 * making->hours / most);
		if (count)
			buf_printf(buf, "; most by %s (%.0f %%)", users[0].name,
				   100 * users[0].hours / making->hours);
		buf_add_char(buf, '.');
	} else {
		buf_add(buf, "Nothing was used.");
	}
	return json_pack("{s:s,s:f,s:o,s:o,s:o}", "reading", reading(making), "hours",
			 making->hours, "part",
			 most > 0 ? json_real(making->hours / most) : json_null(), "days", list,
			 "users", who);
}

/* ---- waits ---- */

static json_t *view_waits(struct making *making)
{
	const json_t *history = making->answers->history;
	const json_t *all = json_object_get(history, "all_waits"), *worst = NULL;
	const json_t *classes = json_object_get(history, "waits");
	char half[STRATA_FORM_BYTES], most[STRATA_FORM_BYTES], longest[STRATA_FORM_BYTES];
	struct buf *buf = begin(making);

	for (size_t i = 0; i < json_array_size(classes); i++) {
		const json_t *one = json_array_get(classes, i);

		if (!worst || number(one, "longest_s") > number(worst, "longest_s"))
			worst = one;
	}
	if (grid_int(all, "jobs"))
		buf_printf(
			buf,
			"Half of %lld jobs had their place within %s, nine in ten within %s; the "
			"longest wait was %s (%s).",
			(long long)grid_int(all, "jobs"), span(number(all, "median_s"), half),
			span(number(all, "p90_s"), most), span(number(all, "longest_s"), longest),
			grid_or(json_object_get(worst, "class"), "?"));
	else
		buf_add(buf, "No job started.");
	return json_pack("{s:s,s:O?,s:O?,s:I,s:I,s:I}", "reading", reading(making), "all", all,
			 "classes", classes, "jobs", (json_int_t)grid_int(history, "jobs"),
			 "failed", (json_int_t)grid_int(history, "failed"), "preempted",
			 (json_int_t)grid_int(history, "preempted"));
}

/* ---- fairness ---- */

static json_t *view_fairness(struct making *making, const struct user_use *users, size_t count)
{
	json_t *list = json_array();
	double weights = 0, moved = 0, furthest = 0;
	size_t most = 0;
	struct buf *buf = begin(making);

	for (size_t i = 0; i < count; i++)
		weights += users[i].weight;
	for (size_t i = 0; i < count; i++) {
		double had = making->hours > 0 ? users[i].hours / making->hours : 0;
		double entitled = weights > 0 ? users[i].weight / weights : 0;

		moved += fabs(had - entitled) / 2;
		if (had - entitled > furthest) {
			furthest = had - entitled;
			most = i;
		}
		json_array_append_new(list, json_pack("{s:s,s:f,s:f,s:f}", "user", users[i].name,
						      "weight", users[i].weight, "entitled",
						      entitled, "had", had));
	}
	if (making->hours <= 0 || count < 2)
		buf_add(buf, "Nobody had to share.");
	else if (moved < 0.1)
		buf_add(buf, "Users had what their shares give them, within a tenth.");
	else
		buf_printf(
			buf,
			"Shares would have given %.0f %% of the use to others, had they all asked "
			"for it; %s had %.0f %% instead of %.0f %%.",
			100 * moved, users[most].name, 100 * users[most].hours / making->hours,
			100 * users[most].weight / weights);
	return json_pack("{s:s,s:f,s:o}", "reading", reading(making), "moved",
			 making->hours > 0 ? moved : 0.0, "users", list);
}

/* ---- waste ---- */

static json_t *part_used(const json_t *part)
{
	double asked = number(part, "asked_hours");

	return asked > 0 ? json_real(number(part, "used_hours") / asked) : json_null();
}

static json_t *view_parts(const json_t *waste, const char *user)
{
	static const char *const keys[] = { "cpu", "memory", "time" };
	json_t *row = json_pack("{s:s*}", "user", user);

	for (size_t i = 0; row && i < 3; i++)
		json_object_set_new(row, keys[i], part_used(json_object_get(waste, keys[i])));
	const json_t *cpu = json_object_get(waste, "cpu");
	double idle = number(cpu, "asked_hours") - number(cpu, "used_hours");

	if (row)
		json_object_set_new(row, "idle_core_hours", json_real(idle > 0 ? idle : 0));
	return row;
}

static void read_waste(struct buf *buf, const json_t *all)
{
	static const struct {
		const char *key, *words;
	} parts[] = { { "cpu", "cores" }, { "memory", "memory" }, { "time", "time" } };
	size_t count = 0;

	for (size_t i = 0; i < 3; i++) {
		const json_t *part = json_object_get(all, parts[i].key);

		if (!json_is_number(part))
			continue;
		buf_printf(buf, "%s%.0f %% of the %s", count++ ? ", " : "Jobs used ",
			   100 * json_number_value(part), parts[i].words);
	}
	buf_add(buf, count ? " they asked for." : "Nothing is known of what jobs used.");
}

static json_t *view_waste(struct making *making)
{
	const json_t *users = json_object_get(making->answers->history, "users");
	json_t *all = view_parts(json_object_get(making->answers->history, "waste"), NULL);
	json_t *list = json_array();
	struct buf *buf = begin(making);

	for (size_t i = 0; i < json_array_size(users); i++) {
		const json_t *user = json_array_get(users, i);
		json_t *row = view_parts(user, grid_or(json_object_get(user, "user"), "?"));
		size_t at = json_array_size(list);

		while (at && number(json_array_get(list, at - 1), "idle_core_hours") <
				     number(row, "idle_core_hours"))
			at--;
		json_array_insert_new(list, at, row);
	}
	read_waste(buf, all);
	return json_pack("{s:s,s:o,s:o}", "reading", reading(making), "all", all, "users", list);
}

/* ---- regressions ---- */

const char *report_figure_words(const char *figure)
{
	static const char *const words[][2] = {
		{ "wait", "wait of jobs" },      { "task_wait", "wait of pictures" },
		{ "pass", "time of a pass" },    { "store", "time of a transaction" },
		{ "step", "seconds of a step" }, { "prediction", "error of expected run times" },
	};

	for (size_t i = 0; figure && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i][0], figure) == 0)
			return words[i][1];
	return figure ? figure : "?";
}

void report_add_hours(struct buf *buf, double hours)
{
	buf_printf(buf, "%.*f", hours < 100 ? 1 : 0, hours);
}

void report_add_value(struct buf *buf, const char *unit, double value)
{
	char text[STRATA_FORM_BYTES];

	if (unit && strcmp(unit, "factor") == 0)
		buf_printf(buf, "%.3g×", value);
	else if (value < 1)
		buf_printf(buf, "%.3g ms", value * 1000);
	else if (value < 60)
		buf_printf(buf, "%.3g s", value);
	else
		buf_add(buf, strata_duration_print_short((int64_t)(value * 1e9), text));
}

static void read_first(struct buf *buf, const json_t *figure)
{
	const char *of = grid_or(json_object_get(figure, "of"), "");
	const char *unit = grid_string(figure, "unit");

	buf_printf(buf, ": %s%s%s%s, ", report_figure_words(grid_string(figure, "figure")),
		   *of ? " (" : "", of, *of ? ")" : "");
	report_add_value(buf, unit, number(figure, "recent"));
	buf_add(buf, " instead of ");
	report_add_value(buf, unit, number(figure, "usual"));
	buf_printf(buf, ", since %.10s.", grid_or(json_object_get(figure, "since"), "?"));
}

static json_t *view_regressions(struct making *making)
{
	const json_t *figures = making->answers->figures;
	json_t *worse = json_array();
	size_t watched = 0, all = json_array_size(figures);
	struct buf *buf = begin(making);

	for (size_t i = 0; i < all; i++) {
		json_t *figure = json_array_get(figures, i);
		const char *state = grid_or(json_object_get(figure, "state"), "");

		watched += strcmp(state, "warming_up") != 0;
		if (strcmp(state, "higher") == 0)
			json_array_append(worse, figure);
	}
	if (json_array_size(worse)) {
		buf_printf(buf, "%zu of %zu key figures %s worse than usual",
			   json_array_size(worse), watched,
			   json_array_size(worse) == 1 ? "is" : "are");
		read_first(buf, json_array_get(worse, 0));
	} else if (watched) {
		buf_printf(buf, "None of %zu key figures is worse than usual.", watched);
	} else {
		buf_add(buf, "There are too few days yet to say what is usual.");
	}
	return json_pack("{s:s,s:I,s:o}", "reading", reading(making), "watched",
			 (json_int_t)watched, "figures", worse);
}

/* ---- all of it ---- */

static json_t *view_all(struct making *making, const struct report_days *days)
{
	const struct report_answers *answers = making->answers;
	char since[STRATA_FORM_BYTES], until[STRATA_FORM_BYTES];
	size_t count;
	const struct user_use *users = list_users(making, &count);

	if (!users)
		return NULL;
	strata_time_print(answers->since_ns, since);
	strata_time_print(answers->until_ns, until);
	return json_pack("{s:s,s:s,s:s,s:f,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "since", since, "until",
			 until, "unit", making->unit, "capacity", making->capacity, "nodes",
			 (json_int_t)json_array_size(answers->nodes), "use",
			 view_use(making, days, users, count), "waits", view_waits(making),
			 "fairness", view_fairness(making, users, count), "waste",
			 view_waste(making), "regressions", view_regressions(making), "forecast",
			 report_forecast(making->cli, days,
					 json_object_get(answers->history, "waiting"), making->unit,
					 making->capacity));
}

int report_make(struct cli *cli, const struct report_answers *answers, json_t **ret_report)
{
	bool gpus = sum(answers->days, "gpu_hours") > 0;
	struct making making = {
		.cli = cli,
		.answers = answers,
		.unit = gpus ? "GPU" : "core",
		.key = gpus ? "gpu_hours" : "cpu_hours",
		.capacity = sum(answers->nodes, gpus ? "gpus" : "cpus"),
		.days = (double)(answers->until_ns - answers->since_ns) / (double)STRATA_DAY_NS,
	};
	struct report_days days;
	int rc = report_days(cli, answers, making.key, &days);

	if (rc)
		return rc;
	for (size_t i = 0; i < days.count; i++)
		making.hours += days.hours[i];
	buf_init(&making.text, &cli->memory, 0);
	*ret_report = view_all(&making, &days);
	buf_fini(&making.text);
	return *ret_report ? 0 : strata_fail_memory(&cli->err);
}
