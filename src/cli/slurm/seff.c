/* seff: how much of what it asked for a job has used: CPU time, memory, and its time limit. */
#include "cli/slurm/jobs.h"

#include "cli/service.h"

#include <inttypes.h>
#include <string.h>

#define NAME "seff"

struct seff {
	bool debug;
};

#define FIELD(name) offsetof(struct seff, name)

/* clang-format off */
static const struct slurm_row rows[] = {
	{ { "debug", 'd', .help = "the numbers it is worked out from" }, slurm_read_flag, FIELD(debug) },
	SLURM_ROW_HELP('h'),
	SLURM_ROW_USAGE(0),
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

static void print_clock(struct cli *cli, const char *before, int64_t seconds)
{
	struct buf buf;

	buf_init(&buf, &cli->memory, 0);
	slurm_clock(&buf, seconds);
	cli_printf(cli, "%s%s", before, buf.text);
	buf_fini(&buf);
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* "1.50 GB", as people read it. */
static void print_size(struct cli *cli, const char *before, double bytes)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	size_t unit = 0;

	for (; bytes >= 1024 && unit < 5; unit++)
		bytes /= 1024;
	cli_printf(cli, "%s%.2f %s", before, bytes, units[unit]);
}

static void print_use(struct cli *cli, const struct slurm_job *job)
{
	int64_t used_ms = grid_int(job->json, "cpu_user_ms") + grid_int(job->json, "cpu_system_ms");
	int64_t peak = grid_int(job->json, "memory_peak_bytes"), could_s = job->run_s * job->cpus;

	print_clock(cli, "CPU Utilized: ", used_ms / 1000);
	cli_printf(cli, "\nCPU Efficiency: %.2f%% of ",
		   percent((double)used_ms / 1000, (double)could_s));
	print_clock(cli, "", could_s);
	cli_print(cli, " core-walltime\n");
	print_clock(cli, "Job Wall-clock time: ", job->run_s);
	cli_printf(cli, " (%.2f%% of the limit)\n",
		   percent((double)job->run_s, (double)job->limit_s));
	print_size(cli, "Memory Utilized: ", (double)peak);
	cli_printf(cli, "\nMemory Efficiency: %.2f%% of",
		   percent((double)peak, (double)job->memory_bytes));
	print_size(cli, " ", (double)job->memory_bytes);
	cli_print(cli, "\n");
	if (job->gpus)
		cli_printf(cli, "GPUs: %" PRId64 "\n", job->gpus);
}

static void print_job(struct cli *cli, const struct seff *seff, const struct slurm_job *job)
{
	cli_printf(cli, "Job ID: %" PRId64 "\n", job->id);
	if (job->array_id)
		cli_printf(cli, "Array Job ID: %s\n", job->id_text);
	cli_printf(cli, "Cluster: strata\nUser/Group: %s/%" PRId64 "\n", job->user, job->gid);
	cli_printf(cli, "State: %s (exit code %" PRId64 ")\n", job->state->name, job->exit_code);
	if (job->nodes > 1)
		cli_printf(cli, "Nodes: %" PRId64 "\nCores per node: %" PRId64 "\n", job->nodes,
			   job->cpus / job->nodes);
	else
		cli_printf(cli, "Cores: %" PRId64 "\n", job->cpus);
	if (seff->debug)
		cli_printf(cli,
			   "# user %" PRId64 " ms, system %" PRId64 " ms, peak %" PRId64
			   " bytes, asked %" PRId64 " bytes, ran %" PRId64 " s\n",
			   grid_int(job->json, "cpu_user_ms"), grid_int(job->json, "cpu_system_ms"),
			   grid_int(job->json, "memory_peak_bytes"), job->memory_bytes, job->run_s);
	if (job->pending) {
		cli_print(cli, "Efficiency not available for jobs in the PENDING state.\n");
		return;
	}
	print_use(cli, job);
	if (!job->ended)
		cli_print(cli,
			  "WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n");
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct seff seff = { 0 };
	struct slurm_reading reading;
	struct slurm_jobs jobs;
	int code = slurm_options(cli, &slurm_seff, argc, argv, &seff, &reading);

	if (code >= 0)
		return code;
	if (reading.operand_count == 0) {
		slurm_help(cli, &slurm_seff);
		return 1;
	}
	for (size_t i = 0; i < reading.operand_count; i++) {
		if (slurm_jobs_named(cli, reading.operands[i], &jobs))
			return slurm_unreachable(cli, "slurm_load_jobs");
		size_t shown = 0;

		for (size_t k = 0; k < jobs.count; k++)
			if (slurm_job_named(&jobs.list[k], reading.operands[i])) {
				print_job(cli, &seff, &jobs.list[k]);
				shown++;
			}
		slurm_jobs_fini(&jobs);
		if (!shown) {
			slurm_say(cli, "Job not found.");
			code = 1;
		}
	}
	return code < 0 ? 0 : code;
}

const struct slurm_command slurm_seff = { .name = NAME,
					  .summary =
						  "show how much of what it asked for a job used",
					  .operands = "JOB…",
					  .syntax = &syntax,
					  .run = run };
