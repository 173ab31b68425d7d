/*
 * What the machine that this runs on has to compute with, as the place level wants it (struct strata_machine of <strata/place.h>): found out
 * in milliseconds from what makers say, or measured in seconds.
 *
 *	strata_machine_detect(&arena, &assumed, NULL, NULL, &err);
 *	strata_machine_measure(&(struct strata_measure_conf){ .time_ns = 500000000 }, &memory, &measured, &err);
 *	strata_machine_calibrate(&assumed, &measured, &arena, &machine, &err);
 *
 * Which instruction sets its processors have is strata_isa_best of <strata/solver.h>.
 */
#ifndef STRATA_MACHINE_H
#define STRATA_MACHINE_H

#include <strata/place.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * One device for the CPUs of each NUMA domain and one for each GPU, with what their makers say of them or, for CPUs, what their kind usually
 * reaches, and the links between them. Names are "cpu" (or "cpu0" …) and "gpu0" …; all of it is in the arena. CPUs and memory are what this
 * process may use. Both of these may be NULL: ret_note says why there are no GPUs (code 0: there are, or nothing stands in the way), and
 * ret_guessed how many GPUs are of a type that is not known, for which slow figures stand. Thread-safe.
 */
int strata_machine_detect(struct strata_arena *arena, struct strata_machine *ret_machine,
			  struct strata_error *ret_note, size_t *ret_guessed,
			  struct strata_error *err);

struct strata_measure_conf {
	int64_t time_ns; /* of each measurement, about; there are five */
	/* c = a·b, all n × n, on all processors: a library's. NULL: a plain loop of one thread, times the cores. */
	void (*matmul)(void *context, int n, const float *a, const float *b, float *c);
	void *matmul_context;
	/* Told how far it is, 0 to 1; may be NULL. */
	void (*progress)(void *context, const char *what, double done);
	void *progress_context;
};

struct strata_measured {
	double flops_per_s;       /* of all processors */
	double bytes_per_s;       /* of all memory, read and written */
	double overhead_ns;       /* of starting one operation */
	double cross_bytes_per_s; /* slowest way between two NUMA domains; 0: there is one domain */
	double network_bytes_per_s, network_latency_ns; /* by TCP within the machine */
};

/* Measures what processors, memory and the network inside the machine really do. Each figure is the best of several rounds: others on the machine
 * only make it slower. Takes about five times time_ns and all processors. */
int strata_machine_measure(const struct strata_measure_conf *conf, struct strata_memory *memory,
			   struct strata_measured *ret_measured, struct strata_error *err);

/* A machine with what was measured in place of what was assumed of its CPUs; GPUs keep what their makers say. In the arena; what is not changed
 * is borrowed from the machine. */
int strata_machine_calibrate(const struct strata_machine *machine,
			     const struct strata_measured *measured, struct strata_arena *arena,
			     struct strata_machine *ret_machine, struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
