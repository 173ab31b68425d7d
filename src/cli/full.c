/* What is in the full program only: data bases, and the way to a url. serve_run.c has the service. */
#include "cli/cli.h"

#include "client/web.h"
#include "store/store.h"

const struct client_web *cli_web(void)
{
	return &client_web;
}

int backup_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct store *store;
	int rc = store_open(operands[0], true, &cli->memory, &store, &cli->err);

	(void)conf, (void)operand_count;
	if (rc < 0)
		return rc;
	rc = store_backup(store, operands[1], &cli->err);
	store_close(store);
	return rc;
}
