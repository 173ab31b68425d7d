/*
 * Running jobs as pods of a Kubernetes cluster: every decision is ours, the cluster's kubelets
 * start, limit and end what is bound to their nodes. An attempt has the same file as with the local
 * executor, and what is written, found and forgotten of it is the same code (exec_local.h); in the
 * place of a supervisor there is one thread (exec_kubernetes_watch.c) which adds to those files. So
 * a restart of either side changes nothing.
 */
#include "exec/exec_kubernetes.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct strata_choice run_as[] = {
	{ "user", KUBE_AS_USER, "user and group of whom the job is" },
	{ "image", KUBE_AS_IMAGE, "whom the image says" },
	{ 0 },
};
static const struct strata_option mount = { .type = STRATA_TEXT,
					    .text = { NULL, STRATA_PATH_BYTES_MAX } };

#define OFFSET(field) offsetof(struct kubernetes_conf, field)
static const struct strata_option options[] = {
	{ "kubeconfig", STRATA_TEXT, OFFSET(kubeconfig), .value = "FILE",
	  .help = "where the cluster is; left out: what a pod finds, else as KUBECONFIG says" },
	{ "context", STRATA_TEXT, OFFSET(context),
	  .help = "of the kubeconfig; its current one when left out" },
	{ "namespace", STRATA_TEXT, OFFSET(space), .text = { NULL, 63 },
	  .help = "where the pods are; the kubeconfig's when left out" },
	{ "insecure", STRATA_BOOL, OFFSET(insecure),
	  .help = "takes insecure-skip-tls-verify of the kubeconfig: whoever answers gets the "
		  "token" },
	{ "image", STRATA_TEXT, OFFSET(image), .text = { NULL, 1024 },
	  .help = "of jobs that name none; it has a /bin/sh" },
	{ "mounts", STRATA_LIST, OFFSET(mounts), .list = { &mount, 64 }, .value = "LIST",
	  .help = "what every pod sees: /PATH of its node, CLAIM=/PATH of a volume" },
	{ "run_as", STRATA_ENUM, OFFSET(run_as), .choice = { run_as, KUBE_AS_USER },
	  .help = "whose rights a job has" },
	{ "gpu", STRATA_TEXT, OFFSET(gpu), .text = { KUBE_GPU, 253 },
	  .help = "what GPUs are called among a node's resources" },
	{ "memory", STRATA_BYTES, OFFSET(memory_bytes),
	  .help = "of jobs that ask for none (0: no limit)" },
	{ "pull_secret", STRATA_TEXT, OFFSET(pull_secret), .text = { NULL, 253 },
	  .help = "the Secret to fetch images with" },
	{ "priority_class", STRATA_TEXT, OFFSET(priority_class), .text = { NULL, 253 },
	  .help = "of the pods" },
	{ "service_account", STRATA_TEXT, OFFSET(service_account), .text = { NULL, 253 },
	  .help = "of the pods; none's token is given to them when left out" },
	{ "start", STRATA_DURATION, OFFSET(start_ns),
	  .integer = { 10 * STRATA_MINUTE_NS, STRATA_SECOND_NS, STRATA_DAY_NS }, .unit = "s",
	  .help = "a pod that has not started by then (its image cannot be fetched …) never will" },
	{ "lost", STRATA_DURATION, OFFSET(lost_ns),
	  .integer = { 5 * STRATA_MINUTE_NS, STRATA_SECOND_NS, STRATA_DAY_NS }, .unit = "s",
	  .help = "a node that is silent so long has lost its jobs" },
	{ 0 }
};

static int kubernetes_start(struct exec *exec, const struct exec_order *order,
			    struct strata_error *err)
{
	struct kubernetes *kubernetes = (struct kubernetes *)exec;
	struct kube_objects objects = { 0 };
	struct strata_arena arena;
	struct attempt *attempt;

