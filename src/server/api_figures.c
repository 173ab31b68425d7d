/*
 * GET /api/v1/figures: the service's key figures by day, with what is usual and which have changed
 * (figures.h). What of them is a problem is in GET /api/v1/problems, too.
 */
#include "server/figures.h"

#include "server/decider.h"
#include "server/request.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/text.h>

#include <microhttpd.h>

static const char *state_name(const struct figure *figure)
{
	static const char *const names[] = { "warming_up", "usual", "higher", "lower" };

	return names[figure->verdict.state];
}

static json_t *view_days(const struct figure *figure)
{
	json_t *days = json_array();

	for (size_t i = 0; i < figure->day_count; i++) {
		const struct figure_day *day = &figure->days[i];

		json_array_append_new(days, json_pack("{s:o,s:f,s:f,s:f,s:I}", "day",
						      view_time(day->day * STRATA_DAY_NS), "median",
						      day->median, "low", day->low, "high",
						      day->high, "count", (json_int_t)day->count));
	}
	return days;
}

static json_t *view_figure(const struct figure *figure)
{
	const struct baseline_verdict *verdict = &figure->verdict;
	bool changed = verdict->state > BASELINE_STEADY;

	return json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:I,s:o}", "figure",
			 figure_name(figure->kind), "of", figure->of, "unit",
			 figure_is_time(figure->kind) ? "s" : "factor", "state", state_name(figure),
			 "since",
			 changed ? view_time(verdict->since_day * STRATA_DAY_NS) : json_null(),
			 "usual", verdict->days ? json_real(verdict->usual) : json_null(), "recent",
			 figure->day_count ? json_real(verdict->now) : json_null(), "usual_days",
			 (json_int_t)verdict->days, "days", view_days(figure));
}

static void get_figures(struct decider *decider, struct request *request)
{
	json_t *list = json_array();
	const struct figure *figure = NULL;

	while ((figure = figures_next(decider->figures, figure)))
		json_array_append_new(list, view_figure(figure));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "figures", list));
}

/* ---- routes ---- */

const struct route api_figures_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/figures",
	  .summary = "key figures of the service by day, and which have changed",
	  .role = ROLE_READER,
	  .decide = get_figures,
	  .answer = "figures" },
	{ 0 },
};
