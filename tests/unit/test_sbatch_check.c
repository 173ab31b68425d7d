#include "test.h"

#include "sbatch_text.h"

#include <errno.h>

TEST(nodes_and_tasks_follow_from_each_other)
{
	CHECK_OK(options(""));
	CHECK(job.nodes == 1 && job.nodes_max == 0 && job.tasks == 1 && job.cpus_per_task == 1);
	CHECK_OK(options("-N 3"));
	CHECK(job.nodes == 3 && job.nodes_max == 3 && job.tasks == 3 && !job.tasks_given);
	CHECK_OK(options("-N 2 --ntasks-per-node=4"));
	CHECK_INT(job.tasks, 8);
	CHECK_OK(options("--ntasks-per-node=4"));
	CHECK_INT(job.tasks, 4);
	CHECK_OK(options("-n 10 --ntasks-per-node=4"));
	CHECK(job.nodes == 3 && job.nodes_max == 0 && job.tasks == 10);
	CHECK_OK(options("-n 10 -N 2"));
	CHECK(job.nodes == 2 && job.tasks == 10);
	CHECK_OK(options("-G 8 --gpus-per-task=2"));
	CHECK_INT(job.tasks, 4);
	CHECK_OK(options("-G 8 --ntasks-per-gpu=2"));
	CHECK_INT(job.tasks, 16);
	CHECK_OK(options("-N2 --gpus-per-node=4 --ntasks-per-gpu=1"));
	CHECK_INT(job.tasks, 8);
}

TEST(more_nodes_than_tasks_are_given_back)
{
	CHECK_OK(options("-n 2 -N 3"));
	CHECK(job.nodes == 2 && job.nodes_max == 2 && job.warning_count == 1);
	CHECK_TEXT(job.warnings[0], "can't run 2 processes on 3 nodes, setting nnodes to 2");
	CHECK_OK(options("-n 3 -N 2-6"));
	CHECK(job.nodes == 2 && job.nodes_max == 3 && job.warning_count == 0);
	CHECK_OK(options("-n 2 -w n[1-4]"));
	CHECK_TEXT(job.nodelist, "n[1-2]");
	CHECK_INT(job.nodes, 2);
	CHECK_OK(options("-w n[1-4]"));
	CHECK(job.nodes == 4 && job.tasks == 4);
}

TEST(gpus_are_counted_for_the_whole_job)
{
	CHECK_OK(options("-N 2 --gres=gpu:v100:4"));
	CHECK_INT(job.gpus_per_node.count, 4);
	CHECK_TEXT(job.gpus_per_node.type, "v100");
	CHECK_TEXT(job.gres, "gpu:v100:4");
	CHECK_INT(job.gpus_total, 8);
	CHECK_OK(options("-G a100:3"));
	CHECK_INT(job.gpus_total, 3);
	CHECK_OK(options("-n 4 --gpus-per-task=2"));
	CHECK_INT(job.gpus_total, 8);
	CHECK_OK(options("--gpus=8 --gpus-per-node=4"));
	CHECK(job.nodes == 2 && job.gpus_total == 8);
	CHECK_OK(options("--gpus-per-node=8 --gres=gpu:8"));
	CHECK_INT(job.gpus_total, 8);
	CHECK_OK(options("--gres=none"));
	CHECK_INT(job.gpus_total, 0);
}

