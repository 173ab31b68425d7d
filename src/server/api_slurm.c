/*
 * POST /api/v1/slurm/sbatch: a batch script as sbatch would take it. The body is the script itself,
 * with the words behind "sbatch" and the directory in headers, which is what curl can do; or a JSON
 * document with all of these and the environment. Either way strata_sbatch_parse reads it, in
 * Slurm's words, and it goes on as any other submission.
 */
#include "server/api_submit.h"
#include "server/front.h"
#include "server/route.h"

#include "slurm/job_script.h"

#include <strata/limits.h>
#include <strata/sbatch.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <strings.h>

static const struct strata_option word = { .type = STRATA_TEXT, .flags = STRATA_OPAQUE };

/* A script and what sbatch would know beside it. */
struct batch_call {
	const char *script;
	const char *working_dir;       /* NULL: not said */
	struct strata_list options;    /* of const char * */
	struct strata_map environment; /* of const char * */
};

static const struct strata_option call_options[] = {
	{ "script", STRATA_TEXT, offsetof(struct batch_call, script),
	  .text = { NULL, STRATA_SCRIPT_BYTES_MAX }, .flags = STRATA_OPAQUE,
	  .help = "the script; none with --wrap" },
	{ "options", STRATA_LIST, offsetof(struct batch_call, options),
	  .list = { &word, STRATA_SCRIPT_WORDS_MAX },
	  .help = "the words behind sbatch; behind the script's name its arguments" },
	{ "working_dir", STRATA_TEXT, offsetof(struct batch_call, working_dir),
	  .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .help = "where sbatch is called; the user's home when left out" },
	{ "environment", STRATA_MAP, offsetof(struct batch_call, environment),
	  .list = { &word, STRATA_ENVIRONMENT_COUNT_MAX },
	  .help = "of sbatch: SBATCH_* count, and --export says what the job gets of it" },
	{ 0 }
};
static const struct strata_schema sbatch_schema = { "sbatch", "a call of sbatch",
						    sizeof(struct batch_call), call_options };

static const char *header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* The body is the script, the rest stands in headers. */
static json_t *plain_json(struct request *request, struct strata_error *err)
{
	const char *options = header(request, "X-Sbatch-Options");
	const char *dir = header(request, "X-Working-Dir");
	json_t *json = json_object(), *list = NULL;
	int rc = 0;

	if (request->body_length)
		rc = job_script_add_text(request->body, request->body_length, NULL, NULL, 0, json,
					 err);
	if (rc == 0 && options) {
		list = json_loads(options, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_array(list))
			rc = strata_fail_at(err, -EINVAL, "options",
					    "X-Sbatch-Options is not a JSON list of texts");
		else
			json_object_set(json, "options", list);
	}
	json_decref(list);
	if (rc == 0 && dir && json_object_set_new(json, "working_dir", json_string(dir)))
		rc = strata_fail_at(err, -EINVAL, "working_dir",
				    "X-Working-Dir is not valid UTF-8");
	if (rc) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static int read_call(struct request *request, struct batch_call *ret_call, struct strata_error *err)
{
	const char *media = header(request, "Content-Type");
	bool is_json = media && strncasecmp(media, "application/json", 16) == 0;
	json_t *json = is_json ? request_json(request) : plain_json(request, err);
	int rc;

	if (!json)
		return err->code ? err->code : -EINVAL; /* in the latter case it is answered */
	rc = strata_schema_defaults(&sbatch_schema, &request->arena, ret_call, err);
	if (rc == 0)
		rc = option_read_json(&sbatch_schema, json, 0, &request->arena, ret_call, err);
	json_decref(json);
	return rc;
}

static const char *const *environment_list(const struct batch_call *call,
					   struct strata_arena *arena)
{
	const char **list = strata_arena_array(arena, call->environment.count + 1, sizeof(*list));
	const char *const *values = call->environment.items;

	for (size_t i = 0; list && i < call->environment.count; i++) {
		list[i] = strata_arena_printf(arena, "%s=%s", call->environment.keys[i], values[i]);
		if (!list[i])
			return NULL;
	}
	return list;
}

static int parse_script(struct request *request, const struct batch_call *call,
			const struct job_caller *caller, struct strata_sbatch *ret_job,
			const char **ret_name, struct strata_error *err)
{
	struct strata_sbatch_input in = {
		.script = call->script,
		.script_length = call->script ? strlen(call->script) : 0,
		.args = call->options.items,
		.arg_count = call->options.count,
		.env = caller->env,
		.now_ns = caller->now_ns,
	};
	size_t at;
	bool wrap;
	int rc = strata_sbatch_find_script(in.args, in.arg_count, &at, &wrap, err);

	if (rc)
		return rc;
	if (wrap && in.script)
		return strata_fail_at(err, -EINVAL, "options",
				      "there is a script and --wrap; expected one of them");
	*ret_name = in.script_name = at < in.arg_count ? in.args[at] : NULL;
	rc = strata_sbatch_parse(&in, &request->arena, ret_job, err);
	if (rc)
		return rc;
	if (ret_job->help || ret_job->usage || ret_job->version || ret_job->test_only)
		return strata_fail_at(
			err, -EINVAL, "options",
			"the options ask for no job: --help, --usage, --version or --test-only");
	return 0;
}

static json_t *warnings_json(const struct strata_sbatch *job, const struct buf *notes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < job->warning_count; i++)
		json_array_append_new(list, json_string(job->warnings[i]));
	for (const char *at = notes->text; *at;) {
		size_t length = strcspn(at, "\n");

		json_array_append_new(list, json_stringn(at, length));
		at += length + (at[length] == '\n');
	}
	return list;
}

