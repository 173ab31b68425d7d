/* Key figures for Prometheus: what is usual, what the last days were, and which have grown. */
#include "server/figures.h"

#include "server/decider.h"

static void add_escaped(struct buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			buf_add_char(buf, '\\');
		buf_add_char(buf, *text == '\n' ? ' ' : *text);
	}
}

static double regression(const struct figure *figure)
{
	return figure_is_worse(figure);
}

static double usual(const struct figure *figure)
{
	return figure->verdict.usual;
}

static double recent(const struct figure *figure)
{
	return figure->verdict.now;
}

static const struct {
	const char *name, *help;
	double (*value)(const struct figure *figure);
} rows[] = {
	{ "regression", "1 while a key figure is worse than usual", regression },
	{ "figure_usual", "the median of a key figure's days before, in seconds or as a factor",
	  usual },
	{ "figure_recent", "the median of its last days", recent },
};

void figures_print(const struct decider *decider, struct buf *buf)
{
	const struct figures *figures = decider->figures;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct figure *figure = NULL;

		buf_printf(buf, "# HELP strata_%s %s\n# TYPE strata_%s gauge\n", rows[i].name,
			   rows[i].help, rows[i].name);
		while ((figure = figures_next(figures, figure))) {
			if (figure->verdict.state == BASELINE_WARMING_UP)
				continue;
			buf_printf(buf, "strata_%s{figure=\"%s\",of=\"", rows[i].name,
				   figure_name(figure->kind));
			add_escaped(buf, figure->of);
			buf_printf(buf, "\"} %.17g\n", rows[i].value(figure));
		}
	}
	if (!figures)
		return;
	metrics_print_one(buf, "predictions_total", "counter",
			  "jobs that ended by themselves after their run time was expected",
			  (double)figures->predictions);
	metrics_print_one(buf, "predicted_seconds_total", "counter",
			  "what these were expected to run", figures->predicted_s);
	metrics_print_one(buf, "prediction_run_seconds_total", "counter", "what they ran",
			  figures->ran_s);
	metrics_print_one(buf, "prediction_error_seconds_total", "counter",
			  "by how much the two differed", figures->prediction_error_s);
}