TEST(one_kind_of_memory_is_enough)
{
	static const char *const node[] = { "SBATCH_MEM_PER_NODE=5G", NULL };
	static const char *const two[] = { "SBATCH_MEM_PER_CPU=1", "SBATCH_MEM_PER_GPU=2", NULL };

	CHECK_ERROR(options("--mem=1G --mem-per-cpu=2G"), -EBADMSG,
		    "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
	CHECK_ERROR(sbatch_text("#!/bin/sh\n#SBATCH --mem=1\n", "--mem-per-gpu=2"), -EBADMSG,
		    "mutually exclusive.");
	CHECK_OK(sbatch_text_env(NULL, "--mem-per-cpu=2", node));
	CHECK_INT(job.mem_per_cpu_bytes, 2 << 20);
	CHECK_INT(job.mem_bytes, -1);
	CHECK_ERROR(sbatch_text_env(NULL, "", two), -EBADMSG,
		    "SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually");
	CHECK_OK(sbatch_text_env(NULL, "--mem=0", two));
	CHECK_INT(job.mem_bytes, 0);
	CHECK_INT(job.mem_per_cpu_bytes, -1);
}

/* Each was tried with sbatch. */
TEST(what_does_not_go_together_is_refused)
{
	static const struct {
		const char *args, *text;
	} cases[] = {
		{ "--nodes=0", "Batch job submission failed: Node count specification invalid" },
		{ "--array=5-1", "Batch job submission failed: Invalid job array specification" },
		{ "--array=0-200000", "Batch job submission failed: Invalid job array spec" },
		{ "--dependency=nonsense:1",
		  "Batch job submission failed: Job dependency problem" },
		{ "--nodelist=n[", "Batch job submission failed: Invalid node name specified" },
		{ "-w n[1-3] -N1-2", "invalid number of nodes (-N 3-2)" },
		{ "--gres=foo:1", "Invalid generic resource (gres) specification" },
		{ "--gpus=-1 --gres=gpu:4",
		  "Invalid GRES specification (with and without type identification)" },
		{ "--gpus=-1", "Invalid generic resource (gres) specification" },
		{ "--gpus=9999 --gres=gpu:4",
		  "Failed to validate job spec, --gpus is not multiple of "
		  "--gres=gpu/--gpus-per-node; Invalid generic resource (gres) specification" },
		{ "--gpus=4 --gres=gpu:8", "Failed to ensure --gpus >= --gres=gpu" },
		{ "--gpus=8 --gpus-per-node=4 -N3",
		  "required nodes (2) doesn't fall between min_nodes (3) and max_nodes (3)" },
		{ "--gpus=1 -w n[1-2]", "Failed to validate job spec, --gpus < -N" },
		{ "--gpus=8 -N16", "Failed to validate job spec, --gpus < -N" },
		{ "--gpus-per-task=2",
		  "--gpus-per-task used without either --gpus or -n/--ntasks" },
		{ "--gpus=3 --gpus-per-task=2", "--gpus not multiple of --gpus-per-task" },
		{ "--gpus=2 --gpus-per-task=1 -n4", "number of requested tasks differ from -n" },
		{ "--ntasks-per-gpu=2", "--ntasks-per-tres needs either a GRES GPU specification" },
		{ "--ntasks-per-gpu=2 --gpus-per-socket=2 -G4",
		  "--gpus-per-socket is mutually exclusive with --ntasks-per-gpu" },
		{ "--ntasks-per-gpu=2 --ntasks-per-node=2 -N1",
		  "fatal: --ntasks-per-node is mutually exclusive with --ntasks-per-gpu" },
		{ "--gpus-per-socket=2", "--gpus-per-socket option requires --sockets-per-node" },
		{ "-c2 --cpus-per-gpu=2",
		  "--cpus-per-gpu is mutually exclusive with --cpus-per-task" },
		{ "--ntasks-per-gpu=2 --gpus=4 --gpus-per-task=1",
		  "fatal: --gpus-per-task is mutually exclusive with --ntasks-per-gpu" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_ERROR(options(cases[i].args), -EBADMSG, cases[i].text);
		CHECK_INT(job.verbose, -7);
	}
	CHECK_OK(options("--gpus-per-socket=2 --sockets-per-node=2"));
}

/* Only the last array counts, and mistakes of others come first. */
TEST(what_the_controller_checks_comes_last)
{
	CHECK_OK(sbatch_text("#!/bin/sh\n#SBATCH --array=abc --gres=foo\n", "-a 1-3 --gres=gpu:1"));
	CHECK_INT(job.array.task_count, 3);
	CHECK_ERROR(sbatch_text("#!/bin/sh\n#SBATCH --array=<fill with>\n", ""), -EINVAL,
		    "Invalid directive found in batch script: with>");
}

TEST(nodes_that_do_not_exist_are_refused)
{
	const char *words[] = { "-x", "n[2-3]", "--wrap=true" };
	struct strata_sbatch_input in = { .args = words, .arg_count = 3, .nodes = "n[1-3]" };

	CHECK_OK(strata_sbatch_parse(&in, &arena, &job, &err));
	in.nodes = "n[3,1]";
	CHECK_ERROR(strata_sbatch_parse(&in, &arena, &job, &err), -EBADMSG,
		    "Batch job submission failed: Invalid node name specified");
	in.nodes = "";
	CHECK_ERROR(strata_sbatch_parse(&in, &arena, &job, &err), -EBADMSG, "Invalid node name");
}
