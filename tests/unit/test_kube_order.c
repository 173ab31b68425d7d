/* Orders as objects of the Kubernetes API. */
#include "test.h"

#include "exec/exec_kubernetes.h"
#include "kubernetes/kube_base64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;
static const char *const mounts[] = { "/home", "data=/srv/data" };
static const struct kubernetes_conf conf = { .image = "usual:1",
					     .gpu = KUBE_GPU,
					     .identity = "0123456789abcdef",
					     .mounts = { (void *)mounts, 2 },
					     .pull_secret = "reg" };

static struct exec_order plain(void)
{
	static const char *const environment[] = { "A=it's",
						   "PATH=/host/bin",
						   "CUDA_VISIBLE_DEVICES=3",
						   "BASH_FUNC_x%%=()",
						   "STRATA_CHECKPOINT_DIR=/var/lib/x",
						   "STRATA_CHECKPOINT=/home/a/ck",
						   NULL };

	return (struct exec_order){ .job = 17,
				    .attempt = 2,
				    .uid = 1000,
				    .gid = 100,
				    .umask = 027,
				    .user = "a",
				    .name = "train",
				    .directory = "/home/a",
				    .script = "#!/bin/sh\n",
				    .script_bytes = 10,
				    .environment = environment,
				    .grace_ns = 1500 * STRATA_MS_NS,
				    .time_limit_ns = STRATA_HOUR_NS,
				    .token = "tok" };
}

static struct kube_objects make(const struct exec_order *order)
{
	struct strata_arena arena;
	struct kube_objects objects;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(kube_order_make(&conf, order, &arena, &objects, &err));
	strata_arena_fini(&arena);
	return objects;
}

/* What /bin/sh reads in the container. */
static char *start_of(const struct kube_objects *objects)
{
	const char *text = kube_text(objects->secret, "data", "start", NULL);
	char *start = calloc(1, strlen(text) + 1);
	size_t count;

	CHECK(kube_base64_read(text, strlen(text), start, &count));
	return start;
}

TEST(a_pod_waits_to_be_bound_and_names_its_job)
{
	struct exec_order order = plain();
	struct kube_objects objects = make(&order);
	const json_t *pod = json_array_get(objects.pods, 0), *spec = json_object_get(pod, "spec");

	CHECK_INT(json_array_size(objects.pods), 1);
	CHECK(!objects.service);
	CHECK_TEXT(kube_text(pod, "metadata", "name", NULL), "strata-01234567-17-2-0");
	CHECK_TEXT(kube_text(pod, "metadata", "labels", KUBE_LABEL_CLUSTER, NULL), conf.identity);
	CHECK_TEXT(kube_text(pod, "metadata", "labels", KUBE_LABEL_ATTEMPT, NULL), "2");
	CHECK(!json_object_get(spec, "nodeName"));
	CHECK_TEXT(kube_text(spec, "schedulerName", NULL), "strata.io/executor");
	CHECK_TEXT(kube_text(spec, "restartPolicy", NULL), "Never");
	CHECK_INT(json_integer_value(json_object_get(spec, "terminationGracePeriodSeconds")), 2);
	CHECK_INT(json_integer_value(kube_at(spec, "securityContext", "runAsUser", NULL)), 1000);
	CHECK_TEXT(kube_text(json_array_get(json_object_get(spec, "imagePullSecrets"), 0), "name",
			     NULL),
		   "reg");
	const json_t *volumes = json_object_get(spec, "volumes");

	CHECK_TEXT(kube_text(json_array_get(volumes, 2), "hostPath", "path", NULL), "/home");
	CHECK_TEXT(
		kube_text(json_array_get(volumes, 3), "persistentVolumeClaim", "claimName", NULL),
		"data");
	kube_objects_fini(&objects);
}

