/* What is to be done about a StrataJob, and the bodies of it. */
#include "stratajobs/stratajob.h"

#include "kubernetes/kube_object.h"

#include <string.h>

int64_t stratajob_id(const json_t *object)
{
	return json_integer_value(kube_at(object, "status", "id", NULL));
}

static bool is_end(const char *state)
{
	return strcmp(state, "completed") == 0 || strcmp(state, "failed") == 0 ||
	       strcmp(state, "cancelled") == 0;
}

bool stratajob_ended(const json_t *object)
{
	return is_end(kube_text(object, "status", "state", NULL));
}

static bool is_guarded(const json_t *object)
{
	const json_t *list = kube_at(object, "metadata", "finalizers", NULL);
	size_t at;
	json_t *one;

	json_array_foreach((json_t *)list, at,
			   one) if (json_is_string(one) &&
				    strcmp(json_string_value(one), STRATAJOB_FINALIZER) ==
					    0) return true;
	return false;
}

enum stratajob_step stratajob_next(const json_t *object)
{
	bool deleted = *kube_text(object, "metadata", "deletionTimestamp", NULL);
	bool guarded = is_guarded(object), ended = stratajob_ended(object);

	if (deleted && !guarded)
		return STRATAJOB_NOTHING;
	if (deleted && ended)
		return STRATAJOB_RELEASE;
	if (deleted && stratajob_id(object))
		return STRATAJOB_CANCEL;
	if (ended)
		return STRATAJOB_NOTHING;
	if (stratajob_id(object))
		return STRATAJOB_LOOK;
	/* one that is deleted may have been submitted by who died before the number was written:
	 * the same key says which job that is */
	return guarded ? STRATAJOB_SUBMIT : STRATAJOB_GUARD;
}

json_t *stratajob_job(const json_t *object)
{
	json_t *job = json_copy(kube_at(object, "spec", NULL));
	const char *name = kube_text(object, "metadata", "name", NULL);
	const char *uid = kube_text(object, "metadata", "uid", NULL);
	int rc = job ? 0 : -1;

	if (rc == 0 && !json_object_get(job, "name"))
		rc = json_object_set_new(job, "name", json_string(name));
	if (rc == 0)
		rc = json_object_set_new(job, "request_key", json_string(uid));
	if (rc) {
		json_decref(job);
		return NULL;
	}
	return job;
}

json_t *stratajob_finalizers(const json_t *object, bool ours)
{
	const json_t *before = kube_at(object, "metadata", "finalizers", NULL);
	const char *version = kube_text(object, "metadata", "resourceVersion", NULL);
	json_t *list = json_array(), *one;
	size_t at;
	int rc = list ? 0 : -1;

	json_array_foreach((json_t *)before, at, one)
	{
		const char *text = json_string_value(one);

		if (rc == 0 && text && strcmp(text, STRATAJOB_FINALIZER) != 0)
			rc = json_array_append(list, one);
	}
	if (rc == 0 && ours)
		rc = json_array_append_new(list, json_string(STRATAJOB_FINALIZER));
	if (rc) {
		json_decref(list);
		return NULL;
	}
	/* with the version: the list is replaced, and others may have changed it */
	return json_pack("{s:{s:s,s:o}}", "metadata", "resourceVersion", version, "finalizers",
			 list);
}

/* What is in the status, and how the service calls it. */
static const char *const members[][2] = {
	{ "id", "id" },
	{ "state", "state" },
	{ "reason", "reason" },
	{ "submittedAt", "submitted_at" },
	{ "startedAt", "started_at" },
	{ "endedAt", "ended_at" },
	{ "exitCode", "exit_code" },
	{ "nodes", "node_names" },
};

json_t *stratajob_status(const json_t *object, const json_t *job, bool *ret_same)
{
	const json_t *before = kube_at(object, "status", NULL);
	json_t *status = json_object();
	bool same = true;

	for (size_t i = 0; status && i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *value = json_object_get(job, members[i][1]);
		const json_t *old = json_object_get(before, members[i][0]);

		if (json_is_null(value))
			value = NULL;
		if (value ? json_equal(value, old) : !old)
			continue;
		same = false;
		/* null takes a member away */
		if (json_object_set_new(status, members[i][0],
					value ? json_incref(value) : json_null())) {
			json_decref(status);
			return NULL;
		}
	}
	*ret_same = same;
	return status ? json_pack("{s:o}", "status", status) : NULL;
}

json_t *stratajob_failed(const char *reason, const char *message)
{
	return json_pack("{s:{s:s,s:s,s:s}}", "status", "state", "failed", "reason", reason,
			 "message", message);
}
