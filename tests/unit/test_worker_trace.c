/* The trace of a worker: batches tied to their tasks and to the worker's job. */
#include "worker/worker_trace.h"

#include "test.h"

#include <errno.h>
#include <string.h>

static struct strata_error err;

/* Batches of task 17 and then of 18, at 100 and 200 ns. */
static void record(struct worker_trace *trace, struct strata_engine *engine)
{
	static const int64_t first[] = { 17, 18 };

	CHECK_OK(worker_trace_open(trace, 4, engine, &err));
	worker_trace_begin(trace, 100, first, 2);
	worker_trace_end(trace, 150);
	worker_trace_slice(trace, "handing over", 17, 160, 170);
	worker_trace_begin(trace, 200, first + 1, 1);
	worker_trace_end(trace, 250);
}

static struct strata_engine *engine_new(struct strata_memory *memory)
{
	struct strata_engine *engine;

	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, memory, &engine, &err));
	return engine;
}

TEST(a_file_has_what_happened_since)
{
	struct strata_memory memory = { 0 };
	struct strata_engine *engine = engine_new(&memory);
	struct worker_trace trace;
	struct buf file;

	record(&trace, engine);
	buf_init(&file, &memory, 0);
	CHECK_OK(worker_trace_write(&trace, 0, &file, &err));
	CHECK(strstr(file.text, "\"batch\"") && strstr(file.text, "handing over"));
	CHECK(strstr(file.text, "\"tasks\":2") && strstr(file.text, "strata worker"));
	buf_fini(&file);
	buf_init(&file, &memory, 0);
	CHECK_OK(worker_trace_write(&trace, 180, &file, &err));
	CHECK(strstr(file.text, "\"batch\"") && !strstr(file.text, "handing over"));
	CHECK(!strstr(file.text, "\"tasks\":2"));
	buf_fini(&file);
	buf_init(&file, &memory, 100);
	CHECK_ERROR(worker_trace_write(&trace, 0, &file, &err), -E2BIG, "more than 100 bytes");
	buf_fini(&file);
	strata_engine_free(engine);
	worker_trace_close(&trace);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(without_a_trace_nothing_is_recorded)
{
	static const int64_t task = 1;
	struct worker_trace none = { 0 };

	worker_trace_begin(NULL, 1, &task, 1);
	worker_trace_end(NULL, 2);
	worker_trace_slice(NULL, "x", 1, 1, 2);
	worker_trace_begin(&none, 1, &task, 1);
	worker_trace_end(&none, 2);
	worker_trace_slice(&none, "x", 1, 1, 2);
	worker_trace_close(&none);
	CHECK(worker_trace_flow(17) != 17 && worker_trace_flow(17) != worker_trace_flow(18));
}
