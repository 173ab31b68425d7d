/* Trace files in memory, for the tests of the trace: a sink that collects text and an input that hands it out. */
#ifndef TRACE_TEXT_H
#define TRACE_TEXT_H

#include <strata/trace.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A sink that grows; text is NUL-terminated once something was written. */
struct trace_text {
	char *text;
	size_t length;
	size_t calls;
	size_t fail_at; /* the call with this number fails with -ENOSPC; 0: none */
};

static inline int trace_text_write(void *context, const char *bytes, size_t count)
{
	struct trace_text *sink = context;

	if (++sink->calls == sink->fail_at)
		return -ENOSPC;
	sink->text = realloc(sink->text, sink->length + count + 1);
	if (!sink->text)
		abort();
	memcpy(sink->text + sink->length, bytes, count);
	sink->length += count;
	sink->text[sink->length] = '\0';
	return 0;
}

static inline void trace_text_fini(struct trace_text *sink)
{
	free(sink->text);
	*sink = (struct trace_text){ 0 };
}

/* A text that is read at most `step` bytes at a time (0: as many as fit). */
struct trace_reader {
	const char *bytes;
	size_t length, used, step;
	int fail_code; /* returned in place of the end when not 0 */
};

static inline ssize_t trace_text_read(void *context, char *bytes, size_t room)
{
	struct trace_reader *reader = context;
	size_t count = reader->length - reader->used;

	if (count == 0 && reader->fail_code)
		return reader->fail_code;
	if (count > room)
		count = room;
	if (reader->step && count > reader->step)
		count = reader->step;
	memcpy(bytes, reader->bytes + reader->used, count);
	reader->used += count;
	return (ssize_t)count;
}

#endif
