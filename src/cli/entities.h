/* Users, accounts, qualities of service and partitions, which the API describes alike: what
 * their commands share. Which of them is meant is the first word of the command's name. */
#ifndef CLI_ENTITIES_H
#define CLI_ENTITIES_H

#include "cli/service.h"

/* What can be set of one. Only what was given is sent. */
struct entities_conf {
	const char *account, *parent, *qos;
	const char *mail, *notify;
	struct strata_list allowed_users, allowed_accounts, allowed_qos; /* of const char * */
	double weight, gpu_hours, priority, usage_factor;
	int64_t max_jobs, max_waiting, max_gpus;
	int64_t time_limit_ns, time_limit_ns_max;
	int state; /* enum strata_partition_state */
	bool usual, open, raise_priority;
};
extern const struct strata_schema entities_user_schema, entities_account_schema,
	entities_qos_schema, entities_partition_schema;

/* The table of all. */
int entities_show(struct cli *cli);
/* Makes or changes one of them: what was given of the command's options is sent. */
int entities_set(struct cli *cli, const struct entities_conf *conf, const char *name);
int entities_delete(struct cli *cli, char **names, size_t count);

#endif
