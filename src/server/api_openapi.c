/*
 * GET /openapi.json: the API for programs, made from the tables that the code itself goes by:
 * routes, roles, bodies, errors. What is not in a table is not here: the shapes of answers are in
 * docs/api.md.
 */
#include "core/option.h"
#include "server/route.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

/* "/api/v1/jobs/{id}/why" for "/api/v1/jobs/ * /why". */
static void name_path(const char *pattern, char *to, size_t room)
{
	const char *name = strstr(pattern, "/jobs/") || strstr(pattern, "/tokens/") ? "{id}"
										    : "{name}";
	size_t length = 0;

	for (; *pattern && length + 10 < room; pattern++)
		length += (size_t)snprintf(to + length, room - length,
					   *pattern == '*' ? "%s" : "%.1s",
					   *pattern == '*' ? name : pattern);
}

static json_t *list_parameters(const struct route *route, const char *path)
{
	json_t *list = json_array(), *query, *schema;
	const char *name;

	for (const char *at = path; (at = strchr(at, '{')); at++)
		json_array_append_new(list, json_pack("{s:s%,s:s,s:b,s:{s:s}}", "name", at + 1,
						      strcspn(at + 1, "}"), "in", "path",
						      "required", 1, "schema", "type", "string"));
	query = route->query ? option_openapi(route->query) : NULL;
	json_object_foreach(json_object_get(query, "properties"), name,
			    schema) /* a list is "a,b" */
		json_array_append_new(list, json_pack("{s:s,s:s,s:b,s:b,s:O}", "name", name, "in",
						      "query", "required", 0, "explode", 0,
						      "schema", schema));
	json_decref(query);
	return list;
}

/* What a good answer is: JSON with certain keys, or a text. */
static json_t *view_answer(const struct route *route)
{
	json_t *keys, *answer = json_pack("{s:s}", "description", "as in docs/api.md");

	if (!route->answer)
		return answer;
	keys = json_array();
	for (const char *at = route->answer; *at;) {
		size_t length = strcspn(at, " ");

		json_array_append_new(keys, json_stringn(at, length));
		at += length + (at[length] == ' ');
	}
	json_object_set_new(answer, "content",
			    json_pack("{s:{s:{s:s,s:o}}}", "application/json", "schema", "type",
				      "object", "required", keys));
	return answer;
}

static json_t *view_answers(const struct route *route)
{
	json_t *answers = json_pack("{s:o,s:{s:s}}", "200", view_answer(route), "default", "$ref",
				    "#/components/responses/error");
	char also[16];

	if (route->also) {
		snprintf(also, sizeof(also), "%d", route->also);
		json_object_set_new(answers, also, view_answer(route));
	}
	return answers;
}

/* "#/components/schemas/…", which is made if it is not there. */
static json_t *refer(json_t *schemas, const struct strata_schema *schema)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", schema->name);
	for (char *at = name; (at = strchr(at, ' '));)
		*at = '_';
	if (!json_object_get(schemas, name))
		json_object_set_new(schemas, name, option_openapi(schema));
	return json_pack("{s:s++}", "$ref", "#/components/schemas/", name, "");
}

static json_t *view_route(const struct route *route, const char *path, json_t *schemas)
{
	json_t *json = json_pack("{s:s,s:s,s:o,s:o}", "summary", route->summary, "x-role",
				 role_name(route->role), "parameters", list_parameters(route, path),
				 "responses", view_answers(route));

	if (route->body)
		json_object_set_new(json, "requestBody",
				    json_pack("{s:{s:{s:o}}}", "content", "application/json",
					      "schema", refer(schemas, route->body)));
	if (route->role == ROLE_NONE) /* anybody may ask */
		json_object_set_new(json, "security", json_array());
	return json;
}

/* Several codes may have one name. */
static bool is_first(const struct strata_error_kind *kind, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(strata_error_kind_at(i)->name, kind->name) == 0)
			return false;
	return true;
}

static json_t *view_errors(void)
{
	/* of requests: no such method; of tasks that were waited for; of links */
	json_t *codes = json_pack("[ssss]", "method", "failed", "cancelled", "gone");
	const struct strata_error_kind *kind;

	for (size_t i = 0; (kind = strata_error_kind_at(i)); i++)
		if (is_first(kind, i))
			json_array_append_new(codes, json_string(kind->name));
	return json_pack(
		"{s:s,s:{s:{s:{s:s,s:{s:{s:s,s:{s:{s:s,s:o},s:{s:s},s:{s:[ss]},s:{s:s}}}}}}}}",
		"description", "what is wrong", "content", "application/json", "schema", "type",
		"object", "properties", "error", "type", "object", "properties", "code", "type",
		"string", "enum", codes, "message", "type", "string", "field", "type", "string",
		"null", "leader", "type", "string");
}

static void get_openapi(struct request *request)
{
	json_t *paths = json_object(), *schemas = json_object();
	const struct route *route;

	for (size_t i = 0; (route = route_at(i)); i++) {
		char name[256], method[8] = "";
		json_t *path;

		name_path(route->path, name, sizeof(name));
		path = json_object_get(paths, name);
		for (size_t k = 0; route->method[k] && k < sizeof(method) - 1; k++)
			method[k] = (char)(route->method[k] | 0x20);
		if (!path) {
			path = json_object();
			json_object_set_new(paths, name, path);
		}
		json_object_set_new(path, method, view_route(route, name, schemas));
	}
	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:s,s:{s:s,s:s},s:o,s:{s:o,s:{s:o},s:{s:{s:s,s:s}}},s:[{s:[]}]}",
				 "openapi", "3.1.0", "info", "title", "Strata", "version",
				 STRATA_VERSION, "paths", paths, "components", "schemas", schemas,
				 "responses", "error", view_errors(), "securitySchemes", "token",
				 "type", "http", "scheme", "bearer", "security", "token"));
}

/* ---- routes ---- */

const struct route api_openapi_routes[] = {
	{ .method = "GET",
	  .path = "/openapi.json",
	  .summary = "this table, for programs",
	  .role = ROLE_NONE,
	  .parse = get_openapi,
	  .answer = "openapi info paths components" },
	{ 0 },
};
