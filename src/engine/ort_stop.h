/*
 * Ending a run of ONNX Runtime from outside. Theirs is ended by a call from another thread; ours by
 * a flag that anybody sets, even a signal handler. So one thread of the process looks at the flags
 * of the runs that are under way, a hundred times a second, and sleeps while there are none.
 */
#ifndef ENGINE_ORT_STOP_H
#define ENGINE_ORT_STOP_H

#include "engine/ort_api.h"

#include <stdbool.h>

struct ort_stop { /* a run under way; the caller's memory */
	const struct ort *ort;
	struct ort_run_options *options;
	const _Atomic bool *stop;
	struct ort_stop *next;
};

/* Between them the run is ended soon after *stop is true. Without memory for a thread nothing is
 * watched. */
void ort_stop_begin(struct ort_stop *run);
void ort_stop_end(struct ort_stop *run);

#endif
