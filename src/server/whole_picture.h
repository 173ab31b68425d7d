/*
 * A picture that is asked for and waited for in one request, as the APIs of others have it: the
 * task is taken in like any other, the request waits for its end without a thread, and its pictures
 * are read by an HTTP thread. Who hangs up meanwhile leaves a task behind that goes on.
 */
#ifndef SERVER_WHOLE_PICTURE_H
#define SERVER_WHOLE_PICTURE_H

#include "core/buf.h"
#include "server/generate.h"

struct whole_picture { /* request->parsed begins with it */
	struct generate asked;
	int64_t id;
	json_t *task;  /* as it ended; NULL: not yet */
	char *preview; /* the last one of a task that was cancelled; malloc's; NULL: none */
	size_t preview_bytes;
};

/* ---- an HTTP thread's ---- */

/* Reads the fields of POST /api/v1/generate that the object has; those that are none of them are
 * passed over. False: answered. */
bool whole_picture_read(struct request *request, const json_t *json, struct whole_picture *picture);
void whole_picture_release(struct request *request); /* what request->release is then */
/* After the wait: has it ended well? False: answered with why not, unless `cancelled` is not NULL
 * and it was. */
bool whole_picture_check(struct request *request, bool *cancelled);
/* The bytes of all pictures of a task as JSON tells of it. */
int64_t whole_picture_bytes(const json_t *task);
/* Adds picture number `index` to the buffer as base64. */
int whole_picture_add(const struct request *request, const json_t *task, size_t index,
		      struct buf *buf, struct strata_error *err);

/* ---- the decider's ---- */

/* Takes it in. False: answered. */
bool whole_picture_take(struct decider *decider, struct request *request);
/* The request waits for its end. */
void whole_picture_wait(struct decider *decider, struct request *request);
/* The request of this user that waits longest for what this route made; NULL: none. */
struct request *whole_picture_waiting(const struct decider *decider, const struct identity *who,
				      const char *path_prefix);

#endif
