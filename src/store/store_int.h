/*
 * Between the store and its back ends. What the tables hold and what is asked of them is written
 * once, in SQL that both databases read; a back end only opens, runs statements with typed values
 * and knows its locks. Parameters are $1, $2 … and appear for the first time in this order.
 */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include "core/buf.h"
#include "store/store.h"

enum store_type { STORE_INT, STORE_REAL, STORE_TEXT, STORE_BYTES };

/* A parameter or a cell. */
struct store_value {
	enum store_type type;
	bool null; /* texts and bytes only */
	int64_t number;
	double real;
	const void *bytes; /* a text (NUL behind it) or bytes; borrowed */
	size_t size_bytes; /* of bytes, without the NUL */
};

#define STORE_INT_OF(n) ((struct store_value){ .type = STORE_INT, .number = (n) })
struct store_value store_text_of(const char *text);

enum {
	STORE_VALUES_MAX = 48,     /* parameters or cells of a statement */
	STORE_STATEMENTS_MAX = 64, /* prepared at a time; the one unused for longest makes room */
	STORE_FIXED = 2 *
		      STORE_ROW_COUNT, /* behind those: put and delete of each table, which stay */
};

/* A statement, prepared when it is first used. */
struct store_statement {
	char *sql; /* owned */
	size_t sql_bytes;
	uint64_t hash;
	uint64_t used;   /* when, by the store's count */
	void *prepared;  /* the back end's; NULL: not yet */
	unsigned number; /* place in the cache: a name for the back end */
};

/* What is done with the cells of a row; anything but 0 ends the query and is returned. */
typedef int store_cells(void *context, const struct store_value *cells, size_t count,
			struct strata_error *err);

/* The files of a database, unopened. */
struct store_files {
	bool there;  /* the file itself is */
	bool empty;  /* it has nothing in it */
	bool sound;  /* it begins as one of its kind does */
	bool logged; /* beside it is a log with something in it */
};

struct store_class {
	struct strata_class base;
	const char *schemes;   /* "a:b:": what addresses of it begin with, each up to the colon */
	size_t size;           /* of its struct, whose first member is struct store */
	const char *types[4];  /* of columns, by enum store_type */
	const char *table_end; /* behind a table's closing bracket */
	/* behind a SELECT: nobody changes the row until this transaction ends */
	const char *share_row;
	const char *migration_lock; /* a query: one migrates at a time; NULL: begin sees to it */

	/* store.c has zeroed the struct and filled struct store. Without the scheme. After a
	 * failure nothing is held. */
	int (*open)(struct store *store, const char *address, struct strata_error *err);
	void (*close)(struct store *store);
	/* Starts a transaction that will write. Once begun, one of commit and rollback follows. */
	int (*begin)(struct store *store, struct strata_error *err);
	/* A failed commit has rolled back. -ECONNRESET from these four: the connection was lost,
	 * all may be tried again. */
	int (*commit)(struct store *store, struct strata_error *err);
	/* One statement without rows. Its failure may be reported by a later run, query or commit
	 * of the transaction. */
	int (*run)(struct store *store, struct store_statement *statement,
		   const struct store_value *values, size_t count, struct strata_error *err);
	/* One with rows, whose cells have these types. Works outside of transactions too. */
	int (*query)(struct store *store, struct store_statement *statement,
		     const struct store_value *values, size_t count, const enum store_type *types,
		     size_t cell_count, store_cells *each, void *context, struct strata_error *err);
	void (*rollback)(struct store *store);
	/* Gives back what `prepared` holds. */
	void (*forget)(struct store *store, struct store_statement *statement);
	/* Takes the leader's lock, if it is not held: -EBUSY. Callers: store_lead; store_apply,
	 * inside a transaction, in case the lock was lost with a connection. */
	int (*lock)(struct store *store, struct strata_error *err);
	/* Ends the session that holds the leader's lock, if another's does. NULL: several servers
	 * cannot share it. */
	int (*depose)(struct store *store, struct strata_error *err);
	/* makes the transaction one whose loss would not matter; NULL: none is */
	const char *light;
	/* NULL: the database has its own tool, named here. */
	int (*backup)(struct store *store, const char *path, struct strata_error *err);
	const char *backup_tool;
	/* What there is of it before it is opened, for store_mark.c; NULL: no files of ours. */
	void (*look)(const char *address, struct store_files *ret_files);
};

