/* What is in the full program only: data bases, the way to a url, what the machine is, the engine's
 * kinds. serve_run.c has the service. */
#include "cli/cli.h"

#include "client/web.h"
#include <strata/machine.h>
#include <strata/pipeline.h>
#include "store/store.h"

#include <errno.h>

const struct client_web *cli_web(void)
{
	return &client_web;
}

bool cli_has_engine(void)
{
	return true;
}

const struct strata_kind *cli_engine_kind_at(size_t index)
{
	static const struct strata_kind *const kinds[] = { &strata_backend_kind,
							   &strata_pipeline_kind };

	return index < sizeof(kinds) / sizeof(kinds[0]) ? kinds[index] : NULL;
}

int backup_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct server_conf serve = cli->config.serve;
	struct store *store;

	(void)conf;
	if (operand_count == 1 && !serve_conf_ask(cli, &serve))
		return strata_fail(&cli->err, -ENOENT,
				   "no server tells where its database is, which it does to "
				   "operators; name it: `strata backup STORE FILE`");
	int rc = store_open(operand_count == 1 ? serve.store : operands[0], true, &cli->memory,
			    &store, &cli->err);

	if (rc < 0)
		return rc;
	rc = store_backup(store, operands[operand_count - 1], &cli->err);
	store_close(store);
	return rc;
}

int cli_devices(struct cli *cli, struct strata_machine *ret_machine, struct strata_error *ret_note,
		size_t *ret_guessed)
{
	return strata_machine_detect(&cli->arena, ret_machine, ret_note, ret_guessed, &cli->err);
}

int cli_calibrate(struct cli *cli, const struct strata_measure_conf *conf,
		  struct strata_measured *ret_result)
{
	return strata_machine_measure(conf, &cli->memory, ret_result, &cli->err);
}