/* The call as a document of POST /api/v1/jobs. */
static int make_body(struct request *request, const struct batch_call *call, json_t *body,
		     json_t **ret_warnings, struct strata_error *err)
{
	struct job_caller caller = { .env = environment_list(call, &request->arena),
				     .working_dir = call->working_dir,
				     .now_ns = common_now_ns(request->front->common) };
	struct strata_sbatch job;
	const char *name = NULL;
	size_t skipped;
	struct buf notes;
	int rc = caller.env ? parse_script(request, call, &caller, &job, &name, err)
			    : strata_fail_memory(err);

	if (rc)
		return rc;
	buf_init(&notes, &request->memory, 0);
	rc = job_script_add(&job, &caller, &request->arena, body, &notes, err);
	if (rc == 0)
		rc = job_script_add_text(job.script, job.script_length, name, job.script_args,
					 job.script_arg_count, body, err);
	if (rc == 0)
		rc = job_fields_add_caller(NULL, &caller, body, &skipped, err);
	if (rc == 0 && json_object_set_new(body, "queue_anyway", json_true())) /* Slurm's way */
		rc = strata_fail_memory(err);
	if (rc == 0)
		*ret_warnings = warnings_json(&job, &notes);
	buf_fini(&notes);
	return rc;
}

static void parse_sbatch(struct request *request)
{
	struct strata_error err = { 0 };
	struct batch_call call;
	json_t *body = json_object(), *warnings = NULL;
	int rc = read_call(request, &call, &err);

	if (rc == 0)
		rc = make_body(request, &call, body, &warnings, &err);
	if (rc == 0) {
		api_submit_read(request, body, warnings);
		return;
	}
	json_decref(body);
	if (!request->answered)
		request_fail(request, rc, &err);
}

/* ---- routes ---- */

const struct route api_slurm_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/slurm/sbatch",
	  .summary = "submit a script for sbatch",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_SERVER_BODY_BYTES_MAX,
	  .parse = parse_sbatch,
	  .decide = api_submit_decide,
	  .body = &sbatch_schema,
	  .answer = "id ids",
	  .also = 201 },
	{ 0 },
};
