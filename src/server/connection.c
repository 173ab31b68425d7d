/*
 * Connections and their patience. libmicrohttpd hangs up on those that say nothing for a while; one that says a byte now and then could stay
 * for ever, and thousands of them would leave no room for others. So each request has to be complete within a while of the answer before it.
 */
#include "server/connection.h"

#include <stdlib.h>
#include <sys/socket.h>

struct connection {
	struct server *server;
	struct connection *next, *previous;
	int fd;
	_Atomic int64_t since_ns; /* monotonic; 0: it is our turn */
	struct identity peer;     /* of the HTTP thread that serves it */
};

struct connections {
	pthread_mutex_t lock;
	struct connection *first;
};

int connections_open(struct server *server, struct strata_error *err)
{
	server->connections = calloc(1, sizeof(*server->connections));
	if (!server->connections)
		return strata_fail_memory(err);
	pthread_mutex_init(&server->connections->lock, NULL);
	return 0;
}

void connections_free(struct server *server)
{
	if (!server->connections)
		return;
	pthread_mutex_destroy(&server->connections->lock);
	free(server->connections);
}

static void begin(struct server *server, struct MHD_Connection *connection, void **slot)
{
	struct connections *all = server->connections;
	struct connection *own = calloc(1, sizeof(*own));

	if (!own)
		return; /* one that is not watched */
	own->server = server;
	own->fd =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	atomic_store(&own->since_ns, env_now_ns(server->env, ENV_MONOTONIC));
	pthread_mutex_lock(&all->lock);
	own->next = all->first;
	if (own->next)
		own->next->previous = own;
	all->first = own;
	pthread_mutex_unlock(&all->lock);
	*slot = own;
}

static void end(struct connection *own)
{
	struct connections *all = own->server->connections;

	pthread_mutex_lock(&all->lock);
	if (own->next)
		own->next->previous = own->previous;
	if (own->previous)
		own->previous->next = own->next;
	else
		all->first = own->next;
	pthread_mutex_unlock(&all->lock);
	free(own);
}

void connection_noticed(void *server, struct MHD_Connection *connection, void **slot,
			enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		begin(server, connection, slot);
	else if (*slot)
		end(*slot);
}

static struct connection *own_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *about =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return about ? about->socket_context : NULL;
}

struct identity *connection_peer(struct MHD_Connection *connection)
{
	struct connection *own = own_of(connection);

	return own ? &own->peer : NULL;
}

void connection_busy(struct MHD_Connection *connection, bool busy)
{
	struct connection *own = own_of(connection);

	if (own)
		atomic_store(&own->since_ns,
			     busy ? 0 : env_now_ns(own->server->env, ENV_MONOTONIC));
}

/* The descriptor is open as long as the connection is in the list. */
void connections_sweep(struct server *server, int64_t now_ns)
{
	struct connections *all = server->connections;

	pthread_mutex_lock(&all->lock);
	for (struct connection *at = all->first; at; at = at->next) {
		int64_t since_ns = atomic_load(&at->since_ns);

		if (since_ns && now_ns - since_ns > server->conf->request_timeout_ns)
			shutdown(at->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&all->lock);
}
