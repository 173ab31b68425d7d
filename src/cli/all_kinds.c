/* Every kind of class that the program knows: the library's, then those of its own, one line
 * each. */
#include "cli/cli.h"

#include "sim/workload.h"

#include <string.h>

/* clang-format off */
static const struct strata_kind *const own_kinds[] = {
	&workload_kind,
};
/* clang-format on */

const struct strata_kind *cli_kind_at(size_t index)
{
	size_t library_count = 0;

	while (strata_kind_at(library_count))
		library_count++;
	if (index < library_count)
		return strata_kind_at(index);
	index -= library_count;
	return index < sizeof(own_kinds) / sizeof(own_kinds[0]) ? own_kinds[index] : NULL;
}

const struct strata_kind *cli_kind_find(const char *name)
{
	const struct strata_kind *kind;

	for (size_t i = 0; (kind = cli_kind_at(i)); i++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}
