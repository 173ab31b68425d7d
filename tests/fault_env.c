/*
 * The env that fails. It keeps a journal: of each name that changed, what would undo the change; of each file that was
 * written, the contents at its last sync. A sync forgets the entries that it makes durable (and does not bother the
 * disk); what is in the journal at a crash can be lost.
 */
#include "fault_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The contents of a file. */
struct contents {
	char *bytes;
	size_t count;
};

enum change { CREATED, RENAMED, LINKED, REMOVED, MADE_DIR };

/* A name that changed in a directory, and how it was. */
struct fault_change {
	struct fault_change *older;
	enum change change;
	int dir;         /* our own descriptor of the directory */
	char name[256];  /* the name that appeared or went */
	char from[256];  /* RENAMED: the name it had, in the same directory */
	bool had_before; /* there was something of that name: */
	struct contents before;
	mode_t mode;
};

/* A file with contents that are not synced. */
struct fault_file {
	struct fault_file *next;
	int fd; /* our own, to read and to restore */
	struct contents durable;
};

static void *checked(void *block)
{
	if (!block)
		abort();
	return block;
}

static bool same_file(int a, int b)
{
	struct stat first, second;

	if (fstat(a, &first) < 0 || fstat(b, &second) < 0)
		abort();
	return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static struct contents read_contents(int fd)
{
	struct contents contents = { 0 };
	struct stat info;

	if (fstat(fd, &info) < 0)
		abort();
	contents.count = (size_t)info.st_size;
	contents.bytes = checked(malloc(contents.count + 1));
	if (pread(fd, contents.bytes, contents.count, 0) != (ssize_t)contents.count)
		abort();
	return contents;
}

static void write_contents(int fd, const struct contents *contents)
{
	if (ftruncate(fd, 0) < 0 ||
	    pwrite(fd, contents->bytes, contents->count, 0) != (ssize_t)contents->count)
		abort();
}

/* ---- the journal ---- */

static struct fault_change *note_change(struct fault_env *fault, enum change change, int dir,
					const char *path)
{
	struct fault_change *row = checked(calloc(1, sizeof(*row)));
	const char *slash = strrchr(path, '/');
	char parent[4096] = ".";

	if (slash)
		snprintf(parent, sizeof(parent), "%.*s", slash == path ? 1 : (int)(slash - path),
			 path);
	row->change = change;
	row->dir = openat(dir, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (row->dir < 0)
		abort();
	snprintf(row->name, sizeof(row->name), "%s", slash ? slash + 1 : path);
	row->older = fault->changes;
	fault->changes = row;
	return row;
}

/* Remembers what is under a name before it goes. */
static void note_before(struct fault_change *row)
{
	int fd = openat(row->dir, row->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0)
		return;
	if (fstat(fd, &info) < 0)
		abort();
	row->had_before = true;
	row->mode = info.st_mode & 07777;
	row->before = read_contents(fd);
	close(fd);
}

static void free_change(struct fault_change *row)
{
	close(row->dir);
	free(row->before.bytes);
	free(row);
}

/* Forgets the newest change, which did not happen after all. */
static void forget_newest(struct fault_env *fault)
{
	struct fault_change *row = fault->changes;

	fault->changes = row->older;
	free_change(row);
}

static void forget_changes(struct fault_env *fault, int dir)
{
	for (struct fault_change **at = &fault->changes; *at;) {
		struct fault_change *row = *at;

		if (same_file(row->dir, dir)) {
			*at = row->older;
			free_change(row);
		} else {
			at = &row->older;
		}
	}
}

static void note_contents(struct fault_env *fault, int fd)
{
	char path[64];

	for (struct fault_file *file = fault->files; file; file = file->next)
		if (same_file(file->fd, fd))
			return;
	struct fault_file *file = checked(calloc(1, sizeof(*file)));

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file->fd = open(path, O_RDWR | O_CLOEXEC);
	if (file->fd < 0)
		abort();
	file->durable = read_contents(file->fd);
	file->next = fault->files;
	fault->files = file;
}

static void forget_contents(struct fault_env *fault, int fd)
{
	for (struct fault_file **at = &fault->files; *at; at = &(*at)->next) {
		struct fault_file *file = *at;

		if (fd >= 0 && !same_file(file->fd, fd))
			continue;
		*at = file->next;
		close(file->fd);
		free(file->durable.bytes);
		free(file);
		return;
	}
}

static void restore_before(const struct fault_change *row)
{
	if (!row->had_before)
		return;
	int fd = openat(row->dir, row->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, row->mode) < 0)
		abort();
	write_contents(fd, &row->before);
	close(fd);
}

static void undo(const struct fault_change *row)
{
	int rc = 0;

	switch (row->change) {
	case CREATED:
	case LINKED:
		rc = unlinkat(row->dir, row->name, 0);
		break;
	case MADE_DIR:
		rc = unlinkat(row->dir, row->name, AT_REMOVEDIR);
		break;
	case RENAMED:
		rc = renameat(row->dir, row->name, row->dir, row->from);
		restore_before(row);
		break;
	case REMOVED:
		restore_before(row);
		break;
	}
	if (rc < 0)
		abort();
}

void fault_env_lose(struct fault_env *fault, int what)
{
	if (what & FAULT_CONTENTS)
		for (struct fault_file *file = fault->files; file; file = file->next)
			write_contents(file->fd, &file->durable);
	if (fault->changes && (what & FAULT_NEWEST_NAME)) {
		undo(fault->changes);
		forget_newest(fault);
	}
	while (fault->changes) {
		if (what & FAULT_NAMES)
			undo(fault->changes);
		forget_newest(fault);
	}
	while (fault->files)
		forget_contents(fault, -1);
}

/* ---- the primitives ---- */

/* Counts a call; 0 when it may go on, or the code it is to fail with. */
static int begin(struct fault_env *fault)
{
	if (fault->interrupt && !fault->interrupted) {
		fault->interrupted = true;
		return -EINTR;
	}
	fault->interrupted = false;
	fault->calls++;
	if (fault->crash_at && fault->calls >= fault->crash_at)
		return -EIO;
	return fault->calls == fault->fail_at ? fault->fail_code : 0;
}

static size_t at_most(const struct fault_env *fault, size_t count)
{
	return fault->bytes_max && count > fault->bytes_max ? fault->bytes_max : count;
}

static const struct env *under(void)
{
	return env_system();
}

static int64_t fault_now_ns(void *context, enum env_clock clock)
{
	struct fault_env *fault = context;

	return fault->now_ns[clock];
}

static ssize_t fault_random(void *context, void *bytes, size_t count)
{
	struct fault_env *fault = context;

	if (fault->interrupt && (fault->interrupted = !fault->interrupted))
		return -EINTR;
	count = at_most(fault, count);
	for (size_t i = 0; i < count; i++) {
		fault->seed = fault->seed * 6364136223846793005u + 1442695040888963407u;
		((unsigned char *)bytes)[i] = (unsigned char)(fault->seed >> 56);
	}
	return (ssize_t)count;
}

static int fault_open(void *context, int dir, const char *path, int flags, mode_t mode)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	if (rc < 0)
		return rc;
	bool creates = (flags & O_CREAT) && faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
	int fd = under()->open(NULL, dir, path, flags, mode);

	if (fd >= 0 && creates)
		note_change(fault, CREATED, dir, path);
	fault->open_count += fd >= 0;
	return fd;
}

