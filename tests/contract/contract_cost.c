/* What every cost model promises: a time of 0 or more for every op on every device, the same every time. And what each says of known ops. */
#include "place_random.h"

#include <errno.h>
#include <math.h>

static struct strata_memory memory;
static struct strata_error err;

static int price(const char *text, const struct strata_graph *graph,
		 const struct strata_machine *machine, struct strata_arena *arena,
		 double *ret_times)
{
	struct strata_registry *registry;
	struct strata_spec spec;
	int rc;

	CHECK_OK(strata_registry_new(&strata_cost_kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, text, strlen(text), arena, &spec, &err));
	memset(ret_times, 0, graph->op_count * machine->device_count * sizeof(*ret_times));
	rc = ((const struct strata_cost_class *)spec.cls)
		     ->price(spec.conf, graph, machine, arena, ret_times, &err);
	strata_registry_free(registry);
	return rc;
}

TEST(every_model_gives_times_and_the_same_ones_twice)
{
	static const char *const texts[] = { "roofline", "roofline:efficiency=0.5",
					     "table:times=MatMul=5us,Add=2us" };

	for (size_t t = 0; t < 3; t++)
		for (uint64_t seed = 0; seed < 30; seed++) {
			struct place_random it;
			struct strata_arena arena;
			double times[64], again[64];

			strata_arena_init(&arena, &memory, 0);
			place_random_make(&it, seed, 0, &memory);
			size_t count = it.graph->op_count * it.machine.device_count;

			CHECK_OK(price(texts[t], it.graph, &it.machine, &arena, times));
			CHECK_OK(price(texts[t], it.graph, &it.machine, &arena, again));
			for (size_t i = 0; i < count; i++)
				CHECK(times[i] >= 0 && isfinite(times[i]));
			CHECK_BYTES(again, times, count * sizeof(double));
			strata_arena_fini(&arena);
			strata_graph_free(it.graph);
		}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(roofline_is_the_longer_of_two)
{
	struct place_random it;
	struct strata_arena arena;
	double times[64];

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 5, 4, &memory);
	it.machine.device_count = 1;
	it.devices[0] = (struct strata_device){
		.name = "a", .flops_per_s = 2e9, .bytes_per_s = 1e9, .overhead_ns = 7
	};
	it.graph->ops[0].flops = 100;
	it.graph->ops[0].bytes = 10;
	it.graph->ops[1].flops = 100;
	it.graph->ops[1].bytes = 1000;
	CHECK_OK(price("roofline", it.graph, &it.machine, &arena, times));
	CHECK_NEAR(times[0], 57, 1e-9);
	CHECK_NEAR(times[1], 1007, 1e-9);
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
}

TEST(the_most_particular_row_of_a_table_counts)
{
	struct place_random it;
	struct strata_arena arena;
	double times[64];

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 5, 4, &memory);
	it.machine.device_count = 2;
	it.devices[1] = (struct strata_device){ .name = "b", .kind = "cpu" };
	it.devices[0].kind = "gpu";
	CHECK_OK(price("table:times=MatMul=5us,Add=2us,MatMul@cpu=9us,n1=1us,n2@b=3us", it.graph,
		       &it.machine, &arena, times));
	CHECK_NEAR(times[0], 2000, 0); /* n0 is an Add */
	CHECK_NEAR(times[2], 1000, 0); /* n1 by its name, on either */
	CHECK_NEAR(times[3], 1000, 0);
	CHECK_NEAR(times[4], 5000, 0);
	CHECK_NEAR(times[5], 3000, 0);
	CHECK_ERROR(price("table:times=Add=2us", it.graph, &it.machine, &arena, times), -EINVAL,
		    "no time for op");
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
}
