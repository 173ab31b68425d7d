/*
 * strata sim cluster --history: the service's own jobs and nodes as trace and machine, and beside
 * what a policy would have made of them what the service did.
 */
#include "cli/sim_cluster.h"

#include "cli/job_history.h"

#include <math.h>

int sim_history_read(struct sim *sim, struct strata_swf *ret_swf)
{
	struct cli *cli = sim->cli;
	struct history_log log;
	int rc = history_read(cli, sim->conf->since, &log);

	if (rc == 0)
		rc = machine_init_nodes(&sim->machine, log.nodes, log.node_count, &cli->arena,
					&cli->err);
	if (rc)
		return rc;
	if (log.left_out)
		cli_note(cli, "left out: %zu job%s that did not run to the end", log.left_out,
			 cli_plural(log.left_out));
	*ret_swf = log.swf;
	return 0;
}

int sim_history_measure(struct sim *sim, const struct strata_swf *swf)
{
	struct cli *cli = sim->cli;
	struct sim_trial *real = strata_arena_get(&cli->arena, sizeof(*real));
	struct metrics_job *jobs =
		strata_arena_array(&cli->arena, sim->arrival_count, sizeof(*jobs));

	if (!real || !jobs)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < sim->arrival_count; i++) {
		const struct strata_swf_arrival *arrival = &sim->arrivals[i];
		const struct strata_swf_job *row = &swf->jobs[arrival->job];

		if (row->wait_s < 0) /* made up, or not known: there is no "as it was" */
			return 0;
		struct strata_job_request request = machine_request(
			&sim->machine, arrival, sim->demands ? sim->demands[i] : NULL);

		jobs[i] = (struct metrics_job){
			.submit_ns = arrival->submit_ns,
			.start_ns = arrival->submit_ns + row->wait_s * INT64_C(1000000000),
			.run_ns = arrival->run_ns,
			.requested_ns = arrival->requested_ns,
			.procs = machine_size(&sim->machine, &request),
			.user = arrival->user,
		};
	}
	*real = (struct sim_trial){ .order = "as it was",
				    .backfill = "-",
				    .prediction = "-",
				    .placement = "-",
				    .jobs = jobs,
				    .job_count = sim->arrival_count,
				    .gpu_fragmentation = NAN };
	sim->real = real;
	return metrics_measure(jobs, sim->arrival_count, sim->machine.capacity, &cli->arena,
			       &real->metrics, &cli->err);
}