/* A descriptor is closed even after a crash, so that the test has none left; this is no call that can fail. */
static int fault_close(void *context, int fd)
{
	struct fault_env *fault = context;

	fault->open_count--;
	return under()->close(NULL, fd);
}

static ssize_t fault_read(void *context, int fd, void *bytes, size_t room)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	return rc < 0 ? rc : under()->read(NULL, fd, bytes, at_most(fault, room));
}

static ssize_t fault_write(void *context, int fd, const void *bytes, size_t count)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	if (rc == -EINTR || (rc < 0 && !fault->fail_half))
		return rc;
	note_contents(fault, fd);
	ssize_t done = under()->write(NULL, fd, bytes, rc < 0 ? count / 2 : at_most(fault, count));

	return rc < 0 ? rc : done;
}

static int fault_sync(void *context, int fd, bool data_only)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	(void)data_only;
	if (rc < 0)
		return rc;
	forget_contents(fault, fd);
	forget_changes(fault, fd);
	return 0;
}

static int fault_chmod(void *context, int fd, mode_t mode)
{
	int rc = begin(context);

	return rc < 0 ? rc : under()->chmod(NULL, fd, mode);
}

static off_t fault_size(void *context, int fd)
{
	int rc = begin(context);

	return rc < 0 ? rc : under()->size(NULL, fd);
}

