/*
 * From a job that was placed to an order for the executor: its files, its environment, its program, all from the row as it is stored, so that a
 * service that comes back makes the same order again.
 */
#include "server/server.h"

#include "exec/environment.h"
#include "formats/slurm.h"
#include "machine/inventory.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUT_OFF_NS (5 * STRATA_SECOND_NS) /* until a start is tried again */

/* Whose job it is, as the system knows him. */
struct person {
	struct passwd entry;
	char text[4096];
	const char *home, *shell;
};

static void find_person(const struct store_job *row, struct person *ret_person)
{
	struct passwd *found = NULL;

	if (getpwuid_r((uid_t)row->uid, &ret_person->entry, ret_person->text,
		       sizeof(ret_person->text), &found) ||
	    !found)
		ret_person->home = "/", ret_person->shell = "/bin/sh";
	else
		ret_person->home = found->pw_dir, ret_person->shell = found->pw_shell;
}

/* "A=1\0B=2\0" as a NULL-terminated list. */
static const char *const *split_environment(const struct store_blob *blob,
					    struct strata_arena *arena)
{
	const char *at = blob->bytes ? blob->bytes : "", *end = at + blob->size_bytes;
	size_t count = 0;

	for (const char *p = at; p < end; p += strlen(p) + 1)
		count++;
	const char **list = strata_arena_array(arena, count + 1, sizeof(*list));

	for (size_t i = 0; list && i < count; i++, at += strlen(at) + 1)
		list[i] = at;
	return list;
}

/* A file of the job's; NULL: no memory. */
static const char *expand(const struct store_job *row, const char *pattern, const char *directory,
			  const char *node, struct strata_arena *arena)
{
	struct strata_output_values values = {
		.job = row->id,
		.array_job = row->array_id ? row->array_id : -1,
		.task = row->array_id ? row->array_index : STRATA_TASK_NONE,
		.step = -1,
		.node = 0,
		.rank = 0,
		.host = node,
		.user = row->user,
		.name = row->name,
	};
	const char *text;

	if (strata_output_expand(pattern, &values, arena, &text, NULL))
		return NULL;
	return *text == '/' ? text : strata_arena_printf(arena, "%s/%s", directory, text);
}

struct start {
	struct server *server;
	struct live *live;
	struct job_spec spec;
	struct strata_piece *pieces;
	uint32_t piece_count;
	struct person person;
	struct exec_order order;
	char token[JOB_TOKEN_BYTES];
};

/* Where its output goes when nobody says so. */
static const char *output_pattern(const struct store_job *row, const struct job_spec *spec)
{
	return spec->output ? spec->output : row->array_id ? "strata-%A_%a.out" : "strata-%j.out";
}

static int fill_files(struct start *start, struct strata_error *err)
{
	struct server *server = start->server;
	const struct store_job *row = &start->live->row;
	const struct job_spec *spec = &start->spec;
	struct exec_order *order = &start->order;
	const char *node = server->nodes[start->pieces[0].node].name;
	struct strata_arena *arena = &server->scratch;

	order->directory = spec->working_dir ? spec->working_dir : start->person.home;
	order->output = expand(row, output_pattern(row, spec), order->directory, node, arena);
	order->error_output = spec->error ? expand(row, spec->error, order->directory, node, arena)
					  : NULL;
	order->input = spec->input ? expand(row, spec->input, order->directory, node, arena) : NULL;
	order->append = spec->append || start->live->row.attempt > 1;
	if (!order->output)
		return strata_fail_memory(err);
	free(start->live->output);
	free(start->live->error);
	start->live->output = strdup(order->output);
	start->live->error = order->error_output ? strdup(order->error_output) : NULL;
	output_started(server, start->live);
	return 0;
}

/* Is the field in the request, or what is usual? */
static bool was_asked(const struct store_job *row, const char *field)
{
	json_t *spec = json_loads(row->spec, 0, NULL);
	bool asked = json_object_get(spec, field) != NULL;

	json_decref(spec);
	return asked;
}