	/* what Kubernetes cannot do at all is known at once */
	strata_arena_init(&arena, kubernetes->local.memory, 0);
	int rc = order->directory && (order->program || order->script)
			 ? kube_order_make(&kubernetes->conf, order, &arena, &objects, err)
			 : 0;

	kube_objects_fini(&objects);
	strata_arena_fini(&arena);
	if (rc == 0)
		rc = local_order(&kubernetes->local, order, &attempt, err);
	return rc ? rc : exec_queue_add(&kubernetes->queue, EXEC_FOLLOW, attempt->key, err);
}

/* A pod can be ended, and that is all: the API has no word for freezing one or for signals. */
static int kubernetes_control(struct exec *exec, struct exec_key key,
			      const struct exec_control *control, struct strata_error *err)
{
	struct kubernetes *kubernetes = (struct kubernetes *)exec;
	bool possible = control->type == EXEC_STOP || control->type == EXEC_LIMIT;
	char name[RECORD_NAME_BYTES];
	struct journal journal;
	int rc = local_read(&kubernetes->local, record_name(key, name), &journal, err);

	if (rc || journal.ended)
		return rc;
	if (!possible && control->type != EXEC_THAW)
		return strata_fail(err, -ENOTSUP,
				   "job %" PRIu64 ": Kubernetes has no way to do this to a pod "
				   "(%s); it can be cancelled or requeued",
				   key.job, exec_control_name(control->type));
	if (possible)
		rc = exec_local.control(exec, key, control, err);
	return rc ? rc : exec_queue_add(&kubernetes->queue, EXEC_LOOK, key, err);
}

static int kubernetes_adopt(struct exec *exec, struct exec_key key, struct strata_error *err)
{
	int rc = exec_local.adopt(exec, key, err);

	return rc ? rc : exec_queue_add(&((struct kubernetes *)exec)->queue, EXEC_FOLLOW, key, err);
}

static int kubernetes_forget(struct exec *exec, struct exec_key key, struct strata_error *err)
{
	struct kubernetes *kubernetes = (struct kubernetes *)exec;

	pthread_mutex_lock(&kubernetes->claiming);
	int rc = exec_local.forget(exec, key, err);

	pthread_mutex_unlock(&kubernetes->claiming);
	return rc ? rc : exec_queue_add(&kubernetes->queue, EXEC_DROP, key, err);
}

/* Begins to watch, once it is known which jobs are ours. What there is to see at first is waited
 * for, so that nothing is decided without it; not for long, since the cluster may be away. */
static int begin(struct kubernetes *kubernetes, struct strata_error *err)
{
	int rc = kubernetes_watch_start(kubernetes, err);

	if (rc == 0)
		exec_queue_await_ready(&kubernetes->queue, kubernetes->local.env);
	return rc;
}

static int kubernetes_next(struct exec *exec, struct exec_event *ret_event,
			   struct strata_error *err)
{
	struct kubernetes *kubernetes = (struct kubernetes *)exec;
	int rc = kubernetes->runs ? 0 : begin(kubernetes, err);

	if (rc)
		return rc;
	if (exec_queue_take_news(&kubernetes->queue, ret_event))
		return 1;
	rc = local_next(exec, ret_event, err);
	/* it came while the other was silenced */
	if (rc == 0 && exec_queue_take_news(&kubernetes->queue, ret_event))
		rc = 1;
	return rc;
}

static int kubernetes_fd(const struct exec *exec)
{
	return exec_local.fd(exec);
}

/* ---- open and close ---- */

static void kubernetes_close(struct exec *exec)
{
	struct kubernetes *kubernetes = (struct kubernetes *)exec;

	if (!exec)
		return;
	kubernetes_watch_stop(kubernetes);
	exec_queue_fini(&kubernetes->queue);
	strata_arena_fini(&kubernetes->scratch);
	strata_arena_fini(&kubernetes->texts);
	map_text_fini(&kubernetes->attempts);
	map_text_fini(&kubernetes->pods);
	map_text_fini(&kubernetes->nodes);
	local_fini(&kubernetes->local);
	pthread_mutex_destroy(&kubernetes->claiming);
	strata_memory_put(kubernetes->local.memory, kubernetes, sizeof(*kubernetes));
}

