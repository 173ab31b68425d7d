/*
 * -o and -O: which columns, how wide, what stands between them. A field is a row of a command's table; a format picks from it.
 */
#ifndef CLI_SLURM_FORMAT_H
#define CLI_SLURM_FORMAT_H

#include "cli/slurm/slurm.h"

struct slurm_field {
	char letter;      /* of -o; 0: none */
	const char *name; /* of -O, lower case; NULL: none */
	const char *title;
	void (*write)(struct buf *buf, const void *row);
	bool whole; /* is not cut at the column's width */
};

struct slurm_column {
	const struct slurm_field *field;
	const char *before; /* what stands in front of it */
	int width;          /* 0: as wide as it comes */
	bool right;
	bool fitted; /* width is that of the widest cell, at least 9: "%#P" */
};

struct slurm_format {
	struct slurm_column *columns; /* in the arena */
	size_t count;
	const char *after; /* behind the last */
};

/* "%.18i %j": fields is a table that ends in a row without a function. `what` is for the message ("job format specification"). Letters
 * that are not known are named on stderr and left out. */
int slurm_format_read(struct cli *cli, const char *command, const char *what,
		      const struct slurm_field *fields, const char *text,
		      struct slurm_format *ret_format);
/* "jobid:10,name:.8": 20 wide where nothing is said. -EINVAL for a name that is not known, which is said. */
int slurm_format_read_names(struct cli *cli, const char *command, const char *what,
			    const struct slurm_field *fields, const char *text,
			    struct slurm_format *ret_format);
/* Makes room in columns that are to fit. */
void slurm_format_fit(struct cli *cli, struct slurm_format *format, const void *row);
void slurm_format_head(struct cli *cli, const struct slurm_format *format);
void slurm_format_row(struct cli *cli, const struct slurm_format *format, const void *row);
/* Writes one field's text; NULL: there is no such letter. */
const struct slurm_field *slurm_field_find(const struct slurm_field *fields, char letter);

#endif
