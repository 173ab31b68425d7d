/*
 * `strata report -o`: one HTML file that loads nothing and runs nothing. It follows light and dark
 * mode and prints on paper; every text of others is escaped.
 */
#include "cli/report.h"

#include "plot/svg.h"
#include "plot/svg_mark.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USERS_SHOWN = 12, USERS_DRAWN = 8, LABELS_MAX = 12, FIGURES_DRAWN = 6 };

static const char head[] =
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<title>Strata report</title>\n"
	"<style>\n"
	":root{color-scheme:light dark;--paper:#fff;--page:#f4f6f8;--ink:#1f2328;--soft:#656d76;"
	"--rule:#dfe3e8;--one:#0072b2;--warn:#b35900}\n"
	"@media (prefers-color-scheme:dark){:root{--paper:#14171b;--page:#0c0e11;--ink:#e6e8eb;"
	"--soft:#9aa4af;--rule:#2a2f36;--one:#4da3da;--warn:#f0b93a}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 "
	"system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
	"main{max-width:1056px;margin:0 auto;padding:28px 24px 48px}\n"
	"h1{font-size:26px;margin:0}h2{font-size:18px;margin:0 0 4px}\n"
	"header p{margin:4px 0 20px;color:var(--soft)}\n"
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:12px}\n"
	".tile,section{background:var(--paper);border:1px solid var(--rule);border-radius:8px}\n"
	".tile{padding:12px 16px}.tile b{display:block;font-size:24px;line-height:1.3}\n"
	".tile span{color:var(--soft);font-size:13px}.tile.warn b{color:var(--warn)}\n"
	"section{margin-top:16px;padding:20px 24px;break-inside:avoid}\n"
	".lead{margin:0 0 12px;font-size:16px}.note{color:var(--soft);font-size:13px;margin:10px 0 "
	"0}\n"
	"svg{display:block;max-width:100%;height:auto;margin:8px -24px 4px;max-width:calc(100% + "
	"48px)}\n"
	"table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:"
	"14px}\n"
	"th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--rule)}\n"
	"th{color:var(--soft);font-weight:600;font-size:12px}\n"
	"th:first-child,td:first-child{text-align:left;padding-left:0}\n"
	"tr:last-child td{border-bottom:0}\n"
	".bar{display:inline-block;width:90px;height:8px;margin-right:8px;border-radius:4px;"
	"background:var(--rule);overflow:hidden;vertical-align:1px;print-color-adjust:exact;"
	"-webkit-print-color-adjust:exact}\n"
	".bar i{display:block;height:8px;background:var(--one)}\n"
	"footer{color:var(--soft);font-size:13px;margin-top:20px}\n"
	"@media print{body{background:none;font-size:12px}main{padding:0;max-width:none}"
	"section,.tile{border-color:#ccc}}\n"
	"</style>\n</head>\n<body>\n<main>\n";

struct page {
	struct cli *cli;
	struct buf *buf;
	const json_t *report;
	const char *unit;
};

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void add(const struct page *page, const char *text)
{
	svg_add_escaped(page->buf, text ? text : "");
}

static void cell_text(const struct page *page, const char *text)
{
	buf_add(page->buf, "<td>");
	add(page, text);
	buf_add(page->buf, "</td>");
}

static void cell_span(const struct page *page, double seconds)
{
	buf_add(page->buf, "<td>");
	report_add_value(page->buf, "s", seconds);
	buf_add(page->buf, "</td>");
}

/* A part of a whole as a bar and a number; "–" where it is not known. */
static void cell_part(const struct page *page, const json_t *part)
{
	double value = json_number_value(part) * 100;

	if (!json_is_number(part))
		buf_add(page->buf, "<td>–</td>");
	else
		buf_printf(page->buf,
			   "<td><span class=\"bar\"><i style=\"width:%.0f%%\"></i></span>%.0f "
			   "%%</td>",
			   value > 100 ? 100 : value, value);
}

