/*
 * A copy of a database while it is in use, by SQLite's own backup: one read transaction, so it is
 * of one moment, and writers go on. It is made under another name, checked, synced and then given
 * its name, so what has the name is whole. The copy does without a write-ahead log: it is one file
 * and can be read where nothing can be written.
 */
#include "store/sqlite_backup.h"

#include "store/store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int code_of(int rc, int system_errno)
{
	switch (rc & 0xFF) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return system_errno ? -system_errno : -EACCES;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EAGAIN;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_TOOBIG:
		return -E2BIG;
	case SQLITE_IOERR:
		return system_errno == ENOSPC || system_errno == EDQUOT ? -ENOSPC : -EIO;
	case SQLITE_CONSTRAINT:
		return rc == SQLITE_CONSTRAINT_FOREIGNKEY ? -ENOENT
		       : rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY
			       ? -EEXIST
			       : -EINVAL;
	default:
		return -EIO;
	}
}

int sqlite_fail(sqlite3 *db, const char *path, struct strata_error *err)
{
	int rc = sqlite3_extended_errcode(db), code = code_of(rc, sqlite3_system_errno(db));
	const char *words = sqlite3_errmsg(db);

	if ((rc & 0xFF) == SQLITE_CONSTRAINT && code != -EINVAL)
		return store_fail_constraint(err, code, words);
	if (code == -ENOMEM)
		return strata_fail_memory(err);
	return strata_fail(err, code, "%s: %s", path, words);
}

static int copy_all(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *copying = sqlite3_backup_init(to, "main", from, "main");

	if (!copying)
		return sqlite3_errcode(to);
	sqlite3_backup_step(copying, -1);
	return sqlite3_backup_finish(copying);
}

static int is_ok(void *context, int count, char **texts, char **names)
{
	(void)names;
	*(bool *)context = count == 1 && texts[0] && strcmp(texts[0], "ok") == 0;
	return 0;
}

static int fill(sqlite3 *from, const char *path, struct strata_error *err)
{
	sqlite3 *to;
	bool sound = false;
	int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = copy_all(from, to);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(to, "PRAGMA quick_check(1)", is_ok, &sound, NULL);
	if (rc != SQLITE_OK)
		rc = strata_fail(err, code_of(rc, to ? sqlite3_system_errno(to) : 0),
				 "cannot write %s: %s", path, sqlite3_errstr(rc));
	else if (!sound)
		rc = strata_fail(err, -EBADMSG,
				 "the database is damaged: its copy fails SQLite's check");
	sqlite3_close(to);
	return rc;
}

/* Syncs a file or a directory. */
static int sync_path(const char *path, int flags, struct strata_error *err)
{
	int fd = open(path, flags | O_CLOEXEC), rc = 0;

	if (fd < 0 || fsync(fd) < 0)
		rc = strata_fail(err, -errno, "cannot sync %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

static int give_name(const char *part, const char *path, struct strata_error *err)
{
	char directory[4096];

	if (link(part, path) < 0)
		return strata_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	snprintf(directory, sizeof(directory), "%s", path);
	return sync_path(dirname(directory), O_RDONLY | O_DIRECTORY, err);
}

int sqlite_backup(sqlite3 *db, const char *path, struct strata_error *err)
{
	char part[4096];
	struct stat there;

	if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part))
		return strata_fail(err, -E2BIG, "the path of the copy is too long");
	if (lstat(path, &there) == 0)
		return strata_fail(err, -EEXIST, "%s is there already", path);
	unlink(part); /* of a copy that was interrupted */
	int fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return strata_fail(err, -errno, "cannot create %s: %s", part, strerror(errno));
	close(fd);
	int rc = fill(db, part, err);

	if (rc == 0)
		rc = sync_path(part, O_RDWR, err);
	if (rc == 0)
		rc = give_name(part, path, err);
	unlink(part);
	return rc;
}
