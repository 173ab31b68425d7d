/*
 * The files of an attempt; record.h says which. Each is an option table written as JSON, but for the environment and the
 * script, which may hold any bytes.
 */
#include "exec/record.h"

#include <strata/limits.h>
#include <strata/text.h>

#include "core/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tables ---- */

static const char *const how_names[EXEC_HOW_COUNT] = {
	"exited",    "time_limit", "cancelled",   "preempted", "requeued",
	"shut_down", "memory",     "not_started", "lost",
};

const char *exec_how_name(enum exec_how how)
{
	return how_names[how];
}

static const struct strata_choice hows[] = {
	{ "exited", EXEC_EXITED, NULL },       { "time_limit", EXEC_TIME_LIMIT, NULL },
	{ "cancelled", EXEC_CANCELLED, NULL }, { "preempted", EXEC_PREEMPTED, NULL },
	{ "requeued", EXEC_REQUEUED, NULL },   { "shut_down", EXEC_SHUT_DOWN, NULL },
	{ "memory", EXEC_MEMORY, NULL },       { "not_started", EXEC_NOT_STARTED, NULL },
	{ "lost", EXEC_LOST, NULL },           { 0 },
};

static const struct strata_option text_item = { "argument", STRATA_TEXT };

/* clang-format off */
#define INT(type, field, low, high) \
	{ #field, STRATA_INT, offsetof(type, field), .integer = { low, low, high }, .help = "see exec.h" }
#define TEXT(type, field) { #field, STRATA_TEXT, offsetof(type, field), .help = "see exec.h" }
#define BOOL(type, field) { #field, STRATA_BOOL, offsetof(type, field), .help = "see exec.h" }

static const struct strata_option order_options[] = {
	INT(struct exec_order, job, 1, INT64_MAX),
	INT(struct exec_order, attempt, 1, UINT32_MAX),
	INT(struct exec_order, epoch, 0, INT64_MAX),
	TEXT(struct exec_order, user),
	INT(struct exec_order, uid, 0, UINT32_MAX - 1),
	INT(struct exec_order, gid, 0, UINT32_MAX - 1),
	INT(struct exec_order, umask, 0, 0777),
	TEXT(struct exec_order, directory),
	TEXT(struct exec_order, program),
	{ "arguments", STRATA_LIST, offsetof(struct exec_order, arguments), .list = { &text_item }, .help = "see exec.h" },
	TEXT(struct exec_order, input),
	TEXT(struct exec_order, output),
	TEXT(struct exec_order, error_output),
	BOOL(struct exec_order, append),
	INT(struct exec_order, time_limit_ns, 1, INT64_MAX),
	INT(struct exec_order, grace_ns, 0, STRATA_DURATION_NS_MAX),
	INT(struct exec_order, warn_signal, 0, _NSIG - 1),
	INT(struct exec_order, warn_ns, 0, STRATA_DURATION_NS_MAX),
	INT(struct exec_order, cpu_milli, 0, INT64_MAX / 1000000),
	INT(struct exec_order, memory_bytes, 0, INT64_MAX),
	INT(struct exec_order, process_count, 0, INT64_MAX),
	TEXT(struct exec_order, checkpoint_dir),
	BOOL(struct exec_order, checkpoint_place),
	INT(struct exec_order, checkpoint_signal, 0, _NSIG - 1),
	TEXT(struct exec_order, token),
	TEXT(struct exec_order, node),
	TEXT(struct exec_order, cgroup),
	{ 0 },
};

static const struct strata_option control_options[] = {
	INT(struct record_control, stop, 0, EXEC_HOW_COUNT),
	INT(struct record_control, grace_ns, 0, STRATA_DURATION_NS_MAX),
	BOOL(struct record_control, frozen),
	INT(struct record_control, checkpoints, 0, INT64_MAX),
	INT(struct record_control, signals, 0, INT64_MAX),
	INT(struct record_control, signal, 0, _NSIG - 1),
	INT(struct record_control, limit_ns, 0, INT64_MAX),
	{ 0 },
};

static const struct strata_option claim_options[] = {
	INT(struct record_claim, pid, 0, INT32_MAX),
	INT(struct record_claim, epoch, 0, INT64_MAX),
	INT(struct record_claim, claimed_ns, 0, INT64_MAX),
	{ 0 },
};

static const struct strata_option start_options[] = {
	INT(struct record_start, pid, 0, INT32_MAX),
	INT(struct record_start, started_ns, 0, INT64_MAX),
	{ 0 },
};

static const struct strata_option checkpoint_options[] = {
	INT(struct record_checkpoint, count, 0, INT64_MAX),
	INT(struct record_checkpoint, written_ns, 0, INT64_MAX),
	TEXT(struct record_checkpoint, path),
	{ 0 },
};

static const struct strata_option status_options[] = {
	INT(struct exec_status, job, 1, INT64_MAX),
	INT(struct exec_status, attempt, 1, UINT32_MAX),
	INT(struct exec_status, epoch, 0, INT64_MAX),
	{ "how", STRATA_ENUM, offsetof(struct exec_status, how), .choice = { hows, EXEC_EXITED }, .help = "see exec.h" },
	INT(struct exec_status, exit_code, 0, 255),
	INT(struct exec_status, signal, 0, _NSIG - 1),
	BOOL(struct exec_status, core_dumped),
	INT(struct exec_status, error_code, 0, INT32_MAX),
	TEXT(struct exec_status, error),
	INT(struct exec_status, started_ns, 0, INT64_MAX),
	INT(struct exec_status, ended_ns, 0, INT64_MAX),
	INT(struct exec_status, ran_ns, 0, INT64_MAX),
	INT(struct exec_status, frozen_ns, 0, INT64_MAX),
	INT(struct exec_status, user_ns, 0, INT64_MAX),
	INT(struct exec_status, system_ns, 0, INT64_MAX),
	INT(struct exec_status, memory_peak_bytes, 0, INT64_MAX),
	TEXT(struct exec_status, checkpoint),
	{ 0 },
};
/* clang-format on */

#define SCHEMA(word, type)                                                               \
	const struct strata_schema record_##word##_schema = { .name = #word,             \
							      .conf_size = sizeof(type), \
							      .options = word##_options }
SCHEMA(order, struct exec_order);
SCHEMA(control, struct record_control);
SCHEMA(claim, struct record_claim);
SCHEMA(start, struct record_start);
SCHEMA(checkpoint, struct record_checkpoint);
SCHEMA(status, struct exec_status);

/* ---- files ---- */

typedef int write_function(const struct env *env, int dir, const char *path, const void *bytes,
			   size_t count, mode_t mode, struct strata_error *err);

static int write_with(write_function *write_file, const struct env *env, int dir, const char *name,
		      const struct strata_schema *schema, const void *conf,
		      struct strata_memory *memory, struct strata_error *err)
{
	struct strata_arena arena;
	const char *json;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_schema_write_json(schema, conf, &arena, &json, err);

	if (rc == 0)
		rc = write_file(env, dir, name, json, strlen(json), 0600, err);
	strata_arena_fini(&arena);
	return rc;
}

int record_write(const struct env *env, int dir, const char *name,
		 const struct strata_schema *schema, const void *conf, struct strata_memory *memory,
		 struct strata_error *err)
{
	return write_with(env_write_file, env, dir, name, schema, conf, memory, err);
}

int record_claim(const struct env *env, int dir, const struct record_claim *claim,
		 struct strata_memory *memory, struct strata_error *err)
{
	return write_with(env_claim_file, env, dir, RECORD_CLAIMED, &record_claim_schema, claim,
			  memory, err);
}

int record_read(const struct env *env, int dir, const char *name,
		const struct strata_schema *schema, struct strata_arena *arena, void *ret_conf,
		struct strata_error *err)
{
	char *json;
	size_t length;
	int rc = env_read_file(env, dir, name, RECORD_BYTES_MAX, arena, &json, &length, err);

	if (rc)
		return rc;
	void *conf = strata_arena_get(arena, schema->conf_size);

	if (!conf)
		return strata_fail_memory(err);
	rc = strata_schema_defaults(schema, arena, conf, err);
	if (rc == 0)
		rc = strata_schema_read_json(schema, json, length, arena, conf, err);
	if (rc)
		return rc;
	memcpy(ret_conf, conf, schema->conf_size);
	return 0;
}

bool record_exists(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- orders ---- */

static int write_environ(const struct env *env, int dir, const char *const *environment,
			 struct strata_memory *memory, struct strata_error *err)
{
	struct buf bytes;

	buf_init(&bytes, memory, 0);
	for (size_t i = 0; environment && environment[i]; i++)
		buf_add_bytes(&bytes, environment[i], strlen(environment[i]) + 1);
	int rc = buf_check(&bytes, err);

	if (rc == 0 && bytes.length > RECORD_BYTES_MAX)
		rc = strata_fail(err, -E2BIG, "the environment has %zu bytes; expected at most %d",
				 bytes.length, RECORD_BYTES_MAX);
	if (rc == 0)
		rc = env_write_file(env, dir, RECORD_ENVIRON, bytes.text, bytes.length, 0600, err);
	buf_fini(&bytes);
	return rc;
}

int record_write_order(const struct env *env, int dir, const struct exec_order *order,
		       struct strata_memory *memory, struct strata_error *err)
{
	int rc = write_environ(env, dir, order->environment, memory, err);

	if (rc == 0 && order->script)
		rc = env_write_file(env, dir, RECORD_SCRIPT, order->script, order->script_bytes,
				    0500, err);
	if (rc == 0)
		rc = record_write(env, dir, RECORD_ORDER, &record_order_schema, order, memory, err);
	return rc;
}

static int read_environ(const struct env *env, int dir, struct strata_arena *arena,
			const char *const **ret_environment, struct strata_error *err)
{
	char *bytes;
	size_t length, count = 0;
	int rc = env_read_file(env, dir, RECORD_ENVIRON, RECORD_BYTES_MAX, arena, &bytes, &length,
			       err);

	if (rc)
		return rc;
	for (size_t i = 0; i < length; i++)
		count += bytes[i] == '\0';
	const char **environment = strata_arena_array(arena, count + 1, sizeof(*environment));

	if (!environment)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++, bytes += strlen(bytes) + 1)
		environment[i] = bytes;
	*ret_environment = environment;
	return 0;
}

int record_read_order(const struct env *env, int dir, struct strata_arena *arena,
		      struct exec_order *ret_order, struct strata_error *err)
{
	struct exec_order order = { 0 };
	int rc = record_read(env, dir, RECORD_ORDER, &record_order_schema, arena, &order, err);

	if (rc == 0)
		rc = read_environ(env, dir, arena, &order.environment, err);
	if (rc)
		return rc;
	order.script = record_exists(dir, RECORD_SCRIPT) ? "" : NULL;
	*ret_order = order;
	return 0;
}

/* ---- names ---- */

char *record_name(struct exec_key key, char ret_name[RECORD_NAME_BYTES])
{
	snprintf(ret_name, RECORD_NAME_BYTES, "%" PRIu64 ".%" PRIu32, key.job, key.attempt);
	return ret_name;
}

bool record_key(const char *name, struct exec_key *ret_key)
{
	const char *dot = strchr(name, '.');
	char again[RECORD_NAME_BYTES];
	int64_t job, attempt;

	if (!dot || strata_int_parse(name, (size_t)(dot - name), 1, INT64_MAX, &job, NULL) ||
	    strata_int_parse(dot + 1, STRATA_TEXT_NUL, 1, UINT32_MAX, &attempt, NULL))
		return false;
	struct exec_key key = { (uint64_t)job, (uint32_t)attempt };

	if (strcmp(record_name(key, again), name) != 0) /* "+1.1", "01.1" */
		return false;
	*ret_key = key;
	return true;
}

/* ---- the lock ---- */

/* A record lock: it ends with the process, is not passed on to children, and says who holds it. */
int record_lock(int dir, struct strata_error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(dir, RECORD_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return strata_fail(err, -errno, "cannot open the lock: %s", strerror(errno));
	if (fcntl(fd, F_SETLK, &lock) == 0)
		return fd;
	int code = errno;

	close(fd);
	if (code == EAGAIN || code == EACCES)
		return strata_fail(err, -EBUSY, "another supervisor has the lock");
	return strata_fail(err, -code, "cannot take the lock: %s", strerror(code));
}

int record_lock_holder(int dir, pid_t *ret_pid, struct strata_error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(dir, RECORD_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int rc = 0;

	if (fd < 0 && errno != ENOENT)
		return strata_fail(err, -errno, "cannot open the lock: %s", strerror(errno));
	if (fd >= 0 && fcntl(fd, F_GETLK, &lock) < 0)
		rc = strata_fail(err, -errno, "cannot look at the lock: %s", strerror(errno));
	if (rc == 0)
		*ret_pid = fd < 0 || lock.l_type == F_UNLCK ? 0 : lock.l_pid;
	if (fd >= 0)
		close(fd);
	return rc;
}
