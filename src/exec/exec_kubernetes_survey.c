/* What nodes a cluster has and what pods of others take of them: told at the start as scontrol
 * would, and then when it has changed. */
#include "exec/exec_kubernetes.h"

#include "core/buf.h"

#include <strata/cluster.h>
#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 500,
	PAGES_MAX = 1000,
	NAME_BYTES = 100, /* of a pod and its namespace, to be shown by */
};

/* ---- nodes, at the start ---- */

int kubernetes_config(const struct kubernetes_conf *conf, const struct env *env,
		      struct strata_arena *arena, struct kube_config *ret_config,
		      struct strata_error *err)
{
	const struct kube_config_from from = { .path = conf->kubeconfig,
					       .context = conf->context,
					       .insecure_ok = conf->insecure };
	int rc = kube_config_load(&from, env, arena, ret_config, err);

	if (rc == 0 && conf->space)
		ret_config->space = conf->space;
	return rc;
}

static void add_word(struct buf *buf, bool *any, const char *word)
{
	buf_printf(buf, "%s%s", *any ? "," : "", word);
	*any = true;
}

/* What jobs can ask for by name: its type of machine, its zone, its GPUs, and what our own labels
 * say (feature.strata.io/NAME). */
static void add_features(struct buf *buf, const struct kube_node *node)
{
	static const char *const known[] = { "node.kubernetes.io/instance-type",
					     "topology.kubernetes.io/zone" };
	static const char own[] = "feature.strata.io/";
	const char *label;
	json_t *value;
	bool any = false;

	buf_add(buf, " ActiveFeatures=");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (*kube_text(node->labels, known[i], NULL))
			add_word(buf, &any, kube_text(node->labels, known[i], NULL));
	if (*node->gpu_type)
		add_word(buf, &any, node->gpu_type);
	json_object_foreach((json_t *)node->labels, label, value)
	{
		if (strncmp(label, own, sizeof(own) - 1) == 0)
			add_word(buf, &any, label + sizeof(own) - 1);
	}
}

static void add_node(struct buf *buf, const struct kube_node *node)
{
	const char *partition = kube_text(node->labels, "strata.io/partition", NULL);

	buf_printf(buf, "NodeName=%s CPUTot=%" PRId64 " RealMemory=%" PRId64, node->name,
		   node->room.cpu_milli / 1000, node->room.memory_bytes >> 20);
	add_features(buf, node);
	if (*partition)
		buf_printf(buf, " Partitions=%s", partition);
	if (node->room.gpus)
		buf_printf(buf, " Gres=gpu%s%s:%" PRId64, *node->gpu_type ? ":" : "",
			   node->gpu_type, node->room.gpus);
	buf_add_char(buf, '\n');
}

static void add_page(struct buf *buf, const json_t *items, const char *gpu)
{
	struct kube_node node;

	for (size_t i = 0; i < json_array_size(items); i++) {
		kube_node_read(json_array_get(items, i), gpu, &node);
		if (*node.name && !strpbrk(node.name, " \n"))
			add_node(buf, &node);
	}
}

static int list_nodes(struct kube_client *client, const char *gpu, struct strata_arena *arena,
		      struct buf *buf, struct strata_error *err)
{
	const char *where = "";
	int rc = 0;

	for (int pages = 0; rc == 0 && (pages == 0 || *where) && pages < PAGES_MAX; pages++) {
		struct kube_request request = { .method = KUBE_GET, .path = "/api/v1/nodes" };
		struct kube_answer answer;
		const char *escaped = kube_escape(where, arena);

		request.query = strata_arena_printf(arena, "limit=%d%s%s", PAGE,
						    *where ? "&continue=" : "",
						    escaped ? escaped : "");
		if (!escaped || !request.query)
			return strata_fail_memory(err);
		rc = kube_call(client, &request, &answer, err);
		if (rc == 0) {
			const char *next = kube_text(answer.body, "metadata", "continue", NULL);

			add_page(buf, json_object_get(answer.body, "items"), gpu);
			where = strata_arena_text(arena, next, strlen(next));
			rc = where ? buf_check(buf, err) : strata_fail_memory(err);
		}
		kube_answer_fini(&answer);
	}
	return rc;
}

int kubernetes_nodes(const void *conf, const struct env *env, struct strata_memory *memory,
		     struct strata_arena *arena, const char **ret_text, struct strata_error *err)
{
	const struct kubernetes_conf *own = conf;
	struct kube_client *client = NULL;
	struct kube_config config;
	struct buf buf;
	int rc = kubernetes_config(own, env, arena, &config, err);

	buf_init(&buf, memory, 0);
	if (rc == 0)
		rc = kube_client_open(&config, env, memory, &client, err);
	if (rc == 0)
		rc = list_nodes(client, own->gpu, arena, &buf, err);
	if (rc == 0 && !buf.length)
		rc = strata_fail(err, -EAGAIN, "the Kubernetes cluster at %s has no nodes",
				 config.server);
	if (rc == 0) {
		*ret_text = strata_arena_text(arena, buf.text, buf.length);
		rc = *ret_text ? 0 : strata_fail_memory(err);
	}
	kube_client_close(client);
	buf_fini(&buf);
	return rc;
}

