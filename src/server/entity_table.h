/* Users, accounts, qualities of service or partitions as the decider keeps them: entities.h has
 * what can be done with them. */
#ifndef SERVER_PEOPLE_TABLE_H
#define SERVER_PEOPLE_TABLE_H

#include "core/map.h"

struct entity;

struct entities {
	struct entity *first, *last;
	struct map_text by_name;
};

#endif
