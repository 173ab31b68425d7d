/*
 * What every store does, whatever the database: find the back end by the address, keep statements
 * prepared, run transactions under an epoch, apply changes. The back ends run statements; the
 * tables are described in store_rows.c.
 */
#include "store/store.h"

#include "core/text.h"
#include "store/store_int.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

/* ---- opening ---- */

/* Where the address goes on behind a scheme of the class, or NULL. */
static const char *behind_scheme(const struct store_class *cls, const char *address)
{
	for (const char *scheme = cls->schemes; *scheme;) {
		size_t length = (size_t)(strchr(scheme, ':') + 1 - scheme);

		if (strncmp(address, scheme, length) == 0)
			return address + length;
		scheme += length;
	}
	return NULL;
}

/* An address without a scheme is a path; "c:d" is a scheme nobody knows, "./c:d" a path. */
static int find_class(const char *address, const struct store_class **ret_class,
		      const char **ret_rest, struct strata_error *err)
{
	char excerpt[TEXT_EXCERPT_BYTES];
	const char *colon = strchr(address, ':'), *slash = strchr(address, '/');

	for (size_t i = 0; store_kind.classes[i]; i++) {
		const struct store_class *cls = (const struct store_class *)store_kind.classes[i];
		const char *rest = behind_scheme(cls, address);

		if (!rest && strcmp(cls->base.name, "sqlite") == 0 &&
		    (!colon || (slash && slash < colon)))
			rest = address;
		if (rest && *rest) {
			*ret_class = cls;
			*ret_rest = rest;
			return 0;
		}
	}
	/* what stands behind the scheme may be a password */
	return strata_fail(err, -EINVAL,
			   "\"%s\" is no address of a store; expected sqlite:PATH, a path, or "
			   "postgresql://…",
			   text_excerpt(address, strcspn(address, ":") + (colon != NULL), excerpt));
}

static void free_store(struct store *store)
{
	struct strata_memory *memory = store->memory;

	for (size_t i = 0; i < STORE_STATEMENTS_MAX + STORE_FIXED; i++)
		strata_memory_put(memory, store->statements[i].sql, store->statements[i].sql_bytes);
	strata_memory_put(memory, store->address, store->address_bytes);
	strata_memory_put(memory, store->mark, store->mark_bytes);
	strata_memory_put(memory, store, store->cls->size);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	assert(!store->inside);
	store_mark_renew(store);
	for (size_t i = 0; i < STORE_STATEMENTS_MAX + STORE_FIXED; i++)
		if (store->statements[i].prepared)
			store->cls->forget(store, &store->statements[i]);
	store->cls->close(store);
	free_store(store);
}

static int check_tables(struct store *store, struct strata_error *err)
{
	return store->read_only
		       ? store_check_version(store, store_migration_count, err)
		       : store_migrate(store, store_migrations, store_migration_count, err);
}

/* A copy that the store owns. */
static char *copy_text(struct strata_memory *memory, const char *text, size_t *ret_bytes)
{
	*ret_bytes = strlen(text) + 1;
	char *copy = strata_memory_get(memory, *ret_bytes);

	return copy ? memcpy(copy, text, *ret_bytes) : NULL;
}

static int open_any(const char *address, bool read_only, const char *mark,
		    struct strata_memory *memory, struct store **ret_store,
		    struct strata_error *err)
{
	const struct store_class *cls = NULL;
	const char *rest = NULL;
	int rc = find_class(address, &cls, &rest, err);

	if (rc < 0)
		return rc;
	if (sodium_init() < 0)
		return strata_fail(err, -EIO, "libsodium does not start: no random numbers");
	struct store *store = strata_memory_get(memory, cls->size);

	if (!store)
		return strata_fail_memory(err);
	store->cls = cls;
	store->memory = memory;
	store->read_only = read_only;
	store->address = copy_text(memory, address, &store->address_bytes);
	if (mark)
		store->mark = copy_text(memory, mark, &store->mark_bytes);
	for (unsigned i = 0; i < STORE_STATEMENTS_MAX + STORE_FIXED; i++)
		store->statements[i].number = i;
	rc = store->address && !store->mark == !mark ? store_mark_look(store, rest, err)
						     : strata_fail_memory(err);
	if (rc == 0)
		rc = cls->open(store, rest, err);
	if (rc < 0) {
		free_store(store);
		return rc;
	}
	rc = store_mark_compare(store, err);
	if (rc == 0)
		rc = check_tables(store, err);
	if (rc < 0) {
		store_close(store);
		return rc;
	}
	*ret_store = store;
	return 0;
}

int store_open(const char *address, bool read_only, struct strata_memory *memory,
	       struct store **ret_store, struct strata_error *err)
{
	return open_any(address, read_only, NULL, memory, ret_store, err);
}

int store_open_marked(const char *address, const char *mark, struct strata_memory *memory,
		      struct store **ret_store, struct strata_error *err)
{
	return open_any(address, false, mark, memory, ret_store, err);
}

