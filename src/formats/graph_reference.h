/*
 * Reference values of graphs: tables with tabs between the columns and names in the first line, as they stand beside sets of graphs. A row is for a
 * file and, where that makes a difference, a number of processors.
 */
#ifndef FORMATS_GRAPH_REFERENCE_H
#define FORMATS_GRAPH_REFERENCE_H

#include "formats/graph_case.h"

struct graph_reference_row {
	size_t processors;            /* 0: the table does not say */
	double value;                 /* NaN: none ("-", or no column for this form) */
	enum strata_objective metric; /* what it measures */
};

/* The rows for a file: `path` is "directory/name"; a row may give either that or the name alone. Rows of other directories (column "set")
 * are passed over. The value is of the column that the form's references are in. */
int graph_reference_find(const char *text, size_t length, enum graph_form form, const char *path,
			 struct strata_arena *arena, struct graph_reference_row **ret_rows,
			 size_t *ret_count, struct strata_error *err);

#endif
