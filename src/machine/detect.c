/* This machine, by hwloc, which knows what the process may use of it; and its GPUs, by nvml.c. */
#include "machine/inventory.h"

#include <strata/limits.h>

#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include <unistd.h>

/* The host's name without its domain. */
static const char *host_name(struct strata_arena *arena)
{
	char name[STRATA_NAME_BYTES_MAX + 1] = "localhost";

	gethostname(name, sizeof(name) - 1);
	name[strcspn(name, ".")] = '\0';
	return strata_arena_text(arena, name, strlen(name));
}

static uint32_t count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
	int count = hwloc_get_nbobjs_by_type(topology, type);

	return count < 1 ? 1 : (uint32_t)count; /* a machine without such a level is one of it */
}

/* What hwloc counts per domain is what this process may use; where that is all of the machine, the kernel's own total, which on
 * some virtual machines is more than the domains add up to. */
static int64_t memory_of(hwloc_topology_t topology)
{
	int64_t counted = (int64_t)hwloc_get_root_obj(topology)->total_memory;
	int64_t whole = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	bool restricted = !hwloc_bitmap_isequal(hwloc_topology_get_allowed_nodeset(topology),
						hwloc_topology_get_complete_nodeset(topology));

	return restricted || counted > whole ? counted : whole;
}

static int read_topology(struct inventory_node *node, struct strata_error *err)
{
	hwloc_topology_t topology;

	if (hwloc_topology_init(&topology) < 0)
		return strata_fail_memory(err);
	if (hwloc_topology_load(topology) < 0) {
		int code = errno ? errno : EIO;

		hwloc_topology_destroy(topology);
		return strata_fail(err, -code, "the devices of this machine cannot be detected: %s",
				   strerror(code));
	}
	node->cpus = count_of(topology, HWLOC_OBJ_PU);
	node->cores = count_of(topology, HWLOC_OBJ_CORE);
	node->numa_count = count_of(topology, HWLOC_OBJ_NUMANODE);
	node->memory_bytes = memory_of(topology);
	hwloc_topology_destroy(topology);
	return 0;
}

int inventory_detect(struct strata_arena *arena, struct inventory *ret_inventory,
		     struct strata_error *note, struct strata_error *err)
{
	struct inventory_node *node = strata_arena_get(arena, sizeof(*node));
	struct inventory_gpu *gpus = strata_arena_array(arena, STRATA_NODE_GPUS_MAX, sizeof(*gpus));
	struct strata_error own;
	uint32_t gpu_count = 0;

	if (!node || !gpus || !(node->name = host_name(arena)))
		return strata_fail_memory(err);
	int rc = read_topology(node, err);

	if (rc)
		return rc;
	note = note ? note : &own;
	*note = (struct strata_error){ 0 };
	rc = inventory_read_nvml(INVENTORY_NVML, "/sys", arena, gpus, STRATA_NODE_GPUS_MAX,
				 &gpu_count, note);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	node->gpus = gpus;
	node->gpu_count = rc ? 0 : gpu_count;
	*ret_inventory = (struct inventory){ node, 1 };
	return 0;
}
