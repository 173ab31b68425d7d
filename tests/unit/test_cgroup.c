#include "test.h"

#include "exec/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static void put_file(const char *name, const char *text)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/group/%s", test_temp_dir(), name);
	FILE *file = fopen(path, "we");

	fputs(text, file);
	fclose(file);
}

static void check_file(const char *name, const char *want)
{
	char path[600];
	size_t size;

	snprintf(path, sizeof(path), "%s/group/%s", test_temp_dir(), name);
	char *text = test_read_file(path, &size);

	CHECK_TEXT(text, want);
	free(text);
}

/* A directory with the files of a group in it, as the kernel would have them. */
TEST(limits_go_into_the_files_of_the_group)
{
	static const char *const names[] = { "memory.max", "memory.swap.max", "memory.oom.group",
					     "cpu.max", "pids.max" };
	const struct cgroup_limits limits = { 1500, INT64_C(3) << 30, 99 };
	const struct cgroup_limits none = { 0 };
	struct cgroup group;
	char path[600];

	snprintf(path, sizeof(path), "%s/group", test_temp_dir());
	CHECK_INT(mkdir(path, 0755), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_file(names[i], "");
	CHECK_OK(cgroup_make(&group, test_temp_dir(), "group", &none, &err));
	check_file("memory.max", "");
	cgroup_close(&group);
	CHECK_OK(cgroup_make(&group, test_temp_dir(), "group", &limits, &err));
	check_file("memory.max", "3221225472");
	check_file("memory.swap.max", "0");
	check_file("memory.oom.group", "1");
	check_file("cpu.max", "150000 100000");
	check_file("pids.max", "99");
	CHECK(!cgroup_ran_out_of_memory(&group));
	CHECK_INT(cgroup_memory_peak(&group), 0);
	put_file("memory.events", "low 0\noom 1\noom_kill 0\n");
	CHECK(!cgroup_ran_out_of_memory(&group));
	put_file("memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 1\n");
	CHECK(cgroup_ran_out_of_memory(&group));
	put_file("memory.peak", "4096\n");
	CHECK_INT(cgroup_memory_peak(&group), 4096);
	cgroup_close(&group);
}

TEST(without_a_base_there_is_no_group_and_nothing_fails)
{
	struct cgroup group;

	CHECK_OK(cgroup_make(&group, NULL, "1.1", &(struct cgroup_limits){ 0 }, &err));
	CHECK_INT(group.dir, -1);
	CHECK_OK(cgroup_enter(&group, &err));
	CHECK_OK(cgroup_enter_supervisors(NULL, &err));
	CHECK_INT(cgroup_kill(&group), -EOPNOTSUPP);
	CHECK_INT(cgroup_freeze(&group, true), -EOPNOTSUPP);
	CHECK(!cgroup_ran_out_of_memory(&group));
	cgroup_remove(NULL, "1.1");
	cgroup_close(&group);
}

TEST(a_base_must_be_among_control_groups)
{
	const char *base = "x";

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(cgroup_find_base("none", "/", &arena, &base, &err));
	CHECK(!base);
	CHECK_ERROR(cgroup_find_base(test_temp_dir(), "/", &arena, &base, &err), -ENOTSUP,
		    "it is not in a cgroup2 file system");
	CHECK_ERROR(cgroup_find_base("/no/such/place", "/", &arena, &base, &err), -ENOENT,
		    "cannot use /no/such/place for control groups");
	strata_arena_fini(&arena);
}

TEST(a_real_group_is_entered_frozen_killed_and_removed)
{
	const char *base;
	struct cgroup group;
	int status;
	char path[PATH_MAX];

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(cgroup_find_base("auto", test_temp_dir(), &arena, &base, &err));
	if (!base) {
		strata_arena_fini(&arena);
		test_skip("no control groups to be had");
	}
	CHECK_OK(cgroup_make(&group, base, "1.1", &(struct cgroup_limits){ 0 }, &err));
	pid_t pid = fork();

	if (pid == 0) {
		cgroup_enter(&group, NULL);
		fork();
		pause();
		_exit(1);
	}
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	CHECK_INT(cgroup_freeze(&group, true), 0);
	CHECK_INT(cgroup_freeze(&group, false), 0);
	CHECK_INT(cgroup_kill(&group), 0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(WTERMSIG(status), SIGKILL);
	snprintf(path, sizeof(path), "%s/1.1", base);
	for (int i = 0; i < 200 && access(path, F_OK) == 0; i++) {
		cgroup_remove(base, "1.1");
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	CHECK(access(path, F_OK) < 0);
	cgroup_close(&group);
	for (int i = 0; i < 200 && access(base, F_OK) == 0; i++) { /* the kernel takes a moment */
		cgroup_remove_base(base);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	CHECK(access(base, F_OK) < 0);
	strata_arena_fini(&arena);
}

/* A tree of files that looks like what the kernel hands on: here only what this machine would not give. */
TEST(what_the_kernel_keeps_is_what_it_hands_on)
{
	static const struct {
		const char *handed_on, *said;
	} cases[] = {
		{ "hugetlb\n",
		  "cgroup v2; memory: looked at once a second, above the limit the job is "
		  "ended; CPUs: not kept; processes: not kept" },
		{ "cpu memory pids\n",
		  "cgroup v2; memory: kept by the kernel; CPUs: kept by the kernel; "
		  "processes: kept by the kernel" },
		{ "cpuset memory\n",
		  "cgroup v2; memory: kept by the kernel; CPUs: not kept; processes: "
		  "not kept" },
	};
	char base[600], text[256];

	snprintf(base, sizeof(base), "%s/group", test_temp_dir());
	mkdir(base, 0755);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_file("cgroup.subtree_control", cases[i].handed_on);
		struct cgroup_support support = cgroup_support(base);

		cgroup_support_print(&support, text, sizeof(text));
		CHECK_TEXT(text, cases[i].said);
	}
	struct cgroup_support none = cgroup_support(NULL);

	cgroup_support_print(&none, text, sizeof(text));
	CHECK(strstr(text, "no control groups; memory: looked at") == text);
}

TEST(the_kernel_keeps_a_limit_that_it_took)
{
	const struct cgroup_limits limits = { .memory_bytes = 1 << 20 };
	struct cgroup group;
	char base[600], path[700];

	snprintf(base, sizeof(base), "%s/base", test_temp_dir());
	snprintf(path, sizeof(path), "%s/1.1", base);
	CHECK_INT(mkdir(base, 0755), 0);
	CHECK_INT(mkdir(path, 0755), 0);
	CHECK_OK(cgroup_make(&group, base, "1.1", &limits, &err));
	CHECK(!group.memory_kept); /* there is no such file: no controller */
	cgroup_close(&group);
	snprintf(path, sizeof(path), "%s/1.1/memory.max", base);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	CHECK_OK(cgroup_make(&group, base, "1.1", &limits, &err));
	CHECK(group.memory_kept);
	cgroup_close(&group);
}

TEST(a_group_lists_its_processes)
{
	struct cgroup none = { .dir = -1 }, group;
	pid_t pids[3];
	char path[600];

	snprintf(path, sizeof(path), "%s/group", test_temp_dir());
	mkdir(path, 0755);
	put_file("cgroup.procs", "17\n4711\n99\n5\n");
	cgroup_find(&group, test_temp_dir(), "group");
	CHECK_INT(cgroup_processes(&group, pids, 3), 3);
	CHECK(pids[0] == 17 && pids[1] == 4711 && pids[2] == 99);
	CHECK_INT(cgroup_processes(&none, pids, 3), -EOPNOTSUPP);
	cgroup_close(&group);
}
