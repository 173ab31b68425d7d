/*
 * Running jobs on a Slurm cluster: every decision is ours, Slurm starts, limits and ends what it is
 * given where it is told to. An attempt has the same file as with the local executor, and what is
 * written, found and forgotten of it is the same code (exec_local.h); in the place of a supervisor
 * there is one thread (slurm_watch.c) which adds to those files. So a restart of either side
 * changes nothing.
 */
#include "exec/exec_slurm.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct strata_option options[] = {
	{ "bin", STRATA_TEXT, offsetof(struct slurm_conf, bin), .text = { "/usr/bin" },
	  .value = "DIR", .help = "where Slurm's commands are" },
	{ "conf", STRATA_TEXT, offsetof(struct slurm_conf, conf_file), .value = "FILE",
	  .help = "slurm.conf; as SLURM_CONF says when left out" },
	{ "poll", STRATA_DURATION, offsetof(struct slurm_conf, poll_ns),
	  .integer = { STRATA_SECOND_NS, 10 * STRATA_MS_NS, STRATA_HOUR_NS }, .unit = "s",
	  .help = "between two looks at Slurm's queue" },
	{ "memory", STRATA_BYTES, offsetof(struct slurm_conf, memory_bytes),
	  .integer = { INT64_C(1) << 28, INT64_C(1) << 20, INT64_MAX / 2 },
	  .help = "for each CPU of jobs that ask for none; Slurm would give them all of a node" },
	{ 0 }
};

static int slurm_start(struct exec *exec, const struct exec_order *order, struct strata_error *err)
{
	struct slurm *slurm = (struct slurm *)exec;
	struct strata_arena arena;
	struct slurm_order made;
	struct attempt *attempt;

	/* what Slurm cannot do at all is known at once */
	strata_arena_init(&arena, slurm->local.memory, 0);
	int rc = order->directory && (order->program || order->script)
			 ? slurm_order_make(&slurm->conf, order, geteuid() == 0, &arena, &made, err)
			 : 0;

	strata_arena_fini(&arena);
	if (rc == 0)
		rc = local_order(&slurm->local, order, &attempt, err);
	return rc ? rc : exec_queue_add(&slurm->queue, EXEC_FOLLOW, attempt->key, err);
}

static int slurm_control(struct exec *exec, struct exec_key key, const struct exec_control *control,
			 struct strata_error *err)
{
	int rc = exec_local.control(exec, key, control, err);

	return rc ? rc : exec_queue_add(&((struct slurm *)exec)->queue, EXEC_LOOK, key, err);
}

static int slurm_adopt(struct exec *exec, struct exec_key key, struct strata_error *err)
{
	int rc = exec_local.adopt(exec, key, err);

	return rc ? rc : exec_queue_add(&((struct slurm *)exec)->queue, EXEC_FOLLOW, key, err);
}

static int slurm_forget(struct exec *exec, struct exec_key key, struct strata_error *err)
{
	struct slurm *slurm = (struct slurm *)exec;

	pthread_mutex_lock(&slurm->claiming);
	int rc = exec_local.forget(exec, key, err);

	pthread_mutex_unlock(&slurm->claiming);
	return rc ? rc : exec_queue_add(&slurm->queue, EXEC_DROP, key, err);
}

/* ---- events ---- */

/* Begins to watch, once it is known which jobs are ours. What there is to see at first is waited
 * for, so that nothing is decided without it; not for long, since Slurm may be away. */
static int begin(struct slurm *slurm, struct strata_error *err)
{
	int rc = slurm_watch_start(slurm, err);

	if (rc == 0)
		exec_queue_await_ready(&slurm->queue, slurm->local.env);
	return rc;
}

static int slurm_next(struct exec *exec, struct exec_event *ret_event, struct strata_error *err)
{
	struct slurm *slurm = (struct slurm *)exec;
	int rc = slurm->runs ? 0 : begin(slurm, err);

	if (rc)
		return rc;
	if (exec_queue_take_news(&slurm->queue, ret_event))
		return 1;
	rc = local_next(exec, ret_event, err);
	if (rc == 0 && exec_queue_take_news(&slurm->queue,
					    ret_event)) /* it came while the other was silenced */
		rc = 1;
	return rc;
}

