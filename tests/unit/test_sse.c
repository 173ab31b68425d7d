#include "test.h"

#include "client/sse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;
static struct buf got;

static int take(void *context, const char *data, size_t length, struct strata_error *error)
{
	(void)context, (void)error;
	buf_printf(&got, "<%.*s>", (int)length, data);
	return length == 4 && memcmp(data, "stop", 4) == 0 ? -ECANCELED : 0;
}

/* Fed in pieces of each size. */
static void check_all(const char *text, const char *want)
{
	size_t length = strlen(text);

	for (size_t step = 1; step <= length; step++) {
		struct sse sse;

		buf_fini(&got);
		buf_init(&got, &memory, 0);
		sse_init(&sse, &memory, take, NULL);
		for (size_t at = 0; at < length; at += step)
			CHECK_OK(sse_feed(&sse, text + at, at + step < length ? step : length - at,
					  &err));
		CHECK_TEXT(got.text, want);
		sse_fini(&sse);
	}
}

TEST(data_comes_out_however_it_was_cut)
{
	check_all("retry: 1000\n\nid: 7\nevent: job.started\ndata: {\"a\":1}\n\n", "<{\"a\":1}>");
	check_all("data: a\r\n\r\ndata: b\r\n\r\n", "<a><b>");
	check_all("data: a\ndata: b\n\n", "<a\nb>");
	check_all("data:\n\n", "<>");
	check_all("data:x\n\n", "<x>");
}

TEST(comments_and_halves_give_nothing)
{
	check_all(": here\n\n", "");
	check_all("event: x\n\n", "");
	check_all("data: half\n", "");
	check_all("database: x\n\n", "");
}

TEST(who_takes_may_end_it)
{
	struct sse sse;

	sse_init(&sse, &memory, take, NULL);
	CHECK_INT(sse_feed(&sse, "data: stop\n\ndata: more\n\n", 24, &err), -ECANCELED);
	sse_fini(&sse);
}

TEST(events_have_a_limit)
{
	char *line = malloc(SSE_EVENT_BYTES_MAX + 16);
	struct sse sse;

	memset(line, 'x', SSE_EVENT_BYTES_MAX + 16);
	memcpy(line, "data: ", 6);
	sse_init(&sse, &memory, take, NULL);
	CHECK_OK(sse_feed(&sse, line, SSE_EVENT_BYTES_MAX, &err));
	CHECK_ERROR(sse_feed(&sse, line, 1, &err), -EBADMSG, "more than 1048576 bytes");
	sse_fini(&sse);
	free(line);
	buf_fini(&got);
	CHECK_INT(memory.used_bytes, 0);
}
