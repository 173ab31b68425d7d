/* heft: each op where it ends first, those with the longest way to the end before others; knows of memory and of KV caches (heft.c). */
#include "place/place_int.h"

struct heft_conf {
	bool kv, pin_kv;
};

static const struct strata_option options[] = {
	{ "kv", STRATA_BOOL, offsetof(struct heft_conf, kv), .boolean = true,
	  .help = "KV state that is elsewhere takes its time to come" },
	{ "pin_kv", STRATA_BOOL, offsetof(struct heft_conf, pin_kv),
	  .help = "ops with KV state run where it is, as long as there is room" },
	{ 0 }
};

static int propose(const void *conf_any, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	const struct heft_conf *conf = conf_any;

	return heft_propose(problem, conf->kv, conf->pin_kv, 0, problem->seed, budget, arena, draft,
			    err);
}

const struct strata_strategy_class strata_strategy_heft = {
	.base = { .name = "heft",
		  .summary =
			  "each op where it ends first, the longest way to the end before others",
		  .conf_size = sizeof(struct heft_conf),
		  .options = options },
	.propose = propose,
};
