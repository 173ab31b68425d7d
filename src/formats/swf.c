/*
 * Reading the Standard Workload Format. Two passes over the text: the first counts, so that the
 * arrays are taken at their size, the second fills them. Numbers are scanned by hand, because a log
 * has millions of them and nearly all are short and whole; the rest goes to the exact reader of
 * reals. What the columns mean is not judged here but when the log is loaded (swf_load.c).
 */
#include "formats/swf.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

#define FIELD(field) offsetof(struct strata_swf_job, field)

const struct swf_column swf_columns[SWF_COLUMNS] = {
	{ "job number", FIELD(number), false },
	{ "submit time", FIELD(submit_s), false },
	{ "wait time", FIELD(wait_s), false },
	{ "run time", FIELD(run_s), false },
	{ "processors used", FIELD(procs_used), false },
	{ "CPU time", FIELD(cpu_s), true },
	{ "memory used", FIELD(memory_kb), true },
	{ "processors requested", FIELD(procs_requested), false },
	{ "requested time", FIELD(requested_s), false },
	{ "requested memory", FIELD(requested_memory_kb), true },
	{ "status", FIELD(status), false },
	{ "user", FIELD(user), false },
	{ "group", FIELD(group), false },
	{ "executable", FIELD(executable), false },
	{ "queue", FIELD(queue), false },
	{ "partition", FIELD(partition), false },
	{ "preceding job", FIELD(preceding), false },
	{ "think time", FIELD(think_s), false },
};

/* A line that can hold 18 columns has at least this many bytes; so an array of jobs is only a few
 * times as large as the text it comes from, whatever that text is. */
enum { JOB_BYTES_MIN = 2 * SWF_COLUMNS - 1 };

struct line {
	const char *at, *end; /* blanks at either end left out */
	size_t number;
};

/* The line at *at, which goes to the next one; false at the end of the text. */
static bool next_line(const char **at, const char *end, struct line *line)
{
	if (*at == end)
		return false;
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));

	line->at = *at;
	line->end = newline ? newline : end;
	line->number++;
	*at = newline ? newline + 1 : end;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_column(const char *at, const char *end)
{
	return at == end || is_blank(*at) || *at == ';';
}

static void trim(struct line *line)
{
	while (line->at < line->end && is_blank(*line->at))
		line->at++;
	while (line->at < line->end && is_blank(line->end[-1]))
		line->end--;
}

/* How many comments and jobs there are, up to the first line that cannot be one. */
static int count_lines(const char *text, const char *end, struct strata_swf *swf,
		       struct strata_error *err)
{
	struct line line = { .number = 0 };

	while (next_line(&text, end, &line)) {
		if (line.end - line.at > STRATA_SWF_LINE_BYTES_MAX)
			return strata_fail(err, -E2BIG, "line %zu has more than %d bytes",
					   line.number, STRATA_SWF_LINE_BYTES_MAX);
		trim(&line);
		if (line.at == line.end)
			continue;
		if (*line.at == ';')
			swf->note_count++;
		else if (line.end - line.at < JOB_BYTES_MIN)
			return 0; /* the second pass says what is wrong with it */
		else
			swf->job_count++;
		if (swf->note_count > STRATA_SWF_NOTES_MAX)
			return strata_fail(err, -E2BIG, "line %zu is past the limit of %d comments",
					   line.number, STRATA_SWF_NOTES_MAX);
		if (swf->job_count > STRATA_SWF_JOBS_MAX)
			return strata_fail(err, -E2BIG, "line %zu is past the limit of %d jobs",
					   line.number, STRATA_SWF_JOBS_MAX);
	}
	return 0;
}

