/* What the coming days bring, if the trend of the use goes on: see trend.h. And how long what waits
 * now would keep the whole cluster busy. */
#include "cli/report.h"
#include "plot/trend.h"

#include <math.h>
#include <stdio.h>

enum { AHEAD = 7 };

static double within(double value, double most)
{
	return value < 0 ? 0 : most > 0 && value > most ? most : value;
}

static json_t *days_ahead(const struct trend *trend, int64_t first_day, double whole_days,
			  double most)
{
	json_t *list = json_array();

	for (int i = 0; i < AHEAD; i++) {
		double line = trend_at(trend, whole_days + i);
		char name[STRATA_FORM_BYTES];

		strata_time_print((first_day + i) * STRATA_DAY_NS, name);
		name[10] = '\0';
		json_array_append_new(list, json_pack("{s:s,s:f,s:f,s:f}", "day", name, "hours",
						      within(line, most), "low",
						      within(line + trend->below, most), "high",
						      within(line + trend->above, most)));
	}
	return list;
}

static void read_trend(struct buf *buf, const struct trend *trend, double whole_days,
		       const char *unit, double most)
{
	double now = within(trend_at(trend, whole_days - 1), 0);
	double then = within(trend_at(trend, whole_days - 1 + AHEAD), most);
	double change = trend->slope * AHEAD;

	if (!trend->days) {
		buf_printf(buf, "Too few whole days (%d are needed) for a trend", TREND_DAYS_MIN);
		return;
	}
	if (change > 0.05 * now || change < -0.05 * now) {
		buf_add(buf, "Each day uses about ");
		report_add_hours(buf, fabs(trend->slope));
		buf_printf(buf, " %s hours %s than the one before: about ", unit,
			   trend->slope > 0 ? "more" : "less");
		report_add_hours(buf, then);
		buf_add(buf, " a day in a week");
	} else {
		buf_add(buf, "Use stays at about ");
		report_add_hours(buf, then);
		buf_printf(buf, " %s hours a day", unit);
	}
	if (most > 0)
		buf_printf(buf, ", %.0f %% of all", 100 * then / most);
}

static void read_queue(struct buf *buf, const json_t *waiting, double hours, double drain_hours,
		       const char *unit)
{
	int64_t jobs = grid_int(waiting, "jobs");
	char text[STRATA_FORM_BYTES];

	if (!jobs) {
		buf_add(buf, ". Nothing waits now.");
		return;
	}
	buf_printf(buf, ". %lld job%s now and ask%s for up to ", (long long)jobs,
		   jobs == 1 ? " waits" : "s wait", jobs == 1 ? "s" : "");
	report_add_hours(buf, hours);
	buf_printf(buf, " %s hours", unit);
	if (drain_hours > 0)
		buf_printf(buf, ", %s of the whole cluster",
			   strata_duration_print_short((int64_t)(drain_hours * 3.6e12), text));
	buf_add_char(buf, '.');
}

json_t *report_forecast(struct cli *cli, const struct report_days *days, const json_t *waiting,
			const char *unit, double capacity)
{
	size_t first = days->first_whole ? 0 : 1;
	size_t end = days->last_whole ? days->count : days->count - (days->count > 0);
	size_t count = end > first ? end - first : 0;
	double *scratch =
		strata_arena_array(&cli->arena, count * (count + 1) / 2 + 1, sizeof(*scratch));
	bool gpus = *unit == 'G';
	double hours =
		json_number_value(json_object_get(waiting, gpus ? "gpu_hours" : "cpu_hours"));
	double drain = capacity > 0 ? hours / capacity : 0;
	int64_t next_ns = 0;
	struct buf buf;

	if (!scratch)
		return NULL;
	struct trend trend = trend_of(days->hours + first, count, scratch);

	buf_init(&buf, &cli->memory, 0);
	if (count)
		strata_time_parse(days->names[end - 1], STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0,
				  &next_ns, NULL);
	read_trend(&buf, &trend, (double)count, unit, capacity * 24);
	read_queue(&buf, waiting, hours, drain, unit);
	json_t *json = json_pack("{s:s,s:f,s:o,s:I,s:f,s:f}", "reading", buf.text ? buf.text : "",
				 "slope", trend.slope, "days",
				 trend.days ? days_ahead(&trend, next_ns / STRATA_DAY_NS + 1,
							 (double)count, capacity * 24)
					    : json_array(),
				 "waiting_jobs", (json_int_t)grid_int(waiting, "jobs"),
				 "waiting_hours", hours, "drain_hours", drain);

	buf_fini(&buf);
	return json;
}
