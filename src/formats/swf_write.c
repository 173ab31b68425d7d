/*
 * Writing the Standard Workload Format: comments, then a line per job with single blanks. Whole
 * numbers are put together by hand, since a log has millions of them; reals are written in the
 * shortest form that reads back as the same value.
 */
#include "formats/swf.h"

#include <strata/text.h>

#include <string.h>

static char *put_whole(char *at, int64_t value)
{
	char digits[20];
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	size_t count = 0;

	do
		digits[count++] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*at++ = '-';
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

static char *put_real(char *at, double value)
{
	char text[STRATA_FORM_BYTES];
	size_t length;

	if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value)
		return put_whole(at, (int64_t)value);
	length = strlen(strata_real_print(value, text));
	memcpy(at, text, length);
	return at + length;
}

static void add_job(struct buf *buf, const struct strata_swf_job *job)
{
	char line[SWF_COLUMNS * STRATA_FORM_BYTES], *at = line;

	for (size_t i = 0; i < SWF_COLUMNS; i++) {
		const void *field = (const char *)job + swf_columns[i].offset;

		at = swf_columns[i].real ? put_real(at, *(const double *)field)
					 : put_whole(at, *(const int64_t *)field);
		*at++ = i + 1 < SWF_COLUMNS ? ' ' : '\n';
	}
	buf_add_bytes(buf, line, (size_t)(at - line));
}

/* A line of comment stays one: what would end it becomes a blank. */
static void add_comment_text(struct buf *buf, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\r\n");

		buf_add_bytes(buf, text, length);
		text += length;
		if (*text) {
			buf_add_char(buf, ' ');
			text++;
		}
	}
}

static void add_note(struct buf *buf, const struct strata_swf_note *note)
{
	buf_add_char(buf, ';');
	if (*note->key) {
		buf_add_char(buf, ' ');
		add_comment_text(buf, note->key);
		buf_add_char(buf, ':');
	}
	if (*note->value) {
		buf_add_char(buf, ' ');
		add_comment_text(buf, note->value);
	}
	buf_add_char(buf, '\n');
}

void swf_add(struct buf *buf, const struct strata_swf *swf)
{
	for (size_t i = 0; i < swf->note_count; i++)
		add_note(buf, &swf->notes[i]);
	for (size_t i = 0; i < swf->job_count; i++)
		add_job(buf, &swf->jobs[i]);
}

int strata_swf_write(const struct strata_swf *swf, struct strata_arena *arena,
		     const char **ret_text, size_t *ret_length, struct strata_error *err)
{
	struct buf buf;

	buf_init(&buf, arena->memory, arena->limit_bytes);
	swf_add(&buf, swf);
	const char *text = buf.failed ? NULL : strata_arena_text(arena, buf.text, buf.length);

	if (text) {
		*ret_text = text;
		*ret_length = buf.length;
	}
	buf_fini(&buf);
	return text ? 0 : strata_fail_memory(err);
}
