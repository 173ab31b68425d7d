/* GET /api/v1/settings: what the service runs with, for operators; without passwords. */
#include "core/option.h"
#include "server/decider.h"
#include "server/route.h"
#include "server/settings.h"

#include <errno.h>
#include <microhttpd.h>

static json_t *value_of(const struct strata_option *option, const void *slot,
			struct strata_arena *arena)
{
	const char *text;

	if (option->type != STRATA_TEXT)
		return option_value_json(option, slot);
	text = *(const char *const *)slot;
	text = text ? conf_hide_password(text, arena) : NULL;
	return text ? json_string(text) : json_null();
}

static void get_settings(struct decider *decider, struct request *request)
{
	json_t *json = json_object();

	for (const struct strata_option *option = server_schema.options; option->name; option++)
		json_object_set_new(json, option->name,
				    value_of(option, (const char *)decider->conf + option->offset,
					     &request->arena));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "settings", json));
}

const struct route api_settings_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/settings",
	  .summary = "what the service runs with, without passwords",
	  .role = ROLE_OPERATOR,
	  .decide = get_settings,
	  .answer = "settings" },
	{ 0 },
};
