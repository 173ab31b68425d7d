#include "test.h"

#include "slurm/job_script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct buf notes;
static json_t *body;
static const char *const env[] = { "HOME=/home/ann", "A=1", "B=2", NULL };
static const struct job_caller caller = { .env = env, .working_dir = "/work" };
static struct strata_sbatch job;

/* What a script with this #SBATCH line asks for. */
static void read_script(const char *line)
{
	char script[1024];
	struct strata_sbatch_input in = { .script = script, .script_name = "dir/job.sh" };

	snprintf(script, sizeof(script), "#!/bin/sh\n#SBATCH %s\ntrue\n", line);
	in.script_length = strlen(script);
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	buf_fini(&notes);
	buf_init(&notes, &memory, 0);
	json_decref(body);
	body = json_object();
	CHECK_OK(strata_sbatch_parse(&in, &arena, &job, &err));
}

static void check_body(const char *line, const char *want)
{
	read_script(line);
	CHECK_OK(job_script_add(&job, &caller, &arena, body, &notes, &err));
	json_object_del(body, "name");
	char *got = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	CHECK_TEXT(got, want);
	free(got);
}

TEST(a_script_that_asks_for_nothing_gets_the_servers_defaults)
{
	check_body("", "{}");
	CHECK_TEXT(notes.text, "");
	read_script("");
	CHECK_OK(job_script_add(&job, &caller, &arena, body, &notes, &err));
	CHECK_TEXT(json_string_value(json_object_get(body, "name")), "job.sh");
}

TEST(sizes_become_the_fields_of_the_same_meaning)
{
	check_body("-N 2 --ntasks-per-node=4 -c 8",
		   "{\"cpus_per_task\":8,\"nodes\":2,"
		   "\"slurm\":{\"ntasks-per-node\":\"4\"},\"tasks\":8}");
	check_body("-n 1", "{\"tasks\":1}");
	check_body("--gres=gpu:a100:4 -N 2",
		   "{\"gpu_type\":\"a100\",\"gpus_per_node\":4,\"nodes\":2,\"tasks\":2}");
	check_body("--gpus=8", "{\"gpus\":8}");
	check_body("--gpus=8 --gpus-per-task=2", "{\"gpus_per_task\":2,\"tasks\":4}");
	check_body("--gpus-per-node=2 --gpus=4", "{\"gpus_per_node\":2,\"nodes\":2,\"tasks\":2}");
	check_body("--gpus=4 --cpus-per-gpu=6", "{\"cpus_per_task\":24.0,\"gpus\":4,"
						"\"slurm\":{\"cpus-per-gpu\":\"6\"}}");
	check_body("--gpus=0", "{}");
	check_body("--mem=2G", "{\"memory\":2147483648}");
	check_body("--mem-per-cpu=1G -c 4", "{\"cpus_per_task\":4,\"memory_per_task\":4294967296}");
	check_body("--mem-per-gpu=1G --gpus=2", "{\"gpus\":2,\"memory_per_task\":2147483648,"
						"\"slurm\":{\"mem-per-gpu\":\"1024\"}}");
	check_body("--time=1-0", "{\"time_limit\":86400}");
	check_body("--time=0", "{\"time_limit\":\"unlimited\"}");
	check_body("-O -n 4", "{\"cpus_per_task\":0.25,\"nodes\":1,"
			      "\"slurm\":{\"overcommit\":\"1\"},\"tasks\":4}");
	check_body("--mincpus=4 -n 2", "{\"cpus_per_task\":2.0,\"nodes\":1,"
				       "\"slurm\":{\"mincpus\":\"4\"},\"tasks\":2}");
	check_body("--gpus-per-socket=2 --sockets-per-node=2",
		   "{\"gpus_per_node\":4,\"slurm\":{\"gpus-per-socket\":\"2\","
		   "\"sockets-per-node\":\"2\"}}");
	check_body("--deadline=2030-01-01T00:00:00", "{\"deadline\":\"2030-01-01T00:00:00Z\"}");
}

TEST(the_rest_becomes_fields_too)
{
	check_body(
		"-A lab -p gpu -q fast --comment=x -C nvlink -w n1 -x n2 --nice=5 --exclusive",
		"{\"account\":\"lab\",\"comment\":\"x\",\"exclusive\":true,\"features\":\"nvlink\","
		"\"nice\":5,\"node_exclude\":\"n2\",\"node_list\":\"n1\",\"partition\":\"gpu\","
		"\"qos\":\"fast\"}");
	check_body("-a 1-9%3 -d afterok:3:4 -H --no-requeue --kill-on-invalid-dep=yes",
		   "{\"array\":\"1-9%3\",\"cancel_if_never\":true,"
		   "\"dependencies\":\"afterok:3,afterok:4\",\"hold\":true,\"requeue\":false}");
	check_body("-o out-%j -e err-%j -i in --open-mode=append -D sub",
		   "{\"append\":true,\"error\":\"err-%j\",\"input\":\"in\",\"output\":\"out-%j\","
		   "\"working_dir\":\"/work/sub\"}");
	check_body("-D /abs --begin=2030-01-01T00:00:00",
		   "{\"begin\":\"2030-01-01T00:00:00Z\",\"working_dir\":\"/abs\"}");
}

