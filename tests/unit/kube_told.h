/* Asking a scripted server: one request, or a watch and all that it tells. */
#ifndef KUBE_TOLD_H
#define KUBE_TOLD_H

#include "kube_server.h"

#include "kubernetes/kube_client.h"
#include "kubernetes/kube_watch.h"

#include <strata/text.h>

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

#define POD(name, uid, version)                                                   \
	"{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\",\"uid\":\"" uid \
	"\",\"resourceVersion\":\"" version "\",\"managedFields\":[1]}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define LIST(version, items) \
	"{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define OK "200 OK"

static inline struct kube_config config_for(const struct kube_server *server)
{
	return (struct kube_config){ .server = server->url, .space = "default", .token = "s3cret" };
}

/* One request to a server that answers so. */
static inline int ask(const struct kube_step *step, const struct kube_request *request,
		      struct kube_server *server, struct kube_answer *answer)
{
	struct kube_client *client;

	kube_server_start(server, step, 1);
	struct kube_config config = config_for(server);

	err = (struct strata_error){ 0 };
	CHECK_OK(kube_client_open(&config, env_system(), &memory, &client, &err));
	int rc = kube_call(client, request, answer, &err);

	kube_client_close(client);
	kube_server_stop(server);
	return rc;
}

/* What a watch tells against this script until `until` is told so many times: "+a" "~a" "-a" "." */
static inline void tell(const struct kube_step *steps, size_t count, const char *want,
			struct kube_server *server)
{
	struct kube_watch_conf conf = { .env = env_system(),
					.path = "/api/v1/pods",
					.query = "q=1",
					.page = 2,
					.retry_ns = STRATA_MS_NS,
					.retry_max_ns = 4 * STRATA_MS_NS };
	struct kube_watch_event event;
	struct kube_watch *watch;
	char got[512] = "";

	kube_server_start(server, steps, count);
	struct kube_config config = { .server = server->url, .space = "x" };

	conf.config = &config;
	CHECK_OK(kube_watch_open(&conf, &watch, &err));
	while (strlen(got) < strlen(want)) {
		struct pollfd ready = { kube_watch_fd(watch), POLLIN, 0 };

		if (!kube_watch_next(watch, &event)) {
			if (poll(&ready, 1, 20000) != 1)
				break;
			continue;
		}
		static const char signs[] = {
			[KUBE_ADDED] = '+',  [KUBE_MODIFIED] = '~', [KUBE_DELETED] = '-',
			[KUBE_SYNCED] = '.', [KUBE_TROUBLE] = '!',  [KUBE_FINE] = '='
		};

		CHECK(!kube_at(event.object, "metadata", "managedFields", NULL));
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%c%s%s", signs[event.type],
			 kube_text(event.object, "metadata", "name", NULL),
			 event.type == KUBE_DELETED
				 ? kube_text(event.object, "metadata", "uid", NULL)
				 : "");
		json_decref(event.object);
	}
	kube_watch_close(watch);
	kube_server_stop(server);
	CHECK_TEXT(got, want);
}

#define TELL(steps, want, server) tell(steps, sizeof(steps) / sizeof((steps)[0]), want, server)

#endif
