/* What the files of the Standard Workload Format share: the columns, and the writer for texts that
 * grow in a buf. The format itself is described in <strata/swf.h>. */
#ifndef FORMATS_SWF_H
#define FORMATS_SWF_H

#include "core/buf.h"

#include <strata/swf.h>

enum { SWF_COLUMNS = 18 };

struct swf_column {
	const char *name; /* for messages */
	size_t offset;    /* in struct strata_swf_job */
	bool real;        /* a double, else an int64_t */
};

extern const struct swf_column swf_columns[SWF_COLUMNS];

/* Appends the comments and jobs of a log. */
void swf_add(struct buf *buf, const struct strata_swf *swf);

#endif
