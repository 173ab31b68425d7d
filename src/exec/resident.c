/* The memory and the CPU time of resident.h, from /proc. */
#include "exec/resident.h"

#include <strata/text.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PROCESSES_MAX = 65536 };

/* ---- which processes ---- */

struct pids {
	pid_t *list; /* owned */
	size_t count, room;
};

static bool add(struct pids *pids, pid_t pid)
{
	if (pids->count == pids->room) {
		size_t room = pids->room ? 2 * pids->room : 64;
		pid_t *list = room > PROCESSES_MAX ? NULL
						   : realloc(pids->list, room * sizeof(*list));

		if (!list)
			return false;
		pids->list = list;
		pids->room = room;
	}
	pids->list[pids->count++] = pid;
	return true;
}

/* The children of one thread. */
static void add_children_of(struct pids *pids, pid_t pid, const char *thread)
{
	char path[96];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", pid, thread);
	FILE *file = fopen(path, "re");

	while (file && fscanf(file, "%d", &child) == 1 && add(pids, child))
		;
	if (file)
		fclose(file);
}

static void add_children(struct pids *pids, pid_t pid)
{
	char path[64];
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_children_of(pids, pid, entry->d_name);
	if (dir)
		closedir(dir);
}

static void add_descendants(struct pids *pids)
{
	add_children(pids, getpid());
	for (size_t i = 0; i < pids->count; i++)
		add_children(pids, pids->list[i]);
}

static void list_group(struct pids *pids, const struct cgroup *cgroup)
{
	size_t room = 256;
	int count;

	do {
		pid_t *list = realloc(pids->list, room * sizeof(*list));

		if (!list)
			return;
		pids->list = list;
		count = cgroup_processes(cgroup, list, room);
		room *= 4;
	} while (count > 0 && (size_t)count * 4 == room && room <= PROCESSES_MAX);
	pids->count = count > 0 ? (size_t)count : 0;
}

/* ---- what they have ---- */

/* Every page that is in memory. */
static int64_t resident_of(pid_t pid)
{
	char path[64];
	long long size, resident = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	FILE *file = fopen(path, "re");

	if (file && fscanf(file, "%lld %lld", &size, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident * sysconf(_SC_PAGESIZE);
}

/* The same with a page that n processes have counted as an n-th. -1: it cannot be seen. */
static int64_t proportional_of(pid_t pid)
{
	char path[64], line[256];
	long long kib = -1;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	FILE *file = fopen(path, "re");

	while (file && kib < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "Pss: %lld kB", &kib) != 1)
			kib = -1;
	if (file)
		fclose(file);
	return kib < 0 ? -1 : kib * 1024;
}

int64_t resident_bytes(const struct cgroup *cgroup, int64_t limit_bytes)
{
	struct pids pids = { 0 };
	int64_t all = 0, shared = 0;

	if (cgroup->dir >= 0)
		list_group(&pids, cgroup);
	else
		add_descendants(&pids);
	for (size_t i = 0; i < pids.count; i++)
		all += resident_of(pids.list[i]);
	if (limit_bytes && all > limit_bytes && pids.count > 1) {
		for (size_t i = 0; i < pids.count; i++) {
			int64_t part = proportional_of(pids.list[i]);

			shared += part < 0 ? resident_of(pids.list[i]) : part;
		}
		all = shared;
	}
	free(pids.list);
	return all;
}

/* Of a process, and of its children that it has waited for; in ticks of the kernel. */
static int64_t ticks_of(pid_t pid)
{
	char path[64], text[1024] = "";
	long long user, system, user_ended, system_ended;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");

	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	const char *end = strrchr(text, ')'); /* of its name, which may hold anything */

	if (!end || sscanf(end + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &user,
			   &system, &user_ended, &system_ended) != 4)
		return 0;
	return user + system + user_ended + system_ended;
}

int64_t resident_cpu_ns(const struct cgroup *cgroup)
{
	int64_t ns = cgroup_cpu_ns(cgroup), ticks = 0;
	struct pids pids = { 0 };
	struct rusage ended;

	if (ns >= 0)
		return ns;
	add_descendants(&pids);
	for (size_t i = 0; i < pids.count; i++)
		ticks += ticks_of(pids.list[i]);
	free(pids.list);
	getrusage(RUSAGE_CHILDREN, &ended);
	ns = ((int64_t)ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * STRATA_SECOND_NS +
	     ((int64_t)ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) * 1000;
	return ns + ticks * (STRATA_SECOND_NS / sysconf(_SC_CLK_TCK));
}
