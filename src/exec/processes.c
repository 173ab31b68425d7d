/*
 * The processes of a job; processes.h says how they are known. Each call reads all of /proc once:
 * it is made when something is asked of a job, not while it runs.
 */
#include "exec/processes.h"

#include <strata/text.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRON_BYTES = 1 << 20 };

struct process {
	pid_t pid, parent;
	bool ours;
};

struct processes {
	struct process *rows; /* sorted by pid; owned */
	size_t count, room;
};

/* Reads a file of /proc whole, as far as there is room, with a NUL behind it; -1 when the process
 * is gone or not ours to see. */
static ssize_t read_proc(pid_t pid, const char *name, char *text, size_t room)
{
	char path[64];
	size_t used = 0;
	ssize_t got = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && used < room - 1 && (got = read(fd, text + used, room - 1 - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[used] = '\0';
	return fd < 0 || got < 0 ? -1 : (ssize_t)used;
}

static pid_t read_parent(pid_t pid)
{
	char text[512];

	if (read_proc(pid, "stat", text, sizeof(text)) < 0)
		return -1;
	const char *end = strrchr(text, ')'); /* of its name, which may hold anything */

	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : -1;
}

static int add(struct processes *list, pid_t pid)
{
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 256;
		struct process *rows = realloc(list->rows, room * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		list->rows = rows;
		list->room = room;
	}
	list->rows[list->count++] = (struct process){ .pid = pid };
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct process *)a)->pid - ((const struct process *)b)->pid;
}

static int list_all(struct processes *list)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int64_t pid;
	int rc = 0;

	*list = (struct processes){ 0 };
	if (!dir)
		return -errno;
	while (rc == 0 && (entry = readdir(dir)))
		if (strata_int_parse(entry->d_name, STRATA_TEXT_NUL, 1, INT32_MAX, &pid, NULL) == 0)
			rc = add(list, (pid_t)pid);
	closedir(dir);
	if (rc == 0 && list->count)
		qsort(list->rows, list->count, sizeof(*list->rows), by_pid);
	else
		free(list->rows);
	return rc;
}

/* Marks the descendants of this process: rounds until no more are found, few since parents mostly
 * come before children. */
static void mark_descendants(struct processes *list)
{
	pid_t self = getpid();
	bool found = true;

	for (size_t i = 0; i < list->count; i++)
		list->rows[i].parent = read_parent(list->rows[i].pid);
	while (found) {
		found = false;
		for (size_t i = 0; i < list->count; i++) {
			struct process *row = &list->rows[i];
			const struct process *parent =
				bsearch(&(struct process){ .pid = row->parent }, list->rows,
					list->count, sizeof(*row), by_pid);

			if (row->ours || (row->parent != self && !(parent && parent->ours)))
				continue;
			row->ours = found = true;
		}
	}
}

static bool catches(pid_t pid, int signal)
{
	char text[4096];
	const char *line =
		read_proc(pid, "status", text, sizeof(text)) < 0 ? NULL : strstr(text, "\nSigCgt:");

	return line && (strtoull(line + 8, NULL, 16) >> (signal - 1) & 1);
}

/* Does its environment, in which nothing can be hidden from us, begin a variable so? What we put
 * there tells what it belongs to. */
static bool has_variable(pid_t pid, const char *start, bool whole, char *text, size_t room)
{
	ssize_t length = read_proc(pid, "environ", text, room);

	for (const char *at = text; length > 0 && at < text + length; at += strlen(at) + 1)
		if (whole ? strcmp(at, start) == 0 : strncmp(at, start, strlen(start)) == 0)
			return true;
	return false;
}

static bool is_meant(pid_t pid, int signal, enum processes_which which, char *text)
{
	switch (which) {
	case PROCESSES_CATCHERS:
		return catches(pid, signal);
	case PROCESSES_STEPS:
		return has_variable(pid, "SLURM_STEP_ID=", false, text, ENVIRON_BYTES);
	default:
		return true;
	}
}

int processes_signal(int signal, enum processes_which which)
{
	struct processes list;
	char *text = which == PROCESSES_STEPS ? malloc(ENVIRON_BYTES) : NULL;
	int rc = which == PROCESSES_STEPS && !text ? -ENOMEM : list_all(&list), sent = 0;

	if (rc) {
		free(text);
		return rc;
	}
	mark_descendants(&list);
	for (size_t i = 0; i < list.count; i++)
		if (list.rows[i].ours && is_meant(list.rows[i].pid, signal, which, text))
			sent += kill(list.rows[i].pid, signal) == 0;
	free(list.rows);
	free(text);
	return sent;
}

int processes_kill_orphans(const char *job_file)
{
	struct processes list;
	char variable[PATH_MAX + 16], *text = malloc(ENVIRON_BYTES);
	int rc = text ? list_all(&list) : -ENOMEM, sent = 0;

	snprintf(variable, sizeof(variable), "STRATA_JOB_FILE=%s", job_file);
	for (size_t i = 0; rc == 0 && i < list.count; i++) {
		pid_t pid = list.rows[i].pid;

		if (pid != getpid() && has_variable(pid, variable, true, text, ENVIRON_BYTES))
			sent += kill(pid, SIGKILL) == 0;
	}
	if (rc == 0)
		free(list.rows);
	free(text);
	return rc ? rc : sent;
}
