/* Users and accounts, which the API describes alike: shared by users, users set, accounts and accounts set. */
#ifndef CLI_PEOPLE_H
#define CLI_PEOPLE_H

#include "cli/service.h"

/* What can be set of one. Only what was given is sent. */
struct people_conf {
	const char *account;
	double weight, gpu_hours;
	int64_t max_jobs, max_waiting, max_gpus;
};
extern const struct strata_schema people_schema;

/* The table of a collection ("users"). */
int people_show(struct cli *cli, const char *collection, const char *empty);
/* Changes one of them. */
int people_set(struct cli *cli, const struct people_conf *conf, const char *collection,
	       const char *name);

#endif
