/* What a pod takes and how it is. Quantities that make no sense count as 0: it is not ours to judge
 * what the API server took in. */
#include "kubernetes/kube_pod.h"

#include "kubernetes/kube_object.h"
#include "kubernetes/kube_quantity.h"

#include <strata/text.h>

#include <stdlib.h>
#include <string.h>

int64_t kube_time(const char *text)
{
	int64_t ns = 0;

	return *text && strata_time_parse(text, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &ns,
					  NULL) == 0
		       ? ns
		       : 0;
}

/* ---- what it takes ---- */

static int64_t amount(const json_t *container, const char *name, int64_t scale)
{
	const char *asked = kube_text(container, "resources", "requests", name, NULL);
	const char *limit = kube_text(container, "resources", "limits", name, NULL);
	int64_t value = 0;

	kube_quantity_read(*asked ? asked : limit, scale, &value);
	return value;
}

static struct kube_room room_of(const json_t *container, const char *gpu)
{
	return (struct kube_room){ amount(container, "cpu", 1000), amount(container, "memory", 1),
				   amount(container, gpu, 1) };
}

static int64_t sum(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct kube_room add_rooms(struct kube_room a, struct kube_room b)
{
	return (struct kube_room){ sum(a.cpu_milli, b.cpu_milli),
				   sum(a.memory_bytes, b.memory_bytes), sum(a.gpus, b.gpus) };
}

/* Its containers run together; those of its init run before, one at a time, but for those that
 * stay (restartPolicy Always), which run beside all that follow. */
static struct kube_room read_room(const json_t *spec, const char *gpu)
{
	const json_t *inits = json_object_get(spec, "initContainers");
	const json_t *containers = json_object_get(spec, "containers");
	struct kube_room all = { 0 }, stay = { 0 }, most = { 0 };

	for (size_t i = 0; i < json_array_size(inits); i++) {
		const json_t *init = json_array_get(inits, i);
		bool stays = strcmp(kube_text(init, "restartPolicy", NULL), "Always") == 0;
		struct kube_room now = add_rooms(stay, room_of(init, gpu));

		most.cpu_milli = larger(most.cpu_milli, now.cpu_milli);
		most.memory_bytes = larger(most.memory_bytes, now.memory_bytes);
		most.gpus = larger(most.gpus, now.gpus);
		if (stays)
			stay = now;
	}
	all = stay;
	for (size_t i = 0; i < json_array_size(containers); i++)
		all = add_rooms(all, room_of(json_array_get(containers, i), gpu));
	all = (struct kube_room){ larger(all.cpu_milli, most.cpu_milli),
				  larger(all.memory_bytes, most.memory_bytes),
				  larger(all.gpus, most.gpus) };
	int64_t cpu = 0, memory = 0;

	kube_quantity_read(kube_text(spec, "overhead", "cpu", NULL), 1000, &cpu);
	kube_quantity_read(kube_text(spec, "overhead", "memory", NULL), 1, &memory);
	return add_rooms(all, (struct kube_room){ cpu, memory, 0 });
}

/* ---- how it is ---- */

static enum kube_phase read_phase(const char *text)
{
	return strcmp(text, "Running") == 0     ? KUBE_RUNNING
	       : strcmp(text, "Succeeded") == 0 ? KUBE_SUCCEEDED
	       : strcmp(text, "Failed") == 0    ? KUBE_FAILED
						: KUBE_PENDING;
}

static void read_container(const json_t *state, struct kube_pod *pod)
{
	const json_t *ended = kube_at(state, "terminated", NULL);
	const json_t *waiting = kube_at(state, "waiting", NULL);
	const json_t *now = ended ? ended : waiting;

	pod->terminated = json_is_object(ended);
	pod->started_ns = kube_time(ended ? kube_text(ended, "startedAt", NULL)
					  : kube_text(state, "running", "startedAt", NULL));
	pod->started = kube_at(state, "running", NULL) || pod->started_ns;
	if (pod->terminated) {
		pod->exit_code = json_integer_value(json_object_get(ended, "exitCode"));
		pod->signal = json_integer_value(json_object_get(ended, "signal"));
		pod->ended_ns = kube_time(kube_text(ended, "finishedAt", NULL));
		pod->out_of_memory = strcmp(kube_text(ended, "reason", NULL), "OOMKilled") == 0;
	}
	if (now && !*pod->reason) {
		pod->reason = kube_text(now, "reason", NULL);
		pod->message = kube_text(now, "message", NULL);
	}
}

void kube_pod_read(const json_t *object, const char *gpu, struct kube_pod *ret_pod)
{
	const json_t *statuses = kube_at(object, "status", "containerStatuses", NULL);

	*ret_pod = (struct kube_pod){
		.space = kube_text(object, "metadata", "namespace", NULL),
		.name = kube_text(object, "metadata", "name", NULL),
		.uid = kube_text(object, "metadata", "uid", NULL),
		.node = kube_text(object, "spec", "nodeName", NULL),
		.phase = read_phase(kube_text(object, "status", "phase", NULL)),
		.deleting = *kube_text(object, "metadata", "deletionTimestamp", NULL),
		.room = read_room(kube_at(object, "spec", NULL), gpu),
		.reason = kube_text(object, "status", "reason", NULL),
		.message = kube_text(object, "status", "message", NULL),
	};
	read_container(json_object_get(json_array_get(statuses, 0), "state"), ret_pod);
}

bool kube_pod_ended(const struct kube_pod *pod)
{
	return pod->phase == KUBE_SUCCEEDED || pod->phase == KUBE_FAILED;
}

struct kube_pod *kube_pod_copy(const struct kube_pod *pod)
{
	const char *const texts[] = { pod->space, pod->name,   pod->uid,
				      pod->node,  pod->reason, pod->message };
	size_t room = sizeof(*pod), count = sizeof(texts) / sizeof(texts[0]);

	for (size_t i = 0; i < count; i++)
		room += strlen(texts[i]) + 1;
	struct kube_pod *copy = malloc(room);

	if (!copy)
		return NULL;
	*copy = *pod;
	const char **const to[] = { &copy->space, &copy->name,   &copy->uid,
				    &copy->node,  &copy->reason, &copy->message };
	char *at = (char *)(copy + 1);

	for (size_t i = 0; i < count; i++) {
		*to[i] = strcpy(at, texts[i]);
		at += strlen(at) + 1;
	}
	return copy;
}
