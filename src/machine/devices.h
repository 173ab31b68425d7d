/*
 * What a machine computes with, as the place level wants it: one device for the CPUs of each NUMA domain and one for each GPU, with what their makers
 * say of them or, for CPUs, what their kind usually reaches, and the links between them. strata_machine_calibrate puts what
 * was measured in place of that.
 */
#ifndef MACHINE_DEVICES_H
#define MACHINE_DEVICES_H

#include "machine/inventory.h"

#include <strata/place.h>

/* What the maker of a GPU says of it: peaks, and the bandwidth of its memory. */
struct devices_gpu {
	const char *type; /* as in the inventory: "a100" */
	double flops_per_s, half_flops_per_s, bytes_per_s;
};
/* NULL: not known. Longer names count by what they begin with: "a100_pcie". */
const struct devices_gpu *devices_find_gpu(const char *type);

/* Of one node. Names are "cpu" (or "cpu0" …) and "gpu0" …; all of it is in the arena. ret_guessed, which may be NULL: how many GPUs are of a type that
 * is not known. */
int devices_of(const struct inventory_node *node, struct strata_arena *arena,
	       struct strata_machine *ret_machine, size_t *ret_guessed, struct strata_error *err);

#endif
