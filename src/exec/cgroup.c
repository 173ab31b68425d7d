/* Control groups: a few files with a word in each. cgroup.h says what they are used for. */
#include "exec/cgroup.h"

#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { CGROUP2_MAGIC = 0x63677270, PERIOD_US = 100000 };

/* ---- files ---- */

static int write_word(int dir, const char *name, const char *word)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	ssize_t done = fd < 0 ? -1 : write(fd, word, strlen(word));
	int code = done < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return -code;
}

/* The number behind a word in a file of lines "word number"; with word NULL the file is the number.
 * -1: not known. */
static int64_t read_number(int dir, const char *name, const char *word)
{
	char text[4096];
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int64_t number;

	if (fd >= 0)
		close(fd);
	if (got < 0)
		return -1;
	text[got] = '\0';
	const char *at = text;

	if (word) {
		size_t length = strlen(word);

		while (at && (strncmp(at, word, length) != 0 || at[length] != ' ')) {
			at = strchr(at, '\n');
			at = at ? at + 1 : NULL;
		}
		at = at ? at + length + 1 : NULL;
	}
	if (!at || strata_int_parse(at, strcspn(at, "\n"), 0, INT64_MAX, &number, NULL))
		return -1;
	return number;
}

static bool is_cgroup2(const char *path)
{
	struct statfs info;

	return statfs(path, &info) == 0 && info.f_type == CGROUP2_MAGIC;
}

/* ---- the base ---- */

/* Hands the controllers on to the groups below, as far as there are any; without them there is
 * still kill and freeze. */
static void hand_on(int dir)
{
	write_word(dir, "cgroup.subtree_control", "+memory");
	write_word(dir, "cgroup.subtree_control", "+cpu");
	write_word(dir, "cgroup.subtree_control", "+pids");
}

static int make_group(int parent, const char *name)
{
	if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int prepare_base(const char *base)
{
	int dir = make_group(AT_FDCWD, base);

	if (dir < 0)
		return dir;
	if (!is_cgroup2(base)) {
		close(dir);
		return -ENOTSUP;
	}
	hand_on(dir);
	int supervisors = make_group(dir, "supervisors");

	if (supervisors >= 0)
		close(supervisors);
	close(dir);
	return supervisors < 0 ? supervisors : 0;
}

/* Where this process is in the tree of groups, as a directory. */
static bool own_group(char *path, size_t room)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char line[PATH_MAX + 100];
	bool found = false;
	FILE *file = fopen("/proc/self/cgroup", "re");

	while (file && !found && fgets(line, sizeof(line), file))
		found = strncmp(line, "0::/", 4) == 0;
	if (file)
		fclose(file);
	line[found ? strcspn(line, "\n") : 0] = '\0';
	for (size_t i = 0; found && i < sizeof(mounts) / sizeof(mounts[0]); i++)
		if (is_cgroup2(mounts[i]))
			return snprintf(path, room, "%s%s", mounts[i], line[4] ? line + 3 : "") <
			       (int)room;
	return false;
}

/* The name is the state directory's, so that two daemons on a machine, or one that starts again,
 * find their own. */
static const char *auto_base(const char *state_dir, struct strata_arena *arena)
{
	char own[PATH_MAX], base[PATH_MAX + 64];
	struct stat state;

	if (!own_group(own, sizeof(own)) || stat(state_dir, &state) < 0)
		return NULL;
	snprintf(base, sizeof(base), "%s/strata-%jx-%jx", own, (uintmax_t)state.st_dev,
		 (uintmax_t)state.st_ino);
	return prepare_base(base) < 0 ? NULL : strata_arena_text(arena, base, strlen(base));
}

