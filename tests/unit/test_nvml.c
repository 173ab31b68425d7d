#include "test.h"

#include "machine/inventory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct inventory_gpu gpus[STRATA_NODE_GPUS_MAX];
static uint32_t count;

static int read_fake(const char *mode, const char *sys)
{
	char path[600];

	setenv("FAKE_NVML", mode, 1);
	snprintf(path, sizeof(path), "%s/tests/fake_nvml.so",
		 getenv("STRATA_BUILD") ? getenv("STRATA_BUILD") : "build");
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	count = 77;
	return inventory_read_nvml(path, sys, &arena, gpus, STRATA_NODE_GPUS_MAX, &count, &err);
}

static void put_numa(const char *device, const char *text)
{
	static const char *const parts[] = { "bus", "bus/pci", "bus/pci/devices" };
	char path[600];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), parts[i]);
		mkdir(path, 0755);
	}
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", test_temp_dir(), device);
	mkdir(path, 0755);
	strcat(path, "/numa_node");
	FILE *file = fopen(path, "we");

	fputs(text, file);
	fclose(file);
}

TEST(gpus_have_type_memory_domain_and_links)
{
	put_numa("0000:0a:00.0", "0\n");
	put_numa("0000:0b:00.0", "-1\n"); /* not known */
	put_numa("0000:0c:00.0", "1\n");
	CHECK_OK(read_fake("4", test_temp_dir()));
	CHECK_INT(count, 4);
	CHECK_TEXT(gpus[0].type, "a100");
	CHECK_TEXT(gpus[3].uuid, "GPU-3");
	CHECK_INT(gpus[1].memory_bytes, INT64_C(80) << 30);
	CHECK_INT(gpus[0].numa, 0);
	CHECK_INT(gpus[1].numa, 0);
	CHECK_INT(gpus[2].numa, 1);
	CHECK_INT(gpus[0].group, 1);
	CHECK_INT(gpus[1].group, 1);
	CHECK_INT(gpus[2].group, 2);
	CHECK_INT(gpus[3].group, 2);
	strata_arena_fini(&arena);
}

TEST(as_many_as_a_node_may_have_and_one_more)
{
	CHECK_OK(read_fake("16", "/sys"));
	CHECK_INT(count, 16);
	CHECK_ERROR(read_fake("17", "/sys"), -E2BIG, "17 GPUs; at most 16 can be used");
	CHECK_INT(count, 77);
	CHECK_OK(read_fake("0", "/sys"));
	CHECK_INT(count, 0);
	strata_arena_fini(&arena);
}

TEST(no_driver_and_no_library_say_so)
{
	CHECK_ERROR(read_fake("driver", "/sys"), -ENODEV,
		    "no NVIDIA GPUs: the driver does not answer: Driver Not Loaded");
	CHECK_ERROR(inventory_read_nvml("libno-such-thing.so.1", "/sys", &arena, gpus, 16, &count,
					&err),
		    -ENOENT, "no NVIDIA GPUs: libno-such-thing.so.1");
	CHECK_ERROR(inventory_read_nvml("libz.so.1", "/sys", &arena, gpus, 16, &count, &err),
		    -ENOSYS, "libz.so.1 lacks a function");
	strata_arena_fini(&arena);
}

TEST(types_are_what_people_call_them)
{
	static const char *const names[][2] = {
		{ "NVIDIA A100-SXM4-80GB", "a100" },
		{ "NVIDIA A100 80GB PCIe", "a100" },
		{ "NVIDIA H100 80GB HBM3", "h100" },
		{ "NVIDIA H100 NVL", "h100" },
		{ "Tesla V100-SXM2-16GB", "v100" },
		{ "NVIDIA L40S", "l40s" },
		{ "NVIDIA GeForce RTX 4090", "rtx_4090" },
		{ "GeForce GTX 1080 Ti", "gtx_1080_ti" },
		{ "NVIDIA RTX A6000", "rtx_a6000" },
		{ "NVIDIA RTX 6000 Ada Generation", "rtx_6000_ada" },
		{ "NVIDIA Graphics Device", "gpu" },
		{ "", "gpu" },
	};
	char type[16];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		inventory_gpu_type(names[i][0], type, sizeof(type));
		CHECK_TEXT(type, names[i][1]);
	}
	inventory_gpu_type("a word that does not fit into it", type, sizeof(type));
	CHECK(strlen(type) < sizeof(type));
}

static int read_under(struct strata_memory *use, void *context, struct strata_error *why)
{
	struct strata_arena scratch;
	char path[600];
	uint32_t ignored;

	(void)context;
	setenv("FAKE_NVML", "2", 1);
	snprintf(path, sizeof(path), "%s/tests/fake_nvml.so",
		 getenv("STRATA_BUILD") ? getenv("STRATA_BUILD") : "build");
	strata_arena_init(&scratch, use, 0);
	int rc = inventory_read_nvml(path, "/sys", &scratch, gpus, 16, &ignored, why);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(read_under, NULL);
}

static int open_meter(const char *mode, uint64_t mask, struct inventory_meter **ret_meter)
{
	char path[600];

	setenv("FAKE_NVML", mode, 1);
	snprintf(path, sizeof(path), "%s/tests/fake_nvml.so",
		 getenv("STRATA_BUILD") ? getenv("STRATA_BUILD") : "build");
	return inventory_meter_open(path, mask, ret_meter, &err);
}

TEST(a_meter_tells_of_the_gpus_it_is_asked_about)
{
	struct inventory_meter *meter;
	int64_t busy_milli, memory_bytes;

	CHECK_OK(open_meter("4", 0xa, &meter)); /* the second and the fourth */
	CHECK_INT(inventory_meter_gpus(meter), 2);
	CHECK(inventory_meter_read(meter, &busy_milli, &memory_bytes));
	CHECK_INT(busy_milli, 500 + 1000);
	CHECK_INT(memory_bytes, INT64_C(6) << 30);
	inventory_meter_close(meter);
	inventory_meter_close(NULL);
	CHECK_ERROR(open_meter("4", 0x10, &meter), -ENODEV, "does not tell");
	CHECK_ERROR(open_meter("driver", 1, &meter), -ENODEV, "Driver Not Loaded");
	CHECK_ERROR(inventory_meter_open("libnosuch.so", 1, &meter, &err), -ENOENT, "no NVIDIA");
	CHECK_OK(open_meter("2", 1, &meter)); /* one that does not answer any more */
	CHECK(!inventory_meter_read(meter, &busy_milli, &memory_bytes));
	inventory_meter_close(meter);
}
