/*
 * Studies: what the service works out for people who ask on its page: a replay of the history under
 * other policies, a plan for a model. A thread takes one at a time, reads what it needs, and hands
 * it to a process without rights (study_process.h); nobody who decides waits for it. They live in
 * memory: a restart forgets them, and they are asked for again.
 */
#ifndef SERVER_STUDIES_H
#define SERVER_STUDIES_H

#include "server/front.h"
#include "server/request.h"

enum study_kind { STUDY_POLICIES, STUDY_MODEL };
enum study_state { STUDY_WAITS, STUDY_RUNS, STUDY_DONE, STUDY_FAILED, STUDY_CANCELLED };

struct study {
	struct study *next;
	int64_t id;
	enum study_kind kind;
	enum study_state state;
	char user[128];
	uid_t uid;
	int64_t made_ns, begun_ns, ended_ns;
	bool stop; /* somebody does not want it any more */
	double part; /* done, 0 to 1 */
	char stage[80];
	char error[300];
	/* what it is about; malloc's */
	char *words;        /* of policies: "fair_share/easy,sjf/easy"; of a model: "batch=1" */
	int64_t since_ns;   /* of policies: jobs submitted from then on */
	char *nodes;        /* of policies: GET /api/v1/nodes */
	char *bytes;        /* of a model: the file */
	size_t byte_count;
	char name[100];     /* of the file */
	char *result;       /* JSON, once it is done */
};

struct studies;

int studies_open(struct front *front, struct studies **ret_studies, struct strata_error *err);
void studies_close(struct studies *studies); /* ends the process; NULL is nothing */

/* Takes the study over, whatever comes of it. -EBUSY when the user has one that is not over,
 * -EAGAIN when too many wait. */
int studies_add(struct studies *studies, struct study *study, int64_t *ret_id,
		struct strata_error *err);
/* As JSON: without the result in the list. NULL: there is none of this number that `who` may
 * see. */
json_t *studies_view(struct studies *studies, const struct identity *who, int64_t id);
json_t *studies_list(struct studies *studies, const struct identity *who);
/* Stops it, or forgets what has come of it; false: there is none. */
bool studies_remove(struct studies *studies, const struct identity *who, int64_t id);
void study_free(struct study *study);

#endif
