#include "test.h"
#include "trace_text.h"

#include "core/trace_stream.h"

static const struct strata_trace_conf conf = { 1, "cluster", "virtual" };

static int write_file(struct trace_text *text, struct strata_error *err)
{
	static struct trace_stream stream; /* large */
	struct strata_trace_sink sink = { trace_text_write, text };
	const struct strata_trace_arg args[] = { strata_trace_text("user", "\"u\""),
						 strata_trace_int("gpus", 8) };
	const struct strata_trace_arg counts[] = { strata_trace_int("waiting", 3),
						   strata_trace_int("running", 1) };
	struct trace_slice slice = { .pid = 2,
				     .tid = 1,
				     .start_ns = 1500,
				     .end_ns = 4000,
				     .name = "job 7",
				     .flow = 7,
				     .flow_first = true,
				     .args = args,
				     .arg_count = 2 };

	trace_stream_begin(&stream, &conf, &sink);
	trace_stream_name_process(&stream, 2, "n1");
	trace_stream_name_thread(&stream, 2, 1, "jobs 1");
	trace_stream_slice(&stream, &slice);
	slice = (struct trace_slice){
		.pid = 2, .tid = 2, .start_ns = 1500, .end_ns = 1500, .name = "job 7", .flow = 7
	};
	trace_stream_slice(&stream, &slice);
	slice.flow = 0;
	trace_stream_slice(&stream, &slice);
	trace_stream_counter(&stream, 1, 1500, "jobs", counts, 2);
	return trace_stream_end(&stream, err);
}

TEST(events_are_written_as_they_come)
{
	struct trace_text text = { 0 };
	struct strata_error err;

	CHECK_OK(write_file(&text, &err));
	CHECK_TEXT(
		text.text,
		"{\"otherData\":{\"source\":\"strata " STRATA_VERSION
		"\",\"clock\":\"virtual\",\"dropped\":0},\n\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"cluster\"}}"
		",\n"
		"{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":\"n1\"}},\n"
		"{\"ph\":\"M\",\"pid\":2,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"jobs 1\"}},\n"
		"{\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":1.500,\"dur\":2.500,\"name\":\"job 7\","
		"\"args\":{\"flow\":7,\"user\":\"\\\"u\\\"\",\"gpus\":8}},\n"
		"{\"ph\":\"s\",\"pid\":2,\"tid\":1,\"ts\":1.500,\"id\":\"0x7\",\"cat\":\"strata\","
		"\"name\":\"flow\"},\n"
		"{\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":1.500,\"dur\":0.000,\"name\":\"job "
		"7\",\"args\":{\"flow\":7}},\n"
		"{\"ph\":\"t\",\"pid\":2,\"tid\":2,\"ts\":1.500,\"id\":\"0x7\",\"cat\":\"strata\","
		"\"name\":\"flow\"},\n"
		"{\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":1.500,\"dur\":0.000,\"name\":\"job "
		"7\"},\n"
		"{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":1.500,\"name\":\"jobs\",\"args\":{"
		"\"waiting\":3,\"running\":1}}\n]}");
	trace_text_fini(&text);
}

TEST(a_sink_that_fails_is_heard_of_at_the_end)
{
	struct trace_text text = { .fail_at = 1 };
	struct strata_error err;

	CHECK_ERROR(write_file(&text, &err), -ENOSPC,
		    "the trace could not be written: No space left");
	trace_text_fini(&text);
}

/* The files of a simulator and of a service can be looked at together. */
TEST(a_merge_takes_it)
{
	struct trace_text text = { 0 }, merged = { 0 };
	struct strata_trace_merged result;
	struct strata_memory memory = { 0 };
	struct strata_error err;

	CHECK_OK(write_file(&text, &err));
	struct trace_reader reader = { text.text, text.length, 0, 0, 0 };
	struct strata_trace_input input = { "sim.json", trace_text_read, &reader };
	struct strata_trace_sink sink = { trace_text_write, &merged };

	CHECK_OK(strata_trace_merge(&input, 1, &memory, &sink, &result, &err));
	CHECK_INT(result.process_count, 2);
	CHECK_INT(result.event_count, 9);
	trace_text_fini(&text);
	trace_text_fini(&merged);
}
