/*
 * Signing in and out of the page. Who shows a token gets a session that ends with it; who has the
 * socket gets a link that is good once, soon, and on the loopback only. session.h says what a
 * session is.
 */
#include "server/front.h"
#include "server/http.h"
#include "server/route.h"
#include "server/session.h"
#include "server/token.h"
#include "server/view.h"
#include "server/web_guard.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#define LINK_NS (2 * STRATA_MINUTE_NS)       /* a link is good for so long … */
#define LINK_SESSION_NS (1 * STRATA_DAY_NS)  /* … and the session it opens for so long; */
#define TOKEN_SESSION_NS (7 * STRATA_DAY_NS) /* one that a token opens, if that lasts */
enum { AGENT_BYTES_MAX = 120, COOKIE_BYTES_MAX = 256 };

static const char *header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* ---- signing in ---- */

/* What the browser calls itself, for the list of sessions: as far as it can be shown. */
static const char *read_agent(struct request *request)
{
	const char *agent = header(request, "User-Agent");
	char text[AGENT_BYTES_MAX + 1] = "";
	size_t length = 0;

	for (; agent && *agent && length < AGENT_BYTES_MAX; agent++)
		if (*agent >= ' ' && *agent <= '~')
			text[length++] = *agent;
	return length ? strata_arena_text(&request->arena, text, length) : NULL;
}

static void parse_sign_in(struct request *request)
{
	const struct identity *who = &request->who;

	if (who->local || who->job || who->session || !*who->token)
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "signing in takes a token: Authorization: Bearer …; who has the "
			       "socket takes `strata web`");
	else
		request->parsed = (void *)(uintptr_t)read_agent(request);
}

static int64_t ends_at(const struct identity *who, int64_t now_ns)
{
	int64_t ends_ns = now_ns + (who->link ? LINK_SESSION_NS : TOKEN_SESSION_NS);

	return !who->link && who->expires_ns && who->expires_ns < ends_ns ? who->expires_ns
									  : ends_ns;
}

/* Only by TLS, if that is how the page came. */
static bool set_cookie(struct request *request, const char *value, int64_t seconds)
{
	const char *host = header(request, "Host"), *origin = header(request, "Origin");
	bool secure = request->encrypted ||
		      (origin && strncmp(origin, "https:", 6) == 0); /* by a proxy in front */
	char name[SESSION_COOKIE_BYTES], *text = strata_arena_get(&request->arena, COOKIE_BYTES_MAX);

	if (!text)
		return false;
	session_cookie_name(host, name);
	snprintf(text, COOKIE_BYTES_MAX,
		 "%s=%s; Path=/api/; Max-Age=%lld; HttpOnly; SameSite=Strict%s", name, value,
		 (long long)seconds, secure ? "; Secure" : "");
	request_add_header(request, "Set-Cookie", text);
	return true;
}

static void answer_signed_in(struct request *request, const struct token *token, const char *text,
			     int64_t now_ns)
{
	char key[SESSION_KEY_BYTES];

	session_key(request->front->common->job_key, text, key);
	json_t *json = json_pack("{s:s,s:s,s:s,s:o,s:s}", "id", token->id, "user", token->user,
				 "role", role_name(token->role), "expires_at",
				 view_time(token->expires_ns), "key", key);

	if (!set_cookie(request, text, (token->expires_ns - now_ns) / STRATA_SECOND_NS)) {
		json_decref(json);
		json = NULL;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_CREATED, json);
}

static void post_session(struct decider *decider, struct request *request)
{
	const struct identity *who = &request->who;
	const struct token *shown = token_at(decider, who->token), *token;
	int64_t now_ns = decider_now_ns(decider);
	struct strata_error err = { 0 };
	char made_by[48], text[TOKEN_TEXT_BYTES];

	if (!shown) { /* revoked, or a link that was used, since the head was read */
		request_refuse(request, MHD_HTTP_UNAUTHORIZED, "unauthorized",
			       "the token is good no more; a link works once");
		return;
	}
	snprintf(made_by, sizeof(made_by), SESSION_MADE_BY "%s", who->link ? "" : who->token);
	struct token like = { .user = who->user,
			      .comment = request->parsed,
			      .made_by = made_by,
			      .role = who->role,
			      .created_ns = now_ns,
			      .expires_ns = ends_at(who, now_ns) };
	int rc = token_make(decider, &like, text, &token, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	batch_event(decider, 0, "session.opened",
		    json_pack("{s:s,s:s,s:s,s:o}", "id", token->id, "user", token->user, "role",
			      role_name(token->role), "expires_at", view_time(token->expires_ns)));
	answer_signed_in(request, token, text, now_ns);
	if (who->link)
		token_revoke(decider, shown, who->user);
}

/* ---- a link ---- */

static void parse_link(struct request *request)
{
	struct strata_error err = { 0 };
	int *port = strata_arena_get(&request->arena, sizeof(*port));

	if (!request->who.local || *request->who.token) {
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "links are made over the Unix socket; sign in with the token");
		return;
	}
	int rc = port ? http_open_loopback(request->front, port, &err) : strata_fail_memory(&err);

	if (rc)
		request_fail(request, rc, &err);
	request->parsed = port;
}

