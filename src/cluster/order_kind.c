/* The kind `order`: what orders.def lists. */
#include <strata/cluster.h>

#define CLASS(name) extern const struct strata_order_class strata_order_##name;
#include "cluster/orders.def"
#undef CLASS

static const struct strata_class *const classes[] = {
#define CLASS(name) &strata_order_##name.base,
#include "cluster/orders.def"
#undef CLASS
	NULL,
};

const struct strata_kind strata_order_kind = {
	.name = "order",
	.summary = "which waiting job of a band goes first",
	.classes = classes,
};
