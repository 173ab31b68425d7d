/*
 * A picture as it is asked for, by whichever route: read and checked by an HTTP thread, filled in
 * with what the model says and taken in as a task by the decider.
 */
#ifndef SERVER_GENERATE_H
#define SERVER_GENERATE_H

#include "server/decider.h"
#include "server/init_image.h"
#include "server/request.h"
#include "server/tasks.h"

struct generate {
	const char *prompt, *negative_prompt, *model, *scheduler, *schedule, *account, *deadline;
	const char *init_image; /* base64 */
	const char *webhook;    /* URL; NULL: none */
	int64_t steps, seed, width, height, n, priority, num_frames;
	int quality; /* 0: exact */
	bool trace; /* its worker records a timeline */
	double guidance_scale, strength;
	/* beside the table: */
	int64_t deadline_ns;
	struct init_image init;
};

extern const struct strata_schema generate_schema;
/* Of a POST, for the documents: one picture, or a list of them as `requests`. */
extern const struct strata_schema generate_post_schema;
/* { "requests": […] } */
struct generate_list {
	struct strata_list requests; /* of struct generate */
};
extern const struct strata_schema generate_list_schema;

/* The field of a form. -EINVAL: there is none of this name, or it has no such value. */
int generate_read_field(struct request *request, struct generate *asked, const char *name,
			const char *bytes, size_t length, struct strata_error *err);
/* Makes sense of it, on an HTTP thread: names, times, a seed where none is given, the picture that
 * it starts from, which is kept (init_image.h) when all else of the request is good. */
int generate_check(struct request *request, struct generate *asked, struct strata_error *err);

/* Takes it in, on the decider's thread. */
int generate_take(struct decider *decider, const struct identity *who, const struct generate *asked,
		  struct task **ret_task, struct strata_error *err);
/* It is not taken in after all: what it starts from may go. */
void generate_refused(struct decider *decider, const struct generate *asked);

#endif
