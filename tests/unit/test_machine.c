#include "test.h"

#include "sim/machine.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static void begin(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
}

static const struct strata_swf_arrival job = {
	.number = 1, .run_ns = 50, .requested_ns = 100, .procs = 6, .user = 3
};

TEST(in_a_flat_pool_a_job_is_its_processors)
{
	const struct swf_demand demand = { .nodes = 1, .gpus = 8, .gpu_milli = 1000 };
	struct machine machine;

	begin();
	CHECK_OK(machine_init_flat(&machine, 8, &arena, &err));
	CHECK_INT(machine.node_count, 1);
	CHECK_INT(machine.nodes[0].cpu_milli, 8000);
	CHECK_INT(machine.capacity, 8);
	struct strata_job_request request = machine_request(&machine, &job, &demand);

	CHECK_INT(request.tasks, 1);
	CHECK_INT(request.cpu_milli, 6000);
	CHECK_INT(request.gpus, 0);
	CHECK_INT(request.time_limit_ns, 100);
	CHECK_INT(machine_size(&machine, &request), 6);
	strata_arena_fini(&arena);
}

TEST(on_nodes_a_job_is_tasks_of_one_gpu_or_cpu)
{
	const struct openb_node gpus[] = { { "a", "T4", 32000, 1024, 2 }, { "b", "", 8000, 0, 0 } };
	const struct openb_node cpus[] = { { "a", "", 32000, 0, 0 }, { "b", "", 8000, 0, 0 } };
	struct machine machine;

	begin();
	CHECK_OK(machine_init_nodes(&machine, gpus, 2, &arena, &err));
	CHECK_INT(machine.gpu_count, 2);
	CHECK_INT(machine.capacity, 2000);
	CHECK(machine.has_memory);
	CHECK(!machine.nodes[1].gpu_type);
	struct strata_job_request request = machine_request(&machine, &job, NULL);

	CHECK_INT(request.tasks, 6);
	CHECK_INT(request.gpus, 1);
	CHECK_INT(request.cpu_milli, 0);
	CHECK_INT(machine_size(&machine, &request), 6000);
	CHECK_OK(machine_init_nodes(&machine, cpus, 2, &arena, &err));
	CHECK_INT(machine.capacity, 40000);
	CHECK(!machine.has_memory);
	request = machine_request(&machine, &job, NULL);
	CHECK_INT(request.cpu_milli, 1000);
	CHECK_INT(request.gpus, 0);
	CHECK_INT(machine_size(&machine, &request), 6000);
	strata_arena_fini(&arena);
}

TEST(a_demand_says_it_all)
{
	const struct openb_node with[] = { { "a", "T4", 32000, 1024, 2 } },
				without[] = { { "a", "T4", 32000, 0, 2 } };
	const struct swf_demand gang = { .nodes = 3,
					 .gpus = 8,
					 .gpu_milli = 1000,
					 .cpu_milli = 64000,
					 .memory_mib = 2,
					 .gpu_models = "A|B" },
				share = { .nodes = 1,
					  .gpus = 1,
					  .gpu_milli = 470,
					  .cpu_milli = 8000,
					  .gpu_models = "" },
				none = { .nodes = 1, .gpu_milli = 1000, .cpu_milli = 12500 };
	struct machine machine;

	begin();
	CHECK_OK(machine_init_nodes(&machine, with, 1, &arena, &err));
	struct strata_job_request request = machine_request(&machine, &job, &gang);

	CHECK_INT(request.tasks, 3);
	CHECK_INT(request.nodes, 3);
	CHECK_INT(request.gpus, 8);
	CHECK_INT(request.gpu_milli, 0);
	CHECK_INT(request.cpu_milli, 64000);
	CHECK_INT(request.memory_bytes, 2 << 20);
	CHECK_TEXT(request.gpu_type, "A|B");
	CHECK_INT(machine_size(&machine, &request), 24000);
	request = machine_request(&machine, &job, &share);
	CHECK_INT(request.gpus, 0);
	CHECK_INT(request.gpu_milli, 470);
	CHECK(!request.gpu_type);
	CHECK_INT(machine_size(&machine, &request), 470);
	request = machine_request(&machine, &job, &none);
	CHECK_INT(request.gpus, 0);
	CHECK_INT(request.gpu_milli, 0);
	CHECK_INT(machine_size(&machine, &request), 0);
	/* where nobody knows how much memory nodes have, nobody is refused for it */
	CHECK_OK(machine_init_nodes(&machine, without, 1, &arena, &err));
	CHECK_INT(machine_request(&machine, &job, &gang).memory_bytes, 0);
	strata_arena_fini(&arena);
}