static int fill_environment(struct start *start, struct strata_error *err)
{
	struct server *server = start->server;
	const struct store_job *row = &start->live->row;
	struct environment_node *nodes =
		strata_arena_array(&server->scratch, start->piece_count, sizeof(*nodes));
	const char **names =
		strata_arena_array(&server->scratch, start->piece_count, sizeof(*names));
	struct store_blob blob = { 0 };
	uint32_t tasks = 0;
	char host[256] = "";
	const char *list;
	int rc = nodes && names ? 0 : strata_fail_memory(err);

	if (rc == 0 && row->environment)
		rc = store_blob_get(server->store, row->environment, &server->scratch, &blob, err);
	if (rc)
		return rc;
	gethostname(host, sizeof(host) - 1);
	struct environment from = {
		.user_environment = split_environment(&blob, &server->scratch),
		.job = (uint64_t)row->id,
		.attempt = (uint32_t)row->attempt,
		.restart_count = (uint32_t)row->attempt - 1,
		.name = row->name,
		.user = row->user,
		.account = row->account,
		.partition = row->partition,
		.qos = row->qos ? row->qos : "normal",
		.cluster = server->conf->cluster_name,
		.home = start->person.home,
		.shell = start->person.shell,
		.submit_dir = start->order.directory,
		.submit_host = host,
		.uid = row->uid,
		.gid = row->gid,
		.nodes = nodes,
		.node_count = start->piece_count,
		.cpus_per_task = was_asked(row, "cpus_per_task")
					 ? (uint32_t)(start->spec.cpus_per_task + 0.5)
					 : 0,
		.gpus = (uint32_t)start->spec.gpus,
		.gpus_per_task = (uint32_t)start->spec.gpus_per_task,
		.array_job = (uint64_t)row->array_id,
		.array_task = (uint32_t)row->array_index,
		.start_ns = server_now_ns(server),
		.time_limit_ns = row->time_limit_ns,
		.job_file = strata_arena_printf(&server->scratch, "%s/jobs/%lld.%lld",
						server->conf->state_dir, (long long)row->id,
						(long long)row->attempt),
		.checkpoint_dir = start->order.checkpoint_dir,
		.checkpoint = start->live->checkpoint,
		.socket = server->conf->socket,
		.token_file = strata_arena_printf(&server->scratch, "%s/jobs/%lld.%lld.token",
						  server->conf->state_dir, (long long)row->id,
						  (long long)row->attempt),
	};

	for (uint32_t i = 0; i < start->piece_count; i++) {
		const struct strata_piece *piece = &start->pieces[i];
		const struct node_about *node = &server->nodes[piece->node];

		nodes[i] = (struct environment_node){ .name = node->name,
						      .tasks = piece->tasks,
						      .cpus = (uint32_t)(piece->cpu_milli / 1000),
						      .gpu_mask = piece->gpu_mask,
						      .gpu_first = node->gpu_first };
		names[i] = node->name;
		tasks += piece->tasks;
	}
	from.tasks = tasks > 1 || was_asked(row, "tasks") ? tasks : 0;
	from.memory_per_node_bytes = start->pieces[0].memory_bytes;
	rc = strata_hostlist_compress(names, start->piece_count, &server->scratch, &list, err);
	from.node_list = rc == 0 ? list : NULL;
	if (rc == 0 && row->array_id && start->spec.array) {
		struct strata_array array;

		rc = strata_array_parse(start->spec.array, STRATA_TEXT_NUL, &server->scratch,
					&array, err);
		if (rc == 0) {
			from.array_count = (uint32_t)array.task_count;
			from.array_min = (uint32_t)array.ranges[0].first;
			from.array_max = (uint32_t)array.ranges[array.range_count - 1].last;
			from.array_step = (uint32_t)array.ranges[0].step;
		}
	}
	return rc ? rc : environment_make(&from, &server->scratch, &start->order.environment, err);
}

/* A program without a slash is looked for by the job's own process, with its user's rights and no others. */
static const char *program_of(struct start *start, const char *name)
{
	return *name == '/' || !strchr(name, '/')
		       ? name
		       : strata_arena_printf(&start->server->scratch, "%s/%s",
					     start->order.directory, name);
}

