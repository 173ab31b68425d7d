/* The table of gangs.h. */
#include "server/gangs.h"

#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 2 * STRATA_NAME_BYTES_MAX + 2 };

int gangs_put(struct decider *decider, const char *user, const char *name, int64_t number,
	      struct strata_error *err)
{
	char key[KEY_BYTES];

	snprintf(key, sizeof(key), "%s/%s", user, name);
	return map_text_put(&decider->gangs, key, strlen(key), (void *)(uintptr_t)number, NULL)
		       ? strata_fail_memory(err)
		       : 0;
}

int gangs_find(struct decider *decider, const char *user, const char *name, int64_t id,
	       uint64_t *ret_number, struct strata_error *err)
{
	char key[KEY_BYTES];

	snprintf(key, sizeof(key), "%s/%s", user, name);
	uintptr_t number = (uintptr_t)map_text_get(&decider->gangs, key, strlen(key));
	int rc = number ? 0 : gangs_put(decider, user, name, id, err);

	if (rc == 0)
		*ret_number = number ? number : (uint64_t)id;
	return rc;
}
