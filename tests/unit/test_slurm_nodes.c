/* Nodes as Slurm tells them. */
#include "test.h"

#include "machine/inventory.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

/* As 22.05 writes it. */
static const char two[] = "NodeName=n001 Arch=x86_64 CoresPerSocket=32  CPUAlloc=64 CPUEfctv=62 "
			  "CPUTot=64 CPULoad=8.21 "
			  "AvailableFeatures=a100,nvlink,x ActiveFeatures=a100,nvlink "
			  "Gres=gpu:a100:8(S:0-1),shard:4 NodeAddr=127.0.0.1 "
			  "NodeHostName=vm Port=24001 Version=22.05.8 OS=Linux 6.18 #1 SMP "
			  "Sockets=99  RealMemory=512000 AllocMem=512000 "
			  "FreeMem=16719 Sockets=2 Boards=1 State=ALLOCATED ThreadsPerCore=2 "
			  "TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
			  "Partitions=gpu,one,high  BootTime=2026-11-15T18:28:43 "
			  "CfgTRES=cpu=64,mem=500G,billing=64,gres/gpu=8\n"
			  "NodeName=login CPUTot=4 Gres=(null) RealMemory=1 State=DOWN "
			  "Reason=RealMemory=7 is bad [root@x]\n";

static struct inventory read_all(const char *text)
{
	struct inventory inventory = { 0 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(inventory_read_slurm(text, &arena, &inventory, &err));
	return inventory;
}

TEST(two_nodes)
{
	struct inventory inventory = read_all(two);
	const struct inventory_node *node = inventory.nodes;

	CHECK_INT(inventory.node_count, 2);
	CHECK_TEXT(node[0].name, "n001");
	CHECK_INT(node[0].cpus, 62);
	CHECK_INT(node[0].cores, 31);
	CHECK_INT(node[0].memory_bytes, INT64_C(512000) << 20);
	CHECK_TEXT(node[0].features, "a100,nvlink");
	CHECK_TEXT(node[0].partitions, "gpu,one,high");
	CHECK_INT(node[0].gpu_count, 8);
	CHECK_TEXT(node[0].gpus[7].type, "a100");
	CHECK_TEXT(node[1].name, "login");
	CHECK_INT(node[1].gpu_count, 0);
	CHECK_INT(node[1].memory_bytes, 1 << 20);
	CHECK(!node[1].features && !node[1].partitions);
	strata_arena_fini(&arena);
}

TEST(gpus_of_several_types)
{
	struct inventory inventory = read_all("NodeName=a CPUTot=4 Gres=gpu:2,gpu:h100:1,tmp:5");

	CHECK_INT(inventory.nodes[0].gpu_count, 3);
	CHECK_TEXT(inventory.nodes[0].gpus[0].type, "gpu");
	CHECK_TEXT(inventory.nodes[0].gpus[2].type, "h100");
	strata_arena_fini(&arena);
}

static int read_rc(const char *text)
{
	struct inventory inventory;

	strata_arena_init(&arena, &memory, 0);
	int rc = inventory_read_slurm(text, &arena, &inventory, &err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(what_makes_no_sense_is_named)
{
	char text[100];

	CHECK_INT(read_rc(""), -EBADMSG);
	CHECK_INT(read_rc("NodeName=a CPUTot=x"), -EBADMSG);
	CHECK(strstr(err.text, "CPUTot"));
	CHECK(read_rc("NodeName=") < 0);
	snprintf(text, sizeof(text), "NodeName=a CPUTot=1 Gres=gpu:8,gpu:a:%d",
		 STRATA_NODE_GPUS_MAX - 8);
	CHECK_OK(read_rc(text));
	snprintf(text, sizeof(text), "NodeName=a CPUTot=1 Gres=gpu:8,gpu:a:%d",
		 STRATA_NODE_GPUS_MAX - 7);
	CHECK_INT(read_rc(text), -EBADMSG);
}

TEST(nodes_have_a_limit)
{
	enum { LINE = 18 };
	static char text[(STRATA_INVENTORY_NODES_MAX + 1) * LINE + 1];

	for (int i = 0; i <= STRATA_INVENTORY_NODES_MAX; i++)
		snprintf(text + i * LINE, LINE + 1, "NodeName=n%05x \n ", i);
	CHECK_INT(read_rc(text), -EBADMSG);
	CHECK(strstr(err.text, "65537 nodes; expected 1 to 65536"));
	text[STRATA_INVENTORY_NODES_MAX * LINE] = '\0';
	err.text[0] = '\0';
	read_rc(text);
	CHECK(!strstr(err.text, "expected 1 to 65536"));
}

static int read_once(struct strata_memory *from, void *context, struct strata_error *ret_err)
{
	struct inventory inventory;
	struct strata_arena own;

	(void)context;
	strata_arena_init(&own, from, 0);
	int rc = inventory_read_slurm(two, &own, &inventory, ret_err);

	strata_arena_fini(&own);
	return rc;
}

TEST(memory_may_run_out)
{
	test_every_allocation(read_once, NULL);
}
