/* Users, accounts, qualities of service and partitions, as they were made: see entities.c. */
#ifndef SERVER_ENTITIES_H
#define SERVER_ENTITIES_H

#include "server/decider.h"

#include <strata/admission.h>

#include <jansson.h>

struct entity {
	struct entity *next;
	enum strata_entity_type type;
	bool made;       /* somebody made it: it is in the store */
	bool configured; /* of a partition: nodes are in it, so it is there anyway */
	/* jobs of a version that did not ask who made it name it; nobody was told yet */
	bool taken_over;
	bool told;                 /* while they are read back */
	json_t *settings;          /* as they were set; owned */
	struct strata_arena arena; /* of what they say: */
	struct strata_rule rule;
	int64_t time_limit_ns, time_limit_ns_max; /* of a partition; 0: the service's */
	char name[];
};

extern const struct strata_schema entities_settings_schema;
/* Of the partition that nodes are in which name none; it can be named, and need not be made. */
#define PEOPLE_ALL_NODES "all"

struct entity *entity_find(const struct decider *decider, enum strata_entity_type type,
			   const char *name);
/* As decisions ask for them; good until the people change. */
struct strata_rules entities_rules(const struct decider *decider);
/* Are these settings of that kind, and is the name one that can be made? Any thread. */
int entity_check(enum strata_entity_type type, const char *name, const json_t *settings,
		 struct strata_error *err);
/* What is named is changed over what was there, all of it or nothing, and goes into the batch
 * with an event that says who did it and what was there before. The settings have been read by
 * the schema and checked. */
int entity_set(struct decider *decider, enum strata_entity_type type, const char *name,
	       const json_t *settings, const char *by, struct strata_error *err);
/* entities_delete.c. -EBUSY: jobs that have not ended, or others' settings, name it. -ENOENT:
 * nobody made it. */
int entity_delete(struct decider *decider, enum strata_entity_type type, const char *name,
		  const char *by, struct strata_error *err);
/* A new one without settings, of which nobody was told. */
int entity_add(struct decider *decider, enum strata_entity_type type, const char *name,
	       struct entity **ret_entity, struct strata_error *err);
/* Reads its settings and tells the cluster. */
int entity_settle(struct decider *decider, struct entity *entity, struct strata_error *err);
void entity_put(struct decider *decider, const struct entity *entity); /* into the batch */
/* It is as it was before it was made. */
void entity_unmake(struct decider *decider, struct entity *entity);
/* Puts what holds in this partition over what holds everywhere. */
void entities_partition_rules(const struct decider *decider, const char *name,
			      struct spec_rules *rules);
/* entities_recover.c */
int entities_recover(struct decider *decider, struct strata_error *err);
/* What was taken over from an older version is made from now on: into the batch, with an event for
 * each. */
void entities_take_over(struct decider *decider);
void entities_init(struct decider *decider); /* before all else */
void entities_free(struct decider *decider); /* there are none then */

#endif
