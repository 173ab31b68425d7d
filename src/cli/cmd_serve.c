/* strata serve: the service. serve_run.c runs it, in the full program. */
#include "cli/cli.h"

#include "server/settings.h"

const struct cli_command cli_serve = {
	.name = "serve",
	.summary = "run the service: take jobs, place them, run them",
	.about = "Jobs are taken on a Unix socket, kept in the state directory and run on this "
		 "machine. "
		 "The service may be stopped,\n"
		 "killed or upgraded at any time: jobs go on, and it finds them when it comes "
		 "back.\n"
		 "\n"
		 "What the flags below say may stand in section [serve] of strata.ini as well, or "
		 "in "
		 "variables such as\n"
		 "STRATA_SERVE_STORE; flags win. SIGHUP has it read the file again; "
		 "docs/configuration.md says which\n"
		 "settings need a restart.",
	.examples =
		"  strata serve --state /var/lib/strata\n"
		"  strata serve --state ~/strata --node 'n:count=4:cpus=8:gpus=8:gpu_type=a100'",
	.options = &server_schema,
	.serves = true,
	.run = serve_run,
};