static const json_t *begin(const struct page *page, const char *key, const char *title)
{
	const json_t *part = json_object_get(page->report, key);

	buf_printf(page->buf, "<section>\n<h2>%s</h2>\n<p class=\"lead\">", title);
	add(page, grid_string(part, "reading"));
	buf_add(page->buf, "</p>\n");
	return part;
}

static void end(const struct page *page, const char *note)
{
	if (note)
		buf_printf(page->buf, "<p class=\"note\">%s</p>\n", note);
	buf_add(page->buf, "</section>\n");
}

static int draw(const struct page *page, const struct svg_panel *panel)
{
	return svg_add_page(page->buf, panel, 1, &page->cli->arena, &page->cli->err);
}

/* Columns of numbers for a chart: one for each series, of `count` rows. */
static double *numbers(const struct page *page, size_t count)
{
	return strata_arena_array(&page->cli->arena, count + 1, sizeof(double));
}

static const char **labels(const struct page *page, const json_t *rows, const char *key,
			   size_t count, bool days)
{
	const char **list = strata_arena_array(&page->cli->arena, count + 1, sizeof(*list));
	size_t step = days ? (count + LABELS_MAX - 1) / LABELS_MAX : 1;

	for (size_t i = 0; list && i < count; i++) {
		const char *text = grid_or(json_object_get(json_array_get(rows, i), key), "");

		list[i] = i % step ? "" : days && strlen(text) > 5 ? text + 5 : text;
	}
	return list;
}

/* ---- the sections ---- */

static void add_tile(const struct page *page, bool warn, const char *value, const char *words)
{
	buf_printf(page->buf, "<div class=\"tile%s\"><b>%s</b><span>%s</span></div>\n",
		   warn ? " warn" : "", value, words);
}

static void add_tiles(const struct page *page)
{
	const json_t *use = json_object_get(page->report, "use");
	const json_t *waits = json_object_get(json_object_get(page->report, "waits"), "all");
	const json_t *waste = json_object_get(json_object_get(page->report, "waste"), "all");
	const json_t *worse =
		json_object_get(json_object_get(page->report, "regressions"), "figures");
	const json_t *part = json_object_get(use, "part"), *cpu = json_object_get(waste, "cpu");
	char text[STRATA_FORM_BYTES], words[80];
	struct buf span;

	buf_add(page->buf, "<div class=\"tiles\">\n");
	snprintf(text, sizeof(text), json_is_number(part) ? "%.0f %%" : "–",
		 100 * json_number_value(part));
	snprintf(words, sizeof(words), "of the %ss in use", page->unit);
	add_tile(page, false, text, words);
	buf_init(&span, &page->cli->memory, 0);
	report_add_value(&span, "s", number(waits, "median_s"));
	add_tile(page, false, grid_int(waits, "jobs") && span.text ? span.text : "–",
		 "half of the jobs had their place within");
	buf_fini(&span);
	snprintf(text, sizeof(text), json_is_number(cpu) ? "%.0f %%" : "–",
		 100 * json_number_value(cpu));
	add_tile(page, false, text, "of the cores that jobs asked for were used");
	snprintf(text, sizeof(text), "%zu", json_array_size(worse));
	add_tile(page, json_array_size(worse) > 0, text, "key figures worse than usual");
	buf_add(page->buf, "</div>\n");
}

