/* sacctmgr's own: its kinds of things, and what its two files share. */
#ifndef CLI_SLURM_SACCTMGR_H
#define CLI_SLURM_SACCTMGR_H

#include "cli/slurm/jobs.h"
#include "cli/slurm/listing.h"

struct sacctmgr {
	struct cli *cli;
	struct listing listing;
	bool associations, immediate, quiet, readonly;
	int64_t verbose;
};

/* Columns of a kind, and those that are shown when nobody chooses. */
struct sacctmgr_columns {
	const struct slurm_field *fields;
	const char *usual;
};

struct sacctmgr_kind {
	const char *name, *collection; /* "user", "users" of the API */
	const char *title, *plural;    /* "User(s)", "users", as Slurm says it */
	/* "account=lab" into the body; false: it is none, which has been said */
	bool (*read)(struct cli *cli, const char *word, json_t *body);
	struct sacctmgr_columns (*columns)(const struct sacctmgr *sacctmgr);
};

/* May it be done? Asks, unless -i says so. */
bool sacctmgr_agreed(const struct sacctmgr *sacctmgr);

/* ---- sacctmgr_show.c ---- */

struct sacctmgr_columns sacctmgr_accounts(const struct sacctmgr *sacctmgr);
struct sacctmgr_columns sacctmgr_qos(const struct sacctmgr *sacctmgr);
struct sacctmgr_columns sacctmgr_users(const struct sacctmgr *sacctmgr);
int sacctmgr_show(struct sacctmgr *sacctmgr, int count, char **words);

#endif