const struct strata_class *store_class_of(const struct store *store)
{
	return &store->cls->base;
}

/* ---- statements ---- */

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xCBF29CE484222325; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001B3;
	return hash;
}

/* Makes the statement one of this text, not prepared yet. */
static int set_text(struct store *store, struct store_statement *statement, const char *sql,
		    uint64_t hash, struct strata_error *err)
{
	size_t sql_bytes = strlen(sql) + 1;
	char *copy = strata_memory_get(store->memory, sql_bytes);

	if (!copy)
		return strata_fail_memory(err);
	if (statement->prepared)
		store->cls->forget(store, statement);
	strata_memory_put(store->memory, statement->sql, statement->sql_bytes);
	memcpy(copy, sql, sql_bytes);
	*statement = (struct store_statement){ .sql = copy,
					       .sql_bytes = sql_bytes,
					       .hash = hash,
					       .used = ++store->uses,
					       .number = statement->number };
	return 0;
}

int store_statement(struct store *store, const char *sql, struct store_statement **ret_statement,
		    struct strata_error *err)
{
	uint64_t hash = hash_text(sql);
	struct store_statement *oldest = store->statements;

	for (size_t i = 0; i < STORE_STATEMENTS_MAX; i++) {
		struct store_statement *statement = &store->statements[i];

		if (statement->sql && statement->hash == hash && strcmp(statement->sql, sql) == 0) {
			statement->used = ++store->uses;
			*ret_statement = statement;
			return 0;
		}
		if (statement->used < oldest->used)
			oldest = statement;
	}
	int rc = set_text(store, oldest, sql, hash, err);

	if (rc == 0)
		*ret_statement = oldest;
	return rc;
}

int store_run(struct store *store, const char *sql, const struct store_value *values, size_t count,
	      struct strata_error *err)
{
	struct store_statement *statement = NULL;
	int rc = store_statement(store, sql, &statement, err);

	return rc < 0 ? rc : store->cls->run(store, statement, values, count, err);
}

/* Between the store and its back ends a lost connection is -ECONNRESET; to others it is -EAGAIN. */
static int tell_lost(int rc, struct strata_error *err)
{
	if (rc != -ECONNRESET)
		return rc;
	if (err)
		err->code = -EAGAIN;
	return -EAGAIN;
}

int store_ask(struct store *store, const char *sql, const struct store_value *values, size_t count,
	      const enum store_type *types, size_t cell_count, store_cells *each, void *context,
	      struct strata_error *err)
{
	struct store_statement *statement = NULL;
	int rc = store_statement(store, sql, &statement, err);

	if (rc < 0)
		return rc;
	assert(!store->asking); /* not from inside a callback */
	store->asking = true;
	rc = store->cls->query(store, statement, values, count, types, cell_count, each, context,
			       err);
	store->asking = false;
	return store->inside ? rc : tell_lost(rc, err);
}

static int keep_number(void *context, const struct store_value *cells, size_t count,
		       struct strata_error *err)
{
	(void)count, (void)err;
	*(int64_t *)context = cells[0].null ? 0 : cells[0].number;
	return 0;
}

int store_ask_number(struct store *store, const char *sql, int64_t *ret_number,
		     struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT };
	int64_t number = 0;
	int rc = store_ask(store, sql, NULL, 0, types, 1, keep_number, &number, err);

	if (rc == 0)
		*ret_number = number;
	return rc;
}

int store_fail_constraint(struct strata_error *err, int code, const char *words)
{
	if (code == -ENOENT)
		return strata_fail(err, code, "a job refers to a blob that is not there");
	if (strstr(words, "request_key"))
		return strata_fail_at(err, code, "request_key",
				      "another job of this user has this request key");
	if (strstr(words, "uuid"))
		return strata_fail_at(err, code, "uuid", "another job has this uuid");
	return strata_fail(err, code, "a row is not unique: %s", words);
}

/* ---- transactions ---- */

static int check_epoch(struct store *store, uint64_t epoch, struct strata_error *err)
{
	char sql[96] = STORE_ASK_EPOCH;
	int64_t now = 0;

	strcat(sql, store->cls->share_row);
	int rc = store_ask_number(store, sql, &now, err);

	if (rc < 0)
		return rc;
	if ((uint64_t)now > epoch)
		return strata_fail(err, -ESTALE,
				   "another server leads since: the store is at epoch %lld, this "
				   "write carries %llu",
				   (long long)now, (unsigned long long)epoch);
	if ((uint64_t)now < epoch)
		return strata_fail(err, -ESTALE,
				   "the database was replaced by an older one: it is at epoch "
				   "%lld, this write carries %llu",
				   (long long)now, (unsigned long long)epoch);
	rc = store->leading ? store->cls->lock(store, err) : 0;
	if (rc == -EBUSY) /* nobody led since, so it is a lost session of our own */
		return strata_fail(err, -EAGAIN,
				   "the leader's lock is held by a session that "
				   "was lost; the database has not noticed yet");
	return rc;
}

