#include "test.h"

#include "core/option.h"
#include "machine/inventory.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static const struct inventory_gpu real_gpus[] = {
	{ "a100", "GPU-0", INT64_C(80) << 30, 0, 1 },
	{ "a100", "GPU-1", INT64_C(80) << 30, 1, 1 },
};
static const struct inventory_node real_node = { .name = "here",
						 .cpus = 64,
						 .cores = 32,
						 .numa_count = 2,
						 .memory_bytes = INT64_C(1) << 38,
						 .gpus = real_gpus,
						 .gpu_count = 2 };
static const struct inventory here = { &real_node, 1 };

/* The nodes that lines of a configuration declare. */
static int declare(const char *const *lines, size_t count, const struct inventory *from,
		   struct inventory *ret)
{
	struct inventory_declared declared[4];

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < count; i++) {
		CHECK_OK(strata_schema_defaults(&inventory_declared_schema, &arena, &declared[i],
						&err));
		CHECK_OK(strata_schema_read_text(&inventory_declared_schema, lines[i],
						 strlen(lines[i]), &arena, &declared[i], &err));
	}
	return inventory_declare(declared, count, from, &arena, ret, &err);
}

#define DECLARE(from, ret, ...)                       \
	declare((const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), from, ret)

TEST(a_count_makes_nodes_alike)
{
	struct inventory got;
	struct strata_node_conf conf;

	CHECK_OK(DECLARE(
		NULL, &got,
		"name=n:count=12:cpus=8:memory=64GiB:gpus=4:gpu_type=a100:numa=2:gpu_first=2",
		"name=login:cpus=2:memory=4GiB:gpus=0:features='a,b':partitions=debug"));
	CHECK_INT(got.node_count, 13);
	CHECK_TEXT(got.nodes[0].name, "n01");
	CHECK_TEXT(got.nodes[11].name, "n12");
	CHECK_INT(got.nodes[1].gpu_first, 6);
	inventory_node_conf(&got.nodes[11], &conf);
	CHECK_TEXT(conf.name, "n12");
	CHECK_INT(conf.cpu_milli, 8000);
	CHECK_INT(conf.memory_bytes, INT64_C(64) << 30);
	CHECK_INT(conf.gpu_count, 4);
	CHECK_TEXT(conf.gpu_type, "a100");
	CHECK_BYTES(conf.numa, "\0\0\1\1", 4);
	CHECK(!conf.features && !conf.partitions);
	inventory_node_conf(&got.nodes[12], &conf);
	CHECK_TEXT(conf.name, "login");
	CHECK(!conf.gpu_type);
	CHECK_TEXT(conf.features, "a,b");
	CHECK_TEXT(conf.partitions, "debug");
	strata_arena_fini(&arena);
}

TEST(what_is_not_said_is_as_detected)
{
	struct inventory got;
	struct strata_node_conf conf;

	CHECK_OK(DECLARE(&here, &got, "name=n"));
	inventory_node_conf(&got.nodes[0], &conf);
	CHECK_TEXT(conf.name, "n");
	CHECK_INT(conf.cpu_milli, 64000);
	CHECK_INT(conf.memory_bytes, INT64_C(1) << 38);
	CHECK_INT(conf.gpu_count, 2);
	CHECK_BYTES(conf.numa, "\0\1", 2);
	CHECK_TEXT(got.nodes[0].gpus[1].uuid, "GPU-1");
	CHECK_INT(got.nodes[0].numa_count, 2);
	CHECK_OK(DECLARE(&here, &got, "name=n:gpus=8"));
	CHECK_TEXT(got.nodes[0].gpus[7].type, "a100");
	CHECK(!got.nodes[0].gpus[0].uuid);
	CHECK_OK(DECLARE(NULL, &got, "name=n:cpus=1:memory=1GiB:gpus=1"));
	CHECK_TEXT(got.nodes[0].gpus[0].type, "gpu");
	CHECK_ERROR(DECLARE(NULL, &got, "name=n:cpus=1:memory=1GiB"), -EINVAL,
		    "must say its cpus, memory and gpus");
	strata_arena_fini(&arena);
}

