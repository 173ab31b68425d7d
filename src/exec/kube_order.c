/*
 * An order as objects of the Kubernetes API: a pod for each node, and a Secret with what they start
 * from. A pod names no node and a scheduler that is none, so it waits until it is bound.
 *
 * The job's variables, its script and its arguments are in a shell script in the Secret, since pods
 * can be read by more people than secrets. What the image says of itself (PATH …) is the image's.
 */
#include "exec/exec_kubernetes.h"

#include "core/buf.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PLACE "/var/run/strata"     /* of the Secret, in the container */
#define NOBODY "strata.io/executor" /* the scheduler of our pods: there is none of that name */

enum { SECRET_BYTES_MAX = 1 << 20 }; /* as Kubernetes has it */

struct maker {
	const struct kubernetes_conf *conf;
	const struct exec_order *order;
	struct strata_arena *arena;
	struct exec_place *places;
	size_t count; /* of pods */
	const char *image;
	char name[KUBE_NAME_BYTES];
	bool failed; /* a value could not be made, or put where it belongs */
};

char *kube_object_name(const struct kubernetes_conf *conf, struct exec_key key, int index,
		       char ret_name[KUBE_NAME_BYTES])
{
	char behind[16] = "";

	if (index >= 0)
		snprintf(behind, sizeof(behind), "-%d", index);
	snprintf(ret_name, KUBE_NAME_BYTES, "strata-%.8s-%" PRIu64 "-%" PRIu32 "%s",
		 conf->identity ? conf->identity : "", key.job, key.attempt, behind);
	return ret_name;
}

/* ---- places ---- */

static int read_places(struct maker *maker, struct strata_error *err)
{
	const struct strata_list *list = &maker->order->places;
	const char *const *texts = list->items;
	int rc = 0;

	maker->count = list->count ? list->count : 1;
	maker->places = strata_arena_array(maker->arena, maker->count, sizeof(*maker->places));
	if (!maker->places)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		rc = strata_schema_defaults(&exec_place_schema, maker->arena, &maker->places[i],
					    err);
		if (rc == 0)
			rc = strata_schema_read_text(&exec_place_schema, texts[i], strlen(texts[i]),
						     maker->arena, &maker->places[i], err);
		if (rc == 0 && maker->places[i].gpus && maker->places[i].gpu_milli < 1000)
			rc = strata_fail(err, -EINVAL,
					 "it asks for a part of a GPU, which Kubernetes does not "
					 "share; ask for whole ones (--gpus 1)");
	}
	if (list->count == 0)
		maker->places[0] =
			(struct exec_place){ .name = maker->order->node,
					     .cpu_milli = maker->order->cpu_milli,
					     .memory_bytes = maker->order->memory_bytes };
	return rc;
}

int kube_order_nodes(const struct exec_order *order, struct strata_arena *arena,
		     struct strata_list *ret_nodes, struct strata_error *err)
{
	struct maker maker = { .order = order, .arena = arena };
	int rc = read_places(&maker, err);
	const char **nodes = rc ? NULL : strata_arena_array(arena, maker.count, sizeof(*nodes));

	if (rc || !nodes)
		return rc ? rc : strata_fail_memory(err);
	for (size_t i = 0; i < maker.count; i++)
		nodes[i] = maker.places[i].name;
	*ret_nodes = (struct strata_list){ nodes, maker.count };
	return 0;
}

/* ---- what it starts from ---- */

static bool is_one_of(const char *variable, size_t length, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == length && memcmp(*names, variable, length) == 0)
			return true;
	return false;
}

/* Those that are the image's, of the machine where it was submitted, or for the device plugin of
 * the node to say. */
