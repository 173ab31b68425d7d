#include "test.h"

#include "exec/environment.h"

#include <strata/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static const struct environment_node two_nodes[] = {
	{ "n001", 2, 8, 0x000c, 0 },
	{ "n002", 2, 8, 0x0003, 0 },
};

static struct environment train(void)
{
	return (struct environment){
		.job = 52,
		.attempt = 1,
		.name = "train",
		.user = "ann",
		.account = "lab",
		.partition = "gpu",
		.qos = "normal",
		.cluster = "base",
		.submit_dir = "/home/ann",
		.submit_host = "vm",
		.uid = 1000,
		.gid = 100,
		.nodes = two_nodes,
		.node_count = 2,
		.node_list = "n[001-002]",
		.tasks = 4,
		.tasks_per_node = 2,
		.cpus_per_task = 4,
		.memory_per_node_bytes = INT64_C(16) << 30,
		.job_file = "/state/jobs/52.1",
		.socket = "/run/strata.sock",
	};
}

static const char *const *make(const struct environment *from)
{
	const char *const *all;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(environment_make(from, &arena, &all, &err));
	return all;
}

/* Every "NAME=value" of the text, line by line, is there; a line "NAME" says that it is not. */
static void check_lines(const char *const *all, const char *lines)
{
	while (*lines) {
		size_t length = strcspn(lines, "\n"), name = strcspn(lines, "=\n");
		char key[100], want[200];

		snprintf(key, sizeof(key), "%.*s", (int)name, lines);
		snprintf(want, sizeof(want), "%.*s", (int)(length - name), lines + name);
		const char *got = environment_find(all, key);

		if (want[0] ? !got || strcmp(got, want + 1) != 0 : got != NULL)
			test_fail(__FILE__, __LINE__, "%s is %s, expected %s", key,
				  got ? got : "not set", want);
		lines += length + (lines[length] != '\0');
	}
}

TEST(a_batch_script_sees_what_slurm_would_show)
{
	struct environment from = train();

	check_lines(make(&from),
		    "SLURMD_NODENAME=n001\nSLURM_CLUSTER_NAME=base\nSLURM_CPUS_ON_NODE=8\n"
		    "SLURM_CPUS_PER_TASK=4\nSLURM_GPUS_ON_NODE=2\nSLURM_GTIDS=0\n"
		    "SLURM_JOBID=52\nSLURM_JOB_ACCOUNT=lab\nSLURM_JOB_CPUS_PER_NODE=8(x2)\n"
		    "SLURM_JOB_GID=100\nSLURM_JOB_ID=52\nSLURM_JOB_NAME=train\n"
		    "SLURM_JOB_NODELIST=n[001-002]\nSLURM_JOB_NUM_NODES=2\n"
		    "SLURM_JOB_PARTITION=gpu\nSLURM_JOB_QOS=normal\nSLURM_JOB_UID=1000\n"
		    "SLURM_JOB_USER=ann\nSLURM_LOCALID=0\nSLURM_MEM_PER_NODE=16384\n"
		    "SLURM_NNODES=2\nSLURM_NODEID=0\nSLURM_NODELIST=n[001-002]\n"
		    "SLURM_NPROCS=4\nSLURM_NTASKS=4\nSLURM_NTASKS_PER_NODE=2\n"
		    "SLURM_PROCID=0\nSLURM_SUBMIT_DIR=/home/ann\nSLURM_SUBMIT_HOST=vm\n"
		    "SLURM_TASKS_PER_NODE=2(x2)\nSLURM_TOPOLOGY_ADDR=n001\n"
		    "SLURM_JOB_GPUS=2,3\nCUDA_VISIBLE_DEVICES=2,3\n"
		    "ROCR_VISIBLE_DEVICES=2,3\nHIP_VISIBLE_DEVICES=0,1\n"
		    "GPU_DEVICE_ORDINAL=2,3\nZE_AFFINITY_MASK=2,3\n"
		    "SLURM_RESTART_COUNT\nSLURM_ARRAY_JOB_ID\nSTRATA_CHECKPOINT\n"
		    "STRATA_JOB_ID=52\nSTRATA_ATTEMPT=1\nSTRATA_SOCKET=/run/strata.sock\n"
		    "STRATA_JOB_FILE=/state/jobs/52.1\nUSER=ann\nLOGNAME=ann");
	strata_arena_fini(&arena);
}

/* sbatch sends these with the user's own. */
TEST(what_was_asked_for_is_told_by_who_asked)
{
	static const char *const user[] = { "SLURM_SUBMIT_DIR=/elsewhere",
					    "SLURM_GPUS_PER_TASK=a100:1", "SLURM_JOB_ID=3",
					    "SLURM_NTASKS=99", NULL };
	struct environment from = train();

	from.user_environment = user;
	from.gpus_per_task = 1;
	from.tasks = from.cpus_per_task = from.tasks_per_node = 0;
	check_lines(make(&from), "SLURM_SUBMIT_DIR=/elsewhere\nSLURM_GPUS_PER_TASK=a100:1\n"
				 "SLURM_JOB_ID=52\nSLURM_NTASKS\nSLURM_NPROCS\n"
				 "SLURM_CPUS_PER_TASK\nSLURM_NTASKS_PER_NODE\n"
				 "SLURM_TASKS_PER_NODE=2(x2)");
	strata_arena_fini(&arena);
}

