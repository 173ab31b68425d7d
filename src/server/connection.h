/* Connections that take too long to say what they want are hung up on, and nobody has more than a
 * share of them: see connection.c. */
#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include "server/front.h"
#include "server/request.h"

#include <microhttpd.h>

struct connections;
int connections_open(struct front *front, struct strata_error *err);
void connections_free(struct front *front);

/* libmicrohttpd's notice of beginnings and ends. */
void connection_noticed(void *front, struct MHD_Connection *connection, void **slot,
			enum MHD_ConnectionNotificationCode code);
/* It has said what it wants, and waits for us; or it has its answer. */
void connection_busy(struct MHD_Connection *connection, bool busy);
/* Who is at its other end, by the kernel: kept with it, since that cannot change. `local` once it
 * is known. NULL: there is no place for it. */
struct identity *connection_peer(struct MHD_Connection *connection);
/* It is this caller's, by the token that was shown: counts for the user from now on, not for the
 * address. False: who has too many. */
bool connection_claim(struct MHD_Connection *connection, const struct identity *who);
/* How many the socket and TCP may have, each. */
unsigned connections_room(const struct front *front);
/* Hangs up on those that are late. The reaper's. */
void connections_sweep(struct front *front, int64_t now_ns);

#endif
