/* The attempts of a directory: what each says, which there are, and how one goes. */
#include "exec/launch.h"
#include "exec/exec_local.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int local_read(struct local *local, const char *name, struct journal *ret_journal,
	       struct strata_error *err)
{
	struct journal journal = { 0 };
	struct strata_arena arena;
	int fd = journal_open(local->env, local->jobs, name, err);

	if (fd < 0)
		return fd;
	strata_arena_init(&arena, local->memory, 0);
	int rc = journal_read(fd, &arena, &journal, err);

	strata_arena_fini(&arena);
	close(fd);
	if (rc == 0 && !journal.lines_at)
		rc = strata_fail(err, -ENOENT, "there is no attempt %s", name);
	if (rc == 0)
		*ret_journal = journal;
	return rc;
}

/* Removes an attempt. Nothing here is synced: what comes back after a power failure is forgotten
 * again. */
int local_remove(struct local *local, const char *name, struct strata_error *err)
{
	int rc = local->env->unlink(local->env->context, local->jobs, name);

	if (rc)
		return strata_fail(err, rc, "cannot remove %s/%s: %s", local->jobs_path, name,
				   strerror(-rc));
	launch_tidy(local->jobs, name);
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct exec_key *one = &((const struct exec_found *)a)->key;
	const struct exec_key *two = &((const struct exec_found *)b)->key;

	if (one->job != two->job)
		return one->job < two->job ? -1 : 1;
	return one->attempt < two->attempt ? -1 : one->attempt > two->attempt;
}

/* "17.1.script" and "17.1.token" without an attempt 17.1 are what was left when it was
 * forgotten. */
static void sweep_beside(struct local *local, const char *file)
{
	char name[RECORD_NAME_BYTES];
	const char *dot = strrchr(file, '.');
	struct exec_key key;

	if (!dot ||
	    (strcmp(dot, JOURNAL_SCRIPT) != 0 && strcmp(dot, JOURNAL_TOKEN) != 0 &&
	     strcmp(dot, JOURNAL_ENVIRONMENT) != 0 && strcmp(dot, JOURNAL_SAMPLES) != 0 &&
	     strncmp(dot, JOURNAL_LOG, strlen(JOURNAL_LOG)) != 0) ||
	    (size_t)(dot - file) >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(dot - file), file);
	if (record_key(name, &key) && faccessat(local->jobs, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		unlinkat(local->jobs, file, 0);
}

/* Nobody claimed it: is it still what was written, or has a power failure taken a part of it? */
static bool is_whole(struct local *local, const char *name)
{
	struct strata_arena arena;
	struct exec_order order;
	int fd = journal_open(local->env, local->jobs, name, NULL);
	int rc = fd;

	strata_arena_init(&arena, local->memory, 0);
	if (fd >= 0) {
		rc = journal_read_order(fd, &arena, &order, NULL);
		close(fd);
	}
	strata_arena_fini(&arena);
	return rc != -EBADMSG;
}

/* One entry of the jobs directory: 1 and what it is, 0 when it is nothing. A file without a
 * whole order is what a start left behind that was cut short before anything came of it. */
static int examine(struct local *local, const char *name, struct exec_found *found,
		   struct strata_error *err)
{
	struct journal journal;
	struct exec_key key;

	if (!record_key(name, &key)) {
		sweep_beside(local, name);
		return 0;
	}
	int rc = local_read(local, name, &journal, err);

	if (rc == 0 && !journal.claimed && !journal.ended && !is_whole(local, name))
		rc = -ENOENT;
	if (rc == -ENOENT && !local_find(local, key))
		local_remove(local, name, NULL);
	if (rc == 0)
		*found = (struct exec_found){ key, journal.epoch, journal.ended };
	return rc == 0 ? 1 : rc == -ENOENT ? 0 : rc;
}

int local_scan(struct exec *exec, struct strata_arena *arena, struct exec_found **ret_found,
	       size_t *ret_count, struct strata_error *err)
{
	struct local *local = (struct local *)exec;
	struct exec_found *found = NULL;
	size_t count = 0, room = 0;
	const struct dirent *entry;
	int rc = 0;
	int fd = openat(local->jobs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list)
		return strata_fail(err, -errno, "cannot read %s: %s", local->jobs_path,
				   strerror(errno));
	while (rc >= 0 && (entry = readdir(list))) {
		if (count == room) {
			size_t more = room ? room * 2 : 64;
			struct exec_found *grown = strata_arena_array(arena, more, sizeof(*grown));

			if (!grown) {
				rc = strata_fail_memory(err);
				break;
			}
			if (count)
				memcpy(grown, found, count * sizeof(*found));
			found = grown;
			room = more;
		}
		rc = examine(local, entry->d_name, &found[count], err);
		count += rc > 0;
	}
	closedir(list);
	if (rc < 0)
		return rc;
	if (count)
		qsort(found, count, sizeof(*found), by_key);
	*ret_found = found;
	*ret_count = count;
	return 0;
}