int cgroup_find_base(const char *setting, const char *state_dir, struct strata_arena *arena,
		     const char **ret_base, struct strata_error *err)
{
	if (strcmp(setting, "none") == 0) {
		*ret_base = NULL;
		return 0;
	}
	if (strcmp(setting, "auto") == 0) {
		*ret_base = auto_base(state_dir, arena);
		return 0;
	}
	int rc = prepare_base(setting);

	if (rc)
		return strata_fail(err, rc, "cannot use %.200s for control groups: %s", setting,
				   rc == -ENOTSUP ? "it is not in a cgroup2 file system"
						  : strerror(-rc));
	char *text = strata_arena_text(arena, setting, strlen(setting));

	if (!text)
		return strata_fail_memory(err);
	*ret_base = text;
	return 0;
}

/* ---- what the kernel does ---- */

/* "memory pids" has the word? */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; *at; at += strspn(at, " \n")) {
		size_t span = strcspn(at, " \n");

		if (span == length && strncmp(at, word, length) == 0)
			return true;
		at += span;
	}
	return false;
}

struct cgroup_support cgroup_support(const char *base)
{
	struct cgroup_support support = { .groups = base != NULL };
	char path[PATH_MAX], text[4096] = "";
	FILE *file;

	if (base || is_cgroup2("/sys/fs/cgroup") || is_cgroup2("/sys/fs/cgroup/unified"))
		support.version = 2;
	else if (access("/sys/fs/cgroup/memory", F_OK) == 0)
		support.version = 1;
	if (!base ||
	    snprintf(path, sizeof(path), "%s/cgroup.subtree_control", base) >= (int)sizeof(path))
		return support;
	file = fopen(path, "re");
	if (file) {
		size_t got = fread(text, 1, sizeof(text) - 1, file);

		text[got] = '\0';
		fclose(file);
	}
	support.memory = has_word(text, "memory");
	support.cpu = has_word(text, "cpu");
	support.pids = has_word(text, "pids");
	return support;
}

void cgroup_support_print(const struct cgroup_support *support, char *text, size_t room)
{
	char where[64];

	if (support->groups)
		snprintf(where, sizeof(where), "cgroup v%d", support->version);
	else
		snprintf(where, sizeof(where), "no control groups");
	snprintf(text, room, "%s; memory: %s; CPUs: %s; processes: %s", where,
		 support->memory ? "kept by the kernel"
				 : "looked at once a second, above the limit the job is ended",
		 support->cpu ? "kept by the kernel" : "not kept",
		 support->pids ? "kept by the kernel" : "not kept");
}

/* ---- the group of an attempt ---- */

/* True: the kernel keeps the limit on memory. */
static bool set_limits(int dir, const struct cgroup_limits *limits)
{
	char word[64];
	bool kept = false;

	if (limits->memory_bytes) {
		snprintf(word, sizeof(word), "%" PRId64, limits->memory_bytes);
		kept = write_word(dir, "memory.max", word) == 0;
		write_word(dir, "memory.swap.max", "0");
		write_word(dir, "memory.oom.group", "1");
	}
	if (limits->cpu_milli) {
		snprintf(word, sizeof(word), "%" PRId64 " %d",
			 limits->cpu_milli * (PERIOD_US / 1000), PERIOD_US);
		write_word(dir, "cpu.max", word);
	}
	if (limits->process_count) {
		snprintf(word, sizeof(word), "%" PRId64, limits->process_count);
		write_word(dir, "pids.max", word);
	}
	return kept;
}

