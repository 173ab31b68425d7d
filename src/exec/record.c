/* The option tables of what is written down, and reading and writing one as a file. */
#include "exec/record.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- tables ---- */

static const char *const how_names[EXEC_HOW_COUNT] = {
	"exited",    "time_limit", "cancelled",   "preempted", "requeued",
	"shut_down", "memory",     "not_started", "lost",
};

const char *exec_how_name(enum exec_how how)
{
	return how_names[how];
}

const char *exec_control_name(enum exec_control_type type)
{
	static const char *const names[] = {
		[EXEC_STOP] = "stop",     [EXEC_FREEZE] = "freeze",
		[EXEC_THAW] = "thaw",     [EXEC_CHECKPOINT] = "checkpoint",
		[EXEC_SIGNAL] = "signal", [EXEC_LIMIT] = "time limit",
	};

	return names[type];
}

static const struct strata_choice hows[] = {
	{ "exited", EXEC_EXITED, NULL },       { "time_limit", EXEC_TIME_LIMIT, NULL },
	{ "cancelled", EXEC_CANCELLED, NULL }, { "preempted", EXEC_PREEMPTED, NULL },
	{ "requeued", EXEC_REQUEUED, NULL },   { "shut_down", EXEC_SHUT_DOWN, NULL },
	{ "memory", EXEC_MEMORY, NULL },       { "not_started", EXEC_NOT_STARTED, NULL },
	{ "lost", EXEC_LOST, NULL },           { 0 },
};

static const struct strata_option text_item = { "argument", STRATA_TEXT, .flags = STRATA_OPAQUE };

/* clang-format off */
#define INT(type, field, low, high) \
	{ #field, STRATA_INT, offsetof(type, field), .integer = { low, low, high }, .help = "see exec.h" }
#define TEXT(type, field) { #field, STRATA_TEXT, offsetof(type, field), .help = "see exec.h", .flags = STRATA_OPAQUE }
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
	INT(struct exec_order, warn_to, 0, EXEC_TO_STEPS),
	INT(struct exec_order, cpu_milli, 0, INT64_MAX / 1000000),
	INT(struct exec_order, memory_bytes, 0, INT64_MAX),
	INT(struct exec_order, process_count, 0, INT64_MAX),
	TEXT(struct exec_order, checkpoint_dir),
	BOOL(struct exec_order, checkpoint_place),
	INT(struct exec_order, checkpoint_signal, 0, _NSIG - 1),
	BOOL(struct exec_order, checkpoint_asked),
	TEXT(struct exec_order, token),
	TEXT(struct exec_order, node),
	{ "places", STRATA_LIST, offsetof(struct exec_order, places), .list = { &text_item }, .help = "see exec.h" },
	TEXT(struct exec_order, name),
	TEXT(struct exec_order, partition),
	TEXT(struct exec_order, image),
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
	INT(struct record_control, signal_to, 0, EXEC_TO_STEPS),
	INT(struct record_control, limit_ns, 0, INT64_MAX),
	{ 0 },
};

static const struct strata_option claim_options[] = {
	INT(struct record_claim, pid, 0, INT32_MAX),
	INT(struct record_claim, epoch, 0, INT64_MAX),
	INT(struct record_claim, claimed_ns, 0, INT64_MAX),
	{ 0 },
};

static const struct strata_option leader_options[] = {
	INT(struct record_leader, epoch, 0, INT64_MAX),
	TEXT(struct record_leader, cgroup),
	{ 0 },
};

static const struct strata_option given_options[] = {
	INT(struct record_given, id, 0, INT64_MAX),
	{ 0 },
};

static const struct strata_option place_options[] = {
	TEXT(struct exec_place, name),
	INT(struct exec_place, tasks, 1, UINT32_MAX),
	INT(struct exec_place, cpu_milli, 0, INT64_MAX / 1000000),
	INT(struct exec_place, memory_bytes, 0, INT64_MAX),
	INT(struct exec_place, gpus, 0, UINT32_MAX),
	INT(struct exec_place, gpu_milli, 0, 1000),
	TEXT(struct exec_place, gpu_type),
	{ 0 },
};

static const struct strata_option start_options[] = {
	INT(struct record_start, pid, 0, INT32_MAX),
	INT(struct record_start, started_ns, 0, INT64_MAX),
	{ 0 },
};

static const struct strata_option checkpoint_options[] = {
	INT(struct record_checkpoint, count, 0, INT64_MAX),
	INT(struct record_checkpoint, attempt, 0, UINT32_MAX),
	INT(struct record_checkpoint, written_ns, 0, INT64_MAX),
	TEXT(struct record_checkpoint, path),
	INT(struct record_checkpoint, step, -1, INT64_MAX),
	INT(struct record_checkpoint, size_bytes, 0, INT64_MAX),
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
	INT(struct exec_status, checkpoint_bytes, 0, INT64_MAX),
	TEXT(struct exec_status, samples),
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
SCHEMA(leader, struct record_leader);
SCHEMA(given, struct record_given);
SCHEMA(start, struct record_start);
SCHEMA(checkpoint, struct record_checkpoint);
SCHEMA(status, struct exec_status);

const struct strata_schema exec_place_schema = { .name = "place",
						 .conf_size = sizeof(struct exec_place),
						 .options = place_options };

/* ---- files ---- */

int record_write(const struct env *env, int dir, const char *name,
		 const struct strata_schema *schema, const void *conf, struct strata_memory *memory,
		 struct strata_error *err)
{
	struct strata_arena arena;
	const char *json;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_schema_write_json(schema, conf, &arena, &json, err);

	if (rc == 0)
		rc = env_write_file(env, dir, name, json, strlen(json), 0600, err);
	strata_arena_fini(&arena);
	return rc;
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
