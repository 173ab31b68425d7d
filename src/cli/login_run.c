/*
 * What strata login does. First whom it talks to is settled, then the token is read and shown to
 * that server alone; what is kept was seen to work.
 */
#include "cli/login.h"

#include "client/context.h"
#include "client/web.h"
#include "client/web_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* "gpu.lab:8470" is meant as https. Slashes at the end are left out. */
static int take_address(struct cli *cli, const char *text, const char **ret_url)
{
	size_t length = strlen(text);

	while (length && text[length - 1] == '/')
		length--;
	*ret_url = strata_arena_printf(&cli->arena, "%s%.*s",
				       strstr(text, "://") ? "" : "https://", (int)length, text);
	return *ret_url ? context_check_server(*ret_url, &cli->err) : strata_fail_memory(&cli->err);
}

/* Of its host: "gpu.lab". */
static int take_name(struct cli *cli, const char *given, const char *url, const char **ret_name)
{
	const char *host = strstr(url, "://") + 3;
	size_t length = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");
	char *name = strata_arena_printf(&cli->arena, "%.*s", (int)(length - (*host == '[')),
					 host + (*host == '['));

	if (!name)
		return strata_fail_memory(&cli->err);
	for (char *at = name; *at; at++)
		if (*at == ':')
			*at = '-';
	*ret_name = given ? given : name[0] == '-' ? "server" : name;
	return context_check_name(*ret_name, &cli->err);
}

/* One of another server is not replaced by the way. */
static int check_free(struct cli *cli, const char *dir, const char *name, const char *url,
		      bool named)
{
	struct client_context there;

	if (named || context_read(dir, name, &cli->arena, &there, NULL) ||
	    strcmp(there.server, url) == 0)
		return 0;
	return strata_fail_at(&cli->err, -EEXIST, "name",
			      "%s is the name of %s already; give this one another with --name",
			      name, there.server);
}

/* ---- whose key it is ---- */

static int ask_whether(struct cli *cli, const char *url, const char *pin)
{
	bool asked;
	char question[512];

	snprintf(question, sizeof(question),
		 "No authority vouches for %.200s. Its key has the fingerprint\n  %s\nIs that what "
		 "the service says at its start?",
		 url, pin);
	if (terminal_agrees(question, &asked))
		return 0;
	if (asked)
		return strata_fail(&cli->err, -EACCES, "not signed in: the key of %s was not "
						       "accepted",
				   url);
	return strata_fail(&cli->err, -EACCES,
			   "no authority vouches for %s; compare the fingerprint of its key with "
			   "what the service says at its start, then add --fingerprint %s",
			   url, pin);
}

/* ret_pin: what to pin; NULL: nothing. */
static int settle(struct cli *cli, const struct login_conf *conf, const char *url,
		  const char **ret_pin)
{
	struct web_probe probe;
	int rc = 0;

	*ret_pin = NULL;
	if (conf->fingerprint && !context_is_pin(conf->fingerprint))
		return strata_fail_at(&cli->err, -EINVAL, "fingerprint",
				      "'%.80s' is no fingerprint; expected sha256// and 44 "
				      "characters of base64, as the service says at its start",
				      conf->fingerprint);
	if (strncmp(url, "https:", 6) != 0)
		return conf->fingerprint || conf->pin
			       ? strata_fail_at(&cli->err, -EINVAL, "fingerprint",
						"%s has no TLS and so no key; expected https://…",
						url)
			       : 0;
	rc = web_probe(url, &probe, &cli->err);
	if (rc)
		return rc;
	if (conf->fingerprint && strcmp(conf->fingerprint, probe.pin) != 0)
		return strata_fail(&cli->err, -EACCES,
				   "the key of %s has the fingerprint %s, not the one that was "
				   "given: somebody may be in between; nothing was sent",
				   url, probe.pin);
	if (!conf->fingerprint && !probe.vouched)
		rc = ask_whether(cli, url, probe.pin);
	if (rc == 0 && (conf->fingerprint || conf->pin || !probe.vouched)) {
		*ret_pin = strata_arena_text(&cli->arena, probe.pin, strlen(probe.pin));
		rc = *ret_pin ? 0 : strata_fail_memory(&cli->err);
	}
	return rc;
}

/* ---- whether the token is good ---- */

static int check_token(struct cli *cli, const char *token)
{
	for (const char *at = token; *at; at++)
		if (*at <= ' ' || *at > '~')
			return strata_fail(&cli->err, -EINVAL,
					   "the token has a character that none has; expected a "
					   "line as `strata token create` prints it");
	return 0;
}

static int ask_who(struct cli *cli, const struct client_context *context, json_t **ret_json)
{
	const struct client_place place = { .url = context->server,
					    .token = context->token,
					    .pin = context->fingerprint,
					    .web = &client_web };
	const struct client_request request = { .method = "GET", .path = "/api/v1/session" };
	struct client *client;
	int rc = client_open(&place, &cli->memory, &client, &cli->err);

	if (rc)
		return rc;
	rc = client_json(client, &request, ret_json, &cli->err);
	client_close(client);
	return rc;
}

int login_run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct login_conf *conf = conf_any;
	struct client_hints hints = service_hints(cli);
	struct client_context context = { 0 };
	const char *dir;
	json_t *json;
	int rc = take_address(cli, operands[0], &context.server);

	(void)operand_count;
	if (rc == 0)
		rc = take_name(cli, conf->name, context.server, &context.name);
	if (rc == 0)
		rc = context_dir(&hints, &cli->arena, &dir, &cli->err);
	if (rc == 0)
		rc = check_free(cli, dir, context.name, context.server, conf->name != NULL);
	if (rc == 0)
		rc = settle(cli, conf, context.server, &context.fingerprint);
	if (rc == 0)
		rc = terminal_secret(cli, "token", &context.token);
	if (rc == 0)
		rc = check_token(cli, context.token);
	if (rc == 0)
		rc = ask_who(cli, &context, &json);
	if (rc)
		return rc;
	service_show(cli, json);
	rc = context_write(dir, &context, &cli->err);
	if (rc == 0)
		rc = context_use(dir, context.name, &cli->err);
	if (rc == 0)
		cli_say(cli, "signed in to %s at %s as %s (%s); all commands go there until "
			     "`strata logout`",
			grid_or(json_object_get(json, "cluster"), "?"), context.server,
			grid_or(json_object_get(json, "user"), "?"),
			grid_or(json_object_get(json, "role"), "?"));
	json_decref(json);
	return rc;
}