void cgroup_find(struct cgroup *cgroup, const char *base, const char *name)
{
	char path[PATH_MAX];

	cgroup->dir = -1;
	if (base && snprintf(path, sizeof(path), "%s/%s", base, name) < (int)sizeof(path))
		cgroup->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int cgroup_make(struct cgroup *cgroup, const char *base, const char *name,
		const struct cgroup_limits *limits, struct strata_error *err)
{
	char path[PATH_MAX];

	*cgroup = (struct cgroup){ .dir = -1 };
	if (!base)
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s", base, name) >= (int)sizeof(path))
		return strata_fail(err, -ENAMETOOLONG, "the path of its control group is too long");
	int dir = make_group(AT_FDCWD, path);

	if (dir < 0)
		return strata_fail(err, dir, "cannot make the control group %.200s: %s", path,
				   strerror(-dir));
	cgroup->memory_kept = set_limits(dir, limits);
	cgroup->dir = dir;
	return 0;
}

void cgroup_close(struct cgroup *cgroup)
{
	if (cgroup->dir >= 0)
		close(cgroup->dir);
	cgroup->dir = -1;
}

int cgroup_enter(const struct cgroup *cgroup, struct strata_error *err)
{
	int rc = cgroup->dir < 0 ? 0 : write_word(cgroup->dir, "cgroup.procs", "0");

	return rc ? strata_fail(err, rc, "cannot enter the control group: %s", strerror(-rc)) : 0;
}

/* To enter a group where one is already costs as much as to enter another: the kernel waits for
 * every CPU. */
static bool is_supervisor(const char *base)
{
	char own[PATH_MAX], there[PATH_MAX];

	return own_group(own, sizeof(own)) &&
	       snprintf(there, sizeof(there), "%s/supervisors", base) < (int)sizeof(there) &&
	       strcmp(own, there) == 0;
}

int cgroup_enter_supervisors(const char *base, struct strata_error *err)
{
	struct cgroup supervisors = { -1 };

	if (base && is_supervisor(base))
		return 0;
	cgroup_find(&supervisors, base, "supervisors");
	if (base && supervisors.dir < 0 &&
	    prepare_base(base) == 0) /* a daemon that ended tidied up */
		cgroup_find(&supervisors, base, "supervisors");
	if (base && supervisors.dir < 0)
		return strata_fail(err, -ENOENT, "there is no %.200s/supervisors", base);
	int rc = cgroup_enter(&supervisors, err);

	cgroup_close(&supervisors);
	return rc;
}

int cgroup_kill(const struct cgroup *cgroup)
{
	return cgroup->dir < 0 ? -EOPNOTSUPP : write_word(cgroup->dir, "cgroup.kill", "1");
}

int cgroup_freeze(const struct cgroup *cgroup, bool frozen)
{
	return cgroup->dir < 0 ? -EOPNOTSUPP
			       : write_word(cgroup->dir, "cgroup.freeze", frozen ? "1" : "0");
}

int cgroup_processes(const struct cgroup *cgroup, pid_t *pids, size_t room)
{
	int fd = cgroup->dir < 0 ? -1 : openat(cgroup->dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int count = 0, pid;

	if (!file) {
		int code = cgroup->dir < 0 ? EOPNOTSUPP : errno;

		if (fd >= 0)
			close(fd);
		return -code;
	}
	while ((size_t)count < room && fscanf(file, "%d", &pid) == 1)
		pids[count++] = pid;
	fclose(file);
	return count;
}

bool cgroup_ran_out_of_memory(const struct cgroup *cgroup)
{
	return cgroup->dir >= 0 && read_number(cgroup->dir, "memory.events", "oom_kill") > 0;
}

int64_t cgroup_cpu_ns(const struct cgroup *cgroup)
{
	int64_t used_us = cgroup->dir < 0 ? -1 : read_number(cgroup->dir, "cpu.stat", "usage_usec");

	return used_us < 0 ? -1 : used_us * 1000;
}

int64_t cgroup_memory_peak(const struct cgroup *cgroup)
{
	int64_t peak = cgroup->dir < 0 ? -1 : read_number(cgroup->dir, "memory.peak", NULL);

	return peak < 0 ? 0 : peak;
}

void cgroup_remove(const char *base, const char *name)
{
	char path[PATH_MAX];

	if (base && snprintf(path, sizeof(path), "%s/%s", base, name) < (int)sizeof(path))
		rmdir(path);
}

void cgroup_remove_base(const char *base)
{
	cgroup_remove(base, "supervisors");
	cgroup_remove(base, "");
}