TEST(arrays_restarts_and_checkpoints_have_their_variables)
{
	struct environment from = train();

	from.array_job = 53;
	from.array_task = 0;
	from.array_count = 3;
	from.array_min = 0;
	from.array_max = 5;
	from.array_step = 1;
	from.restart_count = 2;
	from.checkpoint_dir = "/ck/52";
	from.checkpoint = "/ck/52/step9";
	from.token_file = "/state/jobs/52.1/token";
	from.gpus = 4;
	from.gpus_per_node = "a100:2";
	from.start_ns = 1000 * STRATA_SECOND_NS;
	from.time_limit_ns = 60 * STRATA_SECOND_NS;
	check_lines(make(&from),
		    "SLURM_ARRAY_JOB_ID=53\nSLURM_ARRAY_TASK_ID=0\nSLURM_ARRAY_TASK_COUNT=3\n"
		    "SLURM_ARRAY_TASK_MIN=0\nSLURM_ARRAY_TASK_MAX=5\nSLURM_ARRAY_TASK_STEP=1\n"
		    "STRATA_ARRAY_JOB_ID=53\nSTRATA_ARRAY_TASK_ID=0\nSTRATA_ARRAY_TASK_STEP=1\n"
		    "SLURM_RESTART_COUNT=2\nSTRATA_CHECKPOINT_DIR=/ck/52\nSTRATA_CHECKPOINT=/ck/52/"
		    "step9\n"
		    "STRATA_TOKEN_FILE=/state/jobs/52.1/"
		    "token\nSLURM_GPUS=4\nSLURM_GPUS_PER_NODE=a100:2\n"
		    "SLURM_JOB_START_TIME=1000\nSLURM_JOB_END_TIME=1060");
	from.time_limit_ns = STRATA_DURATION_UNLIMITED;
	check_lines(make(&from), "SLURM_JOB_START_TIME=1000\nSLURM_JOB_END_TIME");
	strata_arena_fini(&arena);
}

TEST(a_job_without_gpus_sees_none)
{
	const struct environment_node node = { "n1", 1, 1, 0, 0 };
	struct environment from = train();

	from.nodes = &node;
	from.node_count = 1;
	check_lines(make(&from),
		    "CUDA_VISIBLE_DEVICES=\nROCR_VISIBLE_DEVICES=\nHIP_VISIBLE_DEVICES=\n"
		    "SLURM_JOB_GPUS\nSLURM_GPUS_ON_NODE\nSLURM_TASKS_PER_NODE=1\n"
		    "SLURM_JOB_CPUS_PER_NODE=1");
	strata_arena_fini(&arena);
}

TEST(unequal_nodes_are_listed_in_runs_and_gpus_are_the_machines)
{
	const struct environment_node nodes[] = { { "a", 1, 4, 0xffff, 16 },
						  { "b", 2, 4, 0, 0 },
						  { "c", 2, 2, 0, 0 } };
	struct environment from = train();

	from.nodes = nodes;
	from.node_count = 3;
	check_lines(make(&from),
		    "SLURM_TASKS_PER_NODE=1,2(x2)\nSLURM_JOB_CPUS_PER_NODE=4(x2),2\n"
		    "CUDA_VISIBLE_DEVICES=16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
		    "HIP_VISIBLE_DEVICES=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15");
	strata_arena_fini(&arena);
}

TEST(the_users_variables_come_first_and_ours_win)
{
	const char *const mine[] = { "PATH=/mine",
				     "LD_PRELOAD=x.so",
				     "SLURM_JOB_ID=1",
				     "SLURM_ARRAY_TASK_ID=4",
				     "CUDA_VISIBLE_DEVICES=7",
				     "STRATA_CHECKPOINT=/old",
				     "USER=bob",
				     "ZE_AFFINITY_MASK=1",
				     "STRATA_CONFIG=/c",
				     "broken",
				     "SLURMD_NODENAME=x",
				     NULL };
	struct environment from = train();

	from.user_environment = mine;
	const char *const *all = make(&from);

	check_lines(all, "PATH=/mine\nLD_PRELOAD=x.so\nSLURM_JOB_ID=52\nSLURM_ARRAY_TASK_ID\n"
			 "CUDA_VISIBLE_DEVICES=2,3\nSTRATA_CHECKPOINT\nUSER=ann\nSTRATA_CONFIG=/c\n"
			 "broken\nSLURMD_NODENAME=n001");
	CHECK_TEXT(all[0], "PATH=/mine");
	CHECK_TEXT(all[1], "LD_PRELOAD=x.so");
	for (size_t i = 0; all[i]; i++) /* each once */
		for (size_t k = i + 1; all[k]; k++)
			CHECK(strncmp(all[i], all[k], strcspn(all[i], "=") + 1) != 0);
	strata_arena_fini(&arena);
}

static int make_under(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct environment from = train();
	const char *const mine[] = { "A=b", NULL }, *const * all;
	struct strata_arena scratch;

	(void)context;
	from.user_environment = mine;
	strata_arena_init(&scratch, use, 0);
	int rc = environment_make(&from, &scratch, &all, why);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(make_under, NULL);
}
