/* Users, accounts, qualities of service and partitions, as they were made: see people.c. */
#ifndef SERVER_PEOPLE_H
#define SERVER_PEOPLE_H

#include "server/server.h"

#include <strata/admission.h>

struct person {
	struct person *next;
	enum strata_party party;
	bool made;       /* somebody made it: it is in the store */
	bool configured; /* of a partition: nodes are in it, so it is there anyway */
	bool taken_over; /* jobs of a version that did not ask who made it name it; nobody was told yet */
	bool told;       /* while they are read back */
	json_t *settings;          /* as they were set; owned */
	struct strata_arena arena; /* of what they say: */
	struct strata_rule rule;
	int64_t time_limit_ns, time_limit_ns_max; /* of a partition; 0: the service's */
	char name[];
};

extern const struct strata_schema people_settings_schema;
/* Of the partition that nodes are in which name none; it can be named, and need not be made. */
#define PEOPLE_ALL_NODES "all"

struct person *person_find(const struct server *server, enum strata_party party, const char *name);
/* As decisions ask for them; good until the people change. */
struct strata_rules people_rules(const struct server *server);
/* Are these settings of that kind, and is the name one that can be made? Any thread. */
int person_check(enum strata_party party, const char *name, const json_t *settings,
		 struct strata_error *err);
/* What is named is changed over what was there, all of it or nothing, and goes into the batch with an event that says who did it and
 * what was there before. The settings have been read by the schema and checked. */
int person_set(struct server *server, enum strata_party party, const char *name,
	       const json_t *settings, const char *by, struct strata_error *err);
/* people_delete.c. -EBUSY: jobs that have not ended, or others' settings, name it. -ENOENT: nobody made it. */
int person_delete(struct server *server, enum strata_party party, const char *name, const char *by,
		  struct strata_error *err);
/* A new one without settings, of which nobody was told. */
int person_add(struct server *server, enum strata_party party, const char *name,
	       struct person **ret_person, struct strata_error *err);
/* Reads its settings and tells the cluster. */
int person_settle(struct server *server, struct person *person, struct strata_error *err);
void person_put(struct server *server, const struct person *person); /* into the batch */
/* It is as it was before it was made. */
void person_unmake(struct server *server, struct person *person);
/* Puts what holds in this partition over what holds everywhere. */
void people_partition_rules(const struct server *server, const char *name,
			    struct spec_rules *rules);
/* people_recover.c */
int people_recover(struct server *server, struct strata_error *err);
/* What was taken over from an older version is made from now on: into the batch, with an event for each. */
void people_take_over(struct server *server);
void people_init(struct server *server); /* before all else */
void people_free(struct server *server); /* there are none then */

/* admit.c: the door that every submission and change comes through. */
/* The job as this caller may have it: account, partition and quality of service become those that count, and nodes of partitions that are
 * not open to it are excluded if it names none. Texts are the server's or in the arena. */
int admit_submission(struct server *server, const struct identity *who, struct job_spec *spec,
		     struct strata_arena *arena, struct strata_error *err);
int admit_change(struct server *server, const struct identity *who, const struct live *live,
		 const struct strata_job_change *change, struct strata_error *err);

#endif
