/* What every victim chooser must keep: finite costs that do not depend on anything but what it is shown, and options that begin as the
 * header says. */
#include "test.h"

#include <strata/cluster.h>

#include <math.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(costs_are_finite_and_always_the_same)
{
	struct strata_arena arena;
	struct strata_registry *registry;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_registry_new(&strata_victims_kind, &memory, &registry, &err));
	for (const struct strata_class *const *at = strata_victims_kind.classes; *at; at++) {
		const struct strata_victims_class *cls = (const struct strata_victims_class *)*at;
		struct strata_spec spec;

		CHECK_OK(strata_spec_read(registry, (*at)->name, strlen((*at)->name), &arena, &spec,
					  &err));
		const struct strata_victims_conf *conf = spec.conf;

		CHECK_INT(conf->grace_ns, INT64_C(60000000000));
		CHECK_INT(conf->mode, STRATA_STOP_REQUEUE);
		for (int64_t ran = 0; ran < INT64_C(1) << 62; ran = ran * 3 + 1) {
			struct strata_victim victim = { .band = STRATA_BAND_LOW,
							.size = 8,
							.ran_ns = ran,
							.unsaved_ns = ran / 2,
							.left_ns = ran };
			double cost = cls->cost(conf, &victim);

			CHECK(isfinite(cost) && cost >= 0);
			CHECK(cost == cls->cost(conf, &victim));
		}
	}
	strata_registry_free(registry);
	strata_arena_fini(&arena);
}
