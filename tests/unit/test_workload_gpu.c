#include "workload_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_swf swf;
static struct swf_demand *demands;
static size_t demand_count;

enum { COUNT = 20000 };

static void make(const char *spec, uint64_t seed)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(workload_from(spec, COUNT, seed, &arena, &swf, &err));
	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &demand_count, &err));
}

static const struct swf_demand *demand_of(size_t job)
{
	const struct swf_demand *demand =
		swf_demand_find(demands, demand_count, swf.jobs[job].executable);

	CHECK(demand);
	return demand;
}

/* Parts within four standard errors of what was asked for. */
static void check_parts(const char *spec, double cpu_only, double shared, double multi)
{
	size_t none = 0, part = 0, several = 0;

	make(spec, 1);
	for (size_t i = 0; i < COUNT; i++) {
		const struct swf_demand *demand = demand_of(i);

		none += demand->gpus == 0;
		part += demand->gpu_milli < 1000;
		several += demand->nodes * demand->gpus > 1;
		CHECK_INT(demand->nodes * demand->gpus, swf.jobs[i].procs_requested);
	}
	CHECK_NEAR((double)none / COUNT, cpu_only, 4 * sqrt(cpu_only * (1 - cpu_only) / COUNT));
	CHECK_NEAR((double)part / COUNT, shared, 4 * sqrt(shared * (1 - shared) / COUNT));
	CHECK_NEAR((double)several / COUNT, multi, 4 * sqrt(multi * (1 - multi) / COUNT));
}

TEST(parts_are_as_asked_for)
{
	check_parts("gpu", 0, 0.35, 0.1);
	check_parts("gpu:shared=0.6:multi=0.3:cpu_only=0.1", 0.1, 0.6, 0.3);
	check_parts("gpu:shared=0:multi=0", 0, 0, 0);
	check_parts("gpu:shared=1:multi=0", 0, 1, 0);
}

TEST(large_jobs_take_whole_nodes_and_fit)
{
	size_t seen = 0;

	make("gpu:gpus=64:gpus_per_node=8:multi=0.5", 1);
	for (size_t i = 0; i < COUNT; i++) {
		const struct swf_demand *demand = demand_of(i);

		CHECK(demand->gpus <= 8 && demand->nodes <= 4);
		CHECK(demand->nodes == 1 || demand->gpus == 8);
		CHECK(demand->cpu_milli > 0 && demand->cpu_milli <= 128000);
		CHECK(demand->memory_mib > 0 && demand->memory_mib <= 1 << 20);
		seen += demand->nodes > 1;
	}
	CHECK(seen > 100);
}

/* What a user runs again takes about as long again: less spread within a program than among all. */
TEST(programs_have_their_run_times)
{
	enum { PROGRAMS = 10000 };
	static double sums[PROGRAMS], squares[PROGRAMS], counts[PROGRAMS];
	double sum = 0, square = 0, within = 0, pairs = 0;

	make("gpu", 1);
	for (size_t i = 0; i < COUNT; i++) {
		size_t program = (size_t)swf.jobs[i].executable;
		double run = log((double)swf.jobs[i].run_s);

		CHECK(program < PROGRAMS);
		CHECK(swf.jobs[i].run_s <= 14 * 86400);
		sums[program] += run;
		squares[program] += run * run;
		counts[program]++;
		sum += run;
		square += run * run;
	}
	for (size_t i = 0; i < PROGRAMS; i++)
		if (counts[i] > 1) {
			within += squares[i] - sums[i] * sums[i] / counts[i];
			pairs += counts[i] - 1;
		}
	double all = square / COUNT - sum / COUNT * sum / COUNT;

	CHECK_NEAR(sqrt(within / pairs), 0.8, 0.03);
	CHECK(sqrt(all) > 1.5 && sqrt(all) < 2.3); /* Philly: 2.16 */
}

TEST(larger_jobs_run_longer)
{
	double sums[2] = { 0 }, counts[2] = { 0 };

	make("gpu:multi=0.4", 1);
	for (size_t i = 0; i < COUNT; i++) {
		bool large = swf.jobs[i].procs_requested >= 4;

		sums[large] += log((double)swf.jobs[i].run_s);
		counts[large]++;
	}
	CHECK(sums[1] / counts[1] > sums[0] / counts[0] + 1);
}

TEST(queues_and_their_parts)
{
	size_t seen[3] = { 0 };

	make("gpu:low=0.3:high=0.2", 1);
	for (size_t i = 0; i < COUNT; i++) {
		CHECK(swf.jobs[i].queue >= 0 && swf.jobs[i].queue <= 2);
		seen[swf.jobs[i].queue]++;
	}
	CHECK_NEAR((double)seen[0] / COUNT, 0.3, 0.013);
	CHECK_NEAR((double)seen[2] / COUNT, 0.2, 0.0113);
}

