/*
 * A request beside the nodes there are. The service takes an impossible one and lets it wait;
 * Slurm's controller refuses unknown nodes, features and GPUs at once, in these sentences, and so
 * do we, before anything is sent. Of accounts, partitions and qualities of service the service
 * decides; with --test-only, where nothing is sent, they are looked up here.
 */
#include "cli/slurm/slurm_batch.h"
#include "cli/slurm/node_read.h"

#include <strata/slurm.h>

#include <inttypes.h>
#include <string.h>

#define NO_SUCH_NODE "Requested node configuration is not available"

/* One of the texts of a list. */
static bool has_text(const json_t *list, const char *text, size_t length)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *value = json_string_value(item);

		if (value && strlen(value) == length && memcmp(value, text, length) == 0)
			return true;
	}
	return false;
}

static bool any_node_has(const json_t *nodes, const char *key, const char *text, size_t length)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		if (has_text(json_object_get(node, key), text, length))
			return true;
	}
	return false;
}

static double most(const json_t *nodes, const char *key)
{
	const json_t *node;
	double largest = 0;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		double value = json_number_value(json_object_get(node, key));

		largest = value > largest ? value : largest;
	}
	return largest;
}

/* Names of features are what is between the operators of "a&b|[c*2]". */
static int check_features(struct batch *batch, const json_t *nodes)
{
	for (const char *at = batch->job.constraint; at && *at;) {
		size_t span = strcspn(at, "&|,()[]*");
		bool count = at[span] == '*';

		if (span && !any_node_has(nodes, "features", at, span)) {
			slurm_batch_note(batch, "no node has the feature %.*s", (int)span, at);
			return slurm_batch_refuse(batch, "Invalid feature specification");
		}
		at += span;
		at += strspn(at, "&|,()[]*");
		at += count ? strspn(at, "0123456789") : 0;
	}
	return 0;
}

static int check_names(struct batch *batch, const json_t *nodes, const char *list)
{
	const char **names;
	size_t count;

	if (!list)
		return 0;
	if (strata_hostlist_expand(list, STRATA_TEXT_NUL, &batch->cli->arena, &names, &count, NULL))
		return slurm_batch_refuse(batch, "Invalid node name specified");
	for (size_t k = 0; k < count; k++) {
		const json_t *node;
		size_t i;
		bool known = false;

		json_array_foreach(nodes, i, node)
		{
			known |= strcmp(grid_or(json_object_get(node, "name"), ""), names[k]) == 0;
		}
		if (!known) {
			slurm_batch_note(batch, "there is no node %.80s; `strata nodes` lists them",
					 names[k]);
			return slurm_batch_refuse(batch, "Invalid node name specified");
		}
	}
	return 0;
}

static int check_memory(struct batch *batch, const json_t *nodes)
{
	const struct strata_sbatch *job = &batch->job;
	double asked = job->mem_bytes > 0           ? (double)job->mem_bytes
		       : job->mem_per_cpu_bytes > 0 ? (double)job->mem_per_cpu_bytes
						    : 0;

	if (asked <= most(nodes, "memory_bytes"))
		return 0;
	slurm_error(batch->cli, batch->program, "Memory specification can not be satisfied");
	return slurm_batch_refuse(batch, NO_SUCH_NODE);
}

static int check_gpus(struct batch *batch, const json_t *nodes)
{
	const struct strata_sbatch *job = &batch->job;
	const struct strata_sbatch_gpus *const all[] = { &job->gpus_per_node, &job->gpus_per_task,
							 &job->gpus };
	double total = 0, largest = most(nodes, "gpus");
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		total += json_number_value(json_object_get(node, "gpus"));
	}
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		bool known = !all[k]->type;

		if (!all[k]->text || all[k]->count == 0)
			continue;
		json_array_foreach(nodes, i, node)
		{
			const char *type = grid_string(node, "gpu_type");

			known |= type && all[k]->type && strcmp(type, all[k]->type) == 0;
		}
		double there = all[k] == &job->gpus ? total : largest;

		if (!known)
			slurm_batch_note(
				batch,
				"no node has GPUs of the type %.80s; `strata gpus` lists them",
				all[k]->type);
		else if ((double)all[k]->count > there)
			slurm_batch_note(batch, "%s has %g GPUs, not %lld",
					 all[k] == &job->gpus ? "the cluster" : "the largest node",
					 there, (long long)all[k]->count);
		if (!known || (double)all[k]->count > there)
			return slurm_batch_refuse(batch, NO_SUCH_NODE);
	}
	return 0;
}

int slurm_fits_check(struct batch *batch)
{
	json_t *answer;
	int code = slurm_batch_take_own(batch);

	if (code)
		return code;
	if (service_list(batch->cli, "nodes", &answer))
		return slurm_batch_unreachable(batch);
	const json_t *nodes = json_object_get(answer, "nodes");

	if (batch->job.reservation)
		code = slurm_batch_refuse(batch, "Requested reservation is invalid");
	if (code == 0 && batch->job.licenses)
		code = slurm_batch_refuse(batch, "Invalid license specification");
	if (code == 0)
		code = check_names(batch, nodes, batch->job.nodelist);
	if (code == 0)
		code = check_names(batch, nodes, batch->job.exclude);
	if (code == 0)
		code = check_features(batch, nodes);
	if (code == 0)
		code = check_memory(batch, nodes);
	if (code == 0)
		code = check_gpus(batch, nodes);
	if (code == 0)
		code = slurm_shape_settle(batch);
	json_decref(answer);
	return code;
}

/* ---- --test-only ---- */

static double number(const json_t *node, const char *key)
{
	return json_number_value(json_object_get(node, key));
}

