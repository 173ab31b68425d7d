/* Jobs as rows of a log: see job_log.h. Times are cut to whole seconds, as the format has them; a run counts as at least one. */
#include "client/job_log.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void history_init(struct history *history, struct strata_memory *memory, struct strata_arena *arena)
{
	*history = (struct history){ .memory = memory, .arena = arena };
	map_text_init(&history->users, memory);
	map_text_init(&history->accounts, memory);
	map_text_init(&history->partitions, memory);
	map_text_init(&history->demands, memory);
}

void history_fini(struct history *history)
{
	map_text_fini(&history->users);
	map_text_fini(&history->accounts);
	map_text_fini(&history->partitions);
	map_text_fini(&history->demands);
	strata_memory_put(history->memory, history->jobs, history->room * sizeof(*history->jobs));
	strata_memory_put(history->memory, history->notes,
			  history->note_room * sizeof(*history->notes));
}

/* ---- parts of a job ---- */

/* Nanoseconds since 1970; -1: null. */
static int64_t time_of(const json_t *job, const char *key)
{
	const char *text = json_string_value(json_object_get(job, key));
	int64_t ns;

	return text && strata_time_parse(text, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &ns, NULL) ==
				       0
		       ? ns
		       : -1;
}

static int64_t number_of(const json_t *job, const char *key)
{
	return (int64_t)json_number_value(json_object_get(job, key));
}

/* The number of a name, from 1; a new name gets the next. -1: it has none. */
static int number_name(struct map_text *names, const json_t *job, const char *key,
		       int64_t *ret_number)
{
	const char *name = json_string_value(json_object_get(job, key));
	uintptr_t number;

	*ret_number = -1;
	if (!name)
		return 0;
	number = (uintptr_t)map_text_get(names, name, strlen(name));
	if (!number) {
		number = names->count + 1;
		int rc = map_text_put(names, name, strlen(name), (void *)number, NULL);

		if (rc)
			return rc;
	}
	*ret_number = (int64_t)number;
	return 0;
}

static int64_t status_of(const char *state)
{
	return !state                            ? -1
	       : strcmp(state, "completed") == 0 ? 1
	       : strcmp(state, "cancelled") == 0 ? 5
						 : 0;
}

/* Low, normal and high are queues 1, 2 and 3. */
static int64_t queue_of(const char *band)
{
	return !band ? 2 : strcmp(band, "low") == 0 ? 1 : strcmp(band, "high") == 0 ? 3 : 2;
}

/* Where it ran is not known any more, but how many nodes it takes: those it asked for, or what its GPUs make necessary. */
static int64_t nodes_of(const struct history *history, const json_t *job)
{
	int64_t nodes = number_of(job, "nodes"), gpus = number_of(job, "gpus");
	int64_t most = history->gpus_max;

	if (nodes > 1)
		return nodes;
	nodes = most > 0 && gpus > most ? (gpus + most - 1) / most : 1;
	while (gpus % nodes) /* as the service spreads them */
		nodes++;
	return nodes;
}

/* What it had on each of its nodes. */
static struct swf_demand demand_of(const struct history *history, const json_t *job)
{
	int64_t nodes = nodes_of(history, job);
	double share = json_number_value(json_object_get(job, "gpu_share"));
	const char *type = json_string_value(json_object_get(job, "gpu_type"));
	struct swf_demand demand = {
		.nodes = nodes,
		.gpus = (number_of(job, "gpus") + nodes - 1) / nodes,
		.gpu_milli = SWF_DEMAND_GPU_MILLI,
		.cpu_milli = (number_of(job, "cpus") * 1000 + nodes - 1) / nodes,
		.memory_mib = (number_of(job, "memory_bytes") / nodes + (1 << 20) - 1) >> 20,
		.gpu_models = type ? type : "",
	};

	if (share > 0 && nodes == 1 && demand.gpus == 1)
		demand.gpu_milli = (int64_t)(share * SWF_DEMAND_GPU_MILLI + 0.5);
	return demand;
}

