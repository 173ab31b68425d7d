/* Every kind of class that the program knows: the library's, then the simulators', then the
 * engine's, which the small program does not have. */
#include "cli/cli.h"

#include "sim/workload.h"

#include <string.h>

/* clang-format off */
static const struct strata_kind *const own_kinds[] = {
	&workload_kind,
};
/* clang-format on */
enum { OWN_COUNT = sizeof(own_kinds) / sizeof(own_kinds[0]) };

const struct strata_kind *cli_kind_at(size_t index)
{
	size_t library_count = 0;

	while (strata_kind_at(library_count))
		library_count++;
	if (index < library_count)
		return strata_kind_at(index);
	index -= library_count;
	if (index < OWN_COUNT)
		return own_kinds[index];
	return cli_has_engine() ? cli_engine_kind_at(index - OWN_COUNT) : NULL;
}

const struct strata_kind *cli_kind_find(const char *name)
{
	const struct strata_kind *kind;

	for (size_t i = 0; (kind = cli_kind_at(i)); i++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}
