/*
 * SQLite: the store of one machine, a file. The log is written ahead (WAL), so readers and the
 * writer do not wait for each other, and synced at every commit, so what was committed outlasts the
 * power. Who leads holds the file "PATH.lock" with flock, which the kernel gives back when the
 * process ends, however it ends.
 */
#include "store/store_int.h"

#include "core/env_trust.h"

#include "store/sqlite_backup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The leader has other things to do than to wait, and comes back by itself. */
enum { LOG_PAGES = 1000 }; /* SQLite's own number */
enum { BUSY_MS = 5000, BUSY_LEADER_MS = 250, PATH_BYTES_MAX = 4096 };

struct sqlite {
	struct store base;
	sqlite3 *db;
	int lock_fd;     /* of the leader's lock; -1: not held */
	int taken_pages; /* of the log, when it was last taken into the file */
	char path[PATH_BYTES_MAX];
};

static struct sqlite *self_of(struct store *store)
{
	return (struct sqlite *)store;
}

static int fail(const struct sqlite *self, struct strata_error *err)
{
	return sqlite_fail(self->db, self->path, err);
}

/* ---- statements ---- */

static int prepare(struct sqlite *self, struct store_statement *statement, size_t count,
		   struct strata_error *err)
{
	sqlite3_stmt *prepared;

	if (statement->prepared)
		return 0;
	if (sqlite3_prepare_v3(self->db, statement->sql, (int)statement->sql_bytes,
			       SQLITE_PREPARE_PERSISTENT, &prepared, NULL) != SQLITE_OK)
		return fail(self, err);
	assert((size_t)sqlite3_bind_parameter_count(prepared) == count);
	for (int i = 1; i <= (int)count; i++) /* $n is the n-th */
		assert(atoi(sqlite3_bind_parameter_name(prepared, i) + 1) == i);
	statement->prepared = prepared;
	return 0;
}

static int bind_value(sqlite3_stmt *prepared, int index, const struct store_value *value)
{
	if (value->null)
		return sqlite3_bind_null(prepared, index);
	switch (value->type) {
	case STORE_INT:
		return sqlite3_bind_int64(prepared, index, value->number);
	case STORE_REAL:
		return sqlite3_bind_double(prepared, index, value->real);
	case STORE_TEXT:
		return sqlite3_bind_text64(prepared, index, value->bytes, value->size_bytes,
					   SQLITE_STATIC, SQLITE_UTF8);
	case STORE_BYTES:
		break;
	}
	return sqlite3_bind_blob64(prepared, index, value->bytes, value->size_bytes, SQLITE_STATIC);
}

static int bind(struct sqlite *self, struct store_statement *statement,
		const struct store_value *values, size_t count, struct strata_error *err)
{
	int rc = prepare(self, statement, count, err);

	for (size_t i = 0; i < count && rc == 0; i++)
		if (bind_value(statement->prepared, (int)i + 1, &values[i]) != SQLITE_OK)
			rc = fail(self, err);
	return rc;
}

static void unbind(struct store_statement *statement)
{
	sqlite3_reset(statement->prepared);
	sqlite3_clear_bindings(statement->prepared);
}

static int sqlite_query(struct store *store, struct store_statement *statement,
			const struct store_value *values, size_t count,
			const enum store_type *types, size_t cell_count, store_cells *each,
			void *context, struct strata_error *err);

static int sqlite_run(struct store *store, struct store_statement *statement,
		      const struct store_value *values, size_t count, struct strata_error *err)
{
	return sqlite_query(store, statement, values, count, NULL, 0, NULL, NULL, err);
}

static struct store_value cell_at(sqlite3_stmt *row, int index, enum store_type type)
{
	struct store_value cell = { .type = type,
				    .null = sqlite3_column_type(row, index) == SQLITE_NULL };

	switch (type) {
	case STORE_INT:
		cell.number = sqlite3_column_int64(row, index);
		break;
	case STORE_REAL:
		cell.real = sqlite3_column_double(row, index);
		break;
	case STORE_TEXT:
		cell.bytes = sqlite3_column_text(row, index);
		break;
	case STORE_BYTES:
		cell.bytes = sqlite3_column_blob(row, index);
		break;
	}
	if (type == STORE_TEXT || type == STORE_BYTES)
		cell.size_bytes = (size_t)sqlite3_column_bytes(row, index);
	if (type == STORE_BYTES && !cell.null && !cell.bytes)
		cell.bytes = "";
	return cell;
}

