/*
 * The tables of openb.h. Each reader finds its columns, takes an array for the rows there are, and
 * fills it row by row; a row says which of its values is impossible.
 */
#include "formats/openb.h"

#include "core/map.h"
#include "formats/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	GPU_COUNT_MAX = 1024, /* of one node or pod */
	CPU_NUM_MAX = 1 << 20,
};
#define MILLI_MAX INT64_C(1000000000)
#define MIB_MAX (INT64_C(1) << 40)
#define SECONDS_MAX (INT64_C(1) << 40)

/* ---- nodes ---- */

struct node_columns {
	int name, model, cpu, memory, gpus;
	int64_t cpu_unit; /* what 1 in the column is worth, in milli */
};

static int find_node_columns(const struct csv *csv, struct node_columns *columns,
			     struct strata_error *err)
{
	bool spot = csv_find_optional(csv, "node_name") != CSV_NONE;
	int rc = csv_find(csv, spot ? "node_name" : "sn", &columns->name, err);

	columns->memory = CSV_NONE;
	columns->cpu_unit = spot ? 1000 : 1;
	if (rc == 0)
		rc = csv_find(csv, spot ? "gpu_model" : "model", &columns->model, err);
	if (rc == 0)
		rc = csv_find(csv, spot ? "cpu_num" : "cpu_milli", &columns->cpu, err);
	if (rc == 0)
		rc = csv_find(csv, spot ? "gpu_capacity_num" : "gpu", &columns->gpus, err);
	if (rc == 0 && !spot)
		rc = csv_find(csv, "memory_mib", &columns->memory, err);
	return rc;
}

static int read_node(const struct csv *csv, const struct node_columns *columns,
		     struct openb_node *node, struct strata_error *err)
{
	int rc = csv_text(csv, columns->name, &node->name, err);

	if (rc == 0)
		rc = csv_text(csv, columns->model, &node->gpu_model, err);
	if (rc == 0)
		rc = csv_int(csv, columns->cpu, 0, MILLI_MAX / columns->cpu_unit, &node->cpu_milli,
			     err);
	if (rc == 0)
		rc = csv_int_or(csv, columns->memory, 0, MIB_MAX, 0, &node->memory_mib, err);
	if (rc == 0)
		rc = csv_int(csv, columns->gpus, 0, GPU_COUNT_MAX, &node->gpu_count, err);
	node->cpu_milli *= columns->cpu_unit;
	return rc;
}

int openb_read_nodes(const char *text, size_t length, struct strata_arena *arena,
		     struct openb_node **ret_nodes, size_t *ret_count, struct strata_error *err)
{
	struct csv csv;
	struct node_columns columns;
	size_t count = 0;
	bool row;
	int rc = csv_init(&csv, text, length, arena, err);

	if (rc == 0)
		rc = find_node_columns(&csv, &columns, err);
	if (rc)
		return rc;
	struct openb_node *nodes = strata_arena_array(arena, csv.row_count, sizeof(*nodes));

	if (!nodes)
		return strata_fail_memory(err);
	while ((rc = csv_next(&csv, &row, err)) == 0 && row)
		if ((rc = read_node(&csv, &columns, &nodes[count++], err)))
			return rc;
	if (rc)
		return rc;
	*ret_nodes = nodes;
	*ret_count = count;
	return 0;
}

void openb_add_nodes(struct buf *buf, const struct openb_node *nodes, size_t count)
{
	buf_add(buf, "sn,cpu_milli,memory_mib,gpu,model\n");
	for (size_t i = 0; i < count; i++) {
		csv_add_field(buf, nodes[i].name);
		buf_printf(buf, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", nodes[i].cpu_milli,
			   nodes[i].memory_mib, nodes[i].gpu_count);
		csv_add_field(buf, nodes[i].gpu_model);
		buf_add_char(buf, '\n');
	}
}

/* ---- pods ---- */

struct pod_columns {
	int name, cpu, memory, gpus, gpu_milli; /* always there */
	int models, qos, phase, creation, deletion, scheduled;
};

static int find_pod_columns(const struct csv *csv, struct pod_columns *columns,
			    struct strata_error *err)
{
	int rc = csv_find(csv, "name", &columns->name, err);

	if (rc == 0)
		rc = csv_find(csv, "cpu_milli", &columns->cpu, err);
	if (rc == 0)
		rc = csv_find(csv, "memory_mib", &columns->memory, err);
	if (rc == 0)
		rc = csv_find(csv, "num_gpu", &columns->gpus, err);
	if (rc == 0)
		rc = csv_find(csv, "gpu_milli", &columns->gpu_milli, err);
	columns->models = csv_find_optional(csv, "gpu_spec");
	columns->qos = csv_find_optional(csv, "qos");
	columns->phase = csv_find_optional(csv, "pod_phase");
	columns->creation = csv_find_optional(csv, "creation_time");
	columns->deletion = csv_find_optional(csv, "deletion_time");
	columns->scheduled = csv_find_optional(csv, "scheduled_time");
	return rc;
}

static int read_pod_texts(const struct csv *csv, const struct pod_columns *columns,
			  struct openb_pod *pod, struct strata_error *err)
{
	int rc = csv_text(csv, columns->name, &pod->name, err);

