/* squeue: what runs and what waits, as Slurm shows it. */
#include "cli/slurm/slurm.h"

static int run(struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = { { "version", no_argument, NULL, 'V' }, { 0 } };

	switch (slurm_option(argc, argv, "V", options)) {
	case 'V':
		return slurm_version(cli);
	default:
		return 1;
	}
}

const struct slurm_command slurm_squeue = { "squeue", "show jobs that wait and run", run };
