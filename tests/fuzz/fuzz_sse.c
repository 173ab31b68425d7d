/* Server-sent events: however the bytes are cut, the same comes out. The first byte says where. */
#include "client/sse.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *context, const char *data, size_t length, struct strata_error *err)
{
	struct buf *got = context;

	(void)err;
	assert(memchr(data, '\r', length) == NULL || length > 0);
	buf_add_bytes(got, data, length);
	buf_add_char(got, '\0');
	return 0;
}

static int feed(const char *bytes, size_t count, size_t step, struct buf *got)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct sse sse;
	int rc = 0;

	sse_init(&sse, &memory, take, got);
	for (size_t at = 0; rc == 0 && at < count; at += step)
		rc = sse_feed(&sse, bytes + at, count - at < step ? count - at : step, &err);
	sse_fini(&sse);
	assert(memory.used_bytes == 0);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { 0 };
	struct buf whole, cut;

	if (size < 1)
		return 0;
	buf_init(&whole, &memory, 0);
	buf_init(&cut, &memory, 0);
	int rc = feed((const char *)data + 1, size - 1, size, &whole);

	assert(feed((const char *)data + 1, size - 1, (size_t)data[0] + 1, &cut) == rc);
	assert(whole.length == cut.length && memcmp(whole.text, cut.text, cut.length) == 0);
	buf_fini(&whole);
	buf_fini(&cut);
	return 0;
}