static int fill_program(struct start *start, struct strata_error *err)
{
	struct exec_order *order = &start->order;
	const struct store_job *row = &start->live->row;

	if (row->script) {
		struct store_blob blob;
		int rc = store_blob_get(start->server->store, row->script, &start->server->scratch,
					&blob, err);

		if (rc)
			return rc;
		order->script = blob.bytes;
		order->script_bytes = blob.size_bytes;
		order->arguments = start->spec.arguments;
		return 0;
	}
	const char *const *words = start->spec.command.items;

	order->program = program_of(start, words[0]);
	order->arguments =
		(struct strata_list){ (void *)(words + 1), start->spec.command.count - 1 };
	return order->program ? 0 : strata_fail_memory(err);
}

static void fill_signal(struct start *start)
{
	struct strata_sbatch_signal signal;

	if (!start->spec.signal || !slurm_signal_parse(start->spec.signal, &signal))
		return;
	start->order.warn_signal = signal.number;
	start->order.warn_ns = signal.before_ns;
	start->order.warn_to = signal.batch_only ? EXEC_TO_BATCH : EXEC_TO_STEPS;
}

/* "a,b" has the name? */
static bool is_listed(const char *list, const char *name, size_t length)
{
	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
			return true;
	return false;
}

/* The partition it asked for, or the first that has all of its nodes; NULL: it does not matter. */
static const char *find_partition(const struct start *start)
{
	const struct server *server = start->server;
	const char *list = server->nodes[start->pieces[0].node].about->partitions;

	if (start->live->row.partition && *start->live->row.partition)
		return start->live->row.partition;
	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
		size_t length = strcspn(at, ",");
		uint32_t having = 0;

		for (uint32_t i = 0; i < start->piece_count; i++)
			having += is_listed(server->nodes[start->pieces[i].node].about->partitions,
					    at, length);
		if (having == start->piece_count)
			return strata_arena_text(&start->server->scratch, at, length);
	}
	return NULL;
}

static int fill_places(struct start *start, struct strata_error *err)
{
	struct server *server = start->server;
	const char **texts =
		strata_arena_array(&server->scratch, start->piece_count, sizeof(*texts));

	if (!texts)
		return strata_fail_memory(err);
	for (uint32_t i = 0; i < start->piece_count; i++) {
		const struct strata_piece *piece = &start->pieces[i];
		const struct node_about *node = &server->nodes[piece->node];
		const char *type = start->spec.gpu_type && node->conf.gpu_type ? node->conf.gpu_type
									       : NULL;

		texts[i] = strata_arena_printf(
			&server->scratch,
			"name=%s:tasks=%u:cpu_milli=%lld:memory_bytes=%lld:gpus=%d:gpu_milli=%lld%"
			"s%s",
			node->name, piece->tasks, (long long)piece->cpu_milli,
			(long long)piece->memory_bytes, __builtin_popcount(piece->gpu_mask),
			(long long)piece->gpu_milli, type ? ":gpu_type=" : "", type ? type : "");
		if (!texts[i])
			return strata_fail_memory(err);
	}
	start->order.places = (struct strata_list){ texts, start->piece_count };
	start->order.name = start->live->row.name;
	start->order.partition = find_partition(start);
	return 0;
}

static int make_order(struct start *start, struct strata_error *err)
{
	struct server *server = start->server;
	struct store_job *row = &start->live->row;
	struct strata_job_request request;
	int64_t mask = 022;
	int rc = submission_restore(server, row, &server->scratch, &start->spec, &request, err);

	if (rc == 0)
		rc = live_get_place(server, start->live, &server->scratch, &start->pieces,
				    &start->piece_count);
	if (rc)
		return rc;
	find_person(row, &start->person);
	job_spec_umask(start->spec.umask, &mask); /* it was checked when it was taken in */
	start->order = (struct exec_order){
		.job = row->id,
		.attempt = row->attempt,
		.epoch = (int64_t)server->epoch,
		.user = row->user,
		.uid = row->uid,
		.gid = row->gid,
		.umask = mask,
		.time_limit_ns = row->time_limit_ns,
		.grace_ns = server->conf->grace_ns,
		.checkpoint_signal = SIGUSR1,
		.checkpoint_asked = start->spec.checkpoint_ns > 0,
		.checkpoint_place = true,
		.token = job_token_make(server->job_key, row->id, row->attempt, start->token),
		.node = server->nodes[start->pieces[0].node].name,
		.checkpoint_dir = strata_arena_printf(&server->scratch, "%s/%lld",
						      server->conf->checkpoint_dir,
						      (long long)row->id),
	};
	for (uint32_t i = 0; i < start->piece_count;
	     i++) { /* the limits of all its nodes, which are one machine where limits are kept */
		start->order.cpu_milli += start->pieces[i].cpu_milli;
		start->order.memory_bytes += start->pieces[i].memory_bytes;
	}
	fill_signal(start);
	rc = fill_places(start, err);
	if (rc == 0)
		rc = fill_files(start, err);
	if (rc == 0)
		rc = fill_environment(start, err);
	return rc ? rc : fill_program(start, err);
}

