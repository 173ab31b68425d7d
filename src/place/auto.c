/*
 * A plan without settings: what the model is, what the machine is short of and how much is worth trying are found out, then the strategies
 * that follow are asked. It is the way from a graph and a machine to a plan that the program and other callers share.
 */
#include <strata/adaptive.h>
#include <strata/detector.h>

#include <errno.h>
#include <string.h>

double strata_place_pressure(const struct strata_graph *graph, const struct strata_machine *machine)
{
	double needs = 0, has = 0;

	for (size_t i = 0; i < graph->op_count; i++)
		needs += (double)strata_op_weight_bytes(graph, i) +
			 (double)strata_op_kv_bytes(graph, i);
	for (size_t i = 0; i < machine->device_count; i++) {
		int64_t room = machine->devices[i].capacity_bytes;

		if (room <= 0) /* without a limit there is no pressure */
			return 0;
		has += machine->devices[i].lost ? 0 : (double)room;
	}
	return has > 0 ? needs / has : 1;
}

int strata_place_device(const struct strata_machine *machine, const char *name,
			uint32_t *ret_device, struct strata_error *err)
{
	for (uint32_t i = 0; i < machine->device_count; i++)
		if (strcmp(machine->devices[i].name, name) == 0) {
			*ret_device = i;
			return 0;
		}
	return strata_fail(err, -ENOENT, "there is no device \"%.64s\"", name);
}

void strata_graph_put_kv(struct strata_graph *graph, uint32_t device)
{
	for (size_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == STRATA_ROLE_KV)
			graph->tensors[i].device = device;
}

static int decide(const struct strata_place_request *ask, const struct strata_place_auto *how,
		  struct strata_arena *arena, struct strata_adaptive_choice *ret_choice,
		  struct strata_error *err)
{
	struct strata_adaptive_facts facts = {
		.workload = how->workload ? how->workload
					  : strata_workload_name(STRATA_WORKLOAD_OTHER),
		.memory_pressure = strata_place_pressure(ask->graph, ask->machine),
		.expert = how->expert,
	};
	struct strata_adaptive *adaptive = how->learned;
	int rc = adaptive ? 0 : strata_adaptive_new(&how->adaptive, arena->memory, &adaptive, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < ask->machine->device_count; i++)
		facts.device_count += !ask->machine->devices[i].lost;
	rc = strata_adaptive_decide(adaptive, &facts, arena, ret_choice, err);
	if (!how->learned)
		strata_adaptive_free(adaptive);
	return rc;
}

int strata_place_auto(const struct strata_place_request *ask, const struct strata_place_auto *how,
		      struct strata_arena *arena, struct strata_place_plan *ret_plan,
		      struct strata_adaptive_choice *ret_choice, struct strata_error *err)
{
	static const struct strata_place_auto usual;
	struct strata_adaptive_choice choice;
	struct strata_place_plan plan;
	int rc = decide(ask, how ? how : &usual, arena, &choice, err);

	if (rc == 0)
		rc = ask->strategy_count
			     ? strata_place_plan(ask, arena, &plan, err)
			     : strata_place_build(choice.strategies, ask, arena, &plan, err);
	if (rc)
		return rc;
	*ret_plan = plan;
	if (ret_choice)
		*ret_choice = choice;
	return 0;
}