	if (rc == 0)
		rc = csv_text(csv, columns->models, &pod->gpu_models, err);
	if (rc == 0)
		rc = csv_text(csv, columns->qos, &pod->qos, err);
	if (rc == 0)
		rc = csv_text(csv, columns->phase, &pod->phase, err);
	return rc;
}

static int read_pod_times(const struct csv *csv, const struct pod_columns *columns,
			  struct openb_pod *pod, struct strata_error *err)
{
	int rc = csv_int_or(csv, columns->creation, 0, SECONDS_MAX, -1, &pod->creation_s, err);

	if (rc == 0)
		rc = csv_int_or(csv, columns->deletion, 0, SECONDS_MAX, -1, &pod->deletion_s, err);
	if (rc == 0)
		rc = csv_int_or(csv, columns->scheduled, 0, SECONDS_MAX, -1, &pod->scheduled_s,
				err);
	return rc;
}

static int read_pod(const struct csv *csv, const struct pod_columns *columns, struct openb_pod *pod,
		    struct strata_error *err)
{
	int rc = read_pod_texts(csv, columns, pod, err);

	if (rc == 0)
		rc = csv_int(csv, columns->cpu, 0, MILLI_MAX, &pod->cpu_milli, err);
	if (rc == 0)
		rc = csv_int(csv, columns->memory, 0, MIB_MAX, &pod->memory_mib, err);
	if (rc == 0)
		rc = csv_int(csv, columns->gpus, 0, GPU_COUNT_MAX, &pod->gpu_count, err);
	if (rc == 0)
		rc = csv_int(csv, columns->gpu_milli, 0, OPENB_GPU_MILLI, &pod->gpu_milli, err);
	if (rc == 0)
		rc = read_pod_times(csv, columns, pod, err);
	if (rc)
		return rc;
	if (pod->gpu_count == 0)
		pod->gpu_milli = 0;
	else if (pod->gpu_milli == 0)
		return csv_fail(csv, columns->gpu_milli, "1 to 1000 of each GPU", err);
	else if (pod->gpu_milli < OPENB_GPU_MILLI && pod->gpu_count > 1)
		return csv_fail(csv, columns->gpu_milli, "1000: only a single GPU can be shared",
				err);
	return 0;
}

int openb_read_pods(const char *text, size_t length, struct strata_arena *arena,
		    struct openb_pod **ret_pods, size_t *ret_count, struct strata_error *err)
{
	struct csv csv;
	struct pod_columns columns;
	size_t count = 0;
	bool row;
	int rc = csv_init(&csv, text, length, arena, err);

	if (rc == 0)
		rc = find_pod_columns(&csv, &columns, err);
	if (rc)
		return rc;
	struct openb_pod *pods = strata_arena_array(arena, csv.row_count, sizeof(*pods));

	if (!pods)
		return strata_fail_memory(err);
	while ((rc = csv_next(&csv, &row, err)) == 0 && row)
		if ((rc = read_pod(&csv, &columns, &pods[count++], err)))
			return rc;
	if (rc)
		return rc;
	*ret_pods = pods;
	*ret_count = count;
	return 0;
}

/* ---- sequences ---- */

static int index_pods(struct map_text *map, const struct openb_pod *pods, size_t pod_count,
		      struct strata_error *err)
{
	for (size_t i = 0; i < pod_count; i++) {
		size_t bytes = strlen(pods[i].name);

		if (!map_text_get(map, pods[i].name, bytes) &&
		    map_text_put(map, pods[i].name, bytes, (void *)&pods[i], NULL))
			return strata_fail_memory(err);
	}
	return 0;
}

static int read_indices(struct csv *csv, const struct map_text *map, const struct openb_pod *pods,
			uint32_t *indices, size_t *ret_count, struct strata_error *err)
{
	size_t count = 0;
	int column, rc = csv_find(csv, "pod", &column, err);
	bool row;

	if (rc)
		return rc;
	while ((rc = csv_next(csv, &row, err)) == 0 && row) {
		struct csv_field name = csv_field(csv, column);
		const struct openb_pod *pod = map_text_get(map, name.text, name.length);

		if (!pod)
			return csv_fail(csv, column, "the name of a pod", err);
		indices[count++] = (uint32_t)(pod - pods);
	}
	if (rc == 0)
		*ret_count = count;
	return rc;
}

int openb_read_sequence(const char *text, size_t length, const struct openb_pod *pods,
			size_t pod_count, struct strata_arena *arena, uint32_t **ret_indices,
			size_t *ret_count, struct strata_error *err)
{
	struct csv csv;
	struct map_text map;
	int rc = csv_init(&csv, text, length, arena, err);

	if (rc)
		return rc;
	uint32_t *indices = strata_arena_array(arena, csv.row_count, sizeof(*indices));

	if (!indices)
		return strata_fail_memory(err);
	map_text_init(&map, arena->memory);
	rc = index_pods(&map, pods, pod_count, err);
	if (rc == 0)
		rc = read_indices(&csv, &map, pods, indices, ret_count, err);
	if (rc == 0)
		*ret_indices = indices;
	map_text_fini(&map);
	return rc;
}
