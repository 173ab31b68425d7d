/* Users, accounts, qualities of service and partitions, which the API describes alike: shared by the commands that show and set them. */
#ifndef CLI_PEOPLE_H
#define CLI_PEOPLE_H

#include "cli/service.h"

/* What can be set of one. Only what was given is sent. */
struct people_conf {
	const char *account, *parent;
	double weight, gpu_hours, priority, usage_factor;
	int64_t max_jobs, max_waiting, max_gpus;
	int64_t time_limit_ns, time_limit_ns_max;
	bool usual;
};
extern const struct strata_schema people_user_schema, people_account_schema, people_qos_schema,
	people_partition_schema;

/* The table of a collection ("users"). */
int people_show(struct cli *cli, const char *collection);
/* Changes one of them: what was given of the command's options is sent. */
int people_set(struct cli *cli, const struct people_conf *conf, const char *collection,
	       const char *name);

#endif