TEST(the_limit_is_no_less_than_the_run_time_and_not_nothing)
{
	struct strata_swf_arrival odd = { .run_ns = 70, .requested_ns = 10, .procs = 1 };
	struct machine machine;

	begin();
	CHECK_OK(machine_init_flat(&machine, 8, &arena, &err));
	CHECK_INT(machine_request(&machine, &odd, NULL).time_limit_ns, 70);
	odd = (struct strata_swf_arrival){ .procs = 1 };
	CHECK_INT(machine_request(&machine, &odd, NULL).time_limit_ns, 1);
	strata_arena_fini(&arena);
}

TEST(queues_may_be_called_bands)
{
	struct strata_swf_note notes[] = { { "Queue", "0 low", 0 },
					   { "Queue", "7   high", 0 },
					   { "Queue", "8 higher", 0 },
					   { "Queue", "high", 0 },
					   { "Note", "3 low", 0 } };
	struct strata_swf_job jobs[] = { { .queue = 7 }, { .queue = 0 },  { .queue = 8 },
					 { .queue = 3 }, { .queue = -1 }, { .queue = 7 } };
	const struct strata_swf swf = { notes, 5, jobs, 6 };
	static const enum strata_band want[] = { STRATA_BAND_HIGH,   STRATA_BAND_LOW,
						 STRATA_BAND_NORMAL, STRATA_BAND_NORMAL,
						 STRATA_BAND_NORMAL, STRATA_BAND_HIGH };
	struct strata_swf_arrival arrivals[6];
	enum strata_band *bands;

	begin();
	for (size_t i = 0; i < 6; i++)
		arrivals[i] = (struct strata_swf_arrival){ .job = i };
	CHECK_OK(machine_bands(&swf, arrivals, 6, &arena, &bands, &err));
	for (size_t i = 0; i < 6; i++)
		CHECK_INT(bands[i], want[i]);
	strata_arena_fini(&arena);
}

TEST(machines_that_are_none_are_refused)
{
	const struct openb_node many = { "big", "T4", 1000, 0, STRATA_NODE_GPUS_MAX + 1 },
				most = { "big", "T4", 1000, 0, STRATA_NODE_GPUS_MAX },
				nothing = { "void", "", 0, 0, 0 };
	struct machine machine = { .capacity = 77 };

	begin();
	CHECK_ERROR(machine_init_nodes(&machine, NULL, 0, &arena, &err), -EINVAL, "has no nodes");
	CHECK_ERROR(machine_init_nodes(&machine, &many, 1, &arena, &err), -EINVAL,
		    "node big has 17 GPUs; expected at most 16");
	CHECK_ERROR(machine_init_nodes(&machine, &nothing, 1, &arena, &err), -EINVAL,
		    "neither GPUs nor CPUs");
	CHECK_INT(machine.capacity, 77);
	CHECK_OK(machine_init_nodes(&machine, &most, 1, &arena, &err));
	strata_arena_fini(&arena);
}

static int make(struct strata_memory *own, void *context, struct strata_error *ret_err)
{
	const struct openb_node node = { "a", "T4", 1000, 0, 1 };
	struct strata_arena scratch;
	struct machine machine;
	enum strata_band *bands;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = machine_init_nodes(&machine, &node, 1, &scratch, ret_err);

	if (rc == 0)
		rc = machine_init_flat(&machine, 8, &scratch, ret_err);
	if (rc == 0)
		rc = machine_bands(&(struct strata_swf){ 0 }, NULL, 0, &scratch, &bands, ret_err);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(running_out_of_memory_is_reported)
{
	test_every_allocation(make, NULL);
}
