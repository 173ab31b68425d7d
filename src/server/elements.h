/*
 * Which jobs a request about /jobs/{id} is about: the job, or with ?elements= those of the array of
 * this number. They are chosen in parts, each of one live object, so that elements that are a range
 * are looked at and changed as one.
 */
#ifndef SERVER_ELEMENTS_H
#define SERVER_ELEMENTS_H

#include "server/live.h"
#include "server/request.h"

#include <strata/slurm.h>

/* What the query asks for. */
struct elements {
	bool array;                  /* of an array, where the number is one's */
	struct strata_array indexes; /* these of it; none: all */
};

/* The ids first … last, of one live object. */
struct part {
	const struct live *live;
	int64_t first, last;
};

/* What a request is about: nothing when it is answered. */
struct chosen {
	int64_t array; /* 0: one job */
	struct part *parts;
	size_t count;
};

extern const struct strata_schema elements_query; /* a route's query */

/* On an HTTP thread. False: answered with an error. */
bool elements_read(struct request *request, struct elements *ret_elements);
/*
 * The jobs that are meant, all of which the caller may change; of an array those that have not
 * ended. A single job may have. In the request's arena, good until a live job is changed.
 */
struct chosen elements_choose(struct decider *decider, struct request *request,
			      const struct elements *elements);

/* It has ended: -ESTALE with the sentence. 0: it has not. */
int part_refuse_ended(const struct part *part, struct strata_error *err);

/* An event about jobs with consecutive ids, as long as the next has the same to say. */
struct notice {
	int64_t first, last; /* 0: nothing yet */
	const char *kind;
	json_t *about;
};
/* The JSON is taken over. */
void notice_add(struct decider *decider, struct notice *notice, const struct live *live,
		const char *kind, json_t *about);
void notice_flush(struct decider *decider, struct notice *notice); /* at the end */

/* What was done to how many, for the answer. */
struct tally {
	int64_t jobs, left; /* done to, and in no state for it */
	int64_t first;      /* of the first of them */
	int64_t stopping;   /* of those that are cancelled: they run still */
};
void tally_add(struct tally *tally, const struct part *part);

#endif
