/* Updates of job_update.h. A waiting job has its request as JSON, as it was submitted: the
 * fields go into that, and the whole is read again. It is done seldom, so that the decider can
 * do it. */
#include "server/job_update.h"

#include "server/admit.h"
#include "server/entities.h"
#include "server/impossible_text.h"
#include "server/job_dependencies.h"
#include "server/job_make.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

/* ---- which fields ---- */

static const char *const changeable[] = {
	"name",
	"comment",
	"account",
	"partition",
	"qos",
	"tasks",
	"nodes",
	"cpus_per_task",
	"memory",
	"memory_per_task",
	"gpus",
	"gpus_per_node",
	"gpus_per_task",
	"gpu_share",
	"gpu_type",
	"features",
	"image",
	"node_list",
	"node_exclude",
	"exclusive",
	"dependencies",
	"cancel_if_never",
	"preemptible",
	"checkpoint",
	"queue_anyway",
	"webhook",
	"mail",
	"notify",
};

/* What nobody decides by. */
static bool is_note(const char *field)
{
	return strcmp(field, "comment") == 0 || strcmp(field, "webhook") == 0 ||
	       strcmp(field, "mail") == 0 || strcmp(field, "notify") == 0 ||
	       strcmp(field, "queue_anyway") == 0;
}

static int take_fields(json_t *body, json_t *fields)
{
	for (size_t i = 0; i < sizeof(changeable) / sizeof(changeable[0]); i++) {
		json_t *value = json_object_get(body, changeable[i]);

		if (value && json_object_set(fields, changeable[i], value))
			return -ENOMEM;
		json_object_del(body, changeable[i]);
	}
	return 0;
}

int job_update_read(json_t *body, struct strata_arena *arena, json_t **ret_fields,
		    struct strata_error *err)
{
	json_t *fields = json_object(), *given = NULL, *value;
	struct job_spec alone;
	const char *key;
	void *next;
	int rc = fields && take_fields(body, fields) == 0 ? 0 : strata_fail_memory(err);

	if (rc == 0) {
		given = json_copy(fields);
		rc = given ? strata_schema_defaults(&job_spec_schema, arena, &alone, err)
			   : strata_fail_memory(err);
	}
	json_object_foreach_safe(given, next, key, value)
	{
		if (json_is_null(value)) /* as if it had not been asked for */
			json_object_del(given, key);
	}
	if (rc == 0)
		rc = option_read_json(&job_spec_schema, given, OPTION_PARTIAL, arena, &alone, err);
	json_decref(given);
	*ret_fields = NULL;
	if (rc == 0 && json_object_size(fields))
		*ret_fields = json_incref(fields);
	json_decref(fields);
	return rc;
}

/* ---- what it becomes ---- */

/* The fields over what it was submitted with; of those that stand for the same, the new one. */
static int merge(const struct live *live, const json_t *fields, json_t **ret_json,
		 struct strata_error *err)
{
	json_t *json = NULL, *value;
	const char *key;
	int rc = option_load_json(live->spec->text, strlen(live->spec->text), &json, err);

	*ret_json = json;
	if (rc)
		return rc;
	json_object_foreach((json_t *)(uintptr_t)fields, key, value)
	{
		job_spec_drop_alternatives(json, key);
	}
	json_object_foreach((json_t *)(uintptr_t)fields, key, value)
	{
		if (json_is_null(value))
			json_object_del(json, key);
		else
			json_object_set(json, key, value);
	}
	return 0;
}

static int check_possible(struct decider *decider, const struct job_spec *spec,
			  const struct strata_job_request *request, struct strata_arena *arena,
			  struct strata_error *err)
{
	const char *why;

	if (spec->queue_anyway)
		return 0;
	int rc = impossible_request(decider, request, spec, arena, &why);

	if (rc == 0 && why)
		rc = strata_fail(err, -EDOM,
				 "no node could take this job then, however empty. %s "
				 "`--queue-anyway` lets it wait for such a node",
				 why);
	return rc == -ENOMEM ? strata_fail_memory(err) : rc;
}

/* The request to the cluster. Account, partition and quality of service become those that count. */
static int make_request(struct decider *decider, const struct live *live,
			const struct job_update_ask *ask, struct job_spec *spec, struct strata_arena *arena,
			struct strata_job_request *ret_request, struct strata_error *err)
{
	const struct job *job = &live->job;
	struct identity owner = { .uid = (uid_t)job->uid, .gid = (gid_t)job->gid, .role = ask->role };
	struct spec_rules rules = decider->rules;

