/*
 * Connections: how long they may take, and how many one caller may have. libmicrohttpd hangs up on
 * those that say nothing for a while; one that says a byte now and then could stay for ever, so
 * each request has to be complete within a while of the answer before it.
 *
 * There is room for so many connections and no more, so nobody may have more than a share: a user
 * by the socket, an address by TCP until a token says whose connection it is. Who wants one more
 * loses the oldest of those that wait for nothing of ours; so the newest gets in, also for him.
 * When room gets scarce although all keep to their shares, whoever has most gives way. TCP has room
 * of its own and cannot take the socket's.
 */
#include "server/connection.h"

#include "core/map.h"
#include "server/descriptors.h"
#include "server/tls.h"

#include <strata/limits.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { SOCKET, TCP, DOOR_COUNT };
enum { KEY_BYTES = 64, RESERVE_PART = 10, SHARE_LEAST = 4, LOOKS_MAX = 64 };

struct owner; /* who has connections */

struct connection {
	struct front *front;
	struct owner *owner;
	struct connection *older, *newer; /* of the same owner */
	int fd, door;
	bool leaving;             /* it was hung up on; counts no more */
	_Atomic int64_t since_ns; /* monotonic; 0: it is our turn */
	struct identity peer;     /* of the HTTP thread that serves it */
};

struct owner {
	char key[KEY_BYTES];
	struct connection *oldest, *newest;
	size_t count; /* of those that are not leaving */
};

struct connections {
	pthread_mutex_t lock; /* of all below, and of what hangs on it */
	struct strata_memory memory;
	struct map_text owners;
	size_t count[DOOR_COUNT], room[DOOR_COUNT], share;
};

/* Few, where there is little room, but never so few that a caller with one request after another
 * is in the way of himself: a connection that has its answer is still there for a moment. */
static size_t share_of(size_t room)
{
	size_t share = room / 4 > SHARE_LEAST ? room / 4 : SHARE_LEAST;

	share = share < room ? share : room;
	return share < STRATA_SERVER_CONNECTIONS_EACH_MAX ? share
							  : STRATA_SERVER_CONNECTIONS_EACH_MAX;
}

int connections_open(struct front *front, struct strata_error *err)
{
	struct connections *all = calloc(1, sizeof(*all));
	size_t room = descriptors_own().connections;

	if (!all)
		return strata_fail_memory(err);
	all->room[SOCKET] = all->room[TCP] = room;
	all->share = share_of(room);
	pthread_mutex_init(&all->lock, NULL);
	map_text_init(&all->owners, &all->memory);
	front->connections = all;
	return 0;
}

void connections_free(struct front *front)
{
	struct connections *all = front->connections;

	if (!all)
		return;
	map_text_fini(&all->owners);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

unsigned connections_room(const struct front *front)
{
	return (unsigned)front->connections->room[SOCKET];
}

/* ---- owners ---- */

/* "uid 1000"; "address 127.0.0.1" */
static void name_owner(int fd, int *ret_door, char key[KEY_BYTES])
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);
	struct ucred peer;
	socklen_t peer_length = sizeof(peer);
	char text[INET6_ADDRSTRLEN] = "?";

	getpeername(fd, (struct sockaddr *)&address, &length);
	*ret_door = address.ss_family == AF_UNIX ? SOCKET : TCP;
	if (*ret_door == SOCKET &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_length) == 0) {
		snprintf(key, KEY_BYTES, "uid %u", (unsigned)peer.uid);
		return;
	}
	if (address.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, sizeof(text));
	else if (address.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&address)->sin6_addr, text,
			  sizeof(text));
	snprintf(key, KEY_BYTES, "address %s", text);
}

/* NULL for lack of memory. */
static struct owner *owner_get(struct connections *all, const char *key)
{
	struct owner *owner = map_text_get(&all->owners, key, strlen(key));

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (owner && map_text_put(&all->owners, key, strlen(key), owner, NULL)) {
		free(owner);
		return NULL;
	}
	if (owner)
		snprintf(owner->key, sizeof(owner->key), "%s", key);
	return owner;
}

static void join(struct owner *owner, struct connection *own)
{
	own->owner = owner;
	own->newer = NULL;
	own->older = owner->newest;
	if (own->older)
		own->older->newer = own;
	else
		owner->oldest = own;
	owner->newest = own;
	owner->count += !own->leaving;
}

static void leave(struct connections *all, struct connection *own)
{
	struct owner *owner = own->owner;

	if (own->newer)
		own->newer->older = own->older;
	else
		owner->newest = own->older;
	if (own->older)
		own->older->newer = own->newer;
	else
		owner->oldest = own->newer;
	owner->count -= !own->leaving;
	if (!owner->oldest) {
		map_text_remove(&all->owners, owner->key, strlen(owner->key));
		free(owner);
	}
}

/* The thread that serves it sees its end, and ends it. */
static void hang_up(struct connections *all, struct connection *own)
{
	if (own->leaving)
		return;
	own->leaving = true;
	own->owner->count--;
	all->count[own->door]--;
	shutdown(own->fd, SHUT_RDWR);
}

