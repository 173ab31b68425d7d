/*
 * Who asks. By the Unix socket the kernel says so; by TCP a token does. A token that is shown on the socket counts instead of the uid, so that a
 * caller can do with less than it might. Nothing else of a request is believed.
 */
#include "server/identity.h"

#include "server/token.h"

#include <microhttpd.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static void identify_peer(struct MHD_Connection *connection, struct identity *who)
{
	const union MHD_ConnectionInfo *about =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct passwd entry, *found = NULL;
	struct ucred peer;
	socklen_t length = sizeof(peer);
	char text[4096];
	int family = AF_UNSPEC;
	socklen_t family_length = sizeof(family);

	if (!about ||
	    getsockopt(about->connect_fd, SOL_SOCKET, SO_DOMAIN, &family, &family_length) ||
	    family != AF_UNIX ||
	    getsockopt(about->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return;
	who->uid = peer.uid;
	who->gid = peer.gid;
	who->local = true;
	if (getpwuid_r(peer.uid, &entry, text, sizeof(text), &found) == 0 && found)
		snprintf(who->user, sizeof(who->user), "%s", found->pw_name);
	else
		snprintf(who->user, sizeof(who->user), "%u", (unsigned)peer.uid);
	if (peer.uid == 0 || peer.uid == geteuid())
		who->role = ROLE_ADMIN;
	else if (geteuid() == 0)
		who->role = ROLE_USER;
}

void identify(struct server *server, struct MHD_Connection *connection, struct identity *ret_who)
{
	const char *shown =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

	*ret_who = (struct identity){ .role = ROLE_NONE, .uid = (uid_t)-1, .gid = (gid_t)-1 };
	if (!shown)
		identify_peer(connection, ret_who);
	else
		ret_who->wrong = strncasecmp(shown, "Bearer ", 7) != 0 ||
				 !token_identify(server, shown + 7, ret_who);
}
