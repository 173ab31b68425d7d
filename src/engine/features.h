/*
 * Features: a UNet puts what comes up from below beside what it has kept on the way down. What comes up changes slowly from one step to the next, so a call
 * may take it from an earlier one and compute only what lies above. A model is opened twice for that: one that gives the features out beside its outputs,
 * and one that takes them as its last input and lacks everything below, weights included.
 */
#ifndef ENGINE_FEATURES_H
#define ENGINE_FEATURES_H

#include "engine/model.h"

enum engine_features { ENGINE_FEATURES_NONE, ENGINE_FEATURES_GIVEN, ENGINE_FEATURES_TAKEN };

/* Of all places where features could be taken, the one that leaves the least to compute, while the outputs still depend on `sample`, an input. -ENOTSUP: the
 * model has no such place. The features are the last output, or the last input. */
int engine_features_edit(struct engine_model *model, const char *sample, enum engine_features which,
			 struct strata_error *err);

#endif