static int fault_truncate(void *context, int fd, off_t size)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	if (rc < 0)
		return rc;
	note_contents(fault, fd);
	return under()->truncate(NULL, fd, size);
}

static int fault_rename(void *context, int dir, const char *from, const char *to)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	if (rc < 0)
		return rc;
	struct fault_change *row = note_change(fault, RENAMED, dir, to);

	snprintf(row->from, sizeof(row->from), "%s", from);
	note_before(row);
	rc = under()->rename(NULL, dir, from, to);
	if (rc < 0)
		forget_newest(fault);
	return rc;
}

static int fault_link(void *context, int dir, const char *from, const char *to)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	if (rc == 0)
		rc = under()->link(NULL, dir, from, to);
	if (rc == 0)
		note_change(fault, LINKED, dir, to);
	return rc;
}

static int fault_unlink(void *context, int dir, const char *path)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	if (rc < 0)
		return rc;
	note_before(note_change(fault, REMOVED, dir, path));
	rc = under()->unlink(NULL, dir, path);
	if (rc < 0)
		forget_newest(fault);
	return rc;
}

static int fault_mkdir(void *context, int dir, const char *path, mode_t mode)
{
	struct fault_env *fault = context;
	int rc = begin(fault);

	if (rc == 0)
		rc = under()->mkdir(NULL, dir, path, mode);
	if (rc == 0)
		note_change(fault, MADE_DIR, dir, path);
	return rc;
}

static int fault_spawn(void *context, const struct env_command *command,
		       struct env_process *ret_process, struct strata_error *err)
{
	(void)context;
	return under()->spawn(NULL, command, ret_process, err);
}

static int fault_wait(void *context, const struct env_process *process, bool block,
		      struct env_exit *ret_exit)
{
	struct fault_env *fault = context;

	if (fault->interrupt && (fault->interrupted = !fault->interrupted))
		return -EINTR;
	return under()->wait(NULL, process, block, ret_exit);
}

static int fault_signal(void *context, const struct env_process *process, int signal, bool group)
{
	(void)context;
	return under()->signal(NULL, process, signal, group);
}

void fault_env_init(struct fault_env *fault)
{
	*fault = (struct fault_env){
		.env = {
			.context = fault,
			.now_ns = fault_now_ns,
			.random = fault_random,
			.open = fault_open,
			.close = fault_close,
			.read = fault_read,
			.write = fault_write,
			.sync = fault_sync,
			.chmod = fault_chmod,
			.size = fault_size,
			.truncate = fault_truncate,
			.rename = fault_rename,
			.link = fault_link,
			.unlink = fault_unlink,
			.mkdir = fault_mkdir,
			.spawn = fault_spawn,
			.wait = fault_wait,
			.signal = fault_signal,
		},
		.fail_code = -EIO,
		.seed = 1,
	};
}

void fault_env_fini(struct fault_env *fault)
{
	fault_env_lose(fault, FAULT_NOTHING);
}
