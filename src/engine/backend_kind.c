/* The kind `backend`: what backends.def lists. */
#include "engine/backend.h"

#include <strata/engine.h>

#define CLASS(name) extern const struct engine_backend_class engine_backend_##name;
#include "engine/backends.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &engine_backend_##name.base,
#include "engine/backends.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_backend_kind = {
	.name = "backend",
	.summary = "what computes the subgraphs of a model",
	.classes = classes,
};
