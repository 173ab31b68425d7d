/*
 * Measuring what a machine's processors really do: how fast they multiply matrices, what their memory and the ways between NUMA domains carry, what
 * starting an operation costs, and what the network inside the machine does. Each figure is the best of several rounds: noise of others only
 * makes things slower. GPUs keep what their makers say.
 */
#ifndef MACHINE_CALIBRATE_H
#define MACHINE_CALIBRATE_H

#include <strata/place.h>

/* c = a·b, all n × n, on all processors. */
typedef void calibrate_matmul(void *context, int n, const float *a, const float *b, float *c);

struct calibrate_conf {
	int64_t time_ns; /* of each measurement, about */
	calibrate_matmul
		*matmul; /* a library's; NULL: a plain loop of one thread, times the cores */
	void *context;
	void (*progress)(void *context, const char *what, double done); /* 0 to 1; may be NULL */
	void *progress_context;
};

struct calibrate_result {
	double flops_per_s;       /* of all processors */
	double bytes_per_s;       /* of all memory, read and written */
	double overhead_ns;       /* of starting one operation */
	double cross_bytes_per_s; /* slowest way between two NUMA domains; 0: there is one domain */
	double network_bytes_per_s, network_latency_ns; /* by TCP within the machine */
};

/* Takes about five times time_ns. */
int calibrate_measure(const struct calibrate_conf *conf, struct strata_memory *memory,
		      struct calibrate_result *ret_result, struct strata_error *err);

/* A machine with what was measured in place of what was assumed of its CPUs. */
int calibrate_apply(const struct strata_machine *machine, const struct calibrate_result *result,
		    struct strata_arena *arena, struct strata_machine *ret_machine,
		    struct strata_error *err);

#endif
