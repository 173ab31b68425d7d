/*
 * The languages of -o and -O: which columns, how wide, what stands between them. A field is a row of a command's table; a format
 * picks from it. Pure: cells are written into a buf.
 */
#ifndef SLURM_OUTPUT_FORMAT_H
#define SLURM_OUTPUT_FORMAT_H

#include "core/buf.h"

#include <strata/error.h>
#include <strata/memory.h>

struct slurm_field {
	char letter;      /* of -o; 0: none */
	const char *name; /* of -O, in any case; NULL: none */
	const char *title;
	void (*write)(struct buf *buf, const void *row);
	bool whole;  /* is not cut at the column's width */
	bool chosen; /* somebody's own text, which may have a delimiter in it */
	int width;   /* of a list "name%20", where it says none; below 0: to the left */
};

/* A field as it was asked for. */
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
	const char *after;   /* behind the last */
	const char *unknown; /* letters that are no field and were left out; "": none */
};

/* Tables end in a row without a function. */

/* "%.18i %j". Letters that are not known are left out. */
int slurm_format_read(const struct slurm_field *fields, const char *text,
		      struct strata_arena *arena, struct slurm_format *ret_format,
		      struct strata_error *err);
/* "jobid:10,name:.8": 20 wide where nothing is said. -EINVAL for a name that is not known: "Invalid job format specification: …", of
 * which `what` is the middle. */
int slurm_format_read_names(const struct slurm_field *fields, const char *what, const char *text,
			    struct strata_arena *arena, struct slurm_format *ret_format,
			    struct strata_error *err);
/* "jobid,jobname%20,state%-12", as of sacct. -EINVAL for a name that is not known. */
int slurm_format_read_list(const struct slurm_field *fields, const char *text,
			   struct strata_arena *arena, struct slurm_format *ret_format,
			   struct strata_error *err);
/* Makes room in columns that are to fit. */
void slurm_format_fit(struct slurm_format *format, const void *row, struct strata_memory *memory);
/* A line of titles, and one of a row. */
void slurm_format_head(const struct slurm_format *format, struct buf *ret_line);
void slurm_format_row(const struct slurm_format *format, const void *row, struct buf *ret_line);
/* NULL: there is no such letter. */
const struct slurm_field *slurm_field_find(const struct slurm_field *fields, char letter);

#endif