/* How many of the tasks a node has room for now; with `empty`, could have. */
static int64_t room(const struct batch *batch, const json_t *node, bool empty)
{
	const struct strata_sbatch *job = &batch->job;
	int64_t per_node = (job->tasks + job->nodes - 1) / job->nodes;
	double cpus = number(node, empty ? "cpus" : "cpus_free");
	double gpus = number(node, empty ? "gpus" : "gpus_free");
	double memory = number(node, empty ? "memory_bytes" : "memory_free_bytes");
	int64_t gpus_needed = job->gpus_per_node.count ? job->gpus_per_node.count
						       : job->gpus_total / job->nodes;
	const char *state = grid_string(node, "state");
	const char *partition = job->partition;

	if ((!empty && state && strcmp(state, "up") != 0) || gpus < (double)gpus_needed ||
	    (job->mem_bytes > 0 && memory < (double)job->mem_bytes) ||
	    (partition && json_array_size(json_object_get(node, "partitions")) &&
	     !has_text(json_object_get(node, "partitions"), partition, strlen(partition))))
		return 0;
	int64_t tasks = (int64_t)(cpus / (double)job->cpus_per_task);

	return tasks < per_node ? tasks : per_node;
}

/* The nodes that would be taken; false when there are too few. */
static bool choose(struct batch *batch, const json_t *nodes, bool empty, const char **ret_list)
{
	size_t total = json_array_size(nodes), count = 0;
	const char **names = strata_arena_array(&batch->cli->arena, total + 1, sizeof(*names));
	int64_t left = batch->job.tasks;
	const json_t *node;
	size_t i;

	if (!names)
		return false;
	json_array_foreach(nodes, i, node)
	{
		int64_t tasks = room(batch, node, empty);

		if (left <= 0 || tasks == 0)
			continue;
		names[count++] = grid_or(json_object_get(node, "name"), "?");
		left -= tasks;
	}
	return left <= 0 && (int64_t)count >= batch->job.nodes &&
	       strata_hostlist_compress(names, count, &batch->cli->arena, ret_list, NULL) == 0;
}

/* When the last of the jobs that run now will have ended at the latest; 0: none runs. */
static int64_t all_ended_ns(struct cli *cli)
{
	json_t *answer;
	const json_t *job;
	int64_t last_ns = 0;
	size_t i;

	if (service_list(cli, "queue", &answer))
		return 0;
	json_array_foreach(json_object_get(answer, "jobs"), i, job)
	{
		int64_t ns = when_json(job, "expected_end_at");

		last_ns = ns > last_ns ? ns : last_ns;
	}
	json_decref(answer);
	return last_ns;
}

static int64_t next_id(struct cli *cli)
{
	struct buf path;
	json_t *answer;
	int64_t id = 1;

	service_path(cli, &path, "jobs", NULL, "?limit=1");
	if (service_get(cli, &path, &answer) == 0) {
		id = 1 + grid_int(json_array_get(json_object_get(answer, "jobs"), 0), "id");
		json_decref(answer);
	}
	return id;
}

/* Is it one that somebody made? */
static int check_made(struct batch *batch, const char *collection, const char *field,
		      const char *name)
{
	json_t *answer;
	const json_t *row;
	size_t i, length = name ? strcspn(name, ",") : 0;
	bool made;

	if (!name)
		return 0;
	if (service_list(batch->cli, collection, &answer))
		return slurm_batch_unreachable(batch);
	made = strcmp(field, "partition") == 0 && strcmp(name, SLURM_ALL_PARTITION) == 0;
	json_array_foreach(json_object_get(answer, collection), i, row)
	{
		const char *known = grid_or(json_object_get(row, "name"), "");

		/* of a list the first is taken */
		made |= strlen(known) == length && strncmp(known, name, length) == 0;
	}
	json_decref(answer);
	return made ? 0 : slurm_batch_refuse_name(batch, field, name);
}

static int check_all_made(struct batch *batch)
{
	int code = check_made(batch, "partitions", "partition", batch->job.partition);

	if (code == 0)
		code = check_made(batch, "accounts", "account", batch->job.account);
	return code ? code : check_made(batch, "qos", "qos", batch->job.qos);
}

int slurm_fits_tell(struct batch *batch)
{
	struct cli *cli = batch->cli;
	int64_t at_ns = batch->job.begin_ns > batch->caller.now_ns ? batch->job.begin_ns
								   : batch->caller.now_ns;
	const char *partition = batch->job.partition, *list = "";
	char when[STRATA_FORM_BYTES];
	json_t *answer;

	int code = check_all_made(batch);

	if (code)
		return code;
	if (service_list(cli, "nodes", &answer))
		return slurm_batch_unreachable(batch);
	const json_t *nodes = json_object_get(answer, "nodes");
	bool now = choose(batch, nodes, false, &list);

	if (!now && !choose(batch, nodes, true, &list)) {
		json_decref(answer);
		slurm_error(cli, batch->program, "allocation failure: " NO_SUCH_NODE);
		return 1;
	}
	if (!now) {
		int64_t end_ns = all_ended_ns(cli);

		at_ns = end_ns > at_ns ? end_ns : at_ns;
	}
	if (!partition)
		partition = grid_or(
			json_array_get(json_object_get(json_array_get(nodes, 0), "partitions"), 0),
			SLURM_ALL_PARTITION);
	int64_t local_ns = at_ns + when_zone(at_ns) * STRATA_SECOND_NS;

	strata_time_print(local_ns - local_ns % STRATA_SECOND_NS, when);
	slurm_say(cli,
		  "%s: Job %" PRId64 " to start at %.19s using %" PRId64
		  " processors on nodes %s in partition %s",
		  batch->program, next_id(cli), when, batch->job.tasks * batch->job.cpus_per_task,
		  list, partition);
	json_decref(answer);
	return 0;
}