static int transact_once(struct store *store, const uint64_t *epoch, store_body *body,
			 void *context, struct strata_error *err)
{
	int rc = store->cls->begin(store, err);

	if (rc < 0)
		return rc;
	store->inside = true;
	rc = epoch ? check_epoch(store, *epoch, err) : 0;
	if (rc == 0)
		rc = body(store, context, err);
	if (rc == 0)
		rc = store->cls->commit(store, err);
	else
		store->cls->rollback(store);
	store->inside = false;
	return rc;
}

int store_fail_read_only(struct strata_error *err)
{
	return strata_fail(err, -EROFS, "the store was opened to be read only");
}

int store_transact(struct store *store, const uint64_t *epoch, store_body *body, void *context,
		   struct strata_error *err)
{
	assert(!store->inside && !store->asking);
	if (store->read_only)
		return store_fail_read_only(err);
	int rc = transact_once(store, epoch, body, context, err);

	if (rc == -ECONNRESET)
		rc = transact_once(store, epoch, body, context, err);
	if (rc == 0 && store->taken) {
		store->taken = false;
		store_mark_renew(store);
	}
	return tell_lost(rc, err);
}

/* ---- changes ---- */

struct batch {
	const struct store_change *changes;
	size_t count;
};

static int check_blob(const struct store_blob *blob, struct strata_error *err)
{
	char hash[STORE_HASH_BYTES];

	store_blob_hash(blob->bytes, blob->size_bytes, hash);
	if (strcmp(hash, blob->hash) != 0)
		return strata_fail_at(err, -EINVAL, "hash",
				      "\"%.80s\" is not the hash of these %zu bytes", blob->hash,
				      blob->size_bytes);
	return 0;
}

static int check_change(const struct store_change *change, struct strata_error *err)
{
	const struct store_table *table = store_table(change->kind);

	if (change->remove && table->kept)
		return strata_fail(err, -EINVAL, "%s are not deleted; they are forgotten by age",
				   table->name);
	int rc = store_check(table, change->row,
			     change->remove ? table->key_count : table->column_count, err);

	if (rc == 0 && change->kind == STORE_BLOB)
		rc = check_blob(change->row, err);
	return rc;
}

/* The statement that puts or deletes a row of a kind: composed once, then kept. */
static int fixed_statement(struct store *store, enum store_row kind, bool remove,
			   struct store_statement **ret_statement, struct strata_error *err)
{
	struct store_statement *statement =
		&store->statements[STORE_STATEMENTS_MAX + 2 * kind + remove];
	const struct store_table *table = store_table(kind);
	struct buf sql;
	int rc = 0;

	if (!statement->sql) {
		buf_init(&sql, store->memory, 0);
		rc = remove ? store_delete_sql(&sql, table, err) : store_put_sql(&sql, table, err);
		if (rc == 0)
			rc = set_text(store, statement, sql.text, 0, err);
		buf_fini(&sql);
	}
	if (rc == 0)
		*ret_statement = statement;
	return rc;
}

static int apply_change(struct store *store, const struct store_change *change,
			struct strata_error *err)
{
	const struct store_table *table = store_table(change->kind);
	size_t count = change->remove ? table->key_count : table->column_count;
	struct store_value values[STORE_VALUES_MAX];
	struct store_statement *statement = NULL;
	int rc = fixed_statement(store, change->kind, change->remove, &statement, err);

	if (rc < 0)
		return rc;
	store_values(table, change->row, count, values);
	return store->cls->run(store, statement, values, count, err);
}

static int apply_batch(struct store *store, void *context, struct strata_error *err)
{
	struct batch *batch = context;
	int rc = 0;

	for (size_t i = 0; i < batch->count && rc == 0; i++)
		rc = apply_change(store, &batch->changes[i], err);
	return rc;
}

int store_apply(struct store *store, const struct store_change *changes, size_t count,
		uint64_t epoch, struct strata_error *err)
{
	struct batch batch = { .changes = changes, .count = count };

	if (count > STRATA_STORE_CHANGES_MAX)
		return strata_fail(err, -E2BIG, "%zu changes in a batch; expected up to %d", count,
				   STRATA_STORE_CHANGES_MAX);
	for (size_t i = 0; i < count; i++) {
		int rc = check_change(&changes[i], err);

		if (rc < 0)
			return strata_fail_under(err, rc, "changes[%zu]", i);
	}
	return store_transact(store, &epoch, apply_batch, &batch, err);
}

int store_backup(struct store *store, const char *path, struct strata_error *err)
{
	if (!store->cls->backup)
		return strata_fail(err, -ENOTSUP,
				   "a %s database is backed up with its own tool: %s",
				   store->cls->base.name, store->cls->backup_tool);
	return store->cls->backup(store, path, err);
}
