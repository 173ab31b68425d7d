/* Why a plan is as it is, in sentences: what it gains over one device, what crosses between devices, where KV state went, what is full; and when
 * nothing fits, what is missing and what would make it fit. */
#include "place/place_int.h"

#include <strata/text.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REASONS_MAX = 16 };
#define NEARLY_FULL 0.9

struct teller {
	const struct strata_place_problem *problem;
	const struct strata_place_plan *plan;
	struct strata_arena *arena;
	const char **reasons;
	size_t count;
	bool failed;
};

static void tell(struct teller *teller, const char *text)
{
	if (!text)
		teller->failed = true;
	else if (teller->count < REASONS_MAX)
		teller->reasons[teller->count++] = text;
}

/* How much better several devices are than one, said so that more is better. */
static const char *gain_text(struct teller *teller, size_t used, double times)
{
	static const char *const words[] = {
		[STRATA_LATENCY] = "answer a request %.3g times as fast as the best single one",
		[STRATA_THROUGHPUT] = "take %.3g times as many requests as the best single one",
		[STRATA_MEMORY] = "leave each with less: the fullest single one is filled %.3g times "
				  "as much",
	};
	char text[120];

	snprintf(text, sizeof(text), words[teller->problem->objective], times);
	return strata_arena_printf(teller->arena, "%zu devices %s", used, text);
}

static void tell_gain(struct teller *teller)
{
	const struct strata_place_plan *plan = teller->plan;
	const struct strata_place_result *single = NULL;
	size_t used = 0;

	for (size_t i = 0; i < plan->result_count; i++)
		if (strcmp(plan->results[i].strategy, "single") == 0)
			single = &plan->results[i];
	for (size_t d = 0; d < teller->problem->device_count; d++)
		used += plan->devices[d].op_count > 0;
	if (teller->problem->device_count == 1)
		tell(teller, strata_arena_printf(teller->arena, "there is one device"));
	else if (single && !single->fits)
		tell(teller,
		     strata_arena_printf(
			     teller->arena,
			     "no single device has enough memory for the model; %zu devices do",
			     used));
	else if (single && used == 1)
		tell(teller,
		     strata_arena_printf(
			     teller->arena,
			     "one device is best: what more devices compute at the same time is "
			     "less than what would be moved"));
	else if (single && plan->value > 0)
		tell(teller, gain_text(teller, used, single->value / plan->value));
}

static void tell_crossings(struct teller *teller)
{
	const struct strata_place_problem *problem = teller->problem;
	int64_t bytes = 0;
	size_t count = 0;
	char text[STRATA_FORM_BYTES];

	for (size_t i = 0; i < problem->op_count; i++)
		for (uint32_t e = problem->in_first[i]; e < problem->in_first[i + 1]; e++)
			if (teller->plan->device[problem->in_from[e]] != teller->plan->device[i]) {
				count++;
				bytes += problem->in_bytes[e];
			}
	if (count)
		tell(teller,
		     strata_arena_printf(teller->arena,
					 "%zu of %u values cross between devices, %s in all", count,
					 problem->in_first[problem->op_count],
					 strata_size_print_short(bytes, text)));
}

static void tell_kv(struct teller *teller)
{
	const struct strata_place_problem *problem = teller->problem;
	size_t moved = 0, kept = 0;

	for (size_t i = 0; problem->kv_move_ns && i < problem->op_count; i++)
		if (strata_op_kv_bytes(problem->graph, i) > 0) {
			bool moves = problem->kv_move_ns[i * problem->device_count +
							 teller->plan->device[i]] > 0;

			moved += moves;
			kept += !moves;
		}
	if (kept)
		tell(teller,
		     kept == 1 ? "1 op runs where its KV cache is"
			       : strata_arena_printf(teller->arena,
						     "%zu ops run where their KV cache is", kept));
	if (moved)
		tell(teller,
		     strata_arena_printf(
			     teller->arena,
			     "%zu KV cache%s moved: staying there would cost more", moved,
			     moved == 1 ? " is" : "s are"));
}

static void tell_full(struct teller *teller)
{
	char text[STRATA_FORM_BYTES];

	for (size_t d = 0; d < teller->problem->device_count; d++) {
		const struct strata_place_metrics *metrics = &teller->plan->devices[d];
		int64_t has = teller->problem->machine->devices[d].capacity_bytes;
		double used = (double)(metrics->weight_bytes + metrics->kv_bytes);

		if (has > 0 && used > NEARLY_FULL * (double)has)
			tell(teller, strata_arena_printf(teller->arena,
							 "device %s is full to %.3g %% of %s",
							 teller->problem->machine->devices[d].name,
							 100 * used / (double)has,
							 strata_size_print_short(has, text)));
	}
}

static void tell_unknown(struct teller *teller)
{
	size_t unknown = 0;

	for (size_t i = 0; i < teller->problem->op_count; i++)
		unknown += teller->problem->graph->ops[i].unknown;
	if (unknown)
		tell(teller, strata_arena_printf(
				     teller->arena,
				     "%zu op%s of unknown kind, priced by bytes alone", unknown,
				     unknown == 1 ? " is" : "s are"));
}

int reasons_make(const struct strata_place_problem *problem, struct strata_place_plan *plan,
		 struct strata_arena *arena, struct strata_error *err)
{
	struct teller teller = { problem, plan,
				 arena,   strata_arena_array(arena, REASONS_MAX, sizeof(char *)),
				 0,       false };

	if (!teller.reasons)
		return strata_fail_memory(err);
	tell_gain(&teller);
	tell_crossings(&teller);
	tell_kv(&teller);
	tell_full(&teller);
	tell_unknown(&teller);
	if (teller.failed)
		return strata_fail_memory(err);
	plan->reasons = teller.reasons;
	plan->reason_count = teller.count;
	return 0;
}

int reasons_misfit(const struct strata_place_problem *problem, struct strata_arena *arena,
		   struct strata_error *err)
{
	int64_t needs = 0, has = 0, largest = 0, widest = 0;
	char a[STRATA_FORM_BYTES], b[STRATA_FORM_BYTES];

	for (size_t g = 0; g < problem->group_count; g++) {
		int64_t bytes = problem->weight_bytes[g] + problem->kv_bytes[g];

		needs += bytes;
		if (bytes > largest)
			largest = bytes;
	}
	for (size_t d = 0; d < problem->device_count; d++) {
		int64_t room = problem->machine->devices[d].lost
				       ? 0
				       : stock_limit(problem->machine->devices[d].capacity_bytes);

		has = __builtin_add_overflow(has, room, &has) ? INT64_MAX : has;
		if (room > widest)
			widest = room;
	}
	if (largest > widest)
		return strata_fail(err, -ENOSPC,
				   "it does not fit: one group of ops needs %s and the largest "
				   "device has %s; it would "
				   "take a device of that size",
				   strata_size_print_short(largest, a),
				   strata_size_print_short(widest, b));
	if (needs > has)
		return strata_fail(
			err, -ENOSPC,
			"it does not fit: weights and KV state need %s and all devices have %s; "
			"another %s "
			"of memory, or smaller weights, would make it fit",
			strata_size_print_short(needs, a), strata_size_print_short(has, b),
			strata_arena_printf(arena, "%lld bytes", (long long)(needs - has)));
	return strata_fail(err, -ENOSPC,
			   "no plan was found that fits: %s of weights and KV state, %s of memory, "
			   "within budgets, "
			   "activations and rules; raise a budget, or loosen a rule",
			   strata_size_print_short(needs, a), strata_size_print_short(has, b));
}
