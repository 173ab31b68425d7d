/*
 * The parts of a merge: reading a file one JSON value at a time (trace_scan.c), giving each process of each file an
 * id that no other has (trace_pids.c), and knowing in which file a flow began (trace_flows.c).
 */
#ifndef CORE_TRACE_MERGE_INT_H
#define CORE_TRACE_MERGE_INT_H

#include "core/buf.h"

#include <strata/trace.h>

enum {
	TRACE_SOURCE_BYTES = 1 << 16,
	TRACE_SOURCE_END = 256, /* what trace_source_peek returns behind the last byte */
};

/* A file being read. */
struct trace_source {
	const struct strata_trace_input *input; /* borrowed */
	uint64_t offset;                        /* of the byte that comes next */
	size_t used, length;                    /* of bytes: consumed, filled */
	bool ended;
	char *bytes; /* borrowed: TRACE_SOURCE_BYTES, the same for every file */
};

/* The next byte that is not white space, not consumed: 0 to 255, TRACE_SOURCE_END, or a negative code. */
int trace_source_peek(struct trace_source *source, struct strata_error *err);

/* Consumes the byte that was peeked. */
void trace_source_skip(struct trace_source *source);

/*
 * Consumes one JSON value and puts its text, unchecked but for strings and nesting, in `text` (emptied first). When it
 * is longer than limit_bytes only its beginning is kept and *ret_fits is false. The value's first byte was peeked.
 */
int trace_source_cut(struct trace_source *source, struct buf *text, size_t limit_bytes,
		     bool *ret_fits, struct strata_error *err);

/*
 * Consumes what stands before the next item of an array (closing is ']') or an object ('}'): the comma, or behind the
 * last item, when *ret_more becomes false, the closing byte. A comma behind the last item is forgiven, as readers of
 * traces do, and so is an array that is not closed, which the format allows.
 */
int trace_source_next_item(struct trace_source *source, char closing, bool first, bool *ret_more,
			   struct strata_error *err);

/* "FILE: byte N: …", N being where the source stands, or `offset`. */
int trace_source_fail(const struct trace_source *source, uint64_t offset, int code,
		      struct strata_error *err, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Where the value of a member is in the text of an object that is known to be valid JSON; false if the key is not
 * there in plain letters. */
bool trace_find_member(const char *text, size_t length, const char *key, size_t *ret_start,
		       size_t *ret_end);

/* Which process of which file has which id in the merged one. Ids are JSON texts: 12 or "Spans". */
struct trace_pids {
	struct strata_memory *memory; /* borrowed until _fini */
	struct trace_pid *rows;       /* owned, in the order they were met */
	size_t count, room;
	uint32_t *index; /* owned; two tables of 2 × room: row + 1 by (file, from), and by to */
	uint64_t next_number;
};

struct trace_pid {
	size_t file;
	char *from, *to; /* owned; the same text when it kept its id */
};

void trace_pids_init(struct trace_pids *pids, struct strata_memory *memory);
void trace_pids_fini(struct trace_pids *pids);

/* The row of a process, added when it is new. Valid until the next call. -E2BIG past the limit. */
int trace_pids_map(struct trace_pids *pids, size_t file, const char *from,
		   const struct trace_pid **ret_row, struct strata_error *err);

/* In which file each flow began. */
struct trace_flows {
	struct strata_memory *memory;  /* borrowed until _fini */
	struct trace_flow_begin *rows; /* owned; a hash table */
	size_t count, room;            /* room is 0 or a power of two, more than twice the count */
};

struct trace_flow_begin {
	uint64_t flow; /* 0: free */
	size_t file;
};

void trace_flows_init(struct trace_flows *flows, struct strata_memory *memory);
void trace_flows_fini(struct trace_flows *flows);

/* A file begins a flow: which one did so first. Past STRATA_TRACE_FLOW_COUNT_MAX flows are no longer remembered, and
 * the file itself is the first. Flow 0 is none. */
int trace_flows_begin(struct trace_flows *flows, uint64_t flow, size_t file, size_t *ret_first_file,
		      struct strata_error *err);

#endif
