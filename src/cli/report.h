/*
 * The parts of `strata report`: one document (JSON) that is made of what the service answers, with
 * a sentence for each section (report_data.c, report_forecast.c), shown on a terminal
 * (report_text.c) or as one file to mail (report_html.c).
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/service.h"

/* What the service answered; borrowed. */
struct report_answers {
	int64_t since_ns, until_ns;
	const json_t *days, *users; /* rows of accounting */
	const json_t *history;      /* GET /report */
	const json_t *figures;      /* GET /figures */
	const json_t *shares;       /* GET /users */
	const json_t *nodes;        /* GET /nodes */
};

/* The document; a new reference. */
int report_make(struct cli *cli, const struct report_answers *answers, json_t **ret_report);

/* The hours of a section's days, on the arena: ret_values[i] of ret_names[i]. */
struct report_days {
	size_t count;
	const char **names; /* "2026-11-18" */
	double *hours;
	bool first_whole, last_whole; /* else days of which only a part is told */
};
int report_days(struct cli *cli, const struct report_answers *answers, const char *key,
		struct report_days *ret_days);

/* {"reading", "slope", "days", "waiting_hours", "drain_hours"}: a new reference; NULL: no
 * memory. */
json_t *report_forecast(struct cli *cli, const struct report_days *days, const json_t *waiting,
			const char *unit, double capacity);

/* Hours, with a decimal where it counts. */
void report_add_hours(struct buf *buf, double hours);
/* A time or a factor, as the figure has it. */
void report_add_value(struct buf *buf, const char *unit, double value);
/* What a key figure is, in words: "wait of jobs". */
const char *report_figure_words(const char *figure);

int report_print(struct cli *cli, const json_t *report);
/* A whole document. */
int report_html(struct cli *cli, const json_t *report, struct buf *buf);

#endif
