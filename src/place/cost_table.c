/*
 * table: measured times, by the name of an op or by its kind, on a kind of device or on one device. The most particular row counts; a row
 * without a device counts on all. Ops without a row take what was measured with the graph, and are refused where that is not there either.
 */
#include "place/place_int.h"

#include <errno.h>
#include <string.h>

struct table_conf {
	struct strata_map times; /* "op", "op@device" → ns */
};

static const struct strata_option time_item = { .type = STRATA_DURATION,
						.unit = "ns",
						.integer = { 0, 0, STRATA_DURATION_NS_MAX } };
static const struct strata_option options[] = {
	{ "times", STRATA_MAP, offsetof(struct table_conf, times), .list = { .item = &time_item },
	  .help = "op or kind of op, perhaps with @ and a device or kind of device, and its time" },
	{ 0 }
};

static bool is_called(const char *text, size_t length, const char *name)
{
	return name && *name && strlen(name) == length && memcmp(text, name, length) == 0;
}

/* How particular a row is about an op on a device: 0 when it does not count, name before kind, device before its kind. */
static int matches(const char *key, const struct strata_op *op, const struct strata_device *device)
{
	const char *at = strrchr(key, '@');
	size_t length = at ? (size_t)(at - key) : strlen(key);
	int rank = is_called(key, length, op->name) ? 4 : is_called(key, length, op->kind) ? 1 : 0;

	if (!rank || !at)
		return rank;
	if (is_called(at + 1, strlen(at + 1), device->name))
		return rank + 2;
	return is_called(at + 1, strlen(at + 1), device->kind) ? rank + 1 : 0;
}

static int price(const void *conf_any, const struct strata_graph *graph,
		 const struct strata_machine *machine, struct strata_arena *arena,
		 double *ret_times, struct strata_error *err)
{
	const struct table_conf *conf = conf_any;
	const int64_t *times = conf->times.items;
	size_t d = machine->device_count;

	for (size_t i = 0; i < graph->op_count; i++)
		for (size_t j = 0; j < d; j++) {
			const struct strata_op *op = &graph->ops[i];
			double time = op->times_ns ? op->times_ns[j] : -1;
			int best = 0;

			for (size_t k = 0; k < conf->times.count; k++) {
				int rank = matches(conf->times.keys[k], op, &machine->devices[j]);

				if (rank > best) {
					best = rank;
					time = (double)times[k];
				}
			}
			if (time < 0)
				return strata_fail_at(
					err, -EINVAL, "times",
					"there is no time for op \"%.64s\" of kind \"%.32s\"",
					op->name, op->kind);
			ret_times[i * d + j] = time;
		}
	return 0;
}

const struct strata_cost_class strata_cost_table = {
	.base = { .name = "table",
		  .summary = "measured times of ops or kinds of ops",
		  .conf_size = sizeof(struct table_conf),
		  .options = options },
	.price = price,
};