static int slurm_fd(const struct exec *exec)
{
	return exec_local.fd(exec);
}

/* ---- open and close ---- */

static int slurm_nodes(const void *conf, const struct env *env, struct strata_memory *memory,
		       struct strata_arena *arena, const char **ret_text, struct strata_error *err)
{
	static const char *const words[] = { "scontrol", "-o", "-a", "show", "node", NULL };
	struct slurm_answer answer;
	int rc = slurm_run(conf, env, words, 30 * STRATA_SECOND_NS, arena, &answer, err);

	(void)memory;
	if (rc == 0 && answer.code)
		rc = strata_fail(err, -EAGAIN, "Slurm does not say what nodes it has: %.300s",
				 answer.trouble);
	if (rc == 0)
		*ret_text = answer.text;
	return rc;
}

static void slurm_close(struct exec *exec)
{
	struct slurm *slurm = (struct slurm *)exec;

	if (!exec)
		return;
	slurm_watch_stop(slurm);
	exec_queue_fini(&slurm->queue);
	strata_arena_fini(&slurm->scratch);
	map_text_fini(&slurm->followed);
	local_fini(&slurm->local);
	pthread_mutex_destroy(&slurm->claiming);
	strata_memory_put(slurm->local.memory, slurm, sizeof(*slurm));
}

/* A number that no other state directory has, made once. */
static int find_identity(struct slurm *slurm, struct strata_error *err)
{
	static const char path[] = "../slurm-identity";
	const struct env *env = slurm->local.env;
	struct strata_arena arena;
	uint64_t number;
	char *text;
	size_t length;

	strata_arena_init(&arena, slurm->local.memory, 0);
	int rc = env_read_file(env, slurm->local.jobs, path, SLURM_IDENTITY_BYTES - 1, &arena,
			       &text, &length, err);

	if (rc == 0) {
		snprintf(slurm->identity, sizeof(slurm->identity), "%s", text);
	} else if (rc == -ENOENT) {
		rc = env_random(env, &number, sizeof(number), err);
		snprintf(slurm->identity, sizeof(slurm->identity), "%016" PRIx64, number);
		if (rc == 0)
			rc = env_write_file(env, slurm->local.jobs, path, slurm->identity,
					    strlen(slurm->identity), 0600, err);
	}
	strata_arena_fini(&arena);
	slurm->conf.identity = slurm->identity;
	return rc;
}

static int slurm_open(const void *conf, const struct exec_open *from, struct exec **ret_exec,
		      struct strata_error *err)
{
	struct slurm *slurm = strata_memory_get(from->memory, sizeof(*slurm));

	if (!slurm)
		return strata_fail_memory(err);
	slurm->local.base.cls = &exec_slurm;
	slurm->conf = *(const struct slurm_conf *)conf;
	pthread_mutex_init(&slurm->claiming, NULL);
	strata_arena_init(&slurm->scratch, &slurm->memory, 0);
	map_text_init(&slurm->followed, &slurm->memory);
	int rc = exec_queue_init(&slurm->queue, err);
	int local = local_init(&slurm->local, from, rc ? NULL : err);

	rc = rc ? rc : local;
	slurm->queue.to_owner = slurm->local.wake;
	if (rc == 0)
		rc = find_identity(slurm, err);
	if (rc) {
		slurm_close(&slurm->local.base);
		return rc;
	}
	*ret_exec = &slurm->local.base;
	return 0;
}

static void slurm_describe_limits(const struct exec *exec, char *text, size_t room)
{
	(void)exec;
	snprintf(text, room, "as the Slurm cluster keeps them (TaskPlugin and cgroup.conf there)");
}

const struct exec_class exec_slurm = {
	.base = { .name = "slurm",
		  .summary = "on the nodes of a Slurm cluster, which does as it is told",
		  .conf_size = sizeof(struct slurm_conf),
		  .options = options },
	.open = slurm_open,
	.close = slurm_close,
	.describe_limits = slurm_describe_limits,
	.fd = slurm_fd,
	.next = slurm_next,
	.start = slurm_start,
	.control = slurm_control,
	.scan = local_scan,
	.adopt = slurm_adopt,
	.forget = slurm_forget,
	.nodes = slurm_nodes,
};