static int add_use(const struct page *page)
{
	const json_t *use = begin(page, "use", "Use"), *days = json_object_get(use, "days");
	const json_t *users = json_object_get(use, "users");
	size_t count = json_array_size(days);
	double *hours = numbers(page, count);
	char name[40];
	const char *series[] = { name };
	int rc = 0;

	snprintf(name, sizeof(name), "%s hours of a day", page->unit);
	for (size_t i = 0; hours && i < count; i++)
		hours[i] = number(json_array_get(days, i), "hours");
	struct svg_bars bars = { .y = { name, SVG_LINEAR, 0, 0 },
				 .groups = labels(page, days, "day", count, true),
				 .group_count = count,
				 .series = series,
				 .series_count = 1,
				 .values = hours };

	if (!hours || !bars.groups)
		return strata_fail_memory(&page->cli->err);
	if (count)
		rc = draw(page, &(struct svg_panel){ .bars = &bars });
	buf_printf(page->buf,
		   "<table>\n<tr><th>user</th><th>jobs</th><th>pictures</th><th>%s "
		   "hours</th><th>part</th></tr>\n",
		   page->unit);
	for (size_t i = 0; i < json_array_size(users) && i < USERS_SHOWN; i++) {
		const json_t *user = json_array_get(users, i);

		buf_add(page->buf, "<tr>");
		cell_text(page, grid_string(user, "user"));
		buf_printf(page->buf, "<td>%lld</td><td>%lld</td><td>%.1f</td>",
			   (long long)grid_int(user, "jobs"), (long long)grid_int(user, "tasks"),
			   number(user, "hours"));
		cell_part(page, json_object_get(user, "part"));
		buf_add(page->buf, "</tr>\n");
	}
	buf_add(page->buf, "</table>\n");
	end(page, json_array_size(users) > USERS_SHOWN ? "Those who used most; strata accounting "
							 "has all."
						       : NULL);
	return rc;
}

static int draw_waits(const struct page *page, const json_t *classes)
{
	static const char *const series[] = { "half within", "nine in ten within",
					      "99 in 100 within" };
	static const char *const keys[] = { "median_s", "p90_s", "p99_s" };
	size_t count = json_array_size(classes);
	double *values = numbers(page, 3 * count);
	struct svg_bars bars = { .y = { "seconds", SVG_LOG, 0, 0 },
				 .groups = labels(page, classes, "class", count, false),
				 .group_count = count,
				 .series = series,
				 .series_count = 3,
				 .values = values };

	if (!values || !bars.groups)
		return strata_fail_memory(&page->cli->err);
	for (size_t i = 0; i < 3 * count; i++) /* an axis of logarithms has no 0 */
		values[i] = fmax(number(json_array_get(classes, i / 3), keys[i % 3]), 0.01);
	return draw(page, &(struct svg_panel){ .bars = &bars });
}

static int add_waits(const struct page *page)
{
	const json_t *waits = begin(page, "waits", "Waits");
	const json_t *classes = json_object_get(waits, "classes");
	size_t count = json_array_size(classes);
	int rc = count && count <= USERS_DRAWN ? draw_waits(page, classes) : 0;

	if (count)
		buf_add(page->buf, "<table>\n<tr><th>partition or band</th><th>jobs</th><th>half "
				   "within</th><th>nine in ten</th><th>99 in "
				   "100</th><th>longest</th></tr>\n");
	for (size_t i = 0; i < count; i++) {
		const json_t *class = json_array_get(classes, i);

		buf_add(page->buf, "<tr>");
		cell_text(page, grid_string(class, "class"));
		buf_printf(page->buf, "<td>%lld</td>", (long long)grid_int(class, "jobs"));
		cell_span(page, number(class, "median_s"));
		cell_span(page, number(class, "p90_s"));
		cell_span(page, number(class, "p99_s"));
		cell_span(page, number(class, "longest_s"));
		buf_add(page->buf, "</tr>\n");
	}
	if (count)
		buf_add(page->buf, "</table>\n");
	buf_printf(page->buf,
		   "<p class=\"note\">%lld jobs ended, of which %lld failed; %lld times "
		   "one gave way to another.</p>\n",
		   (long long)grid_int(waits, "jobs"), (long long)grid_int(waits, "failed"),
		   (long long)grid_int(waits, "preempted"));
	end(page, NULL);
	return rc;
}