TEST(export_limits_the_environment)
{
	check_body("--export=ALL", "{}");
	check_body(
		"--export=ALL,C=3,A=4",
		"{\"environment\":{\"A\":\"4\",\"B\":\"2\",\"C\":\"3\",\"HOME\":\"/home/ann\"}}");
	check_body("--export=NONE", "{\"environment\":{}}");
	check_body("--export=A,C=3,UNSET", "{\"environment\":{\"A\":\"1\",\"C\":\"3\"}}");
}

TEST(what_has_no_field_is_named)
{
	check_body("--mem=0", "{}");
	CHECK_TEXT(notes.text, "--mem=0 of the script has no effect here\n");
	check_body("-N 2-4", "{\"nodes\":2,\"slurm\":{\"nodes-max\":\"4\"},\"tasks\":2}");
	CHECK(strstr(notes.text, "MIN is taken"));
	check_body("--mail-type=END,BEGIN --mail-user=ann@lab",
		   "{\"mail\":\"ann@lab\",\"notify\":\"begin,end\"}");
	check_body("--mail-user=ann@lab --mail-type=none", "{}"); /* nothing was asked for */
	check_body("--mail-type=TIME_LIMIT --propagate=ALL", "{}");
	CHECK(strstr(notes.text, "--mail-type of"));
	CHECK(strstr(notes.text, "--propagate of"));
	check_body("--hint=nomultithread -m cyclic", "{}");
	CHECK(strstr(notes.text, "--hint of") && strstr(notes.text, "--distribution of"));
}

TEST(text_that_json_cannot_hold_is_refused)
{
	read_script("--comment=\xe9");
	CHECK_ERROR(job_script_add(&job, &caller, &arena, body, &notes, &err), -EINVAL,
		    "comment of the script is not valid UTF-8");
	read_script("--export=A=\xe9");
	CHECK_ERROR(job_script_add(&job, &caller, &arena, body, &notes, &err), -EINVAL, "export");
}

TEST(the_script_goes_along_with_its_arguments)
{
	const char *args[] = { "x y", "" }, *bad = "\xe9";

	read_script("");
	CHECK_OK(job_script_add_text("#!/bin/sh\n", 10, "a/job.sh", args, 2, body, &err));
	char *got = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	CHECK_TEXT(got, "{\"arguments\":[\"x y\",\"\"],\"script\":\"#!/bin/sh\\n\","
			"\"script_name\":\"a/job.sh\"}");
	free(got);
	read_script("");
	CHECK_OK(job_script_add_text("#!/bin/sh\n", 10, NULL, NULL, 0, body, &err));
	CHECK_INT(json_object_size(body), 1);
	CHECK_ERROR(job_script_add_text("#!\xe9", 3, NULL, NULL, 0, body, &err), -EINVAL,
		    "the script is not valid UTF-8");
	CHECK_ERROR(job_script_add_text("#!\0", 3, NULL, NULL, 0, body, &err), -EINVAL,
		    "the script has a NUL in it");
	CHECK_ERROR(job_script_add_text("#!", 2, NULL, &bad, 1, body, &err), -EINVAL,
		    "arguments of the script is not valid UTF-8");
}

static int make(struct strata_memory *own, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	struct buf said;
	json_t *made = json_object();

	(void)context;
	strata_arena_init(&scratch, own, 0);
	buf_init(&said, own, 0);
	const char *args[] = { "x" };
	int rc = made ? job_script_add(&job, &caller, &scratch, made, &said, error)
		      : strata_fail_memory(error);

	if (rc == 0)
		rc = job_script_add_text("#!/bin/sh", 9, "job.sh", args, 1, made, error);
	if (rc == 0) {
		test_result_json(made);
		test_result_text(said.text);
	}
	buf_fini(&said);
	strata_arena_fini(&scratch);
	json_decref(made);
	return rc;
}

TEST(lack_of_memory_is_survived)
{
	read_script("-a 1-9 -d afterok:3 --export=A,C=3 --gpus=2 -D sub --mem=0 --comment=x");
	test_every_allocation(make, NULL);
	json_decref(body);
	body = NULL;
	buf_fini(&notes);
	strata_arena_fini(&arena);
}