void start_put_off(struct server *server, struct live *live, int64_t wait_ns, const char *kind,
		   const char *why)
{
	int64_t now_ns = server_now_ns(server);
	uint64_t id = (uint64_t)live->row.id;
	struct strata_job_change later = { .what = STRATA_CHANGE_BEGIN,
					   .begin_ns = now_ns + wait_ns };

	strata_cluster_ended(server->cluster, id, STRATA_OUTCOME_START_FAILED, now_ns, NULL);
	strata_cluster_change(server->cluster, id, &later, now_ns, NULL);
	batch_event(server, live->row.id, kind, json_pack("{s:s}", "error", why));
	live_set_place(server, live, NULL, 0);
	live_update(server, live);
}

/* The store is away, the disk is full, there is no room for one more file or process. */
static bool will_pass(int rc)
{
	return rc == -EAGAIN || rc == -ECONNREFUSED || rc == -ENOSPC || rc == -EDQUOT ||
	       rc == -EROFS || rc == -EIO || rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM ||
	       rc == -ESTALE;
}

/* The start was decided and is durable: now it is ordered. An order that cannot be carried out, now or later, fails the job. */
void start_order(struct server *server, struct live *live)
{
	struct start start = { .server = server, .live = live };
	struct strata_error err = { 0 };
	int rc = make_order(&start, &err);

	if (rc == 0)
		rc = server->exec->cls->start(server->exec, &start.order, &err);
	if (rc == -EEXIST)
		rc = server->exec->cls->adopt(
			server->exec,
			(struct exec_key){ (uint64_t)live->row.id, (uint32_t)live->row.attempt },
			&err);
	live->ordered = rc == 0;
	if (rc == 0)
		return;
	if (will_pass(rc)) {
		start_put_off(server, live, PUT_OFF_NS, "job.put_off", err.text);
		return;
	}
	batch_event(server, live->row.id, "job.start_failed",
		    json_pack("{s:s}", "error", err.text));
	strata_cluster_ended(server->cluster, (uint64_t)live->row.id, STRATA_OUTCOME_NOT_STARTED,
			     server_now_ns(server), NULL);
	live_set_place(server, live, NULL, 0);
	live_set_failure(server, live, err.text);
	live_update(server, live);
	live_ended(server, live, NULL);
}

/* Of the node it ran on only a job that has its place can tell. */
int start_output(const struct store_job *row, bool error, struct strata_arena *arena,
		 const char **ret_path, struct strata_error *err)
{
	struct job_spec spec;
	struct person person;
	json_t *place = row->place ? json_loads(row->place, 0, NULL) : NULL;
	const char *node = json_string_value(json_object_get(json_array_get(place, 0), "node"));
	int rc = job_spec_restore(row->spec, arena, &spec, err);
	const char *pattern = rc                    ? NULL
			      : error && spec.error ? spec.error
						    : output_pattern(row, &spec);

	if (pattern && !node && strstr(pattern, "%N"))
		rc = strata_fail(err, -ENOENT,
				 "its output is named after its node, which is not known any more");
	if (rc == 0) {
		find_person(row, &person);
		*ret_path = expand(row, pattern, spec.working_dir ? spec.working_dir : person.home,
				   node ? node : "", arena);
		rc = *ret_path ? 0 : strata_fail_memory(err);
	}
	json_decref(place);
	return rc;
}
