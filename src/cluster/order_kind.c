/* The orders of the queue inside a band, one line each, sorted. */
#include <strata/cluster.h>

extern const struct strata_order_class strata_order_f1;
extern const struct strata_order_class strata_order_fair_share;
extern const struct strata_order_class strata_order_fifo;
extern const struct strata_order_class strata_order_multifactor;
extern const struct strata_order_class strata_order_sjf;
extern const struct strata_order_class strata_order_unicef;
extern const struct strata_order_class strata_order_wfp3;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_order_f1.base,
	&strata_order_fair_share.base,
	&strata_order_fifo.base,
	&strata_order_multifactor.base,
	&strata_order_sjf.base,
	&strata_order_unicef.base,
	&strata_order_wfp3.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_order_kind = {
	.name = "order",
	.summary = "which waiting job of a band goes first",
	.classes = classes,
};