TEST(groups_are_finer_than_domains)
{
	struct inventory got;
	struct strata_node_conf conf;

	CHECK_OK(DECLARE(&here, &got, "name=n:gpus=8:numa=2:gpu_groups='1,1,2,2,1,1,0,0'"));
	inventory_node_conf(&got.nodes[0], &conf);
	CHECK_BYTES(conf.numa, "\0\0\1\1\2\2\3\3", 8);
	CHECK_ERROR(DECLARE(&here, &got, "name=n:gpus=3:gpu_groups='1,1'"), -EINVAL,
		    "node n has 3 GPUs and gpu_groups has 2 numbers");
	CHECK_TEXT(err.field, "node[0].gpu_groups");
	strata_arena_fini(&arena);
}

TEST(several_types_make_a_mixed_node)
{
	struct inventory_gpu gpus[2] = { real_gpus[0], real_gpus[1] };
	struct inventory_node node = real_node;
	struct strata_node_conf conf;

	node.gpus = gpus;
	inventory_node_conf(&node, &conf);
	CHECK_TEXT(conf.gpu_type, "a100");
	gpus[1].type = "h100";
	inventory_node_conf(&node, &conf);
	CHECK_TEXT(conf.gpu_type, "mixed");
}

TEST(names_are_good_and_used_once)
{
	struct inventory got;
	char line[300], name[STRATA_NAME_BYTES_MAX + 2];

	CHECK_ERROR(DECLARE(&here, &got, "name=n:count=2", "name=n2"), -EEXIST,
		    "there are two nodes n2");
	CHECK_ERROR(DECLARE(&here, &got, "name='a b'"), -EINVAL, "expected letters, digits");
	CHECK_ERROR(DECLARE(&here, &got, "name=''"), -EINVAL, "a node's name has 0 bytes");
	memset(name, 'n', sizeof(name));
	name[STRATA_NAME_BYTES_MAX] = '\0';
	snprintf(line, sizeof(line), "name=%s", name);
	CHECK_OK(DECLARE(&here, &got, line));
	strata_arena_fini(&arena);
}

TEST(nodes_have_a_limit)
{
	struct inventory_declared declared[2];
	struct inventory got;

	strata_arena_init(&arena, &memory, 0);
	for (int i = 0; i < 2; i++)
		CHECK_OK(strata_schema_defaults(&inventory_declared_schema, &arena, &declared[i],
						&err));
	declared[0].name = "a";
	declared[0].count = STRATA_INVENTORY_NODES_MAX - 1;
	declared[1].name = "b";
	CHECK_OK(inventory_declare(declared, 2, &here, &arena, &got, &err));
	CHECK_INT(got.node_count, STRATA_INVENTORY_NODES_MAX);
	declared[1].count = 2;
	CHECK_ERROR(inventory_declare(declared, 2, &here, &arena, &got, &err), -E2BIG,
		    "65537 nodes; expected at most 65536");
	strata_arena_fini(&arena);
}

TEST(a_configuration_file_has_sections_for_nodes)
{
	struct conf {
		struct strata_list nodes;
	} conf;
	static const struct strata_option item = { "node", STRATA_TABLE,
						   .table = &inventory_declared_schema };
	const struct strata_option options[] = { { "node", STRATA_LIST, 0, .list = { &item } },
						 { 0 } };
	const struct strata_schema schema = { .name = "service",
					      .conf_size = sizeof(conf),
					      .options = options };
	const char *text =
		"[node n]\ncount = 2\ngpus = 4\ngpu_type = h100\n[node big]\nmemory = 1TiB\n";
	struct inventory got;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_schema_defaults(&schema, &arena, &conf, &err));
	CHECK_OK(option_read_ini(&schema, text, strlen(text), "file", &arena, &conf, NULL, &err));
	CHECK_OK(inventory_declare(conf.nodes.items, conf.nodes.count, &here, &arena, &got, &err));
	CHECK_INT(got.node_count, 3);
	CHECK_TEXT(got.nodes[1].name, "n2");
	CHECK_TEXT(got.nodes[1].gpus[3].type, "h100");
	CHECK_INT(got.nodes[2].memory_bytes, INT64_C(1) << 40);
	strata_arena_fini(&arena);
}

static int declare_under(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct inventory_declared declared = { .name = "n", .count = 3, .gpus = 2, .numa = 1 };
	struct strata_arena scratch;
	struct inventory got;

	(void)context;
	strata_arena_init(&scratch, use, 0);
	int rc = inventory_declare(&declared, 1, &here, &scratch, &got, why);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(declare_under, NULL);
}
