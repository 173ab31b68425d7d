/*
 * Sessions of the page. A session is a token that the service made for a browser: it has the user
 * and the role of the token that was shown to sign in, ends with it, and is revoked with it. Its
 * text is in a cookie that scripts do not see. Cookies go to every port of a host, to programs of
 * others too; so it takes a second text, the page's key, which is in a header of each request and
 * which the browser keeps for our origin alone. The key follows from the token by a secret of the
 * service: nothing is stored for it.
 */
#ifndef SERVER_SESSION_H
#define SERVER_SESSION_H

#include "server/job_token.h"
#include "server/token.h"

#define SESSION_PATH "/api/v1/session"
#define SESSION_COOKIE "strata_session_" /* and the port, since others on this host have theirs */
#define SESSION_KEY_HEADER "X-Strata-Page"
#define SESSION_MADE_BY "session:" /* what it was signed in with is behind it */
#define SESSION_LINK "link"        /* a token that is good for signing in, once */

enum { SESSION_KEY_BYTES = 43 + 1, SESSION_COOKIE_BYTES = 32 };

/* "strata_session_8470", by the Host of the request. */
void session_cookie_name(const char *host, char ret_name[SESSION_COOKIE_BYTES]);
/* The cookie of this name in a header "a=1; b=2". False: there is none that could be a token. */
bool session_cookie_read(const char *header, const char *name, char ret_text[TOKEN_TEXT_BYTES]);
/* The page's key of a session. */
void session_key(const unsigned char secret[JOB_TOKEN_KEY_BYTES], const char *token,
		 char ret_key[SESSION_KEY_BYTES]);
bool session_key_fits(const unsigned char secret[JOB_TOKEN_KEY_BYTES], const char *token,
		      const char *key);
/* The id of the token that it was signed in with, "" by a link; NULL: it is no session. */
const char *session_parent(const char *made_by);

#endif
