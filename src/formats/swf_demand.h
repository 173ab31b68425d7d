/*
 * What a job of a log asks of each node, beyond a number of processors: GPUs, whole or shared, CPUs,
 * memory. The format has no columns for it, but it numbers the executables (column 14) and lets the
 * header say what numbers stand for. So a demand is a comment of the header,
 *
 *	; Demand: 7 nodes=1:gpus=1:gpu_milli=470:cpu_milli=8000:memory_mib=30517
 *
 * and holds for every job of executable 7. Other readers see a comment, and a log of 18 columns in
 * which a GPU, even a shared one, counts as a processor.
 */
#ifndef FORMATS_SWF_DEMAND_H
#define FORMATS_SWF_DEMAND_H

#include <strata/swf.h>

enum { SWF_DEMAND_GPU_MILLI = 1000 }; /* a whole GPU */
#define SWF_DEMAND_MEMORY_MIB_MAX (INT64_C(1) << 40)

struct swf_demand {
	int64_t executable;
	int64_t nodes;          /* 1 or more, all at once */
	int64_t gpus;           /* on each node; 0: none */
	int64_t gpu_milli;      /* of each of them: 1000, or less of a single one that is shared */
	int64_t cpu_milli;      /* on each node */
	int64_t memory_mib;     /* on each node */
	const char *gpu_models; /* allowed ones, separated by '|'; "": any */
};

/* The demands of a log, sorted by executable, onto the arena. -EBADMSG names the line of one that
 * is malformed, contradicts itself, or comes twice. */
int swf_demand_read(const struct strata_swf *swf, struct strata_arena *arena,
		    struct swf_demand **ret_demands, size_t *ret_count, struct strata_error *err);

/* The one of an executable, or NULL. */
const struct swf_demand *swf_demand_find(const struct swf_demand *demands, size_t count,
					 int64_t executable);

/* The comment that says it, which swf_demand_read takes. -EBADMSG: gpu_models is too long or cannot be shown. */
int swf_demand_note(const struct swf_demand *demand, struct strata_arena *arena,
		    struct strata_swf_note *ret_note, struct strata_error *err);

#endif