TEST(nights_and_weekends_are_quiet)
{
	size_t night = 0, noon = 0, weekend = 0, days;

	make("gpu:night=0.1:weekend=0.2:load=0.1", 1);
	days = (size_t)swf.jobs[COUNT - 1].submit_s / 86400 / 7 * 7; /* whole weeks */
	CHECK(days >= 14);
	for (size_t i = 0; i < COUNT; i++) {
		int64_t hour = swf.jobs[i].submit_s % 86400 / 3600,
			day = swf.jobs[i].submit_s / 86400;

		if (day >= (int64_t)days)
			break;
		night += hour >= 3 && hour < 5;
		noon += hour >= 13 && hour < 15;
		weekend += day % 7 >= 5;
	}
	CHECK(noon > 6 * night);
	CHECK(weekend > 0 && weekend * 7 < COUNT);
}

TEST(options_that_contradict_each_other_are_refused)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(workload_from("gpu:shared=0.7:multi=0.4", 10, 1, &arena, &swf, &err), -ERANGE,
		    "cpu_only, shared and multi are 1.1 together; expected at most 1");
	CHECK_TEXT(err.field, "shared");
	CHECK_ERROR(workload_from("gpu:low=0.7:high=0.4", 10, 1, &arena, &swf, &err), -ERANGE,
		    "low and high are 1.1 together");
	CHECK_ERROR(workload_from("gpu:gpus=100", 10, 1, &arena, &swf, &err), -ERANGE,
		    "gpus is 100; expected a multiple of gpus_per_node, 8");
	CHECK_ERROR(workload_from("gpu:gpus=2:gpus_per_node=1", 10, 1, &arena, &swf, &err), -ERANGE,
		    "multi is 0.1, but the cluster of 2 GPUs has no room for such jobs");
	CHECK_OK(workload_from("gpu:gpus=2:gpus_per_node=1:multi=0", 10, 1, &arena, &swf, &err));
	CHECK_OK(workload_from("gpu:shared=0.6:multi=0.4", 10, 1, &arena, &swf, &err));
}

/* The most users there may be still fit into the comments a log may have. */
TEST(many_users_fit_into_the_header)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(workload_from("gpu:users=2000:multi=0.3:cpu_only=0.2", 300000, 1, &arena, &swf,
			       &err));
	const char *text;
	size_t length;

	CHECK_OK(strata_swf_write(&swf, &arena, &text, &length, &err));
	CHECK_OK(strata_swf_read(text, length, &arena, &swf, &err));
	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &demand_count, &err));
	CHECK(demand_count > 10000);
}

TEST(there_are_nodes_for_every_program)
{
	static const char *const specs[] = { "gpu:picky=0.5:cpu_only=0.1", "gpu:gpus=8:multi=0.1",
					     "gpu:gpus=16:gpus_per_node=1:cpu_only=0.2:picky=1",
					     "gpu:gpus_per_node=16" };

	for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
		struct openb_node *nodes;
		size_t node_count;
		int64_t gpus = 0;

		make(specs[s], 3);
		CHECK_OK(workload_nodes_from(specs[s], &arena, &nodes, &node_count, &err));
		for (size_t n = 0; n < node_count; n++)
			gpus += nodes[n].gpu_count;
		CHECK_INT(gpus, strata_swf_procs(&swf));
		for (size_t i = 0; i < demand_count; i++) {
			const struct swf_demand *demand = &demands[i];
			int64_t fit = 0;

			for (size_t n = 0; n < node_count; n++)
				fit += demand->gpus <= nodes[n].gpu_count &&
				       demand->cpu_milli <= nodes[n].cpu_milli &&
				       demand->memory_mib <= nodes[n].memory_mib &&
				       (!*demand->gpu_models ||
					strcmp(demand->gpu_models, nodes[n].gpu_model) == 0);
			CHECK(fit >= demand->nodes);
		}
	}
}

TEST(picky_programs_are_as_many_as_asked_for)
{
	size_t picky = 0, new = 0;

	make("gpu:picky=0.4:users=500", 1);
	for (size_t i = 0; i < demand_count; i++) {
		picky += *demands[i].gpu_models != 0;
		new += strcmp(demands[i].gpu_models, "H100") == 0;
	}
	CHECK_NEAR((double)picky / (double)demand_count, 0.4,
		   4 * sqrt(0.24 / (double)demand_count));
	CHECK_NEAR((double)new / (double)picky, 0.25, 4 * sqrt(0.1875 / (double)picky));
}

TEST(the_bytes_are_the_same_on_every_machine)
{
	make("gpu:load=0.8", 7);
	CHECK_INT(workload_digest(&swf, &arena), 5820987104724168744);
}