static bool grow(struct history *history, void **block, size_t *room, size_t count, size_t size)
{
	if (count < *room)
		return true;
	size_t more = *room ? 2 * *room : 256;
	void *grown = strata_memory_resize(history->memory, *block, *room * size, more * size);

	if (!grown)
		return false;
	*block = grown;
	*room = more;
	return true;
}

/* Jobs that ask for the same are one executable. */
static int number_demand(struct history *history, const json_t *job, int64_t *ret_number,
			 struct strata_error *err)
{
	struct swf_demand demand = demand_of(history, job);
	struct strata_swf_note note;
	int rc = swf_demand_note(&demand, history->arena, &note, err);

	if (rc)
		return rc;
	uintptr_t number =
		(uintptr_t)map_text_get(&history->demands, note.value, strlen(note.value));

	if (!number) {
		number = history->demands.count + 1;
		if (map_text_put(&history->demands, note.value, strlen(note.value), (void *)number,
				 NULL) ||
		    !grow(history, (void **)&history->notes, &history->note_room,
			  history->note_count, sizeof(*history->notes)))
			return strata_fail_memory(err);
		demand.executable = (int64_t)number;
		rc = swf_demand_note(&demand, history->arena, &history->notes[history->note_count],
				     err);
		history->note_count += rc == 0;
	}
	*ret_number = (int64_t)number;
	return rc;
}

int history_add(struct history *history, const json_t *job, struct strata_error *err)
{
	int64_t submitted_ns = time_of(job, "submitted_at"),
		started_ns = time_of(job, "started_at");
	int64_t ended_ns = time_of(job, "ended_at"), cpus = number_of(job, "cpus");
	struct strata_swf_job row = { .number = number_of(job, "id") };
	int rc;

	if (row.number < 1 || submitted_ns < 0)
		return strata_fail(err, -EBADMSG, "the history has a job without an id or a time");
	if (started_ns < submitted_ns || ended_ns < started_ns) {
		history->left_out++;
		return 0;
	}
	row.submit_s = submitted_ns / STRATA_SECOND_NS;
	row.wait_s = started_ns / STRATA_SECOND_NS - row.submit_s;
	row.run_s = (ended_ns - started_ns + STRATA_SECOND_NS - 1) / STRATA_SECOND_NS;
	row.run_s += row.run_s == 0;
	row.procs_used = row.procs_requested = cpus > 0 ? cpus : 1;
	row.cpu_s = row.memory_kb = -1;
	row.requested_s = number_of(job, "time_limit_s");
	row.requested_memory_kb = -1;
	row.status = status_of(json_string_value(json_object_get(job, "state")));
	row.queue = queue_of(json_string_value(json_object_get(job, "priority")));
	row.preceding = row.think_s = -1;
	if (number_name(&history->users, job, "user", &row.user) ||
	    number_name(&history->accounts, job, "account", &row.group) ||
	    number_name(&history->partitions, job, "partition", &row.partition) ||
	    !grow(history, (void **)&history->jobs, &history->room, history->count,
		  sizeof(*history->jobs)))
		return strata_fail_memory(err);
	rc = number_demand(history, job, &row.executable, err);
	if (rc == 0)
		history->jobs[history->count++] = row;
	return rc;
}

/* ---- the log ---- */

static int by_submission(const void *a_any, const void *b_any)
{
	const struct strata_swf_job *a = a_any, *b = b_any;

	return a->submit_s != b->submit_s ? (a->submit_s < b->submit_s ? -1 : 1)
	       : a->number != b->number   ? (a->number < b->number ? -1 : 1)
					  : 0;
}

/* The header while it is written; a NULL value is lack of memory, found at the end. */
struct header {
	struct strata_arena *arena;
	struct strata_swf_note *notes;
	size_t count;
	bool failed;
};

static void add_note(struct header *header, const char *key, const char *value)
{
	header->failed |= !value;
	header->notes[header->count++] = (struct strata_swf_note){ .key = key, .value = value };
}

