/* Asking the service, from the settings to the answer. */
#include "cli/service.h"

#include "core/text.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *get_variable(void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

struct client_hints service_hints(const struct cli *cli)
{
	return (struct client_hints){
		.socket_flag = cli->globals.socket,
		.server_flag = cli->globals.server,
		.context_flag = cli->globals.context,
		.socket_config = cli->config.socket,
		.server_config = cli->config.server,
		.system_socket = "/run/strata/strata.sock",
		.get = get_variable,
	};
}

int service_find(struct cli *cli, struct client_place *ret_place)
{
	struct client_hints hints = service_hints(cli);

	return client_find(&hints, &cli->arena, ret_place, &cli->err);
}

int service_token(struct cli *cli, const char **ret_token)
{
	struct client_hints hints = { .get = get_variable };

	if (!getenv("STRATA_TOKEN") && !getenv("STRATA_TOKEN_FILE"))
		return strata_fail(&cli->err, -ENOKEY,
				   "STRATA_TOKEN_FILE does not name the token of a job: this is "
				   "run by the service, as a job");
	return client_find_token(&hints, &cli->arena, ret_token, &cli->err);
}

int service_open(struct cli *cli, struct client **ret_client)
{
	struct client_place place;
	int rc = 0;

	if (!cli->client) {
		rc = service_find(cli, &place);
		if (rc == 0 && !place.socket && !cli_web())
			rc = cli_hand_over(cli);
		place.web = cli_web();
		if (rc == 0)
			rc = client_open(&place, &cli->memory, &cli->client, &cli->err);
	}
	if (rc == 0)
		*ret_client = cli->client;
	return rc;
}

void service_path(struct cli *cli, struct buf *path, const char *collection, const char *name,
		  const char *rest)
{
	buf_init(path, &cli->memory, 0);
	buf_printf(path, "/api/v1/%s", collection);
	if (name) {
		buf_add_char(path, '/');
		client_escape(path, name);
	}
	buf_add(path, rest ? rest : "");
}

static json_t *show_value(struct cli *cli, json_t *value)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);
	struct buf shown;

	if (!text || text_printable(text, length) == length)
		return NULL;
	buf_init(&shown, &cli->memory, 0);
	text_show(&shown, text, length);
	json_t *made = json_string(shown.text);

	buf_fini(&shown);
	return made;
}

void service_show(struct cli *cli, json_t *json)
{
	const char *key;
	json_t *value, *shown;
	size_t index;

	if (cli->globals.json)
		return;
	json_array_foreach(json, index, value)
	{
		service_show(cli, value);
		if ((shown = show_value(cli, value)))
			json_array_set_new(json, index, shown);
	}
	json_object_foreach(json, key, value)
	{
		service_show(cli, value);
		if ((shown = show_value(cli, value)))
			json_object_set_new(json, key, shown);
	}
}

int service_ask(struct cli *cli, const char *method, struct buf *path, json_t *body,
		json_t **ret_json)
{
	char key[CLIENT_KEY_BYTES];
	struct client_request request = { .method = method, .body = body };
	struct client *client;
	int rc = buf_check(path, &cli->err);

	if (rc == 0)
		rc = service_open(cli, &client);
	if (rc == 0 && strcmp(method, "POST") == 0 &&
	    (strcmp(path->text, "/api/v1/jobs") == 0 ||
	     strcmp(path->text, "/api/v1/generate") == 0)) {
		rc = client_new_key(key, &cli->err);
		request.key = key;
	}
	request.path = path->text;
	if (rc == 0)
		rc = client_json(client, &request, ret_json, &cli->err);
	if (rc == 0)
		service_show(cli, *ret_json);
	json_decref(body);
	buf_fini(path);
	return rc;
}

int service_get(struct cli *cli, struct buf *path, json_t **ret_json)
{
	return service_ask(cli, "GET", path, NULL, ret_json);
}

int service_list(struct cli *cli, const char *collection, json_t **ret_json)
{
	struct buf path;

	service_path(cli, &path, collection, NULL, NULL);
	return service_get(cli, &path, ret_json);
}

bool service_printed(struct cli *cli, json_t *json, int *ret_rc)
{
	if (!cli->globals.json)
		return false;
	*ret_rc = cli_print_json(cli, json);
	return true;
}

bool service_away(int rc)
{
	return strata_error_kind(rc)->exit_code == STRATA_EXIT_UNREACHABLE;
}

const char *service_own_umask(struct cli *cli)
{
	mode_t mask = umask(077); /* it can be read only by being set */

	umask(mask);
	return strata_arena_printf(&cli->arena, "%04o", mask & 0777);
}

const char *service_own_name(struct cli *cli)
{
	const struct passwd *row = getpwuid(geteuid());

	return row ? strata_arena_printf(&cli->arena, "%s", row->pw_name)
		   : strata_arena_printf(&cli->arena, "%u", (unsigned)geteuid());
}
