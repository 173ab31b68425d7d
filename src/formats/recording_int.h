/* The tables that writer and reader of records share: what the members of a struct are called, and of what type they are. */
#ifndef FORMATS_RECORDING_INT_H
#define FORMATS_RECORDING_INT_H

#include "formats/recording.h"

enum recording_type {
	RECORDING_BOOL,
	RECORDING_U16,
	RECORDING_U32,
	RECORDING_U64, /* written as the signed number of the same bits */
	RECORDING_I64,
	RECORDING_REAL,
	RECORDING_TEXT,
	RECORDING_NAME,    /* an enum, by its names */
	RECORDING_NUMBERS, /* STRATA_NODE_GPUS_MAX bytes in place */
	RECORDING_STRUCT,  /* in place, by its table */
	RECORDING_POINTER, /* to one, or NULL */
	RECORDING_LIST,    /* to several, with a count beside it */
	RECORDING_UNTIL,   /* a time; INT64_MAX: never */
	RECORDING_WORDS,   /* to several uint64_t, with a count beside it */
	RECORDING_ROW,     /* the same in place, with room for `size` of them */
};

struct recording_field {
	const char *name; /* NULL ends the table */
	enum recording_type type;
	size_t offset;
	const char *(*name_of)(int value); /* NAME … */
	int name_count;
	bool always;                         /* written also when it is 0 */
	bool wide;                           /* LIST: its count is a size_t, else a uint32_t … */
	size_t count_offset;                 /* … and is there */
	const struct recording_field *table; /* STRUCT, POINTER, LIST */
	size_t size;                         /* of the struct */
};

/* Members of struct recording_begin and struct strata_event; `event`, which every line begins with, is not among them. */
extern const struct recording_field recording_begin_fields[], recording_event_fields[];
/* The same of struct recording_pool and struct strata_pool_event. Lines of pools have names of
 * events that begin so. */
extern const struct recording_field recording_pool_fields[], recording_pool_event_fields[];
#define RECORDING_POOL "pool_"

#endif