static int give_row(struct sqlite *self, sqlite3_stmt *row, const enum store_type *types,
		    size_t cell_count, store_cells *each, void *context, struct strata_error *err)
{
	struct store_value cells[STORE_VALUES_MAX];

	for (size_t i = 0; i < cell_count; i++) {
		cells[i] = cell_at(row, (int)i, types[i]);
		if (types[i] == STORE_TEXT && !cells[i].null && !cells[i].bytes)
			return fail(self, err); /* out of memory */
	}
	return each ? each(context, cells, cell_count, err) : 0;
}

static int sqlite_query(struct store *store, struct store_statement *statement,
			const struct store_value *values, size_t count,
			const enum store_type *types, size_t cell_count, store_cells *each,
			void *context, struct strata_error *err)
{
	struct sqlite *self = self_of(store);
	int rc = bind(self, statement, values, count, err), step = SQLITE_ROW;

	while (rc == 0 && (step = sqlite3_step(statement->prepared)) == SQLITE_ROW)
		rc = give_row(self, statement->prepared, types, cell_count, each, context, err);
	if (rc == 0 && step != SQLITE_DONE)
		rc = fail(self, err);
	if (statement->prepared)
		unbind(statement);
	return rc;
}

static void sqlite_forget(struct store *store, struct store_statement *statement)
{
	(void)store;
	sqlite3_finalize(statement->prepared);
	statement->prepared = NULL;
}

/* ---- transactions ---- */

static int sqlite_begin(struct store *store, struct strata_error *err)
{
	return store_run(store, "BEGIN IMMEDIATE", NULL, 0, err);
}

static void sqlite_rollback(struct store *store)
{
	if (!sqlite3_get_autocommit(self_of(store)->db)) /* some errors have rolled back already */
		sqlite3_exec(self_of(store)->db, "ROLLBACK", NULL, NULL, NULL);
}

static int sqlite_commit(struct store *store, struct strata_error *err)
{
	int rc = store_run(store, "COMMIT", NULL, 0, err);

	if (rc < 0)
		sqlite_rollback(store);
	return rc;
}

/* ---- the lead ---- */

/* In the place of SQLite's own way: every so many pages of growth the log is taken into the file,
 * and the mark is to know of it. */
static int take_log(void *context, sqlite3 *db, const char *name, int pages)
{
	struct sqlite *self = context;

	if (pages < self->taken_pages)
		self->taken_pages = 0; /* it began anew */
	if (pages - self->taken_pages < LOG_PAGES)
		return SQLITE_OK;
	sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	self->taken_pages = pages;
	self->base.taken = true;
	return SQLITE_OK;
}

static int locked_by_another(const struct sqlite *self, int fd, struct strata_error *err)
{
	char holder[24] = { 0 };
	ssize_t got = pread(fd, holder, sizeof(holder) - 1, 0);

	return strata_fail(err, -EBUSY, "%s is led by another server%s%s", self->path,
			   got > 0 ? ", process " : "", holder);
}

static int sqlite_lock(struct store *store, struct strata_error *err)
{
	struct sqlite *self = self_of(store);
	char path[PATH_BYTES_MAX + 8], holder[24];

	if (self->lock_fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "%s.lock", self->path);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return strata_fail(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int rc = errno == EWOULDBLOCK ? locked_by_another(self, fd, err)
					      : strata_fail(err, -errno, "cannot lock %s: %s", path,
							    strerror(errno));

		close(fd);
		return rc;
	}
	/* Who holds it is a courtesy to whoever asks: without it the lock is as good. */
	int length = snprintf(holder, sizeof(holder), "%ld", (long)getpid());

	if (ftruncate(fd, 0) == 0 && pwrite(fd, holder, (size_t)length, 0) != length)
		(void)!ftruncate(fd, 0);
	self->lock_fd = fd;
	sqlite3_busy_timeout(self->db, BUSY_LEADER_MS);
	if (store->mark)
		sqlite3_wal_hook(self->db, take_log, self);
	return 0;
}

/* ---- opening ---- */

/* SQLite creates files that all may read; this one holds hashes of tokens and people's
 * environments. The log and its index take their mode from it. */
static int create_file(const char *path, struct strata_error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	else if (errno != EEXIST)
		return strata_fail(err, -errno, "cannot create %s: %s", path, strerror(errno));
	return 0;
}

/* Who can change the file, or put a log beside it, can be anybody in the service's eyes. */
static int check_trust(const char *path, struct strata_error *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_BYTES_MAX];

	snprintf(dir, sizeof(dir), "%.*s", !slash || slash == path ? 1 : (int)(slash - path),
		 slash ? path : ".");
	int rc = env_trust_check(dir, ENV_TRUST_DIR, "the directory of the store", err);

	return rc ? rc : env_trust_check(path, ENV_TRUST_FILE, "the store", err);
}

static int is_wal(void *context, const struct store_value *cells, size_t count,
		  struct strata_error *err)
{
	const struct sqlite *self = context;