static bool is_key_char(char c)
{
	return (text_lower(c) >= 'a' && text_lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* "; Key: value" becomes key and value, any other comment a value alone, its indent kept. */
static int read_note(const struct line *line, struct strata_arena *arena,
		     struct strata_swf_note *note, struct strata_error *err)
{
	const char *at = line->at + 1, *key_end;

	if (memchr(line->at, '\0', (size_t)(line->end - line->at)))
		return strata_fail(err, -EBADMSG, "line %zu has a NUL byte; this is not a text",
				   line->number);
	while (at < line->end && is_blank(*at))
		at++;
	for (key_end = at; key_end < line->end && is_key_char(*key_end);)
		key_end++;
	bool has_key = key_end > at && key_end < line->end && *key_end == ':' &&
		       (key_end + 1 == line->end || is_blank(key_end[1]));
	const char *value = line->at + 1;

	if (has_key)
		for (value = key_end + 1; value < line->end && is_blank(*value);)
			value++;
	else if (value < line->end && *value == ' ')
		value++;
	note->line = (int64_t)line->number;
	note->key = strata_arena_text(arena, at, has_key ? (size_t)(key_end - at) : 0);
	note->value = strata_arena_text(arena, value, (size_t)(line->end - value));
	return note->key && note->value ? 0 : strata_fail_memory(err);
}

/* Whole numbers of up to 18 digits, perhaps with a fraction of zeros: what nearly every column
 * holds. False, and *at anywhere, for everything else. */
static bool scan_whole(const char **at, const char *end, int64_t *ret_value)
{
	const char *p = *at;
	bool negative = p < end && *p == '-';
	int64_t value = 0;

	p += negative;
	const char *digits = p;

	while (p < end && (unsigned char)(*p - '0') < 10 && p - digits < 18)
		value = value * 10 + (*p++ - '0');
	if (p == digits)
		return false;
	if (p < end && *p == '.')
		for (p++; p < end && *p == '0';)
			p++;
	*at = p;
	*ret_value = negative ? -value : value;
	return ends_column(p, end);
}

static int fail_column(const struct line *line, size_t column, const char *from, const char *to,
		       struct strata_error *err)
{
	char excerpt[TEXT_EXCERPT_BYTES];

	return strata_fail(err, -EBADMSG,
			   "line %zu, column %zu (%s) is \"%s\"; expected a %s number",
			   line->number, column + 1, swf_columns[column].name,
			   text_excerpt(from, (size_t)(to - from), excerpt),
			   swf_columns[column].real ? "decimal" : "whole");
}

static int read_column(struct line *line, size_t column, struct strata_swf_job *job,
		       struct strata_error *err)
{
	const struct swf_column *row = &swf_columns[column];
	const char *from = line->at, *to;
	void *field = (char *)job + row->offset;
	int64_t whole;

	if (scan_whole(&line->at, line->end, &whole)) {
		if (row->real)
			*(double *)field = (double)whole;
		else
			*(int64_t *)field = whole;
		return 0;
	}
	for (to = from; !ends_column(to, line->end);)
		to++;
	line->at = to;
	if (!row->real || strata_real_parse(from, (size_t)(to - from), field, NULL))
		return fail_column(line, column, from, to, err);
	return 0;
}

static int read_job(struct line *line, struct strata_swf_job *job, struct strata_error *err)
{
	job->line = (int64_t)line->number;
	for (size_t column = 0; column < SWF_COLUMNS; column++) {
		while (line->at < line->end && is_blank(*line->at))
			line->at++;
		if (line->at == line->end || *line->at == ';')
			return strata_fail(err, -EBADMSG, "line %zu has %zu columns; expected %d",
					   line->number, column, SWF_COLUMNS);
		int rc = read_column(line, column, job, err);

		if (rc)
			return rc;
	}
	return 0;
}

int strata_swf_read(const char *text, size_t length, struct strata_arena *arena,
		    struct strata_swf *ret_swf, struct strata_error *err)
{
	const char *at = text, *end = text + length;
	struct strata_swf room = { 0 }, swf;
	struct line line = { .number = 0 };
	int rc = count_lines(text, end, &room, err);

	if (rc)
		return rc;
	/* one more than counted: the line at which counting stopped is read into it */
	room.notes = strata_arena_array(arena, room.note_count + 1, sizeof(*room.notes));
	room.jobs = strata_arena_array(arena, room.job_count + 1, sizeof(*room.jobs));
	if (!room.notes || !room.jobs)
		return strata_fail_memory(err);
	swf = (struct strata_swf){ .notes = room.notes, .jobs = room.jobs };
	while (next_line(&at, end, &line)) {
		trim(&line);
		if (line.at == line.end)
			continue;
		if (*line.at == ';')
			rc = read_note(&line, arena, &swf.notes[swf.note_count++], err);
		else
			rc = read_job(&line, &swf.jobs[swf.job_count++], err);
		if (rc)
			return rc;
	}
	*ret_swf = swf;
	return 0;
}

const char *strata_swf_note(const struct strata_swf *swf, const char *key)
{
	for (size_t i = 0; i < swf->note_count; i++)
		if (strcmp(swf->notes[i].key, key) == 0)
			return swf->notes[i].value;
	return NULL;
}

int64_t strata_swf_note_int(const struct strata_swf *swf, const char *key)
{
	const char *value = strata_swf_note(swf, key);
	int64_t number;

	if (!value || !scan_whole(&value, value + strlen(value), &number))
		return -1;
	return number;
}

int64_t strata_swf_procs(const struct strata_swf *swf)
{
	int64_t procs = strata_swf_note_int(swf, "MaxProcs");

	if (procs < 1)
		procs = strata_swf_note_int(swf, "MaxNodes");
	return procs > 0 ? procs : -1;
}
