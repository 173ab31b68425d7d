/* A rewrite of a model: a scalar input takes one value for each member of the batch. */
#ifndef ENGINE_PER_MEMBER_H
#define ENGINE_PER_MEMBER_H

#include "engine/model.h"

/* True: done. The model has to spread the input over the batch by Unsqueeze (the only reader), perhaps Cast, then Expand; else nothing has changed. */
bool engine_model_per_member(struct engine_model *model, const char *input);

#endif