static bool is_left_out(const char *variable, size_t length)
{
	static const char *const names[] = { "PATH",
					     "LD_LIBRARY_PATH",
					     "LD_PRELOAD",
					     "LIBRARY_PATH",
					     "PYTHONHOME",
					     "TMPDIR",
					     "SHELL",
					     "HOSTNAME",
					     "PWD",
					     "OLDPWD",
					     "SHLVL",
					     "_",
					     "DISPLAY",
					     "XDG_RUNTIME_DIR",
					     "DBUS_SESSION_BUS_ADDRESS",
					     "SSH_AUTH_SOCK",
					     "CUDA_VISIBLE_DEVICES",
					     "ROCR_VISIBLE_DEVICES",
					     "HIP_VISIBLE_DEVICES",
					     "GPU_DEVICE_ORDINAL",
					     "ZE_AFFINITY_MASK",
					     "SLURM_JOB_GPUS",
					     "STRATA_SOCKET",
					     "STRATA_TOKEN_FILE",
					     "STRATA_JOB_FILE",
					     "SLURM_NODEID",
					     "SLURMD_NODENAME",
					     NULL };

	return is_one_of(variable, length, names);
}

/* A name that a shell can export. */
static bool is_name(const char *variable, size_t length)
{
	bool good = length > 0 && (variable[0] < '0' || variable[0] > '9');

	for (size_t i = 0; i < length; i++)
		good = good && (variable[i] == '_' || (variable[i] >= 'a' && variable[i] <= 'z') ||
				(variable[i] >= 'A' && variable[i] <= 'Z') ||
				(variable[i] >= '0' && variable[i] <= '9'));
	return good;
}

/* Is the path below one of what is mounted? */
static bool is_mounted(const struct kubernetes_conf *conf, const char *path)
{
	const char *const *mounts = conf->mounts.items;

	for (size_t i = 0; i < conf->mounts.count; i++) {
		const char *where = strchr(mounts[i], '/');
		size_t length = where ? strlen(where) : 0;

		if (length && strncmp(path, where, length) == 0 &&
		    (!path[length] || path[length] == '/'))
			return true;
	}
	return false;
}

static void add_environment(struct maker *maker, struct buf *buf)
{
	static const char *const checkpoints[] = { "STRATA_CHECKPOINT_DIR", "STRATA_CHECKPOINT",
						   NULL };
	const char *const *list = maker->order->environment;

	for (size_t i = 0; list && list[i]; i++) {
		size_t length = strcspn(list[i], "=");

		if (!list[i][length] || !is_name(list[i], length) || is_left_out(list[i], length))
			continue;
		if (is_one_of(list[i], length, checkpoints) &&
		    !is_mounted(maker->conf, list[i] + length + 1))
			continue;
		buf_add(buf, "export ");
		buf_add_bytes(buf, list[i], length + 1);
		buf_add_quoted(buf, list[i] + length + 1);
		buf_add_char(buf, '\n');
	}
	if (maker->order->token)
		buf_add(buf, "export STRATA_TOKEN_FILE=" PLACE "/token\n");
	buf_add(buf,
		"export SLURM_NODEID=\"$STRATA_NODE_INDEX\" SLURMD_NODENAME=\"$STRATA_NODE\"\n");
	buf_printf(buf, "export STRATA_NODE_COUNT=%zu\n", maker->count);
	if (maker->count > 1)
		buf_printf(buf,
			   "export MASTER_ADDR=%s-0.%s MASTER_PORT=\"${MASTER_PORT:-29500}\"\n",
			   maker->name, maker->name);
}

/* /bin/sh reads it in the container. */
static void add_start(struct maker *maker, struct buf *buf)
{
	const struct exec_order *order = maker->order;
	const char *const *words = order->arguments.items;

	add_environment(maker, buf);
	buf_printf(buf, "umask %04" PRIo64 "\ncd ", (uint64_t)order->umask);
	buf_add_quoted(buf, order->directory);
	buf_add(buf, " 2>/dev/null || echo \"strata: the image has no directory \"");
	buf_add_quoted(buf, order->directory);
	buf_add(buf, "\"; the job runs in $(pwd)\" >&2\nexec ");
	if (order->script)
		buf_add(buf, PLACE "/script");
	else
		buf_add_quoted(buf, order->program);
	for (size_t i = 0; i < order->arguments.count; i++) {
		buf_add_char(buf, ' ');
		buf_add_quoted(buf, words[i]);
	}
	if (order->input) {
		buf_add(buf, " <");
		buf_add_quoted(buf, order->input);
	}
	buf_add_char(buf, '\n');
}

