/* The back ends of the store, one line each, sorted. */
#include "store/store_int.h"

extern const struct store_class store_postgres;
extern const struct store_class store_sqlite;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&store_postgres.base,
	&store_sqlite.base,
	NULL,
};
/* clang-format on */

const struct strata_kind store_kind = {
	.name = "store",
	.summary = "databases that keep the state of the service",
	.classes = classes,
};
