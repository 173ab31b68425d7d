/*
 * A client of the Kubernetes API: one request at a time, an answer or what went wrong in words. It
 * decides nothing: whether something is asked again, and when, is the caller's; only a request that
 * was refused with 401 is sent once more, with the token as its file has it by then.
 *
 * A client belongs to one thread; the config is borrowed until it is closed. Connections are kept
 * between requests.
 */
#ifndef KUBERNETES_KUBE_CLIENT_H
#define KUBERNETES_KUBE_CLIENT_H

#include "kubernetes/kube_config.h"
#include "kubernetes/kube_object.h"

#include <jansson.h>
#include <stdint.h>

struct kube_client;
int kube_client_open(const struct kube_config *config, const struct env *env,
		     struct strata_memory *memory, struct kube_client **ret_client,
		     struct strata_error *err);
void kube_client_close(struct kube_client *client); /* NULL is nothing */
/* From any thread: what is asked now, and all that is asked later, ends within a second or so with
 * -EAGAIN. NULL is nothing. */
void kube_client_stop(struct kube_client *client);

enum kube_method {
	KUBE_GET,
	KUBE_POST,
	KUBE_PUT,
	KUBE_DELETE,
	KUBE_PATCH_MERGE,     /* application/merge-patch+json */
	KUBE_PATCH_STRATEGIC, /* application/strategic-merge-patch+json */
	KUBE_PATCH_JSON,      /* application/json-patch+json */
};

struct kube_request {
	enum kube_method method;
	const char *path;    /* "/api/v1/pods", escaped where that is needed */
	const char *query;   /* "limit=500&…", escaped (kube_escape); NULL: none */
	const json_t *body;  /* NULL: none */
	int64_t timeout_ns;  /* of the whole; 0: 15 s */
	size_t answer_bytes; /* at most; 0: STRATA_KUBE_ANSWER_BYTES_MAX */
	bool plain;          /* the answer is text, not JSON: kube_answer.text */
};

enum { KUBE_REASON_BYTES = 64 };

struct kube_answer {
	int status;                     /* of HTTP; 0: there was none */
	char reason[KUBE_REASON_BYTES]; /* of a Status: "AlreadyExists"; "": none */
	int64_t retry_after_ns;         /* that the server wants; 0: it said nothing */
	json_t *body;                   /* owned, until fini; NULL: none */
	char *text;                     /* of a plain one, NUL behind it; malloc's, owned */
	size_t text_bytes;
};
void kube_answer_fini(struct kube_answer *answer);

/*
 * 0 when it was done; the answer is the caller's to fini, whatever is returned. Else a sentence and
 *	-EAGAIN		nobody answered, the server has too much to do (429) or is broken (5xx), or
 *			the connection broke: it may have been done
 *	-EACCES		401, 403, a certificate that is not trusted
 *	-ENOENT		404
 *	-EEXIST		409 AlreadyExists
 *	-EBUSY		409 otherwise: somebody else changed it
 *	-ESTALE		410: what is asked for is too long ago
 *	-EINVAL		other 4xx: it will be no better next time
 *	-EBADMSG	what came is not what the API answers, -E2BIG: is too much
 *	-ENOMEM
 */
int kube_call(struct kube_client *client, const struct kube_request *request,
	      struct kube_answer *answer, struct strata_error *err);

#endif
