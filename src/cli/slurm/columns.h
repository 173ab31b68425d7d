/* Columns that were asked for with -o or -O, read and printed as squeue, sinfo and sprio do. */
#ifndef CLI_SLURM_COLUMNS_H
#define CLI_SLURM_COLUMNS_H

#include "cli/slurm/command.h"
#include "slurm/output_format.h"

/* By names (NULL: by letters). `what` is for messages ("job format specification"); what is not
 * known is said, and letters that are not known are left out. 0 or a negative code. */
int slurm_columns_read(struct cli *cli, const char *command, const char *what,
		       const struct slurm_field *fields, const char *letters, const char *names,
		       struct slurm_format *ret_format);
void slurm_columns_head(struct cli *cli, const struct slurm_format *format);
void slurm_columns_row(struct cli *cli, const struct slurm_format *format, const void *row);

#endif
