/*
 * Who asks. By the Unix socket the kernel says so; by TCP a token does. A token that is shown on
 * the socket counts instead of the uid, so that a caller can do with less than it might. Nothing
 * else of a request is believed.
 */
#include "server/identity.h"

#include "server/connection.h"
#include "server/os_user.h"
#include "server/session.h"
#include "server/token.h"

#include <errno.h>
#include <microhttpd.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BASIC_BYTES_MAX = 512 }; /* of a name and a token */
#define READER_WAIT_NS (INT64_C(5) * 1000000000)

static void identify_peer(struct MHD_Connection *connection, struct identity *who)
{
	const union MHD_ConnectionInfo *about =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct os_user user;
	struct ucred peer;
	socklen_t length = sizeof(peer);
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
	if (os_user_by_uid(peer.uid, &user))
		snprintf(who->user, sizeof(who->user), "%.127s", user.name);
	else
		snprintf(who->user, sizeof(who->user), "%u", (unsigned)peer.uid);
	if (peer.uid == 0 || peer.uid == geteuid())
		who->role = ROLE_ADMIN;
	else if (geteuid() == 0)
		who->role = ROLE_USER;
}

/* A job's own token: its user, for what is the job's. Whether it still runs is looked at where
 * something is asked of it. */
static bool identify_job(struct front *front, const char *token, struct identity *who)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct store_job row;
	struct store *store;
	int64_t job, attempt;

	if (!job_token_read(front->common->job_key, token, &job, &attempt))
		return false;
	/* a store that is away does not make a good token a wrong one */
	who->unsure = store_readers_take(front->readers, READER_WAIT_NS, &store, NULL) != 0;
	if (who->unsure)
		return false;
	strata_arena_init(&arena, &memory, 0);
	int rc = store_job_get(store, job, &arena, &row, NULL);
	bool good = rc == 0 && row.attempt == attempt && row.place && !row.completed_ns;

	who->unsure = rc && rc != -ENOENT;

	store_readers_give(front->readers, store);
	if (good) {
		snprintf(who->user, sizeof(who->user), "%s", row.user);
		who->uid = (uid_t)row.uid;
		who->gid = (gid_t)row.gid;
		who->role = ROLE_USER;
		who->job = job;
		who->attempt = attempt;
	}
	strata_arena_fini(&arena);
	return good;
}

static bool identify_token(struct front *front, const char *token, struct identity *who)
{
	return strncmp(token, JOB_TOKEN_PREFIX, strlen(JOB_TOKEN_PREFIX)) == 0
		       ? identify_job(front, token, who)
		       : token_identify(front, token, who);
}

/* HTTP Basic, with any name and the token as password. Only where clients know nothing else: a
 * browser that keeps it would send it along with whatever another page makes it ask, and nobody
 * makes one ask for it here (no answer has such a challenge). */
static bool identify_basic(struct front *front, const char *coded, struct identity *who)
{
	char text[BASIC_BYTES_MAX + 1];
	const char *end = NULL;
	size_t count = 0, length = strlen(coded);

	bool good = sodium_base642bin((unsigned char *)text, BASIC_BYTES_MAX, coded, length, NULL,
				      &count, &end, sodium_base64_VARIANT_ORIGINAL) == 0 &&
		    end == coded + length;

	text[good ? count : 0] = '\0';
	const char *colon = strchr(text, ':');

	good = good && strlen(text) == count && colon && identify_token(front, colon + 1, who);
	sodium_memzero(text, sizeof(text));
	return good;
}

/* What is for browsers alone: a session is in its cookie, where no script sees it, and with its
 * page's key; a link signs in. */
static bool is_for_browsers(const struct identity *who, const char *path)
{
	return who->session || (who->link && strcmp(path, SESSION_PATH) != 0);
}

static bool identify_cookie(struct front *front, struct MHD_Connection *connection,
			    const char *token, struct identity *who)
{
	const char *key = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						      SESSION_KEY_HEADER);

	return session_key_fits(front->common->job_key, token, key) &&
	       token_identify(front, token, who) && who->session;
}

static bool read_cookie(struct MHD_Connection *connection, char ret_token[TOKEN_TEXT_BYTES])
{
	const char *cookies = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Cookie");
	char name[SESSION_COOKIE_BYTES];

	if (!cookies)
		return false;
	session_cookie_name(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"), name);
	return session_cookie_read(cookies, name, ret_token);
}

static bool identify_shown(struct front *front, const char *shown, const char *path,
			   struct identity *who)
{
	if (strncasecmp(shown, "Bearer ", 7) == 0)
		return identify_token(front, shown + 7, who) && !is_for_browsers(who, path);
	return strncasecmp(shown, "Basic ", 6) == 0 &&
	       strncmp(path, IDENTITY_BASIC_PATHS, strlen(IDENTITY_BASIC_PATHS)) == 0 &&
	       identify_basic(front, shown + 6, who) && !is_for_browsers(who, path);
}

void identify(struct front *front, struct MHD_Connection *connection, const char *path,
	      struct identity *ret_who)
{
	const char *shown =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

	const struct identity nobody = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	char cookie[TOKEN_TEXT_BYTES];
	bool has_cookie = !shown && read_cookie(connection, cookie);
	struct identity *peer = shown || has_cookie ? NULL : connection_peer(connection);

	*ret_who = nobody;
	if (peer && !peer->local)
		identify_peer(connection, peer);
	if (peer && peer->local)
		*ret_who = *peer;
	else if (!shown && !has_cookie)
		identify_peer(connection, ret_who);
	else if (shown ? !identify_shown(front, shown, path, ret_who)
		       : !identify_cookie(front, connection, cookie, ret_who)) {
		bool unsure = ret_who->unsure;

		*ret_who = nobody;
		ret_who->wrong = true;
		ret_who->unsure = unsure;
	}
}
