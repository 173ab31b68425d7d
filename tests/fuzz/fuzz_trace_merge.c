/*
 * Merging any two files: no crash, and what a merge accepts is valid JSON with as many events as it says, whose
 * processes are told apart. The input is two files with the byte 0xFF (which no JSON has) between them, read a few
 * bytes at a time.
 */
#include <strata/limits.h>
#include <strata/trace.h>

#include "trace_text.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Equal ids; an event without one belongs to process 0. */
static bool same_process(const json_t *a, const json_t *b)
{
	const json_t *pids[2] = { json_object_get(a, "pid"), json_object_get(b, "pid") };

	if (json_is_string(pids[0]) || json_is_string(pids[1]))
		return json_equal(pids[0], pids[1]);
	return json_real_value(pids[0]) == json_real_value(pids[1]);
}

static void check_file(const struct trace_text *sink, const struct strata_trace_merged *merged,
		       size_t first_count)
{
	json_t *file = json_loadb(sink->text, sink->length,
				  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
				  NULL);
	json_t *files = json_object_get(json_object_get(file, "otherData"), "files");
	json_t *events = json_object_get(file, "traceEvents");

	if (!file || json_array_size(events) != merged->event_count ||
	    json_array_size(files) != 2 || merged->renumbered_count > merged->process_count)
		abort();
	for (size_t i = 0; i < first_count; i++)
		for (size_t k = first_count; k < merged->event_count; k++)
			if (same_process(json_array_get(events, i), json_array_get(events, k)))
				abort();
	json_decref(file);
}

/* Merges the two, or only the first; the collected text is the caller's. */
static int merge(const uint8_t *bytes, size_t size, size_t file_count, struct trace_text *collected,
		 struct strata_trace_merged *merged)
{
	const uint8_t *middle = size ? memchr(bytes, 0xFF, size) : NULL;
	size_t first = middle ? (size_t)(middle - bytes) : size;
	struct trace_reader readers[2] = {
		{ (const char *)bytes, first, .step = 5 },
		{ middle ? (const char *)middle + 1 : "[]", middle ? size - first - 1 : 2 },
	};
	struct strata_trace_input inputs[2] = { { "a", trace_text_read, &readers[0] },
						{ "b", trace_text_read, &readers[1] } };
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_trace_sink sink = { trace_text_write, collected };
	struct strata_error err = { 0 };
	int rc = strata_trace_merge(inputs, file_count, &memory, &sink, merged, &err);

	if (memory.used_bytes != 0 || (rc != 0) != (err.code != 0) || (rc != 0 && !err.text[0]))
		abort();
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct strata_trace_merged first, both;
	struct trace_text collected = { 0 };

	if (merge(bytes, size, 2, &collected, &both) == 0) {
		struct trace_text ignored = { 0 };

		if (merge(bytes, size, 1, &ignored, &first) != 0)
			abort();
		check_file(&collected, &both, first.event_count);
		trace_text_fini(&ignored);
	}
	trace_text_fini(&collected);
	return 0;
}
