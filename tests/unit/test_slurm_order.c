/* Orders as sbatch wants them. */
#include "test.h"

#include "exec/exec_slurm.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static const struct slurm_conf conf = { .bin = "/usr/bin",
					.memory_bytes = 256 << 20,
					.identity = "abc" };

static struct exec_order plain(void)
{
	return (struct exec_order){ .job = 17,
				    .attempt = 2,
				    .epoch = 5,
				    .uid = 1000,
				    .gid = 100,
				    .directory = "/home/a",
				    .program = "/bin/echo",
				    .output = "/home/a/out",
				    .name = "train",
				    .time_limit_ns = 90 * STRATA_SECOND_NS };
}

static struct slurm_order make(const struct exec_order *order, bool as_root)
{
	struct slurm_order made;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(slurm_order_make(&conf, order, as_root, &arena, &made, &err));
	CHECK(!made.words[made.word_count]);
	return made;
}

static bool has(const struct slurm_order *made, const char *word)
{
	for (size_t i = 0; i < made->word_count; i++)
		if (strcmp(made->words[i], word) == 0)
			return true;
	return false;
}

static void done(void)
{
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_every_order_has)
{
	struct exec_order order = plain();
	struct slurm_order made = make(&order, true);

	CHECK_TEXT(made.words[0], "sbatch");
	CHECK(has(&made, "--parsable") && has(&made, "--hold") && has(&made, "--no-requeue"));
	CHECK(has(&made, "--comment=strata:17.2.5:abc") && has(&made, "--job-name=train"));
	CHECK(has(&made, "--uid=1000") && has(&made, "--gid=100"));
	CHECK(has(&made, "--chdir=/home/a") && has(&made, "--output=/home/a/out"));
	CHECK(has(&made, "--input=/dev/null") && has(&made, "--open-mode=truncate"));
	CHECK(has(&made, "--time=2")); /* minutes, rounded up */
	done();
	order.time_limit_ns = STRATA_DURATION_UNLIMITED;
	order.append = true;
	order.output = "/a/50%j";
	order.partition = "gpu";
	order.warn_signal = 10;
	order.warn_ns = 60 * STRATA_SECOND_NS;
	made = make(&order, false);
	CHECK(!has(&made, "--uid=1000"));
	CHECK(has(&made, "--time=UNLIMITED") && has(&made, "--open-mode=append"));
	CHECK(has(&made, "--output=/a/50%%j") && has(&made, "--partition=gpu"));
	CHECK(has(&made, "--signal=B:10@60"));
	done();
}

static struct slurm_order make_at(const char *const *places, size_t count)
{
	struct exec_order order = plain();

	order.places = (struct strata_list){ (void *)places, count };
	return make(&order, true);
}

TEST(the_nodes_are_those_decided_on)
{
	static const char *const equal[] = {
		"name=n001:tasks=2:cpu_milli=7000:memory_bytes=1073741825:gpus=4:gpu_milli=1000:"
		"gpu_type=a100",
		"name=n002:tasks=2:cpu_milli=7000:memory_bytes=1073741825:gpus=4:gpu_milli=1000:"
		"gpu_type=a100",
	};
	static const char *const odd[] = {
		"name=n001:tasks=2:cpu_milli=2000:gpus=2:gpu_milli=1000",
		"name=n003:tasks=1:cpu_milli=1000:gpus=1:gpu_milli=1000",
	};
	struct slurm_order made = make_at(equal, 2);

	CHECK(has(&made, "--nodelist=n[001-002]") && has(&made, "--nodes=2"));
	CHECK(has(&made, "--ntasks=4") && has(&made, "--ntasks-per-node=2"));
	CHECK(has(&made, "--cpus-per-task=4") && has(&made, "--gres=gpu:a100:4"));
	CHECK(has(&made, "--mem=1025M"));
	done();
	made = make_at(odd, 2);
	CHECK(has(&made, "--nodelist=n001,n001,n003") && has(&made, "--distribution=arbitrary"));
	CHECK(has(&made, "--ntasks=3") && has(&made, "--gpus-per-task=1"));
	CHECK(has(&made, "--mem-per-cpu=256M"));
	done();
}

TEST(a_part_of_a_gpu_cannot_be_had)
{
	static const char *const places[] = { "name=n1:tasks=1:cpu_milli=1:gpus=1:gpu_milli=500" };
	struct exec_order order = plain();
	struct slurm_order made;

	order.places = (struct strata_list){ (void *)places, 1 };
	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(slurm_order_make(&conf, &order, true, &arena, &made, &err), -EINVAL);
	CHECK(strstr(err.text, "part of a GPU"));
	done();
}

TEST(a_program_becomes_a_script)
{
	static const char *const words[] = { "it's", "a b", "" };
	struct exec_order order = plain();

	order.arguments = (struct strata_list){ (void *)words, 3 };
	struct slurm_order made = make(&order, true);

	CHECK_TEXT(made.script, "#!/bin/sh\nexec '/bin/echo' 'it'\\''s' 'a b' ''\n");
	done();
}

/* Options of a script were read when it was submitted here; sbatch must not read them again. */
TEST(a_script_has_no_options_any_more)
{
	static const char script[] =
		"#!/bin/bash\n#SBATCH --array=1-9\n#PBS -l x\n# SBATCH\necho '#SBATCH'";
	struct exec_order order = plain();

	order.program = NULL;
	order.script = script;
	order.script_bytes = strlen(script);
	struct slurm_order made = make(&order, true);

	CHECK_TEXT(made.script,
		   "#!/bin/bash\n# SBATCH --array=1-9\n# PBS -l x\n# SBATCH\necho '#SBATCH'");
	done();
}

TEST(variables_of_slurm_are_left_to_it)
{
	static const char *const list[] = { "A=1",
					    "SLURM_JOB_ID=17",
					    "CUDA_VISIBLE_DEVICES=3",
					    "SBATCH_PARTITION=x",
					    "SLURM_ARRAY_TASK_ID=4",
					    "SLURM_RESTART_COUNT=1",
					    "SLURM_UMASK=0000",
					    "STRATA_JOB_ID=17",
					    NULL };
	static const char want[] = "A=1\0SLURM_ARRAY_TASK_ID=4\0SLURM_RESTART_COUNT=1\0"
				   "STRATA_JOB_ID=17\0SLURM_UMASK=0027";
	struct exec_order order = plain();

	order.umask = 027;

	order.environment = list;
	struct slurm_order made = make(&order, true);

	CHECK_INT(made.environment_bytes, sizeof(want));
	CHECK(memcmp(made.environment, want, sizeof(want)) == 0);
	done();
}

static int make_once(struct strata_memory *from, void *context, struct strata_error *ret_err)
{
	static const char *const places[] = { "name=n001:tasks=2:cpu_milli=7000" };
	struct exec_order order = plain();
	struct strata_arena own;
	struct slurm_order made;

	(void)context;
	order.places = (struct strata_list){ (void *)places, 1 };
	strata_arena_init(&own, from, 0);
	int rc = slurm_order_make(&conf, &order, true, &own, &made, ret_err);

	for (size_t i = 0; rc == 0 && i < made.word_count; i++)
		test_result_text(made.words[i]);
	if (rc == 0) {
		test_result(made.script, made.script_bytes);
		test_result(made.environment, made.environment_bytes);
	}
	strata_arena_fini(&own);
	return rc;
}

TEST(memory_may_run_out)
{
	test_every_allocation(make_once, NULL);
}