	(void)count;
	return strcmp(cells[0].bytes, "wal") == 0
		       ? 0
		       : strata_fail(err, -ENOTSUP,
				     "%s cannot have a write-ahead log: SQLite wants a local file "
				     "system",
				     self->path);
}

static int configure(struct sqlite *self, struct strata_error *err)
{
	static const enum store_type text[] = { STORE_TEXT };

	sqlite3_extended_result_codes(self->db, 1);
	sqlite3_busy_timeout(self->db, BUSY_MS);
	sqlite3_db_config(self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(self->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	sqlite3_db_config(self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (self->base.read_only)
		return 0;
	if (sqlite3_db_readonly(self->db,
				"main")) /* SQLite would wait with this until the first write */
		return strata_fail(err, -EROFS, "%s may not be written to", self->path);
	/* EXTRA is FULL for a write-ahead log, and until there is one it syncs the directory,
	 * too. */
	int rc = store_run(&self->base, "PRAGMA synchronous = EXTRA", NULL, 0, err);

	return rc < 0 ? rc
		      : store_ask(&self->base, "PRAGMA journal_mode = WAL", NULL, 0, text, 1,
				  is_wal, self, err);
}

static void sqlite_close(struct store *store)
{
	struct sqlite *self = self_of(store);

	sqlite3_close(self->db);
	if (self->lock_fd >= 0)
		close(self->lock_fd);
}

/*
 * Before SQLite is used for the first time. Every statement of a batch keeps the pages it changes
 * until it is over, in case it fails halfway. Once one of them changes more than 64 KiB, SQLite
 * would write those of all statements behind it to a file, which is most of what a large array
 * costs.
 */
static void keep_statements_in_memory(void)
{
	sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
}

static int sqlite_open(struct store *store, const char *address, struct strata_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sqlite *self = self_of(store);
	int flags = store->read_only ? SQLITE_OPEN_READONLY
				     : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

	self->lock_fd = -1;
	pthread_once(&once, keep_statements_in_memory);
	if (strlen(address) >= PATH_BYTES_MAX - 8)
		return strata_fail(err, -E2BIG, "the path of the database is too long");
	strcpy(self->path, address);
	int rc = store->read_only ? 0 : check_trust(address, err);

	if (rc == 0 && !store->read_only)
		rc = create_file(address, err);

	if (rc < 0)
		return rc;
	if (sqlite3_open_v2(address, &self->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		rc = self->db ? fail(self, err) : strata_fail_memory(err);
	else
		rc = configure(self, err);
	if (rc == 0)
		return 0;
	for (size_t i = 0; i < STORE_STATEMENTS_MAX; i++)
		if (store->statements[i].prepared)
			sqlite_forget(store, &store->statements[i]);
	sqlite_close(store);
	return rc;
}

/* ---- the mark ---- */

static ssize_t read_start(const char *path, const char *ending, void *bytes, size_t count)
{
	char whole[PATH_BYTES_MAX + 8];

	if (snprintf(whole, sizeof(whole), "%s%s", path, ending) >= (int)sizeof(whole))
		return -1;
	int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, count);

	if (fd >= 0)
		close(fd);
	return got;
}

static void look(const char *path, struct store_files *ret_files)
{
	static const char magic[16] = "SQLite format 3";
	enum { LOG_HEAD_BYTES = 32 };
	char bytes[LOG_HEAD_BYTES + 1];
	ssize_t got = read_start(path, "", bytes, sizeof(magic));

	*ret_files = (struct store_files){
		.there = got >= 0,
		.empty = got == 0,
		.sound = got == (ssize_t)sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0,
		.logged = read_start(path, "-wal", bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes),
	};
}

static int backup(struct store *store, const char *path, struct strata_error *err)
{
	return sqlite_backup(self_of(store)->db, path, err);
}

const struct store_class store_sqlite = {
	.base = { .name = "sqlite",
		  .aliases = "sqlite3",
		  .summary = "one file on this machine, one server" },
	.schemes = "sqlite:",
	.size = sizeof(struct sqlite),
	.types = { [STORE_INT] = "INTEGER",
		   [STORE_REAL] = "REAL",
		   [STORE_TEXT] = "TEXT",
		   [STORE_BYTES] = "BLOB" },
	.table_end = " STRICT",
	.share_row = "", /* BEGIN IMMEDIATE has the whole database */
	.open = sqlite_open,
	.close = sqlite_close,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.run = sqlite_run,
	.query = sqlite_query,
	.rollback = sqlite_rollback,
	.forget = sqlite_forget,
	.lock = sqlite_lock,
	.backup = backup,
	.look = look,
};
