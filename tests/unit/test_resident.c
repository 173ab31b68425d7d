#include "test.h"

#include "exec/resident.h"

#include <strata/text.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* Children that have `mib` each, or share that much, until they are told to end. */
static void begin(pid_t *pids, size_t count, int mib, bool shared)
{
	int ready[2];
	char *block = mmap(NULL, (size_t)mib * MIB, PROT_READ | PROT_WRITE,
			   MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);

	CHECK(block != MAP_FAILED && pipe(ready) == 0);
	for (size_t i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
			memset(block, 1, (size_t)mib * MIB);
			if (write(ready[1], "x", 1) == 1)
				pause();
			_exit(0);
		}
	}
	for (size_t i = 0; i < count; i++) {
		char byte;

		CHECK_INT(read(ready[0], &byte, 1), 1);
	}
	munmap(block, (size_t)mib * MIB);
	close(ready[0]);
	close(ready[1]);
}

static void finish(const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

TEST(the_memory_of_all_descendants_counts)
{
	struct cgroup none = { .dir = -1 };
	pid_t pids[3];

	CHECK_INT(resident_bytes(&none, 0), 0);
	begin(pids, 3, 40, false);
	int64_t bytes = resident_bytes(&none, 0);

	CHECK(bytes >= (int64_t)120 * MIB);
	finish(pids, 3);
	CHECK_INT(resident_bytes(&none, 0), 0);
}

TEST(what_is_shared_counts_once_where_it_matters)
{
	struct cgroup none = { .dir = -1 };
	pid_t pids[4];

#ifdef __SANITIZE_THREAD__
	test_skip("ThreadSanitizer keeps more for each process than they share");
#endif
	begin(pids, 4, 64, true);
	CHECK(resident_bytes(&none, 0) >= (int64_t)256 * MIB);
	if (access("/proc/self/smaps_rollup", R_OK) == 0)
		CHECK(resident_bytes(&none, (int64_t)200 * MIB) < (int64_t)200 * MIB);
	finish(pids, 4);
}

/* A child that works until it has used so much, and then sleeps or ends. */
static pid_t work(int64_t ms, bool end)
{
	int ready[2];
	char byte;

	CHECK_INT(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (clock() < ms * (CLOCKS_PER_SEC / 1000))
			;
		if (end || write(ready[1], "x", 1) != 1)
			_exit(0);
		pause();
	}
	if (end)
		waitpid(pid, NULL, 0);
	else
		CHECK_INT(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

TEST(cpu_time_of_those_that_run_and_of_those_that_have_ended_counts)
{
	struct cgroup none = { .dir = -1 };
	int64_t before_ns = resident_cpu_ns(&none);
	pid_t pid = work(200, false);
	int64_t running_ns = resident_cpu_ns(&none);

	CHECK(running_ns - before_ns >= 150 * STRATA_MS_NS);
	finish(&pid, 1);
	work(200, true);
	CHECK(resident_cpu_ns(&none) - before_ns >= 350 * STRATA_MS_NS);
}
