/*
 * A watch: what there is of a kind of objects, and from then on what changes. It lists in pages,
 * then follows from where the list ended; when the connection ends it goes on from the newest
 * resourceVersion that it has seen (bookmarks keep that young), and when the server has forgotten
 * so much (410 Gone) it lists again and tells the differences, those that vanished meanwhile
 * included. Nothing is told twice, nothing is left out.
 *
 * A thread of its own does that. The owner polls one descriptor and takes what has come; when it
 * does not, the thread stops reading at `ahead` events.
 */
#ifndef KUBERNETES_KUBE_WATCH_H
#define KUBERNETES_KUBE_WATCH_H

#include "kubernetes/kube_client.h"

struct kube_watch_conf {
	const struct kube_config *config; /* borrowed until close; so is env */
	const struct env *env;
	const char *path;     /* "/api/v1/pods"; copied, and so is the query */
	const char *query;    /* "labelSelector=…", escaped; NULL: none */
	int64_t page;         /* objects of one page of a list; 0: 500 */
	int64_t ahead;        /* events that may wait; 0: 4096 */
	int64_t retry_ns;     /* after the first failure, then twice as long …; 0: 250 ms */
	int64_t retry_max_ns; /* … up to this; 0: 10 s */
	int64_t follow_ns;    /* that one request follows; 0: 5 minutes. Seconds for the server */
};

enum kube_watch_type {
	KUBE_ADDED,
	KUBE_MODIFIED,
	/* the object as it was last; after a list metadata with name, namespace and uid only */
	KUBE_DELETED,
	/* a list has ended: all there is has been told. Also after later lists */
	KUBE_SYNCED,
	KUBE_TROUBLE, /* the server cannot be asked: error. What was told may be old */
	KUBE_FINE,    /* it can again */
};

struct kube_watch_event {
	enum kube_watch_type type;
	json_t *object;    /* without managedFields; the caller's to json_decref. NULL: none */
	const char *error; /* TROUBLE; valid until the next call of next */
	int code;          /* TROUBLE: negative */
};

struct kube_watch;
int kube_watch_open(const struct kube_watch_conf *conf, struct kube_watch **ret_watch,
		    struct strata_error *err);
void kube_watch_close(struct kube_watch *watch); /* NULL is nothing; waits for no server */

/* Readable when next may have something. */
int kube_watch_fd(const struct kube_watch *watch);
/* Something has come, or nothing has by now. */
bool kube_watch_next(struct kube_watch *watch, struct kube_watch_event *ret_event);

#endif
