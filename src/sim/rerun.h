/*
 * A record of a service (formats/recording.h) decided over: everything that its cluster and its pools were told is told to others
 * here, and what each pass and each pick decides is compared with what was decided then.
 */
#ifndef SIM_RERUN_H
#define SIM_RERUN_H

#include "core/buf.h"
#include "formats/recording.h"

struct rerun_result {
	size_t lines;
	size_t clusters; /* one for every time that the service began */
	size_t events;   /* what they were told, passes included … */
	size_t refused;  /* … and so many of them in vain, then as now */
	size_t passes;
	size_t decisions; /* effects of passes … */
	size_t starts;    /* … and of them starts */
	size_t pools;     /* of generation tasks; one for every time that one began … */
	size_t tasks;     /* … and what they took in */
	size_t picks;     /* what workers asked of them … */
	size_t batches;   /* … and got something */
	size_t digests;   /* whole states that were compared */
	size_t torn;      /* lines that were cut off when the service was killed */
	/* clusters and pools that decided otherwise; each is followed no further */
	size_t differing;
	size_t line; /* the first such pass or pick, from 1 */
	struct buf recorded, decided; /* its line and what it is now; by rerun_init, rerun_fini */
};

void rerun_init(struct rerun_result *result, struct strata_memory *memory);
void rerun_fini(struct rerun_result *result);

/* Fails for what cannot be read, and says in which line; that something differs is a result. */
int rerun_run(const char *text, size_t length, struct strata_memory *memory,
	      struct rerun_result *result, struct strata_error *err);

#endif