static int add_fairness(const struct page *page)
{
	static const char *const series[] = { "by shares [%]", "had [%]" };
	const json_t *users = json_object_get(begin(page, "fairness", "Fairness"), "users");
	size_t all = json_array_size(users), count = all < USERS_DRAWN ? all : USERS_DRAWN;
	double *values = numbers(page, 2 * count);
	struct svg_bars bars = { .y = { "part of the use [%]", SVG_LINEAR, 0, 0 },
				 .groups = labels(page, users, "user", count, false),
				 .group_count = count,
				 .series = series,
				 .series_count = 2,
				 .values = values };
	int rc = 0;

	if (!values || !bars.groups)
		return strata_fail_memory(&page->cli->err);
	for (size_t i = 0; i < count; i++) {
		values[2 * i] = 100 * number(json_array_get(users, i), "entitled");
		values[2 * i + 1] = 100 * number(json_array_get(users, i), "had");
	}
	if (count > 1)
		rc = draw(page, &(struct svg_panel){ .bars = &bars });
	end(page, "By shares: by the weights of those who used anything, as if all of them had "
		  "always wanted more.");
	return rc;
}

static void add_waste(const struct page *page)
{
	const json_t *waste = begin(page, "waste", "Asked for and used");
	const json_t *users = json_object_get(waste, "users");

	buf_add(page->buf, "<table>\n<tr><th>user</th><th>cores used</th><th>memory "
			   "used</th><th>time used</th><th>idle core hours</th></tr>\n");
	for (size_t i = 0; i <= json_array_size(users) && i <= USERS_SHOWN; i++) {
		const json_t *row = i ? json_array_get(users, i - 1)
				      : json_object_get(waste, "all");

		buf_add(page->buf, "<tr>");
		cell_text(page, i ? grid_string(row, "user") : "all");
		cell_part(page, json_object_get(row, "cpu"));
		cell_part(page, json_object_get(row, "memory"));
		cell_part(page, json_object_get(row, "time"));
		buf_printf(page->buf, "<td>%.1f</td></tr>\n", number(row, "idle_core_hours"));
	}
	buf_add(page->buf, "</table>\n");
	end(page, "Of jobs that were measured: CPU time of their cores, the most memory they had, "
		  "and run time of their time limit where they completed.");
}

static int draw_figure(const struct page *page, const json_t *figure)
{
	const json_t *days = json_object_get(figure, "days");
	size_t count = json_array_size(days);
	double *x = numbers(page, count), *y = numbers(page, count), *usual = numbers(page, count);
	bool time = strcmp(grid_or(json_object_get(figure, "unit"), ""), "s") == 0;
	char title[200];

	if (!x || !y || !usual)
		return strata_fail_memory(&page->cli->err);
	int64_t first_ns = count ? when_json(json_array_get(days, 0), "day") : 0;

	for (size_t i = 0; i < count; i++) {
		x[i] = (double)(when_json(json_array_get(days, i), "day") - first_ns) / 1e9;
		y[i] = number(json_array_get(days, i), "median");
		usual[i] = number(figure, "usual");
	}
	const char *of = grid_or(json_object_get(figure, "of"), "");

	snprintf(title, sizeof(title), "%s%s%.120s",
		 report_figure_words(grid_string(figure, "figure")), *of ? ": " : "", of);
	const struct svg_series series[] = { { "median of the day", x, y, count },
					     { "usual", x, usual, count } };
	const struct svg_lines lines = { .title = title,
					 .x = { "since the first day", SVG_TIME, 0, 0 },
					 .y = { time ? "seconds" : "factor", SVG_LINEAR, 0, 0 },
					 .series = series,
					 .series_count = 2 };

	return draw(page, &(struct svg_panel){ .lines = &lines });
}

static int add_regressions(const struct page *page)
{
	const json_t *part = begin(page, "regressions", "What has changed");
	const json_t *figures = json_object_get(part, "figures");
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < json_array_size(figures) && i < FIGURES_DRAWN; i++)
		rc = draw_figure(page, json_array_get(figures, i));
	end(page, "Medians of days, against the weeks before; strata doctor tells of these, too.");
	return rc;
}

