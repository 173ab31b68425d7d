#include "test.h"

#include "machine/inventory.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

TEST(this_machine_is_one_node)
{
	struct inventory here;
	struct strata_error note;
	struct strata_node_conf conf;
	cpu_set_t allowed;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(inventory_detect(&arena, &here, &note, &err));
	CHECK_INT(here.node_count, 1);
	const struct inventory_node *node = here.nodes;

	CHECK_INT(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	CHECK(node->cpus >= (uint32_t)CPU_COUNT(&allowed));
	CHECK(node->cpus <= (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	CHECK(node->cores >= 1 && node->cores <= node->cpus);
	CHECK(node->numa_count >= 1);
	int64_t all_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	CHECK(node->memory_bytes > all_bytes / 2 && node->memory_bytes <= all_bytes + (1 << 30));
	CHECK(node->name[0] && !strchr(node->name, '.'));
	CHECK((node->gpu_count == 0) == (note.code != 0) || note.code == 0);
	inventory_node_conf(node, &conf);
	CHECK_INT(conf.cpu_milli, (int64_t)node->cpus * 1000);
	CHECK_INT(conf.gpu_count, node->gpu_count);
	strata_arena_fini(&arena);
}

static int detect_under(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct strata_arena scratch;
	struct inventory here;

	(void)context;
	strata_arena_init(&scratch, use, 0);
	int rc = inventory_detect(&scratch, &here, NULL, why);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(detect_under, NULL);
}
