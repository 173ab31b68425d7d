/* An executor in a temporary directory, orders of small shell scripts, and waiting for what becomes of them. */
#ifndef EXEC_SAMPLE_H
#define EXEC_SAMPLE_H

#include "test.h"

#include "exec/exec.h"

#include <strata/text.h>

#include <errno.h>
#include <poll.h>
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
static struct exec *exec;

struct sample_conf {
	const char *cgroup;
};

static const char *sample_path(const char *name)
{
	static char paths[8][600];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_temp_dir(), name);
	return path;
}

static inline const char *sample_program(void)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/strata",
		 getenv("STRATA_BUILD") ? getenv("STRATA_BUILD") : "build");
	return path;
}

static inline struct exec_open sample_from(const struct env *env, int64_t epoch)
{
	return (struct exec_open){ .env = env,
				   .memory = &memory,
				   .state_dir = sample_path("state"),
				   .epoch = epoch,
				   .supervisor = sample_program() };
}

static inline void sample_open_with(const char *cgroup, int64_t epoch)
{
	struct sample_conf conf = { cgroup };
	struct exec_open from = sample_from(env_system(), epoch);

	chmod(test_temp_dir(), 0755);
	memory = (struct strata_memory){ 0 };
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
}

static inline void sample_open(void)
{
	sample_open_with("none", 1);
}

static inline void sample_close(void)
{
	/* a supervisor ends a little after its job, and only then its control group can go */
	for (int i = 0; i < 50 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = STRATA_MS_NS }, NULL);
	exec_local.close(exec);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static inline struct exec_order sample_order(int64_t job, const char *script)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	static char scripts[8][4000];
	char *text = scripts[job % 8];

	snprintf(text, sizeof(scripts[0]), "#!/bin/sh\n%s\n", script);
	return (struct exec_order){
		.job = job,
		.attempt = 1,
		.user = geteuid() ? "" : "root",
		.uid = geteuid(),
		.gid = getegid(),
		.umask = 022,
		.directory = test_temp_dir(),
		.script = text,
		.script_bytes = strlen(text),
		.environment = environment,
		.output = "out",
		.time_limit_ns = STRATA_DURATION_UNLIMITED,
		.grace_ns = 10 * STRATA_SECOND_NS,
	};
}

/* The next event, or none within so many ms. */
static inline bool sample_next(struct exec_event *event, int wait_ms)
{
	for (int64_t end_ns = env_now_ns(env_system(), ENV_MONOTONIC) + wait_ms * STRATA_MS_NS;;) {
		int rc = exec_local.next(exec, event, &err);

		CHECK(rc >= 0);
		if (rc == 1)
			return true;
		int64_t left_ns = end_ns - env_now_ns(env_system(), ENV_MONOTONIC);
		struct pollfd waiting = { exec_local.fd(exec), POLLIN, 0 };

		if (left_ns <= 0)
			return false;
		poll(&waiting, 1, (int)(left_ns / STRATA_MS_NS) + 1);
	}
}

static inline struct exec_event sample_await(enum exec_event_type type)
{
	struct exec_event event;

	for (;;) {
		if (!sample_next(&event, 20000))
			test_fail(__FILE__, __LINE__, "no event %d came", (int)type);
		if (event.type == type)
			return event;
		if (event.type == EXEC_ENDED || event.type == EXEC_TROUBLE)
			test_fail(__FILE__, __LINE__, "event %d came, not %d: %s, %s",
				  (int)event.type, (int)type,
				  exec_how_name((enum exec_how)event.status.how),
				  event.status.error ? event.status.error : "");
	}
}

static inline struct exec_status sample_run(const struct exec_order *order)
{
	CHECK_OK(exec_local.start(exec, order, &err));
	return sample_await(EXEC_ENDED).status;
}

/* Waits until a file is there with a whole line in it, as when a job says that it is ready. */
static inline void sample_await_line(const char *path)
{
	for (int i = 0; i < 2000; i++) {
		struct stat info;

		if (stat(path, &info) == 0 && info.st_size > 0)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 10 * STRATA_MS_NS }, NULL);
	}
	test_fail(__FILE__, __LINE__, "%s stays empty", path);
}

/* A file's contents; valid until the next call. */
static inline const char *sample_text(const char *path)
{
	static char *text;
	size_t size;

	free(text);
	text = test_read_file(path, &size);
	return text;
}

static inline void sample_ask(uint64_t job, struct exec_control ask)
{
	CHECK_OK(exec_local.control(exec, (struct exec_key){ job, 1 }, &ask, &err));
}

#endif
