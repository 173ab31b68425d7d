/* Whom the rules are about: see people.c. */
#ifndef SERVER_PEOPLE_H
#define SERVER_PEOPLE_H

#include "server/server.h"

enum people_kind { PEOPLE_USER, PEOPLE_ACCOUNT, PEOPLE_QOS, PEOPLE_PARTITION };
enum { PEOPLE_KIND_COUNT = PEOPLE_PARTITION + 1 };
const char *people_kind_name(enum people_kind kind); /* "user" */

struct person {
	struct person *next;
	enum people_kind kind;
	bool told;        /* while they are read back */
	json_t *settings; /* as they were set; owned */
	char name[];
};

extern const struct strata_schema people_settings_schema;

struct person *person_find(const struct server *server, enum people_kind kind, const char *name);
/* What is named is changed over what was there. The settings have been read by the schema already. */
int person_set(struct server *server, enum people_kind kind, const char *name, json_t *settings,
	       struct strata_arena *arena, struct strata_error *err);
void person_put(struct server *server, const struct person *person); /* into the batch */
/* Where jobs go that name none; NULL: anywhere. */
const char *people_default_partition(const struct server *server);
/* Puts what holds in this partition over what holds everywhere. */
void people_partition_rules(const struct server *server, const char *name,
			    struct strata_arena *arena, struct spec_rules *rules);
int people_recover(struct server *server, struct strata_error *err);
void people_free(struct server *server);

#endif