/* What was used, and what the trend says, on one axis. */
static int draw_forecast(const struct page *page, const json_t *used, const json_t *ahead)
{
	static const char *const keys[] = { "hours", "low", "high" };
	size_t count = json_array_size(used), more = json_array_size(ahead);
	double *x = numbers(page, count), *y = numbers(page, count), *later = numbers(page, more);
	double *lines_of = numbers(page, 3 * more);
	int64_t first_ns = when_json(json_array_get(used, 0), "day");
	char label[40];

	if (!x || !y || !later || !lines_of)
		return strata_fail_memory(&page->cli->err);
	for (size_t i = 0; i < count; i++) {
		x[i] = 86400 * (double)i;
		y[i] = number(json_array_get(used, i), "hours");
	}
	for (size_t i = 0; i < more; i++)
		later[i] = (double)(when_json(json_array_get(ahead, i), "day") - first_ns) / 1e9;
	for (size_t i = 0; i < 3 * more; i++)
		lines_of[i] = number(json_array_get(ahead, i % more), keys[i / more]);
	snprintf(label, sizeof(label), "%s hours of a day", page->unit);
	const struct svg_series series[] = {
		{ "used", x, y, count },
		{ "trend", later, lines_of, more },
		{ "four days in five: from", later, lines_of + more, more },
		{ "to", later, lines_of + 2 * more, more },
	};
	const struct svg_lines lines = { .x = { "since the first day", SVG_TIME, 0, 0 },
					 .y = { label, SVG_LINEAR, 0, 0 },
					 .series = series,
					 .series_count = 4 };

	return draw(page, &(struct svg_panel){ .lines = &lines });
}

static int add_forecast(const struct page *page)
{
	const json_t *part = begin(page, "forecast", "The coming days");
	const json_t *used = json_object_get(json_object_get(page->report, "use"), "days");
	const json_t *ahead = json_object_get(part, "days");
	int rc = json_array_size(ahead) ? draw_forecast(page, used, ahead) : 0;

	end(page, "The trend is the median of the slopes between all pairs of whole days; what "
		  "waits counts with its time limits, so the queue is at most that long.");
	return rc;
}

static void add_header(const struct page *page)
{
	char words[160];

	buf_add(page->buf, head);
	snprintf(words, sizeof(words), "%.10s to %.10s · %lld node%s, %.4g %ss",
		 grid_or(json_object_get(page->report, "since"), ""),
		 grid_or(json_object_get(page->report, "until"), ""),
		 (long long)grid_int(page->report, "nodes"),
		 grid_int(page->report, "nodes") == 1 ? "" : "s", number(page->report, "capacity"),
		 page->unit);
	buf_add(page->buf, "<header>\n<h1>How the cluster was used</h1>\n<p>");
	add(page, words);
	buf_add(page->buf, "</p>\n</header>\n");
}

int report_html(struct cli *cli, const json_t *report, struct buf *buf)
{
	const struct page page = { .cli = cli,
				   .buf = buf,
				   .report = report,
				   .unit = grid_or(json_object_get(report, "unit"), "core") };
	int rc;

	add_header(&page);
	add_tiles(&page);
	rc = add_use(&page);
	if (rc == 0)
		rc = add_waits(&page);
	if (rc == 0)
		rc = add_fairness(&page);
	add_waste(&page);
	if (rc == 0)
		rc = add_regressions(&page);
	if (rc == 0)
		rc = add_forecast(&page);
	buf_printf(buf, "<footer>strata %s, at ", STRATA_VERSION);
	svg_add_escaped(buf, grid_or(json_object_get(report, "until"), ""));
	buf_add(buf,
		"; times are UTC, days those of where it was made.</footer>\n</main>\n</body>\n"
		"</html>\n");
	return rc ? rc : buf_check(buf, &cli->err);
}
