/*
 * Nodes as another inventory service tells them: the document of GET /api/v1/topology. What is not known is left out, what is extra is passed over, and
 * what makes no sense is an error that names it.
 */
#include "machine/inventory.h"

#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

static const char *text_of(const json_t *json, const char *key, struct strata_arena *arena)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text && *text ? strata_arena_text(arena, text, strlen(text)) : NULL;
}

static int number_of(const json_t *json, const char *key, int64_t usual, int64_t min, int64_t max,
		     int64_t *ret_number, struct strata_error *err)
{
	const json_t *value = json_object_get(json, key);

	*ret_number = usual;
	if (!value || json_is_null(value))
		return 0;
	double number = json_number_value(value);

	if (!json_is_number(value) || !(number >= (double)min && number <= (double)max))
		return strata_fail_at(err, -EBADMSG, key, "%s is not a number from %lld to %lld",
				      key, (long long)min, (long long)max);
	*ret_number = json_is_integer(value) ? json_integer_value(value) : (int64_t)number;
	return 0;
}

/* One of a list, or one of so many of a type. */
static int read_gpu(const json_t *json, const char *type, struct strata_arena *arena,
		    struct inventory_gpu *gpu, struct strata_error *err)
{
	int64_t memory, numa, group;
	int rc = number_of(json, "memory_bytes", 0, 0, INT64_C(1) << 50, &memory, err);

	if (rc == 0)
		rc = number_of(json, "numa", 0, 0, 63, &numa, err);
	if (rc == 0)
		rc = number_of(json, "group", 0, 0, UINT8_MAX, &group, err);
	if (rc)
		return rc;
	*gpu = (struct inventory_gpu){ .type = text_of(json, "type", arena),
				       .uuid = text_of(json, "uuid", arena),
				       .memory_bytes = memory,
				       .numa = (uint32_t)numa,
				       .group = (uint32_t)group };
	if (!gpu->type)
		gpu->type = type ? type : "gpu";
	return 0;
}

static int read_gpus(const json_t *json, struct strata_arena *arena, struct inventory_node *node,
		     struct strata_error *err)
{
	const json_t *list = json_object_get(json, "gpus");
	const char *type = text_of(json, "gpu_type", arena);
	struct inventory_gpu *gpus;
	int64_t count = (int64_t)json_array_size(list);
	int rc = json_is_array(list)
			 ? 0
			 : number_of(json, "gpus", 0, 0, STRATA_NODE_GPUS_MAX, &count, err);

	if (rc)
		return rc;
	if (count > STRATA_NODE_GPUS_MAX)
		return strata_fail_at(err, -EBADMSG, "gpus", "%lld GPUs; expected at most %d",
				      (long long)count, STRATA_NODE_GPUS_MAX);
	gpus = strata_arena_array(arena, (size_t)count, sizeof(*gpus));
	if (!gpus)
		return strata_fail_memory(err);
	for (int64_t i = 0; rc == 0 && i < count; i++)
		rc = read_gpu(json_array_get(list, (size_t)i), type, arena, &gpus[i], err);
	node->gpus = gpus;
	node->gpu_count = (uint32_t)count;
	return rc ? strata_fail_under(err, rc, "gpus") : 0;
}

static int read_node(const json_t *json, struct strata_arena *arena, struct inventory_node *node,
		     struct strata_error *err)
{
	int64_t cpus, cores, numa, memory;
	const char *name = text_of(json, "name", arena);
	int rc = inventory_check_name(name, err);

	if (rc == 0)
		rc = number_of(json, "cpus", 1, 1, 1 << 20, &cpus, err);
	if (rc == 0)
		rc = number_of(json, "cores", cpus, 1, cpus, &cores, err);
	if (rc == 0)
		rc = number_of(json, "numa", 1, 1, 64, &numa, err);
	if (rc == 0)
		rc = number_of(json, "memory_bytes", 0, 0, INT64_C(1) << 50, &memory, err);
	if (rc)
		return rc;
	*node = (struct inventory_node){ .name = name,
					 .cpus = (uint32_t)cpus,
					 .cores = (uint32_t)cores,
					 .numa_count = (uint32_t)numa,
					 .memory_bytes = memory,
					 .features = text_of(json, "features", arena),
					 .partitions = text_of(json, "partitions", arena) };
	return read_gpus(json, arena, node, err);
}

int inventory_read(const char *text, size_t length, struct strata_arena *arena,
		   struct inventory *ret_inventory, struct strata_error *err)
{
	json_t *json;
	int rc = option_load_json(text, length, &json, err);

	if (rc)
		return rc;
	const json_t *list = json_object_get(json, "nodes");
	size_t count = json_array_size(list);
	struct inventory_node *nodes = NULL;

	if (count < 1 || count > STRATA_INVENTORY_NODES_MAX)
		rc = strata_fail_at(err, -EBADMSG, "nodes", "nodes is not a list of 1 to %d nodes",
				    STRATA_INVENTORY_NODES_MAX);
	else
		nodes = strata_arena_array(arena, count, sizeof(*nodes));
	if (rc == 0 && !nodes)
		rc = strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = read_node(json_array_get(list, i), arena, &nodes[i], err);
		if (rc)
			strata_fail_under(err, rc, "nodes[%zu]", i);
	}
	json_decref(json);
	if (rc == 0)
		*ret_inventory = (struct inventory){ nodes, (uint32_t)count };
	return rc;
}
