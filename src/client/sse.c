/* The reader of sse.h: lines, of which those with data are gathered until an empty one. */
#include "client/sse.h"

#include <errno.h>
#include <string.h>

void sse_init(struct sse *sse, struct strata_memory *memory, sse_take *take, void *context)
{
	*sse = (struct sse){ .take = take, .context = context };
	buf_init(&sse->line, memory, SSE_EVENT_BYTES_MAX);
	buf_init(&sse->data, memory, SSE_EVENT_BYTES_MAX);
}

void sse_fini(struct sse *sse)
{
	buf_fini(&sse->line);
	buf_fini(&sse->data);
}

static int check(const struct sse *sse, struct strata_error *err)
{
	if (!sse->line.failed && !sse->data.failed)
		return 0;
	return sse->line.length + sse->data.length > SSE_EVENT_BYTES_MAX / 2
		       ? strata_fail(err, -EBADMSG, "an event of the server has more than %d bytes",
				     SSE_EVENT_BYTES_MAX)
		       : strata_fail_memory(err);
}

static int end_line(struct sse *sse, struct strata_error *err)
{
	const char *line = sse->line.text;
	size_t length = sse->line.length;
	int rc = 0;

	if (length && line[length - 1] == '\r')
		length--;
	if (length == 0) {
		if (sse->has_data)
			rc = sse->take(sse->context, sse->data.text, sse->data.length, err);
		buf_reset(&sse->data);
		sse->has_data = false;
	} else if (length >= 5 && memcmp(line, "data:", 5) == 0) {
		size_t skip = length > 5 && line[5] == ' ' ? 6 : 5;

		if (sse->has_data)
			buf_add_char(&sse->data, '\n');
		buf_add_bytes(&sse->data, line + skip, length - skip);
		sse->has_data = true;
	}
	buf_reset(&sse->line);
	return rc ? rc : check(sse, err);
}

int sse_feed(struct sse *sse, const char *bytes, size_t count, struct strata_error *err)
{
	const char *end = bytes + count;
	int rc = 0;

	while (rc == 0 && bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));

		buf_add_bytes(&sse->line, bytes, (size_t)((newline ? newline : end) - bytes));
		rc = check(sse, err);
		if (rc == 0 && newline)
			rc = end_line(sse, err);
		bytes = newline ? newline + 1 : end;
	}
	return rc;
}