	snprintf(owner.user, sizeof(owner.user), "%s", job->user);
	int rc = admit_submission(decider, &owner, spec, arena, err);

	if (rc)
		return rc;
	entities_partition_rules(decider, spec->partition, &rules);
	if (ask->role >= ROLE_OPERATOR)
		rules.time_limit_ns_max = INT64_MAX;
	struct job_spec whole = *spec;

	whole.time_limit_ns = ask->time_limit_ns ? ask->time_limit_ns : job->time_limit_ns;
	whole.begin = NULL; /* which is a time by now */
	if (job->script)
		whole.script = "#!"; /* it is among the blobs */
	rc = spec_request(&whole, &rules, job->created_ns, ret_request, err);
	if (rc)
		return rc;
	ret_request->id = (uint64_t)job_first_id(job);
	ret_request->user = job->user;
	return spec_check_memory(ret_request, err);
}

static unsigned what_changes(const json_t *fields)
{
	unsigned what = 0;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)fields, key, value)
	{
		if (strcmp(key, "dependencies") == 0)
			what |= STRATA_CHANGE_DEPENDENCIES;
		else if (!is_note(key))
			what |= STRATA_CHANGE_REQUEST;
	}
	return what;
}

int job_update_plan(struct decider *decider, const struct live *live,
		    const struct job_update_ask *ask, struct strata_arena *arena,
		    struct job_update *ret_update, struct strata_error *err)
{
	struct job_update update = { .what = what_changes(ask->fields) };
	struct job_spec spec;
	json_t *json;
	int rc = merge(live, ask->fields, &json, err);

	if (rc == 0)
		rc = strata_schema_defaults(&job_spec_schema, arena, &spec, err);
	if (rc == 0)
		rc = option_read_json(&job_spec_schema, json, OPTION_STORED, arena, &spec, err);
	const char *exclude = rc == 0 ? spec.node_exclude : NULL;

	if (rc == 0 && update.what)
		rc = make_request(decider, live, ask, &spec, arena, &update.request, err);
	if (rc == 0 && !update.what) { /* these stay */
		spec.account = live->job.account;
		spec.partition = live->job.partition;
		spec.qos = live->job.qos;
	}
	if (rc == 0 && spec.node_exclude != exclude) /* those that are closed to it */
		json_object_set_new(json, "node_exclude", json_string(spec.node_exclude));
	if (rc == 0 && (update.what & STRATA_CHANGE_DEPENDENCIES))
		rc = depend_fill(decider, &spec, false, arena, &update.request, err);
	if (rc == 0 && (update.what & STRATA_CHANGE_REQUEST))
		rc = check_possible(decider, &spec, &update.request, arena, err);
	if (rc == 0) {
		update.spec = live_spec_new(&spec, json);
		rc = update.spec ? 0 : strata_fail_memory(err);
	}
	json_decref(json);
	if (rc == 0 && strlen(update.spec->text) > STRATA_STORE_TEXT_BYTES_MAX) {
		rc = strata_fail(err, -E2BIG, "the job would have %zu bytes; expected up to %d",
				 strlen(update.spec->text), STRATA_STORE_TEXT_BYTES_MAX);
		job_update_drop(&update);
	}
	if (rc == 0)
		*ret_update = update;
	return rc;
}

void job_update_apply(struct decider *decider, struct live *live, struct job_update *update)
{
	const struct job_spec *spec = &update->spec->spec;
	struct job like;

	struct job_spec named = *spec;

	if (live->job.script)
		named.script = "#!"; /* it is among the blobs */
	live->job.name = job_spec_name(&named);
	live->job.account = spec->account;
	live->job.partition = spec->partition;
	live->job.qos = spec->qos;
	live->job.gpu_type = spec->gpu_type;
	live->job.comment = spec->comment;
	if (update->what & STRATA_CHANGE_REQUEST) {
		job_make(spec, &update->request, &like);
		live->job.gpu_count = like.gpu_count;
		live->job.cpu_cores = like.cpu_cores;
		live->job.memory_bytes = like.memory_bytes;
	}
	live_set_spec(decider, live, update->spec);
	update->spec = NULL;
}

void job_update_drop(struct job_update *update)
{
	live_spec_unref(update->spec);
}
