/*
 * A server that does not lead: it answers reads from what it has loaded itself, names the leader
 * for all else, and takes the lead when it is free. On the deciding thread, but for what is marked.
 */
#ifndef SERVER_STANDBY_H
#define SERVER_STANDBY_H

#include "server/decider.h"
#include "server/request.h"

/* What is known of the leader and of one's own picture. Times are monotonic. */
struct standby_known {
	bool loaded;        /* there is a picture */
	int64_t loaded_ns;  /* since then … */
	int64_t took_ns;    /* … after so long */
	int64_t last_event; /* that is in it */
	int64_t asked_ns;   /* when the lead was last asked for */
	int64_t beats;      /* of the leader … */
	int64_t beats_ns;   /* … since when they are that many */
};

struct standby {
	struct decider *decider; /* borrowed until standby_fini */
	struct standby_known known;
	pthread_mutex_t lock;               /* of the one below, which HTTP threads read */
	char leader[STRATA_PATH_BYTES_MAX]; /* where it is asked; "": not known */
};

void standby_init(struct standby *standby, struct decider *decider);
void standby_fini(struct standby *standby);
/* Asks for the lead: 0, or -EBUSY when another has it. */
int standby_lead(struct decider *decider, struct strata_error *err);
/* Gives up what the server has, if it led, and stands by from now on. */
void standby_begin(struct standby *standby);
/* Until the server leads or ends. */
int standby_run(struct standby *standby, struct strata_error *err);
/* Answers a request to change something, when this is not the server for it. HTTP threads. */
bool standby_refuses(struct request *request);
/* Says where the leader is. Any thread. */
void standby_refuse(struct request *request);

#endif