/* ---- the Secret ---- */

static json_t *make_labels(const struct maker *maker)
{
	char job[24], attempt[16];

	snprintf(job, sizeof(job), "%" PRId64, maker->order->job);
	snprintf(attempt, sizeof(attempt), "%" PRId64, maker->order->attempt);
	return json_pack("{s:s,s:s,s:s}", KUBE_LABEL_CLUSTER,
			 maker->conf->identity ? maker->conf->identity : "", KUBE_LABEL_JOB, job,
			 KUBE_LABEL_ATTEMPT, attempt);
}

static int set_bytes(struct maker *maker, json_t *values, const char *name, const void *bytes,
		     size_t count, struct strata_error *err)
{
	struct buf text;
	int rc;

	buf_init(&text, maker->arena->memory, 0);
	buf_add_base64(&text, bytes, count);
	rc = buf_check(&text, err);
	if (rc == 0 && json_object_set_new(values, name, json_stringn(text.text, text.length)))
		rc = strata_fail_memory(err);
	buf_fini(&text);
	return rc;
}

static int fill_secret(struct maker *maker, json_t *values, struct strata_error *err)
{
	const struct exec_order *order = maker->order;
	size_t total = order->script ? order->script_bytes : 0;
	struct buf start;

	buf_init(&start, maker->arena->memory, 0);
	add_start(maker, &start);
	int rc = buf_check(&start, err);

	total += start.length;
	if (rc == 0 && total > SECRET_BYTES_MAX - 1024)
		rc = strata_fail(err, -EINVAL,
				 "its script, arguments and environment are %zu bytes; Kubernetes "
				 "takes at most %d of a job",
				 total, SECRET_BYTES_MAX - 1024);
	if (rc == 0)
		rc = set_bytes(maker, values, "start", start.text, start.length, err);
	if (rc == 0 && order->script)
		rc = set_bytes(maker, values, "script", order->script, order->script_bytes, err);
	if (rc == 0 && order->token)
		rc = set_bytes(maker, values, "token", order->token, strlen(order->token), err);
	buf_fini(&start);
	return rc;
}

static int make_secret(struct maker *maker, json_t **ret_secret, struct strata_error *err)
{
	json_t *values = json_object();
	int rc = values ? fill_secret(maker, values, err) : strata_fail_memory(err);

	if (rc) {
		json_decref(values);
		return rc;
	}
	*ret_secret = json_pack("{s:s,s:s,s:b,s:{s:s,s:o},s:o}", "apiVersion", "v1", "kind",
				"Secret", "immutable", true, "metadata", "name", maker->name,
				"labels", make_labels(maker), "data", values);
	return *ret_secret ? 0 : strata_fail_memory(err);
}

/* ---- the pods ---- */

static void put(struct maker *maker, json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, value)) /* also of a value that is NULL */
		maker->failed = true;
}

static void push(struct maker *maker, json_t *list, json_t *value)
{
	if (json_array_append_new(list, value))
		maker->failed = true;
}

static void put_number(struct maker *maker, json_t *object, const char *name, int64_t number,
		       const char *unit)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64 "%s", number, unit);
	put(maker, object, name, json_string(text));
}

static json_t *make_room(struct maker *maker, const struct exec_place *place)
{
	int64_t memory_bytes = place->memory_bytes ? place->memory_bytes
						   : maker->conf->memory_bytes;
	json_t *room = json_object();

	if (place->cpu_milli)
		put_number(maker, room, "cpu", place->cpu_milli, "m");
	if (memory_bytes)
		put_number(maker, room, "memory", memory_bytes, "");
	if (place->gpus)
		put_number(maker, room, maker->conf->gpu, place->gpus, "");
	return room;
}

