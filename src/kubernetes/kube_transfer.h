/* One HTTP exchange with the API server, before it is known how it is waited for: kube_client.c
 * waits for it alone, kube_watch.c and others beside what else they do. */
#ifndef KUBERNETES_KUBE_TRANSFER_H
#define KUBERNETES_KUBE_TRANSFER_H

#include "core/buf.h"
#include "kubernetes/kube_client.h"

#include <curl/curl.h>

/* Takes a part of an answer; 0, or a negative code that ends it. */
typedef int kube_sink(void *context, const char *bytes, size_t count);

struct kube_transfer {
	struct kube_client *client;
	CURL *curl; /* borrowed */
	const struct kube_request *request;
	kube_sink *sink; /* of an answer with a status of 2xx; NULL: body */
	void *sink_context;
	struct buf body;
	struct curl_slist *headers;
	char *url, *sent; /* owned; the request's body as text */
	int64_t retry_after_ns;
	int sink_rc;
	bool too_large;
	char problem[CURL_ERROR_SIZE];
};

/* Makes curl ready to be performed. To be ended by fini, whatever came of it; not moved until
 * then. */
int kube_transfer_init(struct kube_transfer *transfer, struct kube_client *client, CURL *curl,
		       const struct kube_request *request, struct strata_error *err);
void kube_transfer_fini(struct kube_transfer *transfer);
/* What came of it, as kube_call returns it; the answer's body is read with body, and where there
 * is a sink only when it was refused. */
int kube_transfer_end(struct kube_transfer *transfer, CURLcode code, struct kube_answer *answer,
		      struct strata_error *err);

/* The token has been refused: it is read again before the next transfer. True when its file says
 * another by now. */
bool kube_client_renew(struct kube_client *client);
struct strata_memory *kube_client_memory(const struct kube_client *client);

#endif
