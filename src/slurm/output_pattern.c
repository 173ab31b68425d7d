/*
 * Patterns of file names (<strata/slurm.h>). What is not known stays as written, as scontrol leaves
 * %n of a job that has not started.
 */
#include <strata/slurm.h>

#include "slurm/slurm_value.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { WIDTH_MAX = 10 };

/* What Slurm prints as the number of a task that is in no array. */
#define NO_TASK INT64_C(4294967294)

static bool fits(const struct buf *buf)
{
	return buf->length <= STRATA_OUTPUT_PATH_BYTES_MAX;
}

static bool add_number(struct buf *buf, int64_t value, int width)
{
	if (value >= 0)
		buf_printf(buf, "%0*" PRId64, width, value);
	return value >= 0;
}

static bool add_text(struct buf *buf, const char *text)
{
	if (text)
		buf_add(buf, text);
	return text != NULL;
}

/* One letter's value; false when it has none and should stay. */
static bool add_value(struct buf *buf, char letter, int width,
		      const struct strata_output_values *values)
{
	switch (letter) {
	case 'A':
		return add_number(buf, values->array_job >= 0 ? values->array_job : values->job,
				  width);
	case 'a':
		return add_number(buf, values->task >= 0 ? values->task : NO_TASK, width);
	case 'J':
		if (values->job < 0 || values->step < 0)
			return add_number(buf, values->job, width);
		buf_printf(buf, "%0*" PRId64 ".%" PRId64, width, values->job, values->step);
		return true;
	case 'j':
		return add_number(buf, values->job, width);
	case 'N':
		return add_text(buf, values->host);
	case 'n':
		return add_number(buf, values->node, width);
	case 's':
		return add_number(buf, values->step, width);
	case 't':
		return add_number(buf, values->rank, width);
	case 'u':
		return add_text(buf, values->user);
	case 'x':
		return add_text(buf, values->name);
	default:
		return false;
	}
}

static void expand(struct buf *buf, const char *pattern, const struct strata_output_values *values)
{
	while (*pattern && fits(buf)) {
		const char *from = pattern++;
		int width = 0;

		if (*from != '%') {
			buf_add_char(buf, *from);
			continue;
		}
		if (*pattern == '%') {
			buf_add_char(buf, *pattern++);
			continue;
		}
		for (; *pattern >= '0' && *pattern <= '9'; pattern++)
			width = width > WIDTH_MAX ? width : width * 10 + (*pattern - '0');
		if (add_value(buf, *pattern, width > WIDTH_MAX ? WIDTH_MAX : width, values))
			pattern++;
		else
			buf_add_bytes(buf, from, (size_t)(pattern - from));
	}
}

int strata_output_expand(const char *pattern, const struct strata_output_values *values,
			 struct strata_arena *arena, const char **ret_text,
			 struct strata_error *err)
{
	struct buf buf;

	buf_init(&buf, arena->memory, 0);
	if (strchr(pattern, '\\')) {
		for (const char *p = pattern; *p && fits(&buf); p++)
			if (*p != '\\')
				buf_add_char(&buf, *p);
	} else {
		expand(&buf, pattern, values);
	}
	if (!fits(&buf)) {
		buf_fini(&buf);
		return strata_fail(err, -E2BIG, "a file name has at most %d characters",
				   STRATA_OUTPUT_PATH_BYTES_MAX);
	}
	return slurm_keep(&buf, arena, ret_text, err);
}
