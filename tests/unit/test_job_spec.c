#include "test.h"

#include "formats/job_spec.h"

#include <strata/cluster.h>
#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct job_spec spec;

static int read_body(const char *json)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_schema_defaults(&job_spec_schema, &arena, &spec, &err));
	return strata_schema_read_json(&job_spec_schema, json, strlen(json), &arena, &spec, &err);
}

TEST(what_is_left_out_has_its_default)
{
	CHECK_OK(read_body("{}"));
	CHECK_INT(spec.tasks, 1);
	CHECK_INT(spec.nodes, 0);
	CHECK_NEAR(spec.cpus_per_task, 1, 0);
	CHECK_INT(spec.priority, STRATA_BAND_NORMAL);
	CHECK_INT(spec.time_limit_ns, 0);
	CHECK(spec.requeue && !spec.hold && !spec.begin && !spec.arguments.count);
}

TEST(every_flag_letter_and_every_name_is_one_rows)
{
	for (const struct strata_option *a = job_spec_schema.options; a->name; a++) {
		CHECK(a->help);
		CHECK(option_find(&job_spec_schema, a->name, strlen(a->name)) == a);
		for (const struct strata_option *b = job_spec_schema.options; b < a; b++)
			CHECK(!a->letter || a->letter != b->letter);
	}
}

TEST(the_longest_time_has_a_word)
{
	CHECK_OK(read_body("{\"time_limit\":\"unlimited\"}"));
	CHECK_INT(spec.time_limit_ns, STRATA_DURATION_UNLIMITED);
	CHECK_OK(read_body("{\"time_limit\":7200}"));
	CHECK_INT(spec.time_limit_ns, 2 * STRATA_HOUR_NS);
}

TEST(names_have_a_limit)
{
	char body[256], name[130];

	memset(name, 'x', sizeof(name));
	snprintf(body, sizeof(body), "{\"name\":\"%.*s\"}", STRATA_NAME_BYTES_MAX, name);
	CHECK_OK(read_body(body));
	snprintf(body, sizeof(body), "{\"name\":\"%.*s\"}", STRATA_NAME_BYTES_MAX + 1, name);
	CHECK_ERROR(read_body(body), -ERANGE, "name is 129 bytes long; expected at most 128");
	CHECK_ERROR(read_body("{\"gpsu\":1}"), -EINVAL, "did you mean");
}

TEST(a_job_without_a_name_has_its_programs)
{
	CHECK_OK(read_body("{\"command\":[\"/usr/bin/python\",\"x\"]}"));
	CHECK_TEXT(job_spec_name(&spec), "python");
	CHECK_OK(read_body("{\"script\":\"#!/bin/sh\",\"script_name\":\"a/b.sh\"}"));
	CHECK_TEXT(job_spec_name(&spec), "b.sh");
	CHECK_OK(read_body("{\"script\":\"#!/bin/sh\"}"));
	CHECK_TEXT(job_spec_name(&spec), "script");
	CHECK_OK(read_body("{\"command\":[\"x\"],\"name\":\"me\"}"));
	CHECK_TEXT(job_spec_name(&spec), "me");
}

TEST(of_what_means_the_same_one_stays)
{
	json_t *body = json_pack("{s:i,s:i,s:i}", "gpus_per_node", 1, "memory", 2, "nodes", 3);

	job_spec_drop_alternatives(body, "gpus");
	CHECK(!json_object_get(body, "gpus_per_node") && json_object_get(body, "memory"));
	job_spec_drop_alternatives(body, "memory_per_task");
	CHECK_INT(json_object_size(body), 1);
	json_decref(body);
}

TEST(directories_are_from_where_the_caller_is)
{
	const struct job_caller caller = { .working_dir = "/work" };
	json_t *path = job_spec_dir(&caller, "sub");

	CHECK_TEXT(json_string_value(path), "/work/sub");
	json_decref(path);
	path = job_spec_dir(&caller, "/abs");
	CHECK_TEXT(json_string_value(path), "/abs");
	json_decref(path);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
