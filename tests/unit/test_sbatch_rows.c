#include "test.h"

#include "slurm/sbatch_int.h"

#include <string.h>

TEST(rows_are_sorted_and_complete)
{
	const struct strata_slurm_option *before = NULL, *option;
	size_t count = 0;

	for (; (option = strata_slurm_option_at(count)); count++) {
		CHECK(option->name && option->name[0] && option->help && option->commands);
		CHECK(!option->env || strncmp(option->env, "SBATCH_", 7) == 0);
		CHECK(!option->env || (option->commands & STRATA_SLURM_SBATCH));
		if (option->effect == STRATA_SLURM_ACTS) /* else its value is only looked at */
			CHECK(sbatch_rows[count].read &&
			      sbatch_rows[count].read != sbatch_check_count &&
			      sbatch_rows[count].read != sbatch_check_wait_all);
		if (before)
			CHECK(strcmp(before->name, option->name) < 0 ||
			      (strcmp(before->name, option->name) == 0 &&
			       !(before->commands & option->commands)));
		before = option;
	}
	CHECK_INT(count, sbatch_row_count);
}

TEST(no_command_has_a_letter_or_variable_twice)
{
	for (size_t i = 0; i < sbatch_row_count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct strata_slurm_option *a = &sbatch_rows[i].option;
			const struct strata_slurm_option *b = &sbatch_rows[k].option;

			if (a->letter && (a->commands & b->commands))
				CHECK(a->letter != b->letter);
			if (a->env && b->env)
				CHECK(strcmp(a->env, b->env) != 0);
		}
}

/* The options of the 517 public scripts that were counted, and those that users ask for. */
TEST(the_options_people_use_are_there)
{
	static const char *const used[] = {
		"nodes",
		"job-name",
		"time",
		"output",
		"partition",
		"cpus-per-task",
		"gres",
		"ntasks-per-node",
		"error",
		"mem",
		"exclusive",
		"account",
		"ntasks",
		"gpus-per-node",
		"mail-type",
		"qos",
		"mail-user",
		"gpus-per-task",
		"constraint",
		"wait-all-nodes",
		"dependency",
		"array",
		"open-mode",
		"mem-per-cpu",
		"hint",
		"overcommit",
		"chdir",
		"exclude",
		"reservation",
		"ntasks-per-core",
		"gpus",
		"mem-per-gpu",
		"tmp",
		"requeue",
		"signal",
		"cpus-per-gpu",
		"tasks-per-node",
		"oversubscribe",
		"nodelist",
		"distribution",
		"ntasks-per-gpu",
		"comment",
		"export",
		"gres-flags",
		"begin",
		"hold",
		"wait",
		"parsable",
		"test-only",
		"no-requeue",
		"gpus-per-socket",
		"kill-on-invalid-dep",
		"nice",
		"priority",
		"deadline",
		"licenses",
		"switches",
		"time-min",
		"no-kill",
		"spread-job",
		"use-min-nodes",
		"wrap",
		"get-user-env",
	};

	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		bool found = false;

		for (size_t k = 0; k < sbatch_row_count; k++)
			found |= strcmp(sbatch_rows[k].option.name, used[i]) == 0 &&
				 (sbatch_rows[k].option.commands & STRATA_SLURM_SBATCH);
		if (!found)
			test_fail(__FILE__, __LINE__, "--%s is missing", used[i]);
	}
}
