/* strata login: a server elsewhere, from now on. login_run.c does it, in the full program. */
#include "cli/login.h"

static const struct strata_option login_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct login_conf, name), .value = "NAME",
	  .help = "what to call it here; its host when left out" },
	{ "fingerprint", STRATA_TEXT, offsetof(struct login_conf, fingerprint), .value = "TEXT",
	  .help = "of its key, as the service says at its start: sha256//…=" },
	{ "pin", STRATA_BOOL, offsetof(struct login_conf, pin),
	  .help = "believe this key alone, although an authority vouches for it" },
	{ 0 }
};
static const struct strata_schema login_schema = { "login", NULL, sizeof(struct login_conf),
						   login_options };

const struct cli_command cli_login = {
	.name = "login",
	.operands = "URL",
	.summary = "sign in to a service on another machine, for all commands from now on",
	.about = "The token is asked for, or read from standard input; it is kept in "
		 "~/.config/strata/contexts, in a\n"
		 "file that nobody else can read. Where no authority that this machine trusts "
		 "vouches for the server,\n"
		 "its key is pinned: the fingerprint is shown, to be compared with the one that "
		 "the service says at\n"
		 "its start, or given with --fingerprint. Another key is refused from then on.",
	.examples = "  strata login https://gpu.lab:8470\n"
		    "  strata login https://gpu.lab:8470 --name lab --fingerprint sha256//… <token",
	.options = &login_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = login_run,
};
