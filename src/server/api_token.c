/*
 * Tokens: made for oneself, or by an administrator for anybody; shown, taken back. Who holds a token can make no further ones with it (but
 * for an administrator's), so that one that leaks ends when it is revoked.
 */
#include "server/route.h"
#include "server/token.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

struct wish {
	const char *user, *comment;
	int role;
	int64_t expires_ns;
};

static const struct strata_choice choices[] = { { "read-only", ROLE_READER, "sees everything" },
						{ "user", ROLE_USER, "has jobs" },
						{ "operator", ROLE_OPERATOR, "and others' jobs" },
						{ "admin", ROLE_ADMIN, "and everything else" },
						{ 0 } };
static const struct strata_option options[] = {
	{ "user", STRATA_TEXT, offsetof(struct wish, user),
	  .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "for whom; the caller when left out" },
	{ "role", STRATA_ENUM, offsetof(struct wish, role), .choice = { choices, ROLE_USER },
	  .help = "what it may do" },
	{ "expires_in", STRATA_DURATION, offsetof(struct wish, expires_ns),
	  .integer = { 30 * STRATA_DAY_NS, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "good for so long; 0: until it is revoked" },
	{ "comment", STRATA_TEXT, offsetof(struct wish, comment), .text = { NULL, 256 },
	  .help = "a note" },
	{ 0 }
};
const struct strata_schema api_token_schema = { "token", "a token to make", sizeof(struct wish),
						options };

void api_token_parse(struct request *request)
{
	request_read(request, &api_token_schema);
}

static json_t *view_token(const struct token *token)
{
	return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:s?}", "id", token->id, "user", token->user,
			 "role", role_name(token->role), "created_at", view_time(token->created_ns),
			 "expires_at", view_time(token->expires_ns), "used_at",
			 view_time(atomic_load(&token->used_ns)), "comment", token->comment);
}

/* What the caller may not give. */
static int check(const struct request *request, const struct wish *wish, struct strata_error *err)
{
	const struct identity *who = &request->who;

	if (!who->local && who->role < ROLE_ADMIN)
		return strata_fail(err, -EACCES,
				   "tokens are made over the Unix socket, not with a token");
	if (wish->user && strcmp(wish->user, who->user) != 0 && who->role < ROLE_ADMIN)
		return strata_fail_at(err, -EACCES, "user",
				      "only administrators make tokens for others");
	if (wish->role > (int)who->role)
		return strata_fail_at(err, -EACCES, "role", "you are %s and cannot make more",
				      role_name(who->role));
	return 0;
}

void api_token_make(struct server *server, struct request *request)
{
	const struct wish *wish = request->parsed;
	struct strata_error err = { 0 };
	int64_t now_ns = server_now_ns(server);
	struct token like = { .user = wish->user ? wish->user : request->who.user,
			      .comment = wish->comment,
			      .role = (enum role)wish->role,
			      .created_ns = now_ns,
			      .expires_ns = wish->expires_ns ? now_ns + wish->expires_ns : 0 };
	char text[TOKEN_TEXT_BYTES];
	const struct token *token;
	int rc = check(request, wish, &err);

	if (rc == 0)
		rc = token_make(server, &like, text, &token, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	json_t *json = view_token(token);

	json_object_set_new(json, "token", json_string(text));
	batch_event(server, 0, "token.made",
		    json_pack("{s:s,s:s,s:s,s:s}", "id", token->id, "user", token->user, "role",
			      role_name(token->role), "by", request->who.user));
	request->durable = true;
	request_answer(request, MHD_HTTP_CREATED, json);
}

static bool may_see(const struct request *request, const struct token *token)
{
	return request->who.role == ROLE_ADMIN || strcmp(token->user, request->who.user) == 0;
}

void api_tokens(struct server *server, struct request *request)
{
	json_t *list = json_array();

	for (const struct token *at = token_first(server); at; at = at->next)
		if (may_see(request, at))
			json_array_append_new(list, view_token(at));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "tokens", list));
}

void api_token_revoke(struct server *server, struct request *request)
{
	const struct token *token = token_at(server, request->segments[0]);

	if (!token || !may_see(request, token)) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "you have no token %.40s; `strata token list` shows them",
			       request->segments[0]);
		return;
	}
	batch_event(server, 0, "token.revoked",
		    json_pack("{s:s,s:s,s:s}", "id", token->id, "user", token->user, "by",
			      request->who.user));
	json_t *json = json_pack("{s:s}", "id", token->id);

	token_revoke(server, token);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json);
}