/* ---- what there is now ---- */

/* A pod of others that has a node and has not ended. */
static bool is_taken(const struct kube_cached *cached)
{
	return !cached->ours && *cached->pod->node && !kube_pod_ended(cached->pod);
}

static int fill_node(struct exec_news *news, const struct kube_seen_node *seen,
		     struct exec_node *node, struct strata_error *err)
{
	node->state = !seen->ready          ? STRATA_NODE_DOWN
		      : seen->unschedulable ? STRATA_NODE_DRAINED
					    : STRATA_NODE_UP;
	node->name = strata_arena_text(&news->arena, seen->name, strlen(seen->name));
	if (node->state == STRATA_NODE_DOWN && *seen->message)
		node->reason =
			strata_arena_text(&news->arena, seen->message, strlen(seen->message));
	if (node->state == STRATA_NODE_DRAINED)
		node->reason = "cordoned in Kubernetes";
	return node->name ? 0 : strata_fail_memory(err);
}

static int fill_taken(struct exec_news *news, const struct kube_pod *pod, struct exec_taken *taken,
		      struct strata_error *err)
{
	struct exec_part *part = strata_arena_get(&news->arena, sizeof(*part));

	taken->name = strlen(pod->space) + strlen(pod->name) < NAME_BYTES
			      ? strata_arena_printf(&news->arena, "kubernetes.%s.%s", pod->space,
						    pod->name)
			      : strata_arena_printf(&news->arena, "kubernetes.%s", pod->uid);
	taken->user = strata_arena_text(&news->arena, pod->space, strlen(pod->space));
	if (!part || !taken->name || !taken->user)
		return strata_fail_memory(err);
	part->node = strata_arena_text(&news->arena, pod->node, strlen(pod->node));
	part->cpu_milli = pod->room.cpu_milli;
	part->memory_bytes = pod->room.memory_bytes;
	part->gpus = (uint32_t)pod->room.gpus;
	taken->begin_ns = pod->started_ns;
	taken->parts = part;
	taken->part_count = 1;
	return part->node ? 0 : strata_fail_memory(err);
}

static int fill_survey(const struct kubernetes *kubernetes, struct exec_news *news,
		       struct exec_survey *survey, struct strata_error *err)
{
	struct exec_node *nodes =
		strata_arena_array(&news->arena, kubernetes->nodes.count + 1, sizeof(*nodes));
	struct exec_taken *taken =
		strata_arena_array(&news->arena, kubernetes->pods.count + 1, sizeof(*taken));
	const struct map_text_entry *entry = NULL;
	int rc = nodes && taken ? 0 : strata_fail_memory(err);

	while (rc == 0 && (entry = map_text_next(&kubernetes->nodes, entry)))
		rc = fill_node(news, entry->value, &nodes[survey->node_count++], err);
	entry = NULL;
	while (rc == 0 && (entry = map_text_next(&kubernetes->pods, entry)))
		if (is_taken(entry->value))
			rc = fill_taken(news, ((const struct kube_cached *)entry->value)->pod,
					&taken[survey->taken_count++], err);
	survey->nodes = nodes;
	survey->taken = taken;
	return rc;
}

/* What a survey is made from, to see whether there is something to tell. */
static char *survey_text(const struct kubernetes *kubernetes)
{
	struct strata_memory memory = { 0 };
	const struct map_text_entry *entry = NULL;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	while ((entry = map_text_next(&kubernetes->nodes, entry))) {
		const struct kube_seen_node *node = entry->value;

		buf_printf(&buf, "%s %d %d %s\n", node->name, node->ready, node->unschedulable,
			   node->ready ? "" : node->message);
	}
	entry = NULL;
	while ((entry = map_text_next(&kubernetes->pods, entry)))
		if (is_taken(entry->value))
			buf_printf(&buf, "%s\n",
				   ((const struct kube_cached *)entry->value)->pod->uid);
	char *text = buf.failed ? NULL : strdup(buf.text);

	buf_fini(&buf);
	return text;
}

static int tell_survey(struct kubernetes *kubernetes, struct strata_error *err)
{
	struct exec_news *news = exec_news_new(EXEC_SURVEY, (struct exec_key){ 0 });
	struct exec_survey *survey = news ? strata_arena_get(&news->arena, sizeof(*survey)) : NULL;
	int rc = survey ? fill_survey(kubernetes, news, survey, err) : strata_fail_memory(err);

	if (rc) {
		exec_news_drop(news);
		return rc;
	}
	news->event.survey = survey;
	exec_queue_tell(&kubernetes->queue, news);
	return 0;
}

int kubernetes_survey(struct kubernetes *kubernetes, struct strata_error *err)
{
	char *text = survey_text(kubernetes);
	int rc = text ? 0 : strata_fail_memory(err);

	if (rc == 0 && (!kubernetes->told || strcmp(kubernetes->told, text) != 0))
		rc = tell_survey(kubernetes, err);
	if (rc) {
		free(text);
		return rc;
	}
	free(kubernetes->told);
	kubernetes->told = text;
	return 0;
}
