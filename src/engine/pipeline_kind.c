/* The kind `pipeline`: what pipelines.def lists. */
#include "engine/pipeline.h"

#define CLASS(name) extern const struct pipeline_class pipeline_##name;
#include "engine/pipelines.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &pipeline_##name.base,
#include "engine/pipelines.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_pipeline_kind = {
	.name = "pipeline",
	.summary = "how a folder of models makes a picture of a prompt",
	.classes = classes,
};