/* A number that no other state directory has, made once. */
static int find_identity(struct kubernetes *kubernetes, struct strata_error *err)
{
	static const char path[] = "../kubernetes-identity";
	const struct env *env = kubernetes->local.env;
	struct strata_arena arena;
	uint64_t number;
	char *text;
	size_t length;

	strata_arena_init(&arena, kubernetes->local.memory, 0);
	int rc = env_read_file(env, kubernetes->local.jobs, path, KUBE_IDENTITY_BYTES - 1, &arena,
			       &text, &length, err);

	if (rc == 0) {
		snprintf(kubernetes->identity, sizeof(kubernetes->identity), "%s", text);
	} else if (rc == -ENOENT) {
		rc = env_random(env, &number, sizeof(number), err);
		snprintf(kubernetes->identity, sizeof(kubernetes->identity), "%016" PRIx64, number);
		if (rc == 0)
			rc = env_write_file(env, kubernetes->local.jobs, path, kubernetes->identity,
					    strlen(kubernetes->identity), 0600, err);
	}
	strata_arena_fini(&arena);
	kubernetes->conf.identity = kubernetes->identity;
	return rc;
}

static int open_parts(struct kubernetes *kubernetes, const struct exec_open *from,
		      struct strata_error *err)
{
	int rc = exec_queue_init(&kubernetes->queue, err);
	int local = local_init(&kubernetes->local, from, rc ? NULL : err);

	rc = rc ? rc : local;
	kubernetes->queue.to_owner = kubernetes->local.wake;
	if (rc == 0)
		rc = find_identity(kubernetes, err);
	return rc ? rc
		  : kubernetes_config(&kubernetes->conf, from->env, &kubernetes->texts,
				      &kubernetes->config, err);
}

static int kubernetes_open(const void *conf, const struct exec_open *from, struct exec **ret_exec,
			   struct strata_error *err)
{
	struct kubernetes *kubernetes = strata_memory_get(from->memory, sizeof(*kubernetes));

	if (!kubernetes)
		return strata_fail_memory(err);
	kubernetes->local.base.cls = &exec_kubernetes;
	kubernetes->conf = *(const struct kubernetes_conf *)conf;
	kubernetes->log_wake = -1;
	pthread_mutex_init(&kubernetes->claiming, NULL);
	strata_arena_init(&kubernetes->scratch, &kubernetes->memory, 0);
	strata_arena_init(&kubernetes->texts, from->memory, 0);
	map_text_init(&kubernetes->attempts, &kubernetes->memory);
	map_text_init(&kubernetes->pods, &kubernetes->memory);
	map_text_init(&kubernetes->nodes, &kubernetes->memory);
	int rc = open_parts(kubernetes, from, err);

	if (rc) {
		kubernetes_close(&kubernetes->local.base);
		return rc;
	}
	*ret_exec = &kubernetes->local.base;
	return 0;
}

static void kubernetes_describe_limits(const struct exec *exec, char *text, size_t room)
{
	(void)exec;
	snprintf(text, room, "CPUs and memory, as limits of pods");
}

const struct exec_class exec_kubernetes = {
	.base = { .name = "kubernetes",
		  .summary = "as pods on the nodes of a Kubernetes cluster",
		  .conf_size = sizeof(struct kubernetes_conf),
		  .options = options },
	.keeps_descriptors = true,
	.runs_images = true,
	.only_stops = true,
	.open = kubernetes_open,
	.close = kubernetes_close,
	.describe_limits = kubernetes_describe_limits,
	.fd = kubernetes_fd,
	.next = kubernetes_next,
	.start = kubernetes_start,
	.control = kubernetes_control,
	.scan = local_scan,
	.adopt = kubernetes_adopt,
	.forget = kubernetes_forget,
	.nodes = kubernetes_nodes,
};
