/*
 * Which of several schedulers leads: an object of kind Lease that one of them holds and renews, as
 * the other controllers of Kubernetes do it. Whether it may be taken is told by our own clock
 * alone: it has not changed for as long as it is good for since we saw it first. Who cannot renew
 * it in two thirds of that time leads no more.
 */
#ifndef PODS_PODS_LEASE_H
#define PODS_PODS_LEASE_H

#include "kubernetes/kube_client.h"

#include <stdatomic.h>

/* What was seen of a lease. Pure. */
struct pods_lease_seen {
	char version[64]; /* the resourceVersion; "": nothing was seen */
	int64_t since_ns; /* when that version was seen first, by a clock that does not go back */
};

enum pods_lease_step {
	PODS_LEASE_WAIT,   /* another holds it */
	PODS_LEASE_CREATE, /* there is none */
	PODS_LEASE_TAKE,   /* it is ours, free, or its holder is gone: write it */
};
/* lease: the object; NULL: there is none. */
enum pods_lease_step pods_lease_look(struct pods_lease_seen *seen, const json_t *lease,
				     const char *self, int64_t now_ns);
/* The lease with us as its holder, to be written; old: as it was, NULL: none. holder "": it is
 * given back. */
json_t *pods_lease_body(const json_t *old, const char *space, const char *name, const char *holder,
			int64_t duration_ns, int64_t now_ns);

struct pods_lease_conf {
	const struct kube_config *config; /* borrowed until close; so are the others */
	const struct env *env;
	const char *space, *name; /* of the Lease */
	const char *self;         /* the holder's name, ours alone */
	int64_t duration_ns;
};

struct pods_lease;
int pods_lease_open(const struct pods_lease_conf *conf, struct pods_lease **ret_lease,
		    struct strata_error *err);
/* Gives it back, so that another may lead at once. */
void pods_lease_close(struct pods_lease *lease); /* NULL is nothing */
const atomic_bool *pods_lease_leads(const struct pods_lease *lease);
/* It was ours and is no more: who led must end. */
bool pods_lease_lost(const struct pods_lease *lease);
int pods_lease_fd(const struct pods_lease *lease); /* readable when either has changed */

#endif
