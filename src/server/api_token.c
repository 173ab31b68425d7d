/*
 * Tokens: made for oneself, or by an administrator for anybody; shown, taken back. Who holds a
 * token makes no others with it, so that one that leaks ends when it is revoked. Where the setting
 * token_from_token allows it, it makes such as are no more than itself: of its user, with its role
 * or less, and gone when it is.
 */
#include "server/front.h"
#include "server/route.h"
#include "server/token.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

struct token_request {
	const char *user, *comment;
	int role;
	int64_t expires_ns;
	bool expiry_given;
};

static const struct strata_choice choices[] = { { "read-only", ROLE_READER, "sees everything" },
						{ "user", ROLE_USER, "has jobs" },
						{ "operator", ROLE_OPERATOR, "and others' jobs" },
						{ "admin", ROLE_ADMIN, "and everything else" },
						{ 0 } };
static const struct strata_option options[] = {
	{ "user", STRATA_TEXT, offsetof(struct token_request, user),
	  .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "for whom; the caller when left out" },
	{ "role", STRATA_ENUM, offsetof(struct token_request, role),
	  .choice = { choices, ROLE_USER }, .help = "what it may do" },
	{ "expires_in", STRATA_DURATION, offsetof(struct token_request, expires_ns),
	  .integer = { 30 * STRATA_DAY_NS, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "good for so long; 0: until it is revoked" },
	{ "comment", STRATA_TEXT, offsetof(struct token_request, comment), .text = { NULL, 256 },
	  .help = "a note" },
	{ 0 }
};
static const struct strata_schema token_schema = { "token", "a token to make",
						   sizeof(struct token_request), options };

static void parse_token(struct request *request)
{
	if (!request_read(request, &token_schema))
		return;
	json_t *json = request->body_length ? request_json(request) : NULL;

	((struct token_request *)request->parsed)->expiry_given =
		json_object_get(json, "expires_in") != NULL;
	json_decref(json);
}

static json_t *view_token(const struct token *token)
{
	return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:s?}", "id", token->id, "user", token->user,
			 "role", role_name(token->role), "created_at", view_time(token->created_ns),
			 "expires_at", view_time(token->expires_ns), "used_at",
			 view_time(atomic_load(&token->used_ns)), "comment", token->comment);
}

/* A token gives no more than it has. */
static int check_token(const struct request *request, const struct token_request *body,
		       const struct token *like, struct strata_error *err)
{
	const struct identity *who = &request->who;

	if (!atomic_load(&request->front->token_from_token) || who->job)
		return strata_fail(err, -EACCES,
				   "tokens are made over the Unix socket, not with a token (unless "
				   "the setting token_from_token allows it)");
	if (strcmp(like->user, who->user) != 0)
		return strata_fail_at(err, -EACCES, "user", "a token of %.60s makes none for %.60s",
				      who->user, like->user);
	if (who->expires_ns && body->expiry_given &&
	    (!like->expires_ns || like->expires_ns > who->expires_ns))
		return strata_fail_at(
			err, -EACCES, "expires_in",
			"the token would outlive the one it is made with, which ends in %lld s",
			(long long)((who->expires_ns - like->created_ns) / STRATA_SECOND_NS));
	return 0;
}

/* What the caller may not give. */
static int check(const struct request *request, const struct token_request *body,
		 const struct token *like, struct strata_error *err)
{
	const struct identity *who = &request->who;
	int rc = who->local ? 0 : check_token(request, body, like, err);

	if (rc)
		return rc;
	if (strcmp(like->user, who->user) != 0 && who->role < ROLE_ADMIN)
		return strata_fail_at(err, -EACCES, "user",
				      "only administrators make tokens for others");
	if (like->role > who->role)
		return strata_fail_at(err, -EACCES, "role",
				      "role is %s; expected at most %s, which is your own",
				      role_name(like->role), role_name(who->role));
	return 0;
}

static struct token token_of(const struct request *request, const struct token_request *body,
			     int64_t now_ns)
{
	const struct identity *who = &request->who;
	struct token like = { .user = body->user ? body->user : who->user,
			      .comment = body->comment,
			      .made_by = *who->token ? who->token : NULL,
			      .role = (enum role)body->role,
			      .created_ns = now_ns,
			      .expires_ns = body->expires_ns ? now_ns + body->expires_ns : 0 };

	if (who->expires_ns && !body->expiry_given && like.expires_ns > who->expires_ns)
		like.expires_ns = who->expires_ns;
	return like;
}

static void post_token(struct decider *decider, struct request *request)
{
	const struct token_request *body = request->parsed;
	struct strata_error err = { 0 };
	struct token like = token_of(request, body, decider_now_ns(decider));
	char text[TOKEN_TEXT_BYTES];
	const struct token *token;
	int rc = check(request, body, &like, &err);

	if (rc == 0)
		rc = token_make(decider, &like, text, &token, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	json_t *json = view_token(token);

	json_object_set_new(json, "token", json_string(text));
	batch_event(decider, 0, "token.made",
		    json_pack("{s:s,s:s,s:s,s:s,s:o,s:s*}", "id", token->id, "user", token->user,
			      "role", role_name(token->role), "by", request->who.user, "expires_at",
			      view_time(token->expires_ns), "made_by", token->made_by));
	request->durable = true;
	request_answer(request, MHD_HTTP_CREATED, json);
}

static bool may_see(const struct request *request, const struct token *token)
{
	return request->who.role == ROLE_ADMIN || strcmp(token->user, request->who.user) == 0;
}

static void get_tokens(struct decider *decider, struct request *request)
{
	json_t *list = json_array();

	for (const struct token *at = token_first(decider); at; at = at->next)
		if (may_see(request, at))
			json_array_append_new(list, view_token(at));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "tokens", list));
}

static void delete_token(struct decider *decider, struct request *request)
{
	const struct token *token = token_at(decider, request->segments[0]);

	if (!token || !may_see(request, token)) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "you have no token %.40s; `strata token list` shows them",
			       request->segments[0]);
		return;
	}
	json_t *json = json_pack("{s:s}", "id", token->id);

	token_revoke(decider, token, request->who.user);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json);
}

/* ---- routes ---- */

const struct route api_token_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/tokens",
	  .summary = "one's tokens",
	  .role = ROLE_USER,
	  .decide = get_tokens,
	  .answer = "tokens" },
	{ .method = "POST",
	  .path = "/api/v1/tokens",
	  .summary = "make a token",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_token,
	  .decide = post_token,
	  .body = &token_schema,
	  .answer = "id token",
	  .also = 201 },
	{ .method = "DELETE",
	  .path = "/api/v1/tokens/*",
	  .summary = "revoke a token",
	  .role = ROLE_USER,
	  .decide = delete_token,
	  .answer = "id" },
	{ 0 },
};