struct store {
	const struct store_class *cls;
	struct strata_memory *memory; /* borrowed until store_close */
	char *address;                /* as given; owned */
	size_t address_bytes;
	char *mark; /* path of the mark; NULL: none is kept; owned */
	size_t mark_bytes;
	bool marked; /* there was a mark when it was opened, which was to fit */
	bool logged; /* and a log beside the file */
	bool taken;  /* the log was taken into the file since the mark was written */
	bool read_only;
	bool leading;   /* store_lead succeeded, … */
	uint64_t epoch; /* … with this */
	bool inside;    /* a transaction is under way */
	bool asking;    /* a query is under way: its rows are being handed over */
	struct store_statement statements[STORE_STATEMENTS_MAX + STORE_FIXED];
	uint64_t uses; /* of statements so far */
};

/* The statement of this text, from the cache; it stays valid for the next STORE_STATEMENTS_MAX / 2
 * different ones. */
int store_statement(struct store *store, const char *sql, struct store_statement **ret_statement,
		    struct strata_error *err);

/* Runs a text without rows; asks one with rows. */
int store_run(struct store *store, const char *sql, const struct store_value *values, size_t count,
	      struct strata_error *err);
int store_ask(struct store *store, const char *sql, const struct store_value *values, size_t count,
	      const enum store_type *types, size_t cell_count, store_cells *each, void *context,
	      struct strata_error *err);
/* One number; 0 when there is no row. */
int store_ask_number(struct store *store, const char *sql, int64_t *ret_number,
		     struct strata_error *err);

/* -EEXIST or -ENOENT from what a database says about a constraint that a change broke. */
int store_fail_constraint(struct strata_error *err, int code, const char *words);

/* A transaction that writes: begin, epoch (NULL: of nobody), body, commit; all of it once more
 * when the connection broke. So the body may run twice. */
typedef int store_body(struct store *store, void *context, struct strata_error *err);
int store_transact(struct store *store, const uint64_t *epoch, store_body *body, void *context,
		   struct strata_error *err);

#define STORE_ASK_EPOCH "SELECT number FROM meta WHERE name = 'epoch'"

/* For callers of store_transact who know before that it cannot be. */
int store_fail_read_only(struct strata_error *err);

/* ---- the mark (store_mark.c) ---- */

/* Does what there is fit the mark? First by its files, then by what is in it; before anything is
 * changed. */
int store_mark_look(struct store *store, const char *rest, struct strata_error *err);
int store_mark_compare(struct store *store, struct strata_error *err);
/* Within the transaction in which a leader begins: the numbers that the mark will have. */
int store_mark_raise(struct store *store, struct strata_error *err);
/* Writes it, once that is durable. */
int store_mark_write(struct store *store, struct strata_error *err);
/* Both, in a transaction of its own: when the leader ends, and when the log was taken in. */
void store_mark_renew(struct store *store);

/* ---- tables (store_rows.c) ---- */

struct store_column {
	const char *name;
	size_t offset; /* of the field; of bytes, its length lies behind the pointer */
	enum store_type type;
	bool required; /* a text that must not be NULL; a number that must be > 0 */
};

struct store_table {
	const char *name;
	size_t row_bytes;
	const struct store_column *columns; /* the key's first */
	size_t column_count, key_count;
	const char *job;  /* column with the job it belongs to; NULL: none */
	const char *live; /* condition for .live; NULL: all are */
	bool kept;        /* only store_forget removes rows */
	bool immutable;   /* a second put of a key changes nothing */
};

const struct store_table *store_table(enum store_row kind);

/* "a, b, c": the first `count` columns. */
void store_add_columns(struct buf *buf, const struct store_table *table, size_t count);
/* Are the first `count` columns of a row sound? -EINVAL or -E2BIG with the field. */
int store_check(const struct store_table *table, const void *row, size_t count,
		struct strata_error *err);
/* Their values; texts and bytes stay the row's. */
void store_values(const struct store_table *table, const void *row, size_t count,
		  struct store_value *ret_values);
/* The other way: texts and bytes stay borrowed from the cells. */
void store_fill(const struct store_table *table, const struct store_value *cells, void *ret_row);
/* INSERT … ON CONFLICT and DELETE of a table. */
int store_put_sql(struct buf *buf, const struct store_table *table, struct strata_error *err);
int store_delete_sql(struct buf *buf, const struct store_table *table, struct strata_error *err);

/* ---- migrations (migrations.c) ---- */

/* SQL statements, each of which is run by itself, ended by NULL. "@int @real @text @bytes @end"
 * stand for the back end's types and table end. */
struct store_migration {
	const char *const *steps;
};

/* All of them, in order; the version of a database is how many were applied. */
extern const struct store_migration store_migrations[];
extern const size_t store_migration_count;

/* Brings a database up to the last of these migrations, or says that it is too new (-ENOTSUP). One
 * transaction. */
int store_migrate(struct store *store, const struct store_migration *migrations, size_t count,
		  struct strata_error *err);
/* 0 when it is exactly there. */
int store_check_version(struct store *store, size_t count, struct strata_error *err);

#endif
