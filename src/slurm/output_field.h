/*
 * Functions that write one field of a row, most of which are one line. Who includes this says with FIELD_ROW what a row is: a declaration from `row`, such as
 * `const struct slurm_job *job = row`.
 */
#ifndef SLURM_OUTPUT_FIELD_H
#define SLURM_OUTPUT_FIELD_H

#include "core/buf.h"

#include <inttypes.h>

#define TEXT_FIELD(name, value)                            \
	static void name(struct buf *buf, const void *row) \
	{                                                  \
		FIELD_ROW;                                 \
		const char *text = (value);                \
		buf_add(buf, text ? text : "(null)");      \
	}
#define NUMBER_FIELD(name, value)                              \
	static void name(struct buf *buf, const void *row)     \
	{                                                      \
		FIELD_ROW;                                     \
		buf_printf(buf, "%" PRId64, (int64_t)(value)); \
	}
#define CONSTANT_FIELD(name, text)                         \
	static void name(struct buf *buf, const void *row) \
	{                                                  \
		(void)row;                                 \
		buf_add(buf, text);                        \
	}

#endif
