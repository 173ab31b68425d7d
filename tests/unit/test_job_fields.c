#include "test.h"

#include "formats/job_spec.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct job_spec fields;
static struct origins given;
static json_t *body;
static const char *const env[] = { "HOME=/home/ann",
				   "EMPTY=",
				   "STRATA_TOKEN=secret",
				   "STRATA_TOKEN_FILE=/t",
				   "LATIN=\xe9",
				   "NOTHING",
				   "=odd",
				   NULL };
static const struct job_caller caller = {
	.env = env, .working_dir = "/work", .now_ns = STRATA_DAY_NS, .zone_seconds = 3600
};

/* Reads a command line into the fields; words are separated by blanks. */
static void read_flags(const char *line)
{
	char *argv[64], *words, *save = NULL;
	int argc = 0;
	struct args args = { .tables = { { &job_spec_schema, &fields } }, .origins = &given };

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	json_decref(body);
	body = json_object();
	given = (struct origins){ .arena = &arena };
	words = strata_arena_text(&arena, line, strlen(line));
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	CHECK_OK(strata_schema_defaults(&job_spec_schema, &arena, &fields, &err));
	CHECK_OK(option_read_args(&args, argc, argv, &arena, &err));
}

static void check_body(const char *want)
{
	char *got = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	CHECK_TEXT(got, want);
	free(got);
}

static int add(void)
{
	return job_fields_add(&fields, &given, &caller, body, &err);
}

TEST(only_what_was_given_is_sent)
{
	read_flags("--env A=1");
	CHECK_OK(add());
	check_body("{}");
	read_flags("--time 90s --hold --no-requeue --gpu-share 0.5 --priority low");
	CHECK_OK(add());
	check_body("{\"gpu_share\":0.5,\"hold\":true,\"priority\":\"low\",\"requeue\":false,"
		   "\"time_limit\":90}");
	read_flags("--time unlimited");
	CHECK_OK(add());
	check_body("{\"time_limit\":\"unlimited\"}");
}

TEST(a_flag_takes_the_place_of_what_means_the_same)
{
	read_flags("--gpus 2 --memory 1G");
	json_object_set_new(body, "gpus_per_node", json_integer(4));
	json_object_set_new(body, "memory_per_task", json_integer(4));
	json_object_set_new(body, "nodes", json_integer(3));
	CHECK_OK(add());
	check_body("{\"gpus\":2,\"memory\":1073741824,\"nodes\":3}");
	read_flags(
		"--gpus 2 --gpus-per-task 1"); /* both are sent: the server says that this is wrong */
	CHECK_OK(add());
	check_body("{\"gpus\":2,\"gpus_per_task\":1}");
}

TEST(times_and_places_do_not_depend_on_here)
{
	read_flags("--begin now+1hour --working-dir sub");
	CHECK_OK(add());
	check_body("{\"begin\":\"1970-01-02T01:00:00Z\",\"working_dir\":\"/work/sub\"}");
	read_flags("--begin 12:00 -D /abs");
	CHECK_OK(add());
	check_body(
		"{\"begin\":\"1970-01-02T11:00:00Z\",\"working_dir\":\"/abs\"}"); /* local time */
	read_flags("--begin someday");
	CHECK_ERROR(add(), -EINVAL, "someday");
	CHECK_TEXT(err.field, "begin");
}

TEST(the_callers_environment_goes_along)
{
	size_t skipped = 9;

	read_flags("--env HOME=/elsewhere,NEW=1");
	CHECK_OK(job_fields_add_caller(&fields, &caller, body, &skipped, &err));
	CHECK_INT(skipped, 1);
	check_body("{\"environment\":{\"EMPTY\":\"\",\"HOME\":\"/elsewhere\",\"NEW\":\"1\","
		   "\"STRATA_TOKEN_FILE\":\"/t\"},\"working_dir\":\"/work\"}");
	read_flags("--env NEW=1"); /* a script said --export=NONE and --chdir */
	json_object_set_new(body, "environment", json_object());
	json_object_set_new(body, "working_dir", json_string("/there"));
	CHECK_OK(job_fields_add_caller(&fields, &caller, body, &skipped, &err));
	check_body("{\"environment\":{\"NEW\":\"1\"},\"working_dir\":\"/there\"}");
}

static int make(struct strata_memory *own, void *context, struct strata_error *error)
{
	json_t *made = json_object();
	size_t skipped;
	int rc = made ? job_fields_add(&fields, &given, &caller, made, error)
		      : strata_fail_memory(error);

	(void)own, (void)context;
	if (rc == 0)
		rc = job_fields_add_caller(&fields, &caller, made, &skipped, error);
	json_decref(made);
	return rc;
}

TEST(lack_of_memory_is_survived)
{
	read_flags("--gpus 2 --begin 12:00 --name x --env A=1");
	test_every_allocation(make, NULL);
	json_decref(body);
	body = NULL;
	strata_arena_fini(&arena);
}
