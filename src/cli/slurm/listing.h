/* Lists as sacct, sstat, sacctmgr and sreport print them: titles, rules under them, columns that
 * are cut with a plus; or a delimiter between columns (-p, -P). */
#ifndef CLI_SLURM_LISTING_H
#define CLI_SLURM_LISTING_H

#include "cli/slurm/command.h"
#include "slurm/output_format.h"

struct listing {
	struct slurm_format format;
	const char *delimiter; /* NULL: columns */
	bool delimiter_last;   /* one behind the last column, too */
	bool headless;
};

/* "jobid,jobname%20": false when a name is none of the fields', which has been said. */
bool listing_read(struct cli *cli, const char *command, const struct slurm_field *fields,
		  const char *names, struct listing *listing);
/* Titles are those of the fields, or their names. */
void listing_head(struct cli *cli, const struct listing *listing);
void listing_row(struct cli *cli, const struct listing *listing, const void *row);
/* --helpformat: the names there are, four a line. */
void listing_names(struct cli *cli, const struct slurm_field *fields);

#endif
