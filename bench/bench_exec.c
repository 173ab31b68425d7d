/*
 * Running jobs: how long from the order to the job's first instruction, how many short jobs in a second, and what a supervisor
 * costs while its job runs. Jobs are small shell scripts; the state is in a directory of TMPDIR (its disk counts).
 *
 *	bench_exec [PROGRAM]	PROGRAM: the supervisor, default the strata beside this benchmark
 */
#include "exec/exec.h"

#include <strata/text.h>

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;
static struct exec *exec;
static char base[200], program[PATH_MAX];

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "bench_exec: %s: %s\n", what, err.text);
	exit(1);
}

static int64_t now_ns(void)
{
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

static void start(int64_t job, const char *script)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct exec_order order = {
		.job = job,
		.attempt = 1,
		.user = geteuid() ? "" : "root",
		.uid = geteuid(),
		.gid = getegid(),
		.directory = base,
		.script = script,
		.script_bytes = strlen(script),
		.environment = environment,
		.time_limit_ns = STRATA_HOUR_NS,
	};

	if (exec_local.start(exec, &order, &err))
		give_up("start");
}

static struct exec_event await(enum exec_event_type type)
{
	for (;;) {
		struct pollfd waiting = { exec_local.fd(exec), POLLIN, 0 };
		struct exec_event event;

		if (exec_local.next(exec, &event, &err) == 0)
			poll(&waiting, 1, 1000);
		else if (event.type == type)
			return event;
		else if (event.type == EXEC_TROUBLE)
			give_up(event.status.error);
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return one < two ? -1 : one > two;
}

static void measure_latency(void)
{
	enum { RUNS = 100 };
	int64_t order[RUNS], first[RUNS], end[RUNS];

	for (int i = 0; i < RUNS; i++) {
		int64_t begin_ns = now_ns();
		int64_t wall_ns = env_now_ns(env_system(), ENV_REALTIME);

		start(1000 + i, "#!/bin/true\n");
		order[i] = now_ns() - begin_ns;
		first[i] = await(EXEC_STARTED).status.started_ns - wall_ns;
		await(EXEC_ENDED);
		end[i] = now_ns() - begin_ns;
		exec_local.forget(exec, (struct exec_key){ (uint64_t)(1000 + i), 1 }, NULL);
	}
	qsort(order, RUNS, sizeof(order[0]), by_value);
	qsort(first, RUNS, sizeof(first[0]), by_value);
	qsort(end, RUNS, sizeof(end[0]), by_value);
	printf("  ordered after %.2f ms, running after %.2f ms, its end reported after %.2f "
	       "ms (medians; 99%%: %.2f, %.2f, %.2f)\n",
	       (double)order[RUNS / 2] / 1e6, (double)first[RUNS / 2] / 1e6,
	       (double)end[RUNS / 2] / 1e6, (double)order[RUNS - 2] / 1e6,
	       (double)first[RUNS - 2] / 1e6, (double)end[RUNS - 2] / 1e6);
}

static void measure_rate(void)
{
	enum { JOBS = 500 };
	int64_t begin_ns = now_ns(), ordered_ns;

	for (int i = 0; i < JOBS; i++)
		start(2000 + i, "#!/bin/true\n");
	ordered_ns = now_ns() - begin_ns;
	for (int i = 0; i < JOBS; i++)
		await(EXEC_ENDED);
	printf("  %d jobs ordered at %.0f a second, and all ended at %.0f a second\n", JOBS,
	       JOBS * 1e9 / (double)ordered_ns, JOBS * 1e9 / (double)(now_ns() - begin_ns));
	for (int i = 0; i < JOBS; i++)
		exec_local.forget(exec, (struct exec_key){ (uint64_t)(2000 + i), 1 }, NULL);
}

/* A number of /proc/PID/smaps_rollup, in KiB. */
static long field(int pid, const char *name)
{
	char path[64], line[200];
	long value = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			value += strtol(line + strlen(name), NULL, 10);
	if (file)
		fclose(file);
	return value;
}

static void measure_memory(void)
{
	enum { JOBS = 50 };
	char path[300];
	long rss = 0, pss = 0, own = 0;

	for (int i = 0; i < JOBS; i++) {
		start(3000 + i, "#!/bin/sh\nexec sleep 600\n");
		await(EXEC_STARTED);
	}
	for (int i = 0; i < JOBS; i++) {
		int pid = 0;

		snprintf(path, sizeof(path), "%s/state/jobs/%d.1", base, 3000 + i);
		FILE *file = fopen(path, "re");
		char line[4096];

		while (file && pid == 0 && fgets(line, sizeof(line), file))
			if (sscanf(line, "claimed {\"pid\":%d", &pid) != 1)
				pid = 0;
		if (!pid)
			give_up(path);
		fclose(file);
		rss += field(pid, "Rss:");
		pss += field(pid, "Pss:");
		own += field(pid, "Private_Dirty:");
	}
	printf("  a supervisor of %d: %ld KiB resident, %ld KiB its share, %ld KiB its own\n", JOBS,
	       rss / JOBS, pss / JOBS, own / JOBS);
	for (int i = 0; i < JOBS; i++)
		exec_local.control(
			exec, (struct exec_key){ (uint64_t)(3000 + i), 1 },
			&(struct exec_control){ .type = EXEC_STOP, .how = EXEC_CANCELLED }, &err);
	for (int i = 0; i < JOBS; i++)
		await(EXEC_ENDED);
	for (int i = 0; i < JOBS; i++)
		exec_local.forget(exec, (struct exec_key){ (uint64_t)(3000 + i), 1 }, NULL);
}

int main(int argc, char **argv)
{
	const struct {
		const char *cgroup;
	} conf = { "none" };
	char state[300], self[PATH_MAX - 20] = "";

	snprintf(base, sizeof(base), "%s/strata-bench.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(base) || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		give_up("setting up");
	*strrchr(self, '/') = '\0';
	snprintf(program, sizeof(program), "%s/../strata", self);
	snprintf(state, sizeof(state), "%s/state", base);
	if (exec_local.open(&conf,
			    &(struct exec_open){ .env = env_system(),
						 .memory = &memory,
						 .state_dir = state,
						 .epoch = 1,
						 .supervisor = argc > 1 ? argv[1] : program },
			    &exec, &err))
		give_up("open");
	measure_latency();
	measure_rate();
	measure_memory();
	exec_local.close(exec);
	snprintf(self, sizeof(self), "%s/leader", state);
	unlink(self);
	snprintf(self, sizeof(self), "%s/jobs", state);
	rmdir(self);
	rmdir(state);
	rmdir(base);
	return 0;
}
