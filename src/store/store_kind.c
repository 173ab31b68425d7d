/* The kind `store`: what stores.def lists. */
#include "store/store_int.h"

#define CLASS(name) extern const struct store_class store_##name;
#include "store/stores.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &store_##name.base,
#include "store/stores.def"
#undef CLASS
	NULL,
};

const struct strata_kind store_kind = {
	.name = "store",
	.summary = "databases that keep the state of the service",
	.classes = classes,
};
