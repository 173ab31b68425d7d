/* strata doctor: looks at everything. doctor_run.c does it, in the full program. */
#include "cli/cli.h"

const struct cli_command cli_doctor = {
	.name = "doctor",
	.summary = "check configuration, server, store, clock, devices and permissions",
	.about = "Looks and changes nothing; of a running service the flags count that it was\n"
		 "started with. Ends with 1 when anything is bad. Run it as the user of the "
		 "service\n"
		 "to see what it sees; of a server named by --server only what can be asked is\n"
		 "checked.",
	.examples = "  sudo strata doctor\n"
		    "  strata doctor --json | jq '.checks[] | select(.result != \"ok\")'",
	.tolerant = true,
	.serves = true,
	.run = doctor_run,
};
