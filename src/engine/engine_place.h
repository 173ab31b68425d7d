/*
 * Where the place level wants each node of a model, and how long it thinks it takes there: asked once the first call's inputs say what the dimensions are.
 */
#ifndef ENGINE_PLACE_H
#define ENGINE_PLACE_H

#include "engine/device.h"
#include "engine/model.h"

#include <strata/adaptive.h>

struct engine_placing_conf {
	const struct engine_device *devices;
	size_t device_count;
	enum strata_mode mode;
	enum strata_objective objective;
	const struct strata_corrections *corrections; /* what was observed; NULL: nothing */
	struct strata_adaptive *adaptive; /* how earlier plans turned out; NULL: nothing is known */
	uint32_t cache_device; /* where caches that come in are; STRATA_NONE: nowhere yet */
};

struct engine_placing {
	uint32_t *device;    /* of each node of the file, in its order */
	double *prices_ns;   /* likewise, uncorrected: what observations are compared with; 0: not known */
	enum strata_phase *phase; /* likewise; of what is not looked into: STRATA_PHASE_FORWARD */
	double latency_ns, load_ns; /* of the plan */
	double single_ns;           /* of the best single device; 0: not known */
	unsigned features;          /* that it was made with */
	bool fallback;              /* it is the best single device, although there are several */
	const char *strategy;
	const char *const *reasons;
	size_t reason_count;
	double flops; /* of one call */
	/* By names of dimensions: what the inputs said. */
	const struct onnx_dim *dims;
	size_t dim_count;
};

/* inputs: by the model's order. In the arena. */
int engine_placing_make(const struct engine_placing_conf *conf, const struct engine_model *model,
			const struct engine_value *inputs, struct strata_arena *arena,
			struct engine_placing *ret_placing, struct strata_error *err);

#endif
