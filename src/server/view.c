/* Jobs as JSON, for those who ask. */
#include "server/server.h"

#include <strata/text.h>

#include <string.h>

json_t *view_time(int64_t ns)
{
	char text[STRATA_FORM_BYTES];

	return ns ? json_string(strata_time_print(ns - ns % 1000000000, text)) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static void set(json_t *json, const char *key, json_t *value)
{
	json_object_set_new(json, key, value);
}

static bool is_over(const struct store_job *row)
{
	return row->completed_ns != 0;
}

/* Where it is: names of nodes, numbers of GPUs. */
static void set_place(json_t *json, const char *place)
{
	json_t *list = place ? json_loads(place, 0, NULL) : NULL, *piece;
	json_t *names = json_array(), *gpus = json_object();
	size_t index;

	json_array_foreach(list, index, piece)
	{
		const char *node = json_string_value(json_object_get(piece, "node"));
		json_int_t mask = json_integer_value(json_object_get(piece, "gpu_mask"));
		json_t *ids = json_array();

		json_array_append_new(names, json_string(node ? node : "?"));
		for (int i = 0; i < 16; i++)
			if (mask >> i & 1)
				json_array_append_new(ids, json_integer(i));
		if (node && json_array_size(ids))
			json_object_set_new(gpus, node, ids);
		else
			json_decref(ids);
	}
	json_decref(list);
	set(json, "node_names", names);
	set(json, "gpu_ids", gpus);
}

json_t *view_row(const struct store_job *row)
{
	json_t *json = json_object(), *spec = row->spec ? json_loads(row->spec, 0, NULL) : NULL;
	json_t *command = row->command ? json_loads(row->command, 0, NULL) : NULL;
	enum strata_reason reason = STRATA_REASON_NONE;

	if (!json)
		return NULL;
	for (int i = 0; row->reason && i < STRATA_REASON_COUNT; i++)
		if (strcmp(strata_reason_name((enum strata_reason)i), row->reason) == 0)
			reason = (enum strata_reason)i;
	set(json, "id", json_integer(row->id));
	set(json, "uuid", text_or_null(row->uuid));
	set(json, "user", text_or_null(row->user));
	set(json, "account", text_or_null(row->account));
	set(json, "partition", text_or_null(row->partition));
	set(json, "qos", text_or_null(row->qos));
	set(json, "name", text_or_null(row->name));
	set(json, "state", json_string(row->state));
	set(json, "reason", json_string(strata_reason_name(reason)));
	set(json, "reason_text", json_string(strata_reason_words(reason)));
	set(json, "priority", json_string(strata_band_name((enum strata_band)row->band)));
	set(json, "nice", json_integer(-row->priority));
	set(json, "tasks",
	    json_object_get(spec, "tasks") ? json_incref(json_object_get(spec, "tasks"))
					   : json_integer(1));
	set(json, "nodes",
	    json_object_get(spec, "nodes") ? json_incref(json_object_get(spec, "nodes"))
					   : json_integer(1));
	set(json, "cpus", json_integer(row->cpu_cores));
	set(json, "memory_bytes", json_integer(row->memory_bytes));
	set(json, "gpus", json_integer(row->gpu_count));
	set(json, "gpu_type", text_or_null(row->gpu_type));
	set(json, "gpu_share",
	    json_object_get(spec, "gpu_share") ? json_incref(json_object_get(spec, "gpu_share"))
					       : json_null());
	set(json, "command", command ? command : json_array());
	set(json, "working_dir", text_or_null(row->working_dir));
	set(json, "submitted_at", view_time(row->created_ns));
	set(json, "eligible_at", view_time(row->eligible_ns));
	set(json, "scheduled_at", view_time(row->scheduled_ns));
	set(json, "started_at", view_time(row->started_ns));
	set(json, "ended_at", view_time(row->completed_ns));
	set(json, "time_limit_s", json_integer(row->time_limit_ns / 1000000000));
	set(json, "attempt", json_integer(row->attempt));
	set(json, "exit_code",
	    is_over(row) && row->attempt ? json_integer(row->exit_code) : json_null());
	set(json, "exit_signal",
	    is_over(row) && row->attempt ? json_integer(row->exit_signal) : json_null());
	set(json, "array_id", row->array_id ? json_integer(row->array_id) : json_null());
	set(json, "array_index", row->array_id ? json_integer(row->array_index) : json_null());
	set(json, "dependencies",
	    json_object_get(spec, "dependencies")
		    ? json_incref(json_object_get(spec, "dependencies"))
		    : json_null());
	set(json, "comment", text_or_null(row->comment));
	set(json, "preempted", json_integer(0));
	set(json, "output", json_null());
	set(json, "error", json_null());
	set(json, "expected_start_at", json_null());
	set(json, "expected_node", json_null());
	set(json, "promised", json_false());
	set(json, "expected_end_at", json_null());
	set_place(json, row->place);
	json_decref(spec);
	return json;
}

json_t *view_job(struct server *server, const struct live *live)
{
	json_t *json = view_row(&live->row);
	struct strata_job_view view;

	if (!json || strata_cluster_job(server->cluster, (uint64_t)live->row.id, &view, NULL))
		return json;
	set(json, "state", json_string(strata_job_state_name(view.state)));
	set(json, "reason", json_string(strata_reason_name(view.reason)));
	set(json, "reason_text", json_string(strata_reason_words(view.reason)));
	set(json, "preempted", json_integer(view.preempted));
	set(json, "output", text_or_null(live->output));
	set(json, "error", text_or_null(live->error ? live->error : live->output));
	set(json, "stopping", json_boolean(view.stopping));
	set(json, "expected_end_at", view_time(view.expected_end_ns));
	if (view.promised_ns) {
		set(json, "expected_start_at", view_time(view.promised_ns));
		set(json, "promised", json_true());
	}
	return json;
}