static void add_number(struct header *header, const char *key, int64_t value)
{
	add_note(header, key, strata_arena_printf(header->arena, "%" PRId64, value));
}

static void add_names(struct header *header, const char *key, const struct map_text *names)
{
	const struct map_text_entry *entry = NULL;
	size_t number = 0;

	while ((entry = map_text_next(names, entry)))
		add_note(header, key,
			 strata_arena_printf(header->arena, "%zu %s", ++number, entry->key));
}

static void fill_header(struct header *header, const struct history *history, int64_t first_s,
			const struct openb_node *nodes, size_t node_count)
{
	int64_t cpu_milli = 0;

	for (size_t i = 0; i < node_count; i++)
		cpu_milli += nodes[i].cpu_milli;
	add_note(header, "Version", "2.2");
	add_note(header, "Computer", "a cluster of Strata");
	add_note(header, "Note", "processors are CPUs; Demand says what a job had on each node");
	add_number(header, "UnixStartTime", first_s);
	add_note(header, "TimeZoneString", "UTC");
	add_number(header, "MaxJobs", (int64_t)history->count);
	add_number(header, "MaxRecords", (int64_t)history->count);
	add_number(header, "MaxNodes", (int64_t)node_count);
	add_number(header, "MaxProcs", cpu_milli / 1000);
	add_note(header, "Queue", "1 low");
	add_note(header, "Queue", "2 normal");
	add_note(header, "Queue", "3 high");
	add_names(header, "User", &history->users);
	add_names(header, "Group", &history->accounts);
	add_names(header, "Partition", &history->partitions);
	memcpy(header->notes + header->count, history->notes,
	       history->note_count * sizeof(*history->notes));
	header->count += history->note_count;
}

int history_finish(struct history *history, const struct openb_node *nodes, size_t node_count,
		   struct strata_swf *ret_swf, struct strata_error *err)
{
	enum { FIXED_NOTES = 16 };
	size_t count = history->count;
	struct strata_swf_job *jobs = strata_arena_array(history->arena, count, sizeof(*jobs));
	struct header header = { .arena = history->arena };
	int64_t first_s = 0;

	header.notes = strata_arena_array(history->arena,
					  FIXED_NOTES + history->users.count +
						  history->accounts.count +
						  history->partitions.count + history->note_count,
					  sizeof(*header.notes));
	if (!jobs || !header.notes)
		return strata_fail_memory(err);
	if (count) {
		memcpy(jobs, history->jobs, count * sizeof(*jobs));
		qsort(jobs, count, sizeof(*jobs), by_submission);
		first_s = jobs[0].submit_s;
	}
	for (size_t i = 0; i < count; i++)
		jobs[i].submit_s -= first_s;
	fill_header(&header, history, first_s, nodes, node_count);
	if (header.failed)
		return strata_fail_memory(err);
	*ret_swf = (struct strata_swf){
		.notes = header.notes, .note_count = header.count, .jobs = jobs, .job_count = count
	};
	return 0;
}

int history_nodes(const json_t *answer, struct strata_arena *arena, struct openb_node **ret_nodes,
		  size_t *ret_count, struct strata_error *err)
{
	const json_t *list = json_object_get(answer, "nodes");
	size_t count = json_array_size(list);
	struct openb_node *nodes = strata_arena_array(arena, count, sizeof(*nodes));

	if (!nodes)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(row, "name"));
		const char *type = json_string_value(json_object_get(row, "gpu_type"));

		nodes[i] = (struct openb_node){
			.name = strata_arena_printf(arena, "%s", name ? name : "?"),
			.gpu_model = strata_arena_printf(arena, "%s", type ? type : ""),
			.cpu_milli =
				(int64_t)(json_number_value(json_object_get(row, "cpus")) * 1000),
			.memory_mib = number_of(row, "memory_bytes") >> 20,
			.gpu_count = number_of(row, "gpus"),
		};
		if (!nodes[i].name || !nodes[i].gpu_model)
			return strata_fail_memory(err);
	}
	*ret_nodes = nodes;
	*ret_count = count;
	return 0;
}