/* "/home" is the node's own, "claim=/data" a PersistentVolumeClaim. */
static void add_mount(struct maker *maker, json_t *volumes, json_t *mounts, const char *mount,
		      size_t index)
{
	const char *where = strchr(mount, '/');
	char name[32];

	snprintf(name, sizeof(name), "mount-%zu", index);
	push(maker, mounts, json_pack("{s:s,s:s}", "name", name, "mountPath", where));
	if (where == mount)
		push(maker, volumes,
		     json_pack("{s:s,s:{s:s}}", "name", name, "hostPath", "path", where));
	else
		push(maker, volumes,
		     json_pack("{s:s,s:{s:s#}}", "name", name, "persistentVolumeClaim", "claimName",
			       mount, (int)(where - 1 - mount)));
}

static void add_volumes(struct maker *maker, json_t *spec, json_t *container)
{
	const char *const *list = maker->conf->mounts.items;
	/* shared memory of 64 MiB, as runtimes have it, is too little for data loaders */
	json_t *volumes = json_pack("[{s:s,s:{s:s,s:i}},{s:s,s:{s:s}}]", "name", "strata", "secret",
				    "secretName", maker->name, "defaultMode", 0555, "name", "shm",
				    "emptyDir", "medium", "Memory");
	json_t *mounts = json_pack("[{s:s,s:s,s:b},{s:s,s:s}]", "name", "strata", "mountPath",
				   PLACE, "readOnly", true, "name", "shm", "mountPath", "/dev/shm");

	for (size_t i = 0; i < maker->conf->mounts.count; i++)
		add_mount(maker, volumes, mounts, list[i], i);
	put(maker, spec, "volumes", volumes);
	put(maker, container, "volumeMounts", mounts);
}

static json_t *make_container(struct maker *maker, size_t index)
{
	const struct exec_place *place = &maker->places[index];
	char number[24];
	json_t *room = make_room(maker, place);

	snprintf(number, sizeof(number), "%zu", index);
	return json_pack("{s:s,s:s,s:[s,s],s:[{s:s,s:s},{s:s,s:s}],s:{s:O,s:o},s:{s:b}}", "name",
			 "job", "image", maker->image, "command", "/bin/sh", PLACE "/start", "env",
			 "name", "STRATA_NODE_INDEX", "value", number, "name", "STRATA_NODE",
			 "value", place->name ? place->name : "", "resources", "requests", room,
			 "limits", room, "securityContext", "allowPrivilegeEscalation", false);
}

static void add_names(struct maker *maker, json_t *spec)
{
	const struct kubernetes_conf *conf = maker->conf;

	if (conf->pull_secret)
		put(maker, spec, "imagePullSecrets",
		    json_pack("[{s:s}]", "name", conf->pull_secret));
	if (conf->priority_class)
		put(maker, spec, "priorityClassName", json_string(conf->priority_class));
	if (conf->service_account)
		put(maker, spec, "serviceAccountName", json_string(conf->service_account));
	if (conf->run_as == KUBE_AS_USER)
		put(maker, spec, "securityContext",
		    json_pack("{s:I,s:I}", "runAsUser", (json_int_t)maker->order->uid, "runAsGroup",
			      (json_int_t)maker->order->gid));
	if (maker->count > 1)
		put(maker, spec, "subdomain", json_string(maker->name));
}

static int64_t grace_seconds(int64_t grace_ns)
{
	return (grace_ns + STRATA_SECOND_NS - 1) / STRATA_SECOND_NS;
}

/* A node that is silent is for the executor to judge (lost), not for the node controller after its
 * five minutes: so both taints are tolerated. */
static json_t *make_spec(struct maker *maker, const char *name)
{
	return json_pack("{s:s,s:s,s:s,s:b,s:b,s:I,s:[{s:s,s:s,s:s},{s:s,s:s,s:s}]}",
			 "schedulerName", NOBODY, "restartPolicy", "Never", "hostname", name,
			 "automountServiceAccountToken", maker->conf->service_account != NULL,
			 "enableServiceLinks", false, "terminationGracePeriodSeconds",
			 (json_int_t)grace_seconds(maker->order->grace_ns), "tolerations", "key",
			 "node.kubernetes.io/not-ready", "operator", "Exists", "effect",
			 "NoExecute", "key", "node.kubernetes.io/unreachable", "operator", "Exists",
			 "effect", "NoExecute");
}

