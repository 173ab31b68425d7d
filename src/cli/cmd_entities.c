/* strata users, accounts, qos and partitions: show them, set one, delete some. */
#include "cli/entities.h"

static int show(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return entities_show(cli);
}

static int set(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)operand_count;
	return entities_set(cli, conf, operands[0]);
}

static int delete (struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return entities_delete(cli, operands, operand_count);
}

#define FAIR_SHARE                                                                            \
	"The fair share is 1 for who has used nothing, and goes to 0 for who has used much. " \
	"GPU hours\ncount less the longer ago they were used."
#define FOR_ADMINISTRATORS \
	"What is not named stays as it is; '' takes a name away. For administrators."
#define NOT_IN_USE                                                                         \
	"Refused while jobs that have not ended, or the settings of others, name it. For " \
	"administrators."

const struct cli_command cli_users = {
	.name = "users",
	.summary = "show who uses the service, how much, and with which limits",
	.about = FAIR_SHARE,
	.examples = "  strata users\n"
		    "  strata users set ann --account physics --allowed-accounts lab --max-gpus 4",
	.run = show,
};
const struct cli_command cli_users_set = {
	.name = "users set",
	.operands = "NAME",
	.summary = "change what a user may use and have",
	.about = FOR_ADMINISTRATORS,
	.examples = "  strata users set ann --account physics --allowed-accounts lab --max-gpus 4",
	.options = &entities_user_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = set,
};
const struct cli_command cli_users_delete = {
	.name = "users delete",
	.operands = "NAME…",
	.summary = "forget what was said about users",
	.about = NOT_IN_USE,
	.examples = "  strata users delete ann",
	.operands_min = 1,
	.operands_max = -1,
	.run = delete,
};

const struct cli_command cli_accounts = {
	.name = "accounts",
	.summary = "show the accounts, their use and their limits",
	.about = FAIR_SHARE,
	.examples = "  strata accounts\n"
		    "  strata accounts set lab --weight 2 --max-gpus 4",
	.run = show,
};
const struct cli_command cli_accounts_set = {
	.name = "accounts set",
	.operands = "NAME",
	.summary = "make an account, or change its weight and limits",
	.about = FOR_ADMINISTRATORS,
	.examples = "  strata accounts set lab --weight 2 --max-gpus 4",
	.options = &entities_account_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = set,
};
const struct cli_command cli_accounts_delete = {
	.name = "accounts delete",
	.operands = "NAME…",
	.summary = "delete accounts",
	.about = NOT_IN_USE,
	.examples = "  strata accounts delete lab",
	.operands_min = 1,
	.operands_max = -1,
	.run = delete,
};

const struct cli_command cli_qos = {
	.name = "qos",
	.summary = "show the qualities of service and their limits",
	.examples = "  strata qos\n"
		    "  strata qos set urgent --priority 100 --max-gpus 8",
	.run = show,
};
const struct cli_command cli_qos_set = {
	.name = "qos set",
	.operands = "NAME",
	.summary = "make a quality of service, or change its priority and limits",
	.about = FOR_ADMINISTRATORS,
	.examples = "  strata qos set urgent --priority 100 --max-gpus 8",
	.options = &entities_qos_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = set,
};
const struct cli_command cli_qos_delete = {
	.name = "qos delete",
	.operands = "NAME…",
	.summary = "delete qualities of service",
	.about = NOT_IN_USE,
	.examples = "  strata qos delete urgent",
	.operands_min = 1,
	.operands_max = -1,
	.run = delete,
};

const struct cli_command cli_partitions = {
	.name = "partitions",
	.summary = "show the partitions, their state and their time limits",
	.examples = "  strata partitions\n"
		    "  strata partitions set short --default --time-limit 10m --time-limit-max 1h",
	.run = show,
};
const struct cli_command cli_partitions_set = {
	.name = "partitions set",
	.operands = "NAME",
	.summary = "make a partition, or change who may use it, its state and time limits",
	.about = FOR_ADMINISTRATORS,
	.examples = "  strata partitions set short --default --time-limit 10m --time-limit-max 1h",
	.options = &entities_partition_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = set,
};
const struct cli_command cli_partitions_delete = {
	.name = "partitions delete",
	.operands = "NAME…",
	.summary = "delete partitions",
	.about = NOT_IN_USE,
	.examples = "  strata partitions delete short",
	.operands_min = 1,
	.operands_max = -1,
	.run = delete,
};
