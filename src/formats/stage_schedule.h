/*
 * Schedules of the stage level as files: what people write by hand and what `strata stage plan` prints.
 *
 *	[{"kind": "fetch", "layer_name": "L1"}, {"kind": "compute", "layer_name": "L1"}, …]
 *
 *	{"layers": […], "order": […], "page_bytes": 2097152, "budget_bytes": 1073741824, "held": […],
 *	 "schedule": [the same list], …}
 *
 *	fetch L1                text, one entry a line; # begins a comment
 *	prefetch L2 0-31        some pages of a layer, the last one included
 *
 * Kinds are fetch, prefetch, compute and release. In JSON pages are "first" and "count"; without them an entry is of the whole layer. Other keys of
 * the document are for other readers. "held" has the pages of each layer that are there when a step begins.
 */
#ifndef FORMATS_STAGE_SCHEDULE_H
#define FORMATS_STAGE_SCHEDULE_H

#include "core/buf.h"

#include <strata/stage.h>

#include <jansson.h>

struct stage_schedule {
	/* visits: its compute entries. With no layers told: those named, of a byte each */
	struct strata_stage_model model;
	bool has_layers;                  /* they are the document's own */
	int64_t page_bytes, budget_bytes; /* 0: not said */
	struct strata_stage_entry *entries;
	size_t entry_count;
	const uint32_t *held; /* of each layer when a step begins; NULL: not said */
};

/* known: the layers, where the document has none; may be NULL. Visits after which the same layers come again in reverse are forward, the others
 * backward. All of it in the arena. */
int stage_schedule_read(const char *text, size_t length, const struct strata_stage_model *known,
			struct strata_arena *arena, struct stage_schedule *ret_schedule,
			struct strata_error *err);

/* The same as a plan, which is verified. Where the machine has 0, its page and budget are those of the document, else 2 MiB and room for all layers;
 * layers of an unknown size are a page each. */
int stage_schedule_plan(const char *text, size_t length, const struct strata_stage_machine *machine,
			const struct strata_stage_model *known, struct strata_arena *arena,
			struct strata_stage_model *ret_model, struct strata_stage_plan *ret_plan,
			struct strata_error *err);

/* The list of entries, and one entry as text. NULL for lack of memory. */
json_t *stage_schedule_json(const struct strata_stage_plan *plan,
			    const struct strata_stage_model *model);
void stage_schedule_add(struct buf *buf, const struct strata_stage_entry *entry,
			const struct strata_stage_model *model);

#endif
