/* strata place experience: what engines have learned. place_experience.c does it, in the full
 * program. */
#include "cli/engine_options.h"

const struct cli_command cli_place_experience = {
	.name = "place experience",
	.operands = "[FILE]",
	.summary = "show what was learned from models that ran",
	.about = "For each device and kind of operator: how much longer it takes than the cost model "
		 "says (1.50: half as long again), of\n"
		 "how many observations, and how sure that is. Then the features of the adaptive "
		 "scheduler: whether experience has enabled or\n"
		 "withdrawn them, and what plans took with and without them.\n"
		 "\n"
		 "FILE is that of `strata engine run --experience FILE`; left out, it is the user's "
		 "own: $XDG_STATE_HOME/strata/experience.json\n"
		 "or ~/.local/state/strata/experience.json. Delete it to begin anew.",
	.examples = "  strata place experience\n"
		    "  strata place experience learned.json --json",
	.operands_max = 1,
	.run = place_experience_run,
};
