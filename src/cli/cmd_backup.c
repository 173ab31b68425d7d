/* strata backup: a copy of the service's state, while the service runs. */
#include "cli/cli.h"

const struct cli_command cli_backup = {
	.name = "backup",
	.operands = "[STORE] FILE",
	.summary = "copy the state of the service into a new file",
	.about = "STORE is the path of the database; that of the running server when left out. The "
		 "server may run\n"
		 "meanwhile: the copy is of one moment, checked,\n"
		 "and on the disk when the command ends. To restore, stop the server and put the "
		 "copy "
		 "in place of the\n"
		 "database, without the files NAME-wal and NAME-shm beside it; then start it once "
		 "with\n"
		 "--accept-store, since the copy is older than what was served. PostgreSQL has its "
		 "own tool: pg_dump.",
	.examples = "  strata backup /backup/strata-monday.db\n"
		    "  strata backup /var/lib/strata/strata.db /backup/strata-monday.db",
	.operands_min = 1,
	.operands_max = 2,
	.run = backup_run,
};
