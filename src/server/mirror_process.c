/*
 * The process of a copy. Order and credentials go to it over a pipe, and what it says comes back
 * over another; its environment has nothing but what leads through a proxy. Credentials are read
 * for each one anew, so that those that expire can be exchanged in their file.
 */
#include "server/mirror_process.h"

#include "core/env_trust.h"
#include "core/option.h"
#include "s3/s3_address.h"

#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CREDENTIALS_BYTES_MAX = 1 << 16, ANSWER_BYTES_MAX = 1 << 14, VARIABLES_MAX = 8,
       SILENT_MS = 60000 };
#define LONGEST_NS (4 * STRATA_HOUR_NS) /* it goes on where it was */

/* ---- credentials ---- */

static int check_file(const char *path, struct strata_error *err)
{
	struct stat info;
	int rc = env_trust_check(path, ENV_TRUST_FILE, "the credentials for S3", err);

	if (rc == 0 && stat(path, &info) < 0)
		rc = strata_fail_at(err, -EACCES, "s3_credentials", "cannot read %s: %s", path,
				    strerror(errno));
	if (rc == 0 && (info.st_mode & 077))
		rc = strata_fail_at(err, -EACCES, "s3_credentials",
				    "others can read the credentials in %s; `chmod 600 %s` mends it",
				    path, path);
	return rc;
}

int mirror_credentials(const struct server_conf *conf, struct strata_arena *arena,
		       struct s3_credentials *ret_credentials, struct strata_error *err)
{
	struct s3_credentials own = { getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"),
				      getenv("AWS_SESSION_TOKEN") };
	char *text;
	size_t length;

	if (!conf->s3_credentials) {
		int rc = s3_credentials_check(&own, err);

		if (rc == 0)
			*ret_credentials = own;
		return rc;
	}
	int rc = check_file(conf->s3_credentials, err);

	if (rc == 0)
		rc = env_read_file(env_system(), AT_FDCWD, conf->s3_credentials,
				   CREDENTIALS_BYTES_MAX, arena, &text, &length, err);
	return rc ? rc : s3_credentials_read(text, ret_credentials, err);
}

/* ---- the process ---- */

static const char *const passed[] = { "http_proxy",  "https_proxy", "no_proxy",
				      "HTTPS_PROXY", "NO_PROXY",    NULL };

static void fill_environment(struct strata_arena *arena, char *ret_variables[VARIABLES_MAX])
{
	size_t count = 0;

	for (const char *const *name = passed; *name; name++) {
		const char *value = getenv(*name);
		char *text = value ? strata_arena_printf(arena, "%s=%s", *name, value) : NULL;

		if (text)
			ret_variables[count++] = text;
	}
	ret_variables[count] = NULL;
}

/* Under the lock, so that whoever ends it finds its number or finds that it has not begun. */
static int spawn(const struct mirror_place *place, const struct mirror_run *run, int in_fd,
		 int out_fd, struct strata_arena *arena)
{
	char uid[16], gid[16], *variables[VARIABLES_MAX];
	char *argv[] = { (char *)(uintptr_t)place->program, uid, gid, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;

	fill_environment(arena, variables);
	snprintf(uid, sizeof(uid), "%u", (unsigned)(geteuid() == 0 ? run->uid : 0));
	snprintf(gid, sizeof(gid), "%u", (unsigned)(geteuid() == 0 ? run->gid : 0));
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	pthread_mutex_lock(run->lock);
	int code = posix_spawn(run->pid, place->program, &actions, &attributes, argv, variables);

	if (code)
		*run->pid = 0;
	pthread_mutex_unlock(run->lock);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return code;
}

static int start(const struct mirror_place *place, const struct mirror_run *run,
		 struct strata_arena *arena, int *ret_to, int *ret_from, struct strata_error *err)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC))
		return strata_fail(err, -EAGAIN, "no pipe: %s", strerror(errno));
	if (pipe2(from, O_CLOEXEC)) {
		close(to[0]);
		close(to[1]);
		return strata_fail(err, -EAGAIN, "no pipe: %s", strerror(errno));
	}
	int code = spawn(place, run, to[0], from[1], arena);

	close(to[0]);
	close(from[1]);
	if (code) {
		close(to[1]);
		close(from[0]);
		return strata_fail(err, -EAGAIN, "%s cannot be started: %s", place->program,
				   strerror(code));
	}
	*ret_to = to[1];
	*ret_from = from[0];
	return 0;
}