TEST(what_is_the_images_stays_the_images)
{
	struct exec_order order = plain();
	struct kube_objects objects = make(&order);
	char *start = start_of(&objects), *pods = json_dumps(objects.pods, 0);

	CHECK(strstr(start, "export A='it'\\''s'\n"));
	CHECK(!strstr(start, "/host/bin") && !strstr(start, "CUDA_VISIBLE_DEVICES") &&
	      !strstr(start, "BASH_FUNC"));
	CHECK(!strstr(start, "/var/lib/x") &&
	      strstr(start, "export STRATA_CHECKPOINT='/home/a/ck'\n"));
	CHECK(strstr(start, "umask 0027\ncd '/home/a'"));
	CHECK(strstr(start, "exec /var/run/strata/script\n"));
	CHECK(!strstr(pods, "it's") && !strstr(pods, "tok\"")); /* others may read pods */
	free(start);
	free(pods);
	kube_objects_fini(&objects);
}

TEST(each_node_is_a_pod_with_its_own_part)
{
	static const char *const places[] = {
		"name=n1:tasks=2:cpu_milli=2500:memory_bytes=1024:gpus=2:gpu_milli=1000",
		"name=n2:tasks=1:cpu_milli=1000"
	};
	struct exec_order order = plain();

	order.places = (struct strata_list){ (void *)places, 2 };
	order.image = "own:2";
	struct kube_objects objects = make(&order);
	const json_t *one = json_array_get(
		kube_at(json_array_get(objects.pods, 0), "spec", "containers", NULL), 0);
	const json_t *other = json_array_get(
		kube_at(json_array_get(objects.pods, 1), "spec", "containers", NULL), 0);
	char *start = start_of(&objects);

	CHECK_TEXT(kube_text(one, "image", NULL), "own:2");
	CHECK_TEXT(kube_text(one, "resources", "limits", "cpu", NULL), "2500m");
	CHECK_TEXT(kube_text(one, "resources", "requests", "memory", NULL), "1024");
	CHECK_TEXT(kube_text(one, "resources", "limits", KUBE_GPU, NULL), "2");
	CHECK(!kube_at(other, "resources", "limits", KUBE_GPU, NULL));
	CHECK_TEXT(kube_text(objects.service, "spec", "clusterIP", NULL), "None");
	CHECK(strstr(start, "MASTER_ADDR=strata-01234567-17-2-0.strata-01234567-17-2 "));
	free(start);
	kube_objects_fini(&objects);
}

static int refused(const struct kubernetes_conf *own, const struct exec_order *order)
{
	struct strata_arena arena;
	struct kube_objects objects;

	strata_arena_init(&arena, &memory, 0);
	int rc = kube_order_make(own, order, &arena, &objects, &err);

	strata_arena_fini(&arena);
	if (rc == 0)
		kube_objects_fini(&objects);
	return rc;
}

TEST(what_cannot_be_is_refused_in_words)
{
	static const char *const part[] = { "name=n1:tasks=1:gpus=1:gpu_milli=500" };
	static const char *const bad[] = { "home" };
	struct kubernetes_conf own = conf;
	struct exec_order order = plain();

	own.image = NULL;
	CHECK_ERROR(refused(&own, &order), -EINVAL, "--image");
	own = conf;
	own.mounts = (struct strata_list){ (void *)bad, 1 };
	CHECK_ERROR(refused(&own, &order), -EINVAL, "neither /PATH nor CLAIM=/PATH");
	order.places = (struct strata_list){ (void *)part, 1 };
	CHECK_ERROR(refused(&conf, &order), -EINVAL, "a part of a GPU");
	order = plain();
	order.script_bytes = 1 << 20;
	char *script = calloc(1, order.script_bytes);

	order.script = script;
	CHECK_ERROR(refused(&conf, &order), -EINVAL, "Kubernetes takes at most");
	free(script);
	CHECK_INT(memory.used_bytes, 0);
}

static int every(struct strata_memory *own, void *context, struct strata_error *error)
{
	static const char *const places[] = { "name=n1:tasks=1:cpu_milli=1000:memory_bytes=5",
					      "name=n2:tasks=1:cpu_milli=1000:memory_bytes=5" };
	struct exec_order order = plain();
	struct strata_arena arena;
	struct kube_objects objects;

	(void)context;
	order.places = (struct strata_list){ (void *)places, 2 };
	strata_arena_init(&arena, own, 0);
	int rc = kube_order_make(&conf, &order, &arena, &objects, error);

	if (rc == 0) {
		test_result_json(objects.pods);
		test_result_json(objects.secret);
		test_result_json(objects.service);
		kube_objects_fini(&objects);
	}
	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(every, NULL);
}
