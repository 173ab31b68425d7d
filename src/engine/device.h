/*
 * A device: a set of cores with a team of threads, or a GPU that one thread hands work to. Each has one thread of its own, pinned to its cores, from which the team's others inherit; work is
 * handed to it and waited for. The one device of an engine that nobody asked for cores works in the calling thread.
 */
#ifndef ENGINE_DEVICE_H
#define ENGINE_DEVICE_H

#include "engine/engine_heap.h"
#include "engine/team.h"

#include <strata/trace.h>

#include <sched.h>

struct engine_work {
	int (*run)(void *arg, struct strata_error *err);
	void *arg;
	int rc;
	struct strata_error err;
	bool done;
	struct engine_work *next;
};

struct engine_device {
	const char *name; /* "cpu", "cpu:0-3"; in the engine's arena */
	struct engine_team team;
	struct engine_heap *heap;
	struct strata_trace_lane *lane; /* where its subgraphs are told of; NULL: nowhere */
	uint64_t flow;                  /* of the trace, that they belong to; 0: none */
	cpu_set_t cores;
	int gpu;          /* number of a CUDA device, which the thread hands work to; -1: the cores compute */
	bool inline_only; /* works in the calling thread */
	pthread_t thread;
	bool has_thread, ending;
	int64_t wake_ns; /* from handing work over to its beginning, as it was when there are several */
	pthread_mutex_t lock;
	pthread_cond_t wake, finished;
	struct engine_work *first, *last;
};

/* Reads a list of devices: "cpu", "cpu:0,cpu:1-3", "cuda:0". -EINVAL names what is wrong. */
int engine_devices_read(const char *text, struct engine_heap *heap, struct strata_arena *arena,
			struct engine_device **ret_devices, size_t *ret_count,
			struct strata_error *err);
/* Starts their threads, and measures how quick these are; ends them. */
int engine_devices_start(struct engine_device *devices, size_t count, struct strata_error *err);
void engine_devices_end(struct engine_device *devices, size_t count);

/* Hands work over; it is done in the order of handing over. The work is the caller's until it is done. */
void engine_device_give(struct engine_device *device, struct engine_work *work);
/* Waits for it. */
void engine_device_wait(struct engine_device *device, struct engine_work *work);

#endif