/* To its end. A reader that is gone is seen by its silence. */
static void write_all(int fd, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		ssize_t count = write(fd, text, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			break;
		text += count;
		length -= (size_t)count;
	}
	close(fd);
}

/* As long as it shows that it lives, which it does every few seconds, and is not at it for ever:
 * whose rights it has can stop it, or have it read what never comes. */
static size_t read_all(int fd, const struct mirror_run *run, char *text, size_t room)
{
	int64_t begun_ns = env_now_ns(env_system(), ENV_MONOTONIC);
	size_t length = 0;

	while (length < room) {
		struct pollfd look = { .fd = fd, .events = POLLIN };
		int ready = poll(&look, 1, SILENT_MS);
		ssize_t count;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0 || env_now_ns(env_system(), ENV_MONOTONIC) - begun_ns > LONGEST_NS)
			break;
		count = read(fd, text + length, room - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		if (length || text[0] != ' ' || count > 1)
			length += (size_t)count;
	}
	pthread_mutex_lock(run->lock);
	kill(*run->pid, SIGKILL); /* it has ended, or is to */
	pthread_mutex_unlock(run->lock);
	close(fd);
	return length;
}

static void reap(const struct mirror_run *run)
{
	siginfo_t info;
	int status;

	while (waitid(P_PID, (id_t)*run->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(run->lock); /* from here on the number may be somebody else's */
	while (waitpid(*run->pid, &status, 0) < 0 && errno == EINTR)
		;
	*run->pid = 0;
	pthread_mutex_unlock(run->lock);
}

static int read_answer(const char *text, size_t length, struct strata_arena *arena,
		       struct copy_result *ret_result, struct strata_error *err)
{
	struct copy_told told;
	int rc = strata_schema_defaults(&copy_result_schema, arena, &told, err);

	if (rc)
		return rc;
	if (length == 0 || strata_schema_read_json(&copy_result_schema, text, length, arena, &told,
						   NULL))
		return strata_fail(err, -EAGAIN, "the process that copies ended without a word");
	if (told.code)
		return strata_fail(err, (int)told.code, "%s", told.error ? told.error : "?");
	*ret_result = (struct copy_result){ told.bytes, told.was_there };
	return 0;
}

static char *print_order(const struct mirror_place *place, const struct copy_order *like,
			 const struct s3_credentials *credentials)
{
	struct copy_order order = *like;

	order.endpoint = place->conf->s3_endpoint;
	order.region = place->conf->s3_region;
	order.bucket = place->bucket;
	order.access_key = credentials->access_key;
	order.secret_key = credentials->secret_key;
	order.session_token = credentials->session_token;
	order.part_bytes = place->conf->s3_part_bytes;
	json_t *json = option_write_json(&copy_order_schema, &order);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

int mirror_process_run(const struct mirror_place *place, const struct mirror_run *run,
		       struct copy_result *ret_result, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct s3_credentials credentials;
	struct strata_arena arena;
	char answer[ANSWER_BYTES_MAX], *text = NULL;
	int to = -1, from = -1;

	strata_arena_init(&arena, &memory, 0);
	int rc = mirror_credentials(place->conf, &arena, &credentials, err);

	if (rc == 0 && !(text = print_order(place, run->order, &credentials)))
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = start(place, run, &arena, &to, &from, err);
	if (rc == 0) {
		write_all(to, text);
		size_t length = read_all(from, run, answer, sizeof(answer));

		reap(run);
		rc = read_answer(answer, length, &arena, ret_result, err);
	}
	if (text)
		memset(text, 0, strlen(text));
	free(text);
	strata_arena_fini(&arena);
	return rc;
}
