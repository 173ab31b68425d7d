/*
 * The accounts of a Slurm cluster as a log of jobs: what
 *
 *	sacct -a -X -P -S 2026-01-01 -o JobIDRaw,Submit,Start,End,Timelimit,State,AllocCPUS,AllocNodes,ReqMem,AllocTRES,User,Account,Partition
 *
 * prints, a line of names and a line for each job, with bars between. Columns may come in any order, others are passed over; of those above
 * JobIDRaw (or JobID), Submit, Start, End and AllocCPUS (or NCPUS, ReqCPUS) are needed. What a job had of each node becomes a demand
 * (swf_demand.h), so that GPUs and memory count where the simulated machine has nodes. Jobs that never ran, or still do, and
 * steps are left out.
 */
#ifndef SLURM_SACCT_LOG_H
#define SLURM_SACCT_LOG_H

#include <strata/swf.h>

/* Does the text begin as such a list does? */
bool sacct_is(const char *text, size_t length);

/* Times without a zone are taken for UTC: only their differences matter. -EBADMSG names the line and the column. ret_left_out (may be NULL)
 * counts jobs, not steps. */
int sacct_read(const char *text, size_t length, struct strata_arena *arena,
	       struct strata_swf *ret_swf, size_t *ret_left_out, struct strata_error *err);

#endif
