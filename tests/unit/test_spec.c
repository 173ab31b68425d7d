#include "test.h"

#include "server/spec.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static const struct spec_rules rules = { 3600, 7200, 8 };

static int make(const char *json, struct strata_job_request *ret_request)
{
	static struct job_spec spec;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_schema_defaults(&job_spec_schema, &arena, &spec, &err));
	int rc = strata_schema_read_json(&job_spec_schema, json, strlen(json), &arena, &spec, &err);

	return rc ? rc : spec_request(&spec, &rules, STRATA_DAY_NS, ret_request, &err);
}

TEST(what_is_left_out_is_usual)
{
	struct strata_job_request request;

	CHECK_OK(make("{\"command\":[\"/usr/bin/python\",\"x.py\"]}", &request));
	CHECK_TEXT(request.name, "python");
	CHECK_INT(request.band, STRATA_BAND_NORMAL);
	CHECK_INT(request.tasks, 1);
	CHECK_INT(request.nodes, 0);
	CHECK_INT(request.cpu_milli, 1000);
	CHECK_INT(request.gpus, 0);
	CHECK_INT(request.time_limit_ns, 3600);
	CHECK(request.requeue && !request.preemptible && !request.held);
}

TEST(a_number_that_lacks_its_unit_is_asked_about)
{
	struct strata_job_request request;

	CHECK_ERROR(make("{\"command\":[\"x\"],\"memory\":64}", &request), -EINVAL,
		    "memory is 64 bytes, with which nothing runs; say 64M or 64G");
	CHECK_ERROR(make("{\"command\":[\"x\"],\"memory_per_task\":65535}", &request), -EINVAL,
		    "memory_per_task is 65535 bytes, with which nothing runs; say 65535M or 65535G");
	CHECK_OK(make("{\"command\":[\"x\"],\"memory\":65536}", &request));
}

TEST(gpus_of_a_job_are_spread)
{
	struct strata_job_request request;

	CHECK_OK(make("{\"command\":[\"x\"],\"gpus\":4}", &request));
	CHECK_INT(request.nodes, 1);
	CHECK_INT(request.gpus_per_node, 4);
	CHECK_OK(make("{\"command\":[\"x\"],\"gpus\":16}", &request)); /* more than a node has */
	CHECK_INT(request.nodes, 2);
	CHECK_INT(request.gpus_per_node, 8);
	CHECK_INT(request.tasks, 2);
	CHECK_OK(make("{\"command\":[\"x\"],\"gpus\":8,\"tasks\":4}", &request));
	CHECK_INT(request.gpus, 2);
	CHECK_INT(request.gpus_per_node, 0);
	CHECK_ERROR(make("{\"command\":[\"x\"],\"gpus\":3,\"nodes\":2}", &request), -EINVAL,
		    "gpus is 3; expected a multiple of nodes (2)");
	CHECK_OK(make("{\"command\":[\"x\"],\"gpu_share\":0.25}", &request));
	CHECK_INT(request.gpu_milli, 250);
	CHECK_ERROR(make("{\"command\":[\"x\"],\"gpus\":1,\"gpu_share\":0.25}", &request), -EINVAL,
		    "how many GPUs is said in 2 ways; expected one of gpus, gpus_per_node, gpus_per_task and gpu_share");
}

TEST(times_have_a_longest_and_a_now)
{
	struct strata_job_request request;

	CHECK_OK(make("{\"command\":[\"x\"],\"time_limit\":\"7200ns\"}", &request));
	CHECK_INT(request.time_limit_ns, 7200);
	CHECK_ERROR(make("{\"command\":[\"x\"],\"time_limit\":\"7201ns\"}", &request), -EINVAL,
		    "time_limit 7.201us is too long: at most 7.2us");
	CHECK_OK(make("{\"command\":[\"x\"],\"time_limit\":\"unlimited\"}", &request));
	CHECK_INT(request.time_limit_ns, 7200);
	CHECK_OK(make("{\"command\":[\"x\"],\"begin\":\"1970-01-03T00:00:00Z\"}", &request));
	CHECK_INT(request.begin_ns, 2 * STRATA_DAY_NS);
	CHECK_OK(make("{\"command\":[\"x\"],\"begin\":\"now+1hour\"}", &request));
	CHECK_INT(request.begin_ns, STRATA_DAY_NS + STRATA_HOUR_NS);
	CHECK_ERROR(make("{\"command\":[\"x\"],\"begin\":\"someday\"}", &request), -EINVAL,
		    "is not a time");
	CHECK_TEXT(err.field, "begin");
}

TEST(memory_is_of_every_node)
{
	struct strata_job_request request;

	CHECK_OK(make("{\"command\":[\"x\"],\"memory\":\"2GiB\"}", &request));
	CHECK_INT(request.memory_bytes, INT64_C(2) << 30);
	CHECK_OK(make("{\"command\":[\"x\"],\"memory\":\"2GiB\",\"nodes\":2}", &request));
	CHECK_INT(request.memory_per_node_bytes, INT64_C(2) << 30);
	CHECK_INT(request.tasks, 2);
	CHECK_ERROR(make("{\"command\":[\"x\"],\"memory\":1,\"memory_per_task\":1}", &request),
		    -EINVAL, "expected one of memory and memory_per_task");
}

TEST(scripts_and_commands_are_checked)
{
	struct strata_job_request request;

	CHECK_ERROR(make("{}", &request), -EINVAL,
		    "there is nothing to run; expected a command or a script");
	CHECK_ERROR(make("{\"script\":\"echo\"}", &request), -EINVAL,
		    "the script does not begin with #!, as in #!/bin/sh");
	CHECK_ERROR(make("{\"command\":[\"\"]}", &request), -EINVAL, "the program has no name");
	CHECK_OK(make("{\"script\":\"#!/bin/sh\",\"script_name\":\"a/b.sh\"}", &request));
	CHECK_TEXT(request.name, "b.sh");
	CHECK_ERROR(make("{\"command\":[\"x\"],\"arguments\":[\"y\"]}", &request), -EINVAL,
		    "arguments are those of a script; a command has its own behind its name");
	CHECK_TEXT(err.field, "arguments");
	CHECK_ERROR(make("{\"command\":[\"x\"],\"gang\":\"g\"}", &request), -EINVAL,
		    "gang and gang_size go together");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