static json_t *make_pod(struct maker *maker, size_t index)
{
	struct exec_key key = { (uint64_t)maker->order->job, (uint32_t)maker->order->attempt };
	char name[KUBE_NAME_BYTES], number[24];
	json_t *labels = make_labels(maker), *container = make_container(maker, index);

	kube_object_name(maker->conf, key, (int)index, name);
	snprintf(number, sizeof(number), "%zu", index);
	put(maker, labels, KUBE_LABEL_INDEX, json_string(number));
	json_t *spec = make_spec(maker, name);

	add_volumes(maker, spec, container);
	add_names(maker, spec);
	put(maker, spec, "containers", json_pack("[o]", container));
	return json_pack("{s:s,s:s,s:{s:s,s:o,s:{s:s?,s:s?}},s:o}", "apiVersion", "v1", "kind",
			 "Pod", "metadata", "name", name, "labels", labels, "annotations",
			 "strata.io/name", maker->order->name ? maker->order->name : "",
			 "strata.io/user", maker->order->user ? maker->order->user : "", "spec",
			 spec);
}

/* By which pods of a job with several nodes have names for each other, before they are ready. */
static json_t *make_service(struct maker *maker)
{
	return json_pack("{s:s,s:s,s:{s:s,s:o},s:{s:s,s:b,s:o}}", "apiVersion", "v1", "kind",
			 "Service", "metadata", "name", maker->name, "labels", make_labels(maker),
			 "spec", "clusterIP", "None", "publishNotReadyAddresses", true, "selector",
			 make_labels(maker));
}

static int make_pods(struct maker *maker, struct kube_objects *objects, struct strata_error *err)
{
	objects->pods = json_array();
	for (size_t i = 0; i < maker->count; i++)
		push(maker, objects->pods, make_pod(maker, i));
	objects->service = maker->count > 1 ? make_service(maker) : NULL;
	maker->failed = maker->failed || (maker->count > 1 && !objects->service);
	return maker->failed ? strata_fail_memory(err) : 0;
}

static int check(struct maker *maker, struct strata_error *err)
{
	const char *const *mounts = maker->conf->mounts.items;

	maker->image = maker->order->image ? maker->order->image : maker->conf->image;
	for (size_t i = 0; i < maker->conf->mounts.count; i++) {
		const char *where = strchr(mounts[i], '/');

		if (!where || (where != mounts[i] && (where == mounts[i] + 1 || where[-1] != '=')))
			return strata_fail(
				err, -EINVAL,
				"executor: mounts=%.100s is neither /PATH nor CLAIM=/PATH",
				mounts[i]);
	}
	return maker->image && *maker->image
		       ? 0
		       : strata_fail(err, -EINVAL,
				     "it names no container image, and the service has none for "
				     "such jobs; say --image NAME");
}

int kube_order_make(const struct kubernetes_conf *conf, const struct exec_order *order,
		    struct strata_arena *arena, struct kube_objects *ret_objects,
		    struct strata_error *err)
{
	struct maker maker = { .conf = conf, .order = order, .arena = arena };
	struct kube_objects objects = { 0 };
	struct exec_key key = { (uint64_t)order->job, (uint32_t)order->attempt };
	int rc = check(&maker, err);

	kube_object_name(conf, key, -1, maker.name);
	if (rc == 0)
		rc = read_places(&maker, err);
	if (rc == 0)
		rc = make_secret(&maker, &objects.secret, err);
	if (rc == 0)
		rc = make_pods(&maker, &objects, err);
	if (rc)
		kube_objects_fini(&objects);
	else
		*ret_objects = objects;
	return rc;
}

void kube_objects_fini(struct kube_objects *objects)
{
	json_decref(objects->secret);
	json_decref(objects->service);
	json_decref(objects->pods);
	*objects = (struct kube_objects){ 0 };
}
