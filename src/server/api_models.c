/* /api/v1/models: what pictures are made with. Operators make, change, pause and remove them. */
#include "server/decider.h"
#include "server/models.h"
#include "server/route.h"

#include <strata/limits.h>

#include <errno.h>
#include <microhttpd.h>

static struct model *find(struct decider *decider, struct request *request)
{
	struct model *model = models_find(decider, request->segments[0]);

	if (!model)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no model %.60s",
			       request->segments[0]);
	return model;
}

static void get_models(struct decider *decider, struct request *request)
{
	json_t *list = json_array();

	for (const struct model *model = model_next(decider, NULL); model;
	     model = model_next(decider, model))
		json_array_append_new(list, model_view(decider, model));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "models", list));
}

static void get_model(struct decider *decider, struct request *request)
{
	const struct model *model = find(decider, request);

	if (model)
		request_answer(request, MHD_HTTP_OK, model_view(decider, model));
}

static void release(struct request *request)
{
	json_decref(request->parsed);
}

static void parse_model(struct request *request)
{
	json_t *json = request_json(request);
	struct strata_error err = { 0 };

	if (!json)
		return;
	request->parsed = json;
	request->release = release;
	int rc = model_check(request->segments[0], json, &err);

	if (rc)
		request_fail(request, rc, &err);
}

static void put_model(struct decider *decider, struct request *request)
{
	bool is_new = !models_find(decider, request->segments[0]);
	struct strata_error err = { 0 };
	int rc = model_set(decider, request->segments[0], request->parsed, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, is_new ? MHD_HTTP_CREATED : MHD_HTTP_OK,
		       model_view(decider, models_find(decider, request->segments[0])));
}

static void delete_model(struct decider *decider, struct request *request)
{
	struct model *model = find(decider, request);
	struct strata_error err = { 0 };
	int rc = model ? model_remove(decider, model, &err) : 0;

	if (rc)
		request_fail(request, rc, &err);
	if (!model || rc)
		return;
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json_pack("{s:s}", "name", request->segments[0]));
}

static void set_paused(struct decider *decider, struct request *request, bool paused)
{
	struct model *model = find(decider, request);

	if (!model)
		return;
	model_pause(decider, model, paused);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, model_view(decider, model));
}

static void pause_model(struct decider *decider, struct request *request)
{
	set_paused(decider, request, true);
}

static void resume_model(struct decider *decider, struct request *request)
{
	set_paused(decider, request, false);
}

static void default_model(struct decider *decider, struct request *request)
{
	struct model *model = find(decider, request);

	if (!model)
		return;
	model_set_usual(decider, model);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, model_view(decider, model));
}

struct warm {
	int64_t workers;
};
static const struct strata_option warm_options[] = {
	{ "workers", STRATA_INT, offsetof(struct warm, workers),
	  .integer = { 1, 0, STRATA_MODEL_WORKERS_MAX },
	  .help = "that are up with or without tasks; 0: those without tasks end now" },
	{ 0 }
};
static const struct strata_schema warm_schema = { "warm", "workers to be kept up",
						  sizeof(struct warm), warm_options };

static void parse_warm(struct request *request)
{
	request_read(request, &warm_schema);
}

static void warm_model(struct decider *decider, struct request *request)
{
	const struct warm *warm = request->parsed;
	struct model *model = find(decider, request);
	struct strata_error err = { 0 };
	int rc = model ? model_set_warm(decider, model, warm->workers, &err) : 0;

	if (rc)
		request_fail(request, rc, &err);
	if (!model || rc)
		return;
	decider->again = true;
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, model_view(decider, model));
}

/* ---- routes ---- */

const struct route api_models_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/models",
	  .summary = "what pictures are made with",
	  .role = ROLE_READER,
	  .decide = get_models,
	  .answer = "models" },
	{ .method = "GET",
	  .path = "/api/v1/models/*",
	  .summary = "one model",
	  .role = ROLE_READER,
	  .decide = get_model,
	  .answer = "name workers" },
	{ .method = "PUT",
	  .path = "/api/v1/models/*",
	  .summary = "make or change a model",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_model,
	  .decide = put_model,
	  .body = &model_schema,
	  .answer = "name workers",
	  .also = 201 },
	{ .method = "DELETE",
	  .path = "/api/v1/models/*",
	  .summary = "remove a model",
	  .role = ROLE_OPERATOR,
	  .decide = delete_model,
	  .answer = "name" },
	{ .method = "POST",
	  .path = "/api/v1/models/*/pause",
	  .summary = "let its tasks wait",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .decide = pause_model,
	  .answer = "name workers" },
	{ .method = "POST",
	  .path = "/api/v1/models/*/resume",
	  .summary = "let its tasks go on",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .decide = resume_model,
	  .answer = "name workers" },
	{ .method = "POST",
	  .path = "/api/v1/models/*/default",
	  .summary = "use it for requests that name no model",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .decide = default_model,
	  .answer = "name workers" },
	{ .method = "POST",
	  .path = "/api/v1/models/*/warm",
	  .summary = "keep workers of it up",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_warm,
	  .decide = warm_model,
	  .body = &warm_schema,
	  .answer = "name workers" },
	{ 0 },
};
