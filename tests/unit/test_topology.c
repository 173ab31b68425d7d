/* The nodes that another service tells of: what it may leave out, and what is refused. */
#include "test.h"

#include "machine/inventory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static int read_text(const char *text, struct inventory *ret)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	err = (struct strata_error){ 0 };
	return inventory_read(text, strlen(text), &arena, ret, &err);
}

TEST(nodes_are_read_as_they_are_told)
{
	struct inventory got;

	CHECK_OK(read_text(
		"{\"nodes\": [{\"name\": \"a\", \"state\": \"up\", \"cpus\": 64, \"cores\": 32, "
		"\"numa\": 2,"
		"\"memory_bytes\": 1024, \"features\": \"ib\", \"extra\": [1], \"gpus\": ["
		"{\"type\": \"a100\", \"uuid\": \"GPU-1\", \"memory_bytes\": 80, \"numa\": 1, "
		"\"group\": 3},"
		"{\"type\": \"h100\"}]}, {\"name\": \"b\", \"gpus\": 2, \"gpu_type\": \"l40\"}]}",
		&got));
	CHECK_INT(got.node_count, 2);
	CHECK_TEXT(got.nodes[0].name, "a");
	CHECK_INT(got.nodes[0].cpus, 64);
	CHECK_INT(got.nodes[0].cores, 32);
	CHECK_INT(got.nodes[0].memory_bytes, 1024);
	CHECK_TEXT(got.nodes[0].features, "ib");
	CHECK_INT(got.nodes[0].gpu_count, 2);
	CHECK_TEXT(got.nodes[0].gpus[0].uuid, "GPU-1");
	CHECK_INT(got.nodes[0].gpus[0].numa, 1);
	CHECK_INT(got.nodes[0].gpus[0].group, 3);
	CHECK_TEXT(got.nodes[0].gpus[1].type, "h100");
	CHECK_INT(got.nodes[1].cpus, 1);
	CHECK_INT(got.nodes[1].gpu_count, 2);
	CHECK_TEXT(got.nodes[1].gpus[1].type, "l40");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_makes_no_sense_is_named)
{
	static const struct {
		const char *text;
		int code;
		const char *field;
	} bad[] = {
		{ "{}", -EBADMSG, "nodes" },
		{ "[]", -EBADMSG, "nodes" },
		{ "{\"nodes\": []}", -EBADMSG, "nodes" },
		{ "{\"nodes\": [7]}", -EINVAL, "nodes[0].name" },
		{ "{\"nodes\": [{\"name\": \"a b\"}]}", -EINVAL, "nodes[0].name" },
		{ "{\"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\", \"cpus\": 0}]}", -EBADMSG,
		  "nodes[1].cpus" },
		{ "{\"nodes\": [{\"name\": \"a\", \"cpus\": \"8\"}]}", -EBADMSG, "nodes[0].cpus" },
		{ "{\"nodes\": [{\"name\": \"a\", \"cpus\": 4, \"cores\": 5}]}", -EBADMSG,
		  "nodes[0].cores" },
		{ "{\"nodes\": [{\"name\": \"a\", \"gpus\": 17}]}", -EBADMSG, "nodes[0].gpus" },
		{ "{\"nodes\": [{\"name\": \"a\", \"gpus\": [{\"numa\": 64}]}]}", -EBADMSG,
		  "nodes[0].gpus.numa" },
		{ "{\"nodes\": [{\"name\": \"a\", \"memory_bytes\": 1e300}]}", -EBADMSG,
		  "nodes[0].memory_bytes" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct inventory got = { .node_count = 99 };

		CHECK_INT(read_text(bad[i].text, &got), bad[i].code);
		CHECK_TEXT(err.field, bad[i].field);
		CHECK_INT(got.node_count, 99);
	}
	CHECK(read_text("{\"nodes\":", &(struct inventory){ 0 }) < 0);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