/* Whether the caller has closed his side: nobody is there for the answer. */
static bool is_left(const struct connection *own)
{
	struct pollfd look = { .fd = own->fd, .events = POLLRDHUP };

	return poll(&look, 1, 0) > 0 && look.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* On the oldest that waits for nothing of ours, or for which nobody waits. False: there is none. */
static bool hang_up_oldest(struct connections *all, struct owner *owner)
{
	int looks = LOOKS_MAX; /* each is a call to the kernel, and others wait for the lock */

	for (struct connection *at = owner->oldest; at; at = at->newer)
		if (!at->leaving &&
		    (atomic_load(&at->since_ns) || (looks-- > 0 && is_left(at)))) {
			hang_up(all, at);
			return true;
		}
	return false;
}

static struct owner *owner_of_most(const struct connections *all)
{
	struct owner *most = NULL;

	for (const struct map_text_entry *at = map_text_next(&all->owners, NULL); at;
	     at = map_text_next(&all->owners, at)) {
		struct owner *owner = at->value;

		if (!most || owner->count > most->count)
			most = owner;
	}
	return most;
}

/* Room for one more of this owner, by the share and by the room there is. */
static bool make_room(struct connections *all, struct owner *owner, int door)
{
	size_t full = all->room[door] - all->room[door] / RESERVE_PART;

	if (owner->count >= all->share)
		return hang_up_oldest(all, owner);
	if (all->count[door] >= full)
		hang_up_oldest(all, owner_of_most(all));
	return true;
}

/* ---- beginning and end ---- */

/* Said at once, since there is no room to wait for the request. */
static void refuse(int fd)
{
	static const char answer[] =
		"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\n"
		"Connection: close\r\nContent-Length: 107\r\n\r\n"
		"{\"error\":{\"code\":\"quota\",\"message\":\"you have too many connections open; "
		"close some of them\",\"field\":null}}\n";

	send(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void begin(struct front *front, struct MHD_Connection *connection, void **slot)
{
	struct connections *all = front->connections;
	struct connection *own = calloc(1, sizeof(*own));
	char key[KEY_BYTES];

	if (!own)
		return; /* one that is not watched */
	own->front = front;
	own->fd =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	atomic_store(&own->since_ns, env_now_ns(front->env, ENV_MONOTONIC));
	name_owner(own->fd, &own->door, key);
	pthread_mutex_lock(&all->lock);
	struct owner *owner = owner_get(all, key);

	if (owner) {
		bool room = make_room(all, owner, own->door);

		all->count[own->door]++;
		join(owner, own);
		if (!room) {
			if (own->door == SOCKET || !tls_is_open())
				refuse(own->fd); /* before a handshake it would be none */
			hang_up(all, own);
		}
	}
	pthread_mutex_unlock(&all->lock);
	if (!owner)
		free(own);
	else
		*slot = own;
}

static void end(struct connection *own)
{
	struct connections *all = own->front->connections;

	pthread_mutex_lock(&all->lock);
	all->count[own->door] -= !own->leaving;
	leave(all, own);
	pthread_mutex_unlock(&all->lock);
	free(own);
}

void connection_noticed(void *front, struct MHD_Connection *connection, void **slot,
			enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		begin(front, connection, slot);
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

bool connection_claim(struct MHD_Connection *connection, const struct identity *who)
{
	struct connection *own = own_of(connection);
	char key[KEY_BYTES];

	if (!own || own->door == SOCKET || who->role == ROLE_NONE)
		return true;
	struct connections *all = own->front->connections;

	snprintf(key, sizeof(key), "uid %u", (unsigned)who->uid);
	pthread_mutex_lock(&all->lock);
	struct owner *owner = owner_get(all, key);
	bool room = !owner || owner == own->owner || make_room(all, owner, own->door);

	if (owner && owner != own->owner && room) {
		leave(all, own);
		join(owner, own);
	} else if (owner && !owner->oldest) { /* made for nothing */
		map_text_remove(&all->owners, key, strlen(key));
		free(owner);
	}
	pthread_mutex_unlock(&all->lock);
	return room;
}

void connection_busy(struct MHD_Connection *connection, bool busy)
{
	struct connection *own = own_of(connection);

	if (own)
		atomic_store(&own->since_ns, busy ? 0 : env_now_ns(own->front->env, ENV_MONOTONIC));
}

/* The descriptor is open as long as the connection is in the list. */
void connections_sweep(struct front *front, int64_t now_ns)
{
	struct connections *all = front->connections;
	int64_t timeout_ns = atomic_load(&front->request_timeout_ns);

	pthread_mutex_lock(&all->lock);
	for (const struct map_text_entry *at = map_text_next(&all->owners, NULL); at;
	     at = map_text_next(&all->owners, at))
		for (struct connection *own = ((struct owner *)at->value)->oldest; own;
		     own = own->newer) {
			int64_t since_ns = atomic_load(&own->since_ns);

			if (since_ns && now_ns - since_ns > timeout_ns)
				hang_up(all, own);
		}
	pthread_mutex_unlock(&all->lock);
}