static void post_link(struct decider *decider, struct request *request)
{
	int64_t now_ns = decider_now_ns(decider);
	struct strata_error err = { 0 };
	char text[TOKEN_TEXT_BYTES], link[TOKEN_TEXT_BYTES + 64];
	const struct token *token;
	struct token like = { .user = request->who.user,
			      .comment = "a link to the page",
			      .made_by = SESSION_LINK,
			      .role = request->who.role,
			      .created_ns = now_ns,
			      .expires_ns = now_ns + LINK_NS };
	int rc = token_make(decider, &like, text, &token, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	/* behind a # it is not sent, so that no log has it */
	snprintf(link, sizeof(link), "http://127.0.0.1:%d/#%s", *(const int *)request->parsed,
		 text);
	request->durable = true;
	request_answer(request, MHD_HTTP_CREATED,
		       json_pack("{s:s,s:o}", "link", link, "expires_at",
				 view_time(token->expires_ns)));
}

/* ---- looking, and signing out ---- */

static bool is_ones_own(const struct request *request, const struct token *token)
{
	return session_parent(token->made_by) && strcmp(token->user, request->who.user) == 0;
}

static json_t *view_session(const struct request *request, const struct token *token)
{
	return json_pack("{s:s,s:o,s:o,s:o,s:s?,s:b}", "id", token->id, "opened_at",
			 view_time(token->created_ns), "expires_at", view_time(token->expires_ns),
			 "used_at", view_time(atomic_load(&token->used_ns)), "browser",
			 token->comment, "this", strcmp(token->id, request->who.token) == 0);
}

static void get_session(struct decider *decider, struct request *request)
{
	const struct identity *who = &request->who;
	json_t *list = json_array();

	for (const struct token *at = token_first(decider); at; at = at->next)
		if (is_ones_own(request, at))
			json_array_append_new(list, view_session(request, at));
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s,s:s,s:o,s:s,s:s,s:o}", "user", who->user, "role",
				 role_name(who->role), "expires_at", view_time(who->expires_ns),
				 "cluster", decider->conf->cluster_name, "version", STRATA_VERSION,
				 "sessions", list));
}

static void end_session(struct decider *decider, struct request *request, const char *id)
{
	const struct token *token = token_at(decider, id);

	if (!token || !is_ones_own(request, token)) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "you have no session %.40s",
			       id);
		return;
	}
	json_t *json = json_pack("{s:s}", "id", token->id);

	if (strcmp(token->id, request->who.token) == 0)
		set_cookie(request, "", 0);
	token_revoke(decider, token, request->who.user);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json);
}

static void sign_out(struct decider *decider, struct request *request)
{
	if (request->who.session)
		end_session(decider, request, request->who.token);
	else
		request_refuse(request, MHD_HTTP_CONFLICT, "stale",
			       "this is no session of the page, so there is none to end");
}

static void delete_session(struct decider *decider, struct request *request)
{
	end_session(decider, request, request->segments[0]);
}

/* ---- routes ---- */

const struct route api_session_routes[] = {
	{ .method = "GET",
	  .path = SESSION_PATH,
	  .summary = "who one is, and one's sessions of the page",
	  .role = ROLE_READER,
	  .decide = get_session,
	  .answer = "user role expires_at cluster version sessions" },
	{ .method = "POST",
	  .path = SESSION_PATH,
	  .summary = "sign in to the page",
	  .role = ROLE_READER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_sign_in,
	  .decide = post_session,
	  .answer = "id user role expires_at key",
	  .also = 201 },
	{ .method = "DELETE",
	  .path = SESSION_PATH,
	  .summary = "sign out of the page",
	  .role = ROLE_READER,
	  .decide = sign_out,
	  .answer = "id" },
	{ .method = "POST",
	  .path = SESSION_PATH "-link",
	  .summary = "a link that signs in to the page, once",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_link,
	  .decide = post_link,
	  .answer = "link expires_at",
	  .also = 201 },
	{ .method = "DELETE",
	  .path = SESSION_PATH "/*",
	  .summary = "end a session of the page",
	  .role = ROLE_READER,
	  .decide = delete_session,
	  .answer = "id" },
	{ 0 },
};
