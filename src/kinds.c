/* Every kind of class in the library: what kinds.def lists. */
#include <strata/class.h>
#include <strata/cluster.h>
#include <strata/detector.h>
#include <strata/noise.h>
#include <strata/place.h>
#include <strata/pool.h>
#include <strata/solver.h>
#include <strata/stage.h>

#include <string.h>

static const struct strata_kind *const kinds[] = {
#define KIND(name) &strata_##name##_kind,
#include "kinds.def"
#undef KIND
};

const struct strata_kind *strata_kind_at(size_t index)
{
	return index < sizeof(kinds) / sizeof(kinds[0]) ? kinds[index] : NULL;
}

const struct strata_kind *strata_kind_find(const char *name)
{
	const struct strata_kind *kind;

	for (size_t i = 0; (kind = strata_kind_at(i)); i++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}
