/* What a client has, for those who make its transfers. */
#ifndef KUBERNETES_KUBE_CLIENT_INT_H
#define KUBERNETES_KUBE_CLIENT_INT_H

#include "kubernetes/kube_client.h"

#include <curl/curl.h>
#include <stdatomic.h>

struct kube_client {
	const struct kube_config *config; /* borrowed */
	const struct env *env;
	struct strata_memory *memory;
	CURL *curl;  /* owned; keeps its connection */
	char *token; /* as its file had it; NULL: not read yet. malloc's */
	int64_t token_read_ns;
	atomic_bool stops; /* what is asked is given up */
};

/* The token as it is now; NULL: there is none. */
int kube_client_token(struct kube_client *client, const char **ret_token, struct strata_error *err);

#endif
