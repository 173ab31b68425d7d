/*
 * What the readers and writers of options share: finding a row, its size, its default, its value from text and
 * as text. Readers: option_json.c, option_ini.c, option_args.c, option_text.c. Writers: option_json.c,
 * option_openapi.c, option_help.c.
 */
#ifndef CORE_OPTION_H
#define CORE_OPTION_H

#include <strata/option.h>

#include "core/buf.h"

#include <jansson.h>

/* Bytes of the field a row fills. */
size_t option_size(const struct strata_option *option);

/* The row with that name or alias ('-' and '_' are the same), or NULL. */
const struct strata_option *option_find(const struct strata_schema *schema, const char *name,
					size_t length);

/* -EINVAL "unknown option …; did you mean …?" with the name as field. */
int option_unknown(const struct strata_schema *schema, const char *name, size_t length,
		   struct strata_error *err);

/* What a bare number of a duration means; 1 s when the row has no unit. */
int64_t option_unit_ns(const struct strata_option *option);

int option_default(const struct strata_option *option, struct strata_arena *arena, void *slot,
		   struct strata_error *err);

/* Is the value in the slot in its range? The error has the option's name as field. */
int option_check(const struct strata_option *option, const void *slot, struct strata_error *err);

/* Was every required row of the table seen? `seen` has one entry per row; NULL: none was. */
int option_check_required(const struct strata_schema *schema, const bool *seen,
			  struct strata_error *err);

/* Reads a value of any type from text and checks it. Lists are "a,b", maps "k=v,k=v", tables "k=v:k=v", with
 * ' and \ to quote. */
int option_parse(const struct strata_option *option, const char *text, size_t length,
		 struct strata_arena *arena, void *slot, struct strata_error *err);

/* The value as text that option_parse reads back to the same value. */
void option_print(const struct strata_option *option, const void *slot, struct buf *buf);

/* The text as one piece for option_split: quoted when it has anything in it that would end the piece. */
void option_print_piece(const char *piece, struct buf *buf);

/* Is the key of a map printable? Keys of opaque values need not be. */
int option_check_key(const struct strata_option *option, const char *key, struct strata_error *err);

/* Appends one item to the list (or key and item to the map) in the slot; the old array stays in the arena. */
int option_append(const struct strata_option *option, const char *key, const void *item,
		  struct strata_arena *arena, void *slot, struct strata_error *err);

/* "1 to 1000", "at least 0", "one of a, b or c", "at most 64 bytes"; "" when the type says it all. */
void option_print_range(const struct strata_option *option, struct buf *buf);

/* What help calls a value: "N", "TIME", "SIZE", "a|b|c" … */
void option_print_value_name(const struct strata_option *option, struct buf *buf);

/* The name of a type in messages: "a whole number", "a duration such as 2h30m or 10:00" … */
const char *option_type_words(const struct strata_option *option);

/* One piece of quoted text up to an unquoted character of `stops` or the end. `at` moves behind the stop;
 * ret_stop is the stop, or 0 at the end. The piece lives in the arena. */
int option_split(const char **at, const char *end, const char *stops, struct strata_arena *arena,
		 char **ret_piece, char *ret_stop, struct strata_error *err);

/* option_json.c */
enum {
	OPTION_PARTIAL = 1, /* missing required keys are fine: a PATCH, or one layer of several */
	OPTION_STORED =
		2, /* texts need not be printable: an earlier version may have taken them in */
};
int option_read_json(const struct strata_schema *schema, const json_t *object, unsigned flags,
		     struct strata_arena *arena, void *conf, struct strata_error *err);
/* A new reference, or NULL for lack of memory. */
json_t *option_write_json(const struct strata_schema *schema, const void *conf);
json_t *option_value_json(const struct strata_option *option, const void *slot);
/* Parses bounded text: depth, size, duplicates and what follows the value are checked. */
/* What jansson found wrong, in words for whoever wrote the text and not for whoever called jansson. */
const char *option_json_words(const json_error_t *why);
int option_load_json(const char *text, size_t length, json_t **ret_json, struct strata_error *err);

/* option_openapi.c: the JSON Schema of a table; NULL for lack of memory. */
json_t *option_openapi(const struct strata_schema *schema);

/* option_help.c */
void option_help(const struct strata_schema *schema,
		 struct buf *buf); /* the lines below "options:" */
void option_manual(const struct strata_schema *schema,
		   struct buf *buf); /* the same as scdoc source */

/*
 * Where each value came from. A path is "socket" or "inventory.url" or "node[0].gpus".
 */
struct origins {
	struct strata_arena *arena;
	struct origin *rows; /* a uthash table by path, in order of arrival */
};

struct origin;
int origins_add(struct origins *origins, const char *path, const char *from,
		struct strata_error *err);
/* NULL: nothing was said of it, so it has its default. */
const char *origins_find(const struct origins *origins, const char *path);

/* option_ini.c: a configuration file over what conf holds. [section] is a nested table, [section name] one more
 * item of a list of tables, whose first option is set to the name. `source` names the file in errors and origins;
 * origins may be NULL. */
int option_read_ini(const struct strata_schema *schema, const char *text, size_t length,
		    const char *source, struct strata_arena *arena, void *conf,
		    struct origins *origins, struct strata_error *err);

/* option_env.c: variables over what conf holds, asked for one by one: "STRATA_SOCKET" for prefix "STRATA_" and row "socket",
 * "STRATA_INVENTORY_URL" for row "url" of the nested table "inventory". Lists of tables have no variables. */
typedef const char *option_get_variable(void *context, const char *name);
int option_read_env(const struct strata_schema *schema, const char *prefix,
		    option_get_variable *get, void *context, struct strata_arena *arena, void *conf,
		    struct origins *origins, struct strata_error *err);

/* option_args.c: flags over what the confs hold. Several tables may take part (a command's own and the global one);
 * the first that knows a flag gets it. */
struct args_table {
	const struct strata_schema *schema;
	void *conf;
};
struct args {
	struct args_table tables[4]; /* the first with schema NULL ends them */
	struct origins *origins;     /* may be NULL */
	size_t stop_at_operand; /* this operand (1: the first) ends the flags, as for "submit prog args"; 0: none does */
	char **operands; /* out: what is not a flag, in the arena */
	size_t operand_count;
};
int option_read_args(struct args *args, int argc, char *const argv[], struct strata_arena *arena,
		     struct strata_error *err);

#endif
