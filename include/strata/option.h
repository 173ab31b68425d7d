/*
 * Options: the one description of anything that can be set. A table of struct strata_option rows says what a
 * struct's fields are called, of what type they are, their defaults, ranges, units and help; from it come the JSON,
 * the configuration file, the command-line flags, the REST fields, the OpenAPI document, --help and the man pages.
 *
 *	struct euler_conf { double s_churn; };
 *	static const struct strata_option euler_options[] = {
 *		{ "s_churn", STRATA_REAL, offsetof(struct euler_conf, s_churn), .real = { 0, 0, 1e9 },
 *		  .help = "extra noise per step (0: deterministic)" },
 *		{ 0 }
 *	};
 *
 * A schema is such a table with the size of its struct. Schemas are constant data and may be shared by any number
 * of threads. Texts, lists and maps that a reader stores live in the arena it was given.
 */
#ifndef STRATA_OPTION_H
#define STRATA_OPTION_H

#include <strata/error.h>
#include <strata/memory.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum strata_type {              /* the field it fills */
		   STRATA_BOOL, /* bool */
		   STRATA_INT,  /* int64_t */
		   STRATA_REAL, /* double, finite unless min or max is infinite */
		   STRATA_ENUM, /* int: the value of the choice */
		   STRATA_TEXT, /* const char *: NULL when unset and without a default; printable, but for STRATA_OPAQUE */
		   STRATA_BYTES, /* int64_t: "2GiB" */
		   STRATA_RATE,  /* int64_t bytes per second: "1.5GB/s" */
		   STRATA_DURATION, /* int64_t ns: "2h30m", "10:00"; a bare number is in the row's unit (s when it has none) */
		   STRATA_TIME,  /* int64_t ns since 1970: ISO 8601; 0 when unset */
		   STRATA_LIST,  /* struct strata_list */
		   STRATA_MAP,   /* struct strata_map: text keys */
		   STRATA_TABLE, /* the nested schema's struct, in place */
};

enum {
	STRATA_REQUIRED = 1 << 0,  /* a whole document without it is refused */
	STRATA_UNLIMITED = 1 << 1, /* DURATION: "unlimited" is a value (INT64_MAX) */
	STRATA_SECRET = 1 << 2,    /* never printed: written as "***" */
	STRATA_HIDDEN = 1 << 3,    /* works, but is not in help and completion */
	STRATA_OPAQUE =
		1
		<< 4, /* TEXT: also line breaks and other characters that cannot be seen; who shows it escapes it */
};

struct strata_choice {
	const char *name; /* NULL ends the array */
	int value;
	const char *help; /* may be NULL */
};

struct strata_list {
	void *items; /* count values of the item row's type, one after the other */
	size_t count;
};

struct strata_map {
	const char **keys; /* as they were given, in order */
	void *items;       /* as in a list */
	size_t count;
};

struct strata_option {
	const char *name; /* snake_case; NULL ends the table. Flags are spelled with '-' */
	enum strata_type type;
	size_t offset; /* of the field in the struct */
	union {        /* default, then range. All zero: default 0 and the type's whole range */
		bool boolean;
		struct {
			int64_t def, min, max; /* INT, BYTES, RATE, DURATION (ns), TIME (ns) */
		} integer;
		struct {
			double def, min, max;
		} real;
		struct {
			const struct strata_choice *choices;
			int def;
		} choice; /* ENUM */
		struct {
			const char *def;
			size_t length_max; /* bytes; 0: STRATA_TEXT_BYTES_MAX */
		} text;
		struct {
			const struct strata_option *item; /* its name and offset are not used */
			size_t count_max;                 /* 0: STRATA_LIST_COUNT_MAX */
			const char *def;           /* as text: "a,b", "k=v,k=v"; NULL: empty */
		} list;                            /* LIST and MAP */
		const struct strata_schema *table; /* TABLE */
	};
	const char *help;    /* one line, lower case, no full stop */
	const char *unit;    /* "s", "GPU" …; shown, and what a bare duration number means */
	const char *aliases; /* other names, "a, b"; accepted everywhere, shown nowhere */
	const char *value;   /* what help calls the value: "FILE"; NULL: by type */
	char letter;         /* -n as well as --name; 0: none */
	unsigned flags;
};

struct strata_schema {
	const char *name;    /* "job": names the component in OpenAPI and the thing in messages */
	const char *summary; /* one line; may be NULL */
	size_t conf_size;    /* of the struct */
	const struct strata_option *options;
};

/* Fills conf (conf_size bytes, any content) with the defaults. Fails only for lack of memory. */
int strata_schema_defaults(const struct strata_schema *schema, struct strata_arena *arena,
			   void *conf, struct strata_error *err);

/* Reads a JSON object over what conf holds. Unknown or repeated keys, wrong types and values out of range are
 * errors that name the field; null means the default. conf is untouched on failure. */
int strata_schema_read_json(const struct strata_schema *schema, const char *json, size_t length,
			    struct strata_arena *arena, void *conf, struct strata_error *err);

/* Reads key=value:key=value over what conf holds. ' and \ quote; a bare key of type bool means true. */
int strata_schema_read_text(const struct strata_schema *schema, const char *text, size_t length,
			    struct strata_arena *arena, void *conf, struct strata_error *err);

/* conf as one line of JSON, in table order; NULL and an error for lack of memory. Lives in the arena. */
int strata_schema_write_json(const struct strata_schema *schema, const void *conf,
			     struct strata_arena *arena, const char **ret_json,
			     struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
