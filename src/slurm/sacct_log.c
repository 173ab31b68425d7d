/* The reader of sacct_log.h: a row at a time into a row of the Standard Workload Format, names numbered in the order in which they come. */
#include "slurm/sacct_log.h"

#include "core/map.h"
#include "core/text.h"
#include "formats/swf_demand.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 256, NUMBER_BYTES = 40 };

enum column {
	ID,
	SUBMIT,
	START,
	END,
	LIMIT,
	STATE,
	CPUS,
	NODES,
	TRES,
	MEMORY,
	USER,
	ACCOUNT,
	PARTITION,
	COLUMN_COUNT,
};

/* The names of each, the preferred first. */
static const char *const names[COLUMN_COUNT][4] = {
	[ID] = { "JobIDRaw", "JobID" },
	[SUBMIT] = { "Submit" },
	[START] = { "Start" },
	[END] = { "End" },
	[LIMIT] = { "Timelimit", "TimelimitRaw" },
	[STATE] = { "State" },
	[CPUS] = { "AllocCPUS", "NCPUS", "ReqCPUS" },
	[NODES] = { "AllocNodes", "NNodes", "ReqNodes" },
	[TRES] = { "AllocTRES", "ReqTRES" },
	[MEMORY] = { "ReqMem" },
	[USER] = { "User", "UID" },
	[ACCOUNT] = { "Account" },
	[PARTITION] = { "Partition" },
};

struct field {
	const char *text;
	size_t length;
};

struct reader {
	struct strata_arena *arena;
	int at[COLUMN_COUNT]; /* which field of a line; -1: there is none */
	struct field fields[COLUMNS_MAX];
	size_t field_count;
	int64_t line;
	struct map_text users, accounts, partitions, demands; /* their numbers, from 1 */
	struct strata_swf_note *notes;
	size_t note_count, note_room;
};

/* ---- lines ---- */

static bool next_line(struct reader *reader, const char **at, const char *end)
{
	const char *text = *at;

	if (text >= end)
		return false;
	const char *stop = memchr(text, '\n', (size_t)(end - text));

	*at = stop ? stop + 1 : end;
	stop = stop ? stop : end;
	if (stop > text && stop[-1] == '\r')
		stop--;
	reader->line++;
	reader->field_count = 0;
	while (reader->field_count < COLUMNS_MAX) {
		const char *bar = memchr(text, '|', (size_t)(stop - text));
		struct field *field = &reader->fields[reader->field_count++];

		*field = (struct field){ text, (size_t)((bar ? bar : stop) - text) };
		if (!bar)
			break;
		text = bar + 1;
	}
	return true;
}

static struct field field_of(const struct reader *reader, enum column column)
{
	int at = reader->at[column];

	return at >= 0 && (size_t)at < reader->field_count ? reader->fields[at]
							   : (struct field){ "", 0 };
}

static int fail_field(const struct reader *reader, enum column column, const char *expected,
		      struct strata_error *err)
{
	struct field field = field_of(reader, column);
	char text[TEXT_EXCERPT_BYTES];

	return strata_fail(err, -EBADMSG, "line %" PRId64 ", %s is \"%s\"; expected %s",
			   reader->line, names[column][0],
			   text_excerpt(field.text, field.length, text), expected);
}

static bool is(struct field field, const char *word)
{
	return field.length == strlen(word) && memcmp(field.text, word, field.length) == 0;
}

/* ---- the header ---- */

static void find_columns(struct reader *reader)
{
	for (int column = 0; column < COLUMN_COUNT; column++) {
		reader->at[column] = -1;
		for (int which = 0; names[column][which] && reader->at[column] < 0; which++)
			for (size_t i = 0; i < reader->field_count; i++)
				if (text_same(reader->fields[i].text, reader->fields[i].length,
					      names[column][which]))
					reader->at[column] = (int)i;
	}
}

static int check_columns(const struct reader *reader, struct strata_error *err)
{
	static const enum column needed[] = { ID, SUBMIT, START, END, CPUS };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (reader->at[needed[i]] < 0)
			return strata_fail(err, -EBADMSG,
					   "line %" PRId64
					   " has no column %s; give it with sacct -P "
					   "-o …,%s",
					   reader->line, names[needed[i]][0], names[needed[i]][0]);
	return 0;
}

bool sacct_is(const char *text, size_t length)
{
	struct reader reader = { 0 };

	if (!next_line(&reader, &text, text + length) || reader.field_count < 2)
		return false;
	find_columns(&reader);
	return reader.at[ID] >= 0;
}

/* ---- values ---- */

/* "2026-11-15T18:59:40" or seconds; -1: "Unknown", "None", nothing. */
static int read_time(const struct reader *reader, enum column column, int64_t *ret_s,
		     struct strata_error *err)
{
	struct field field = field_of(reader, column);
	int64_t ns;

	*ret_s = -1;
	if (field.length == 0 || is(field, "Unknown") || is(field, "None") || is(field, "N/A"))
		return 0;
	if (strata_int_parse(field.text, field.length, 0, STRATA_TIME_NS_MAX / STRATA_SECOND_NS,
			     ret_s, NULL) == 0)
		return 0;
	if (strata_time_parse(field.text, field.length, STRATA_TIME_NO_NOW, 0, &ns, NULL))
		return fail_field(reader, column, "a time such as 2026-11-15T18:59:40", err);
	*ret_s = ns / STRATA_SECOND_NS;
	return 0;
}

/* "1-02:00:00"; minutes in the raw form; -1: no limit, or not known. */
static int read_limit(const struct reader *reader, int64_t *ret_s, struct strata_error *err)
{
	struct field field = field_of(reader, LIMIT);
	int64_t ns;

	*ret_s = -1;
	if (field.length == 0 || is(field, "UNLIMITED") || is(field, "Partition_Limit") ||
	    is(field, "INVALID"))
		return 0;
	if (strata_duration_parse(field.text, field.length, STRATA_MINUTE_NS, 0, &ns, NULL))
		return fail_field(reader, LIMIT, "a time such as 1-02:00:00", err);
	*ret_s = (ns + STRATA_SECOND_NS - 1) / STRATA_SECOND_NS;
	return 0;
}

static int read_count(const struct reader *reader, enum column column, int64_t *ret_count,
		      struct strata_error *err)
{
	struct field field = field_of(reader, column);

	*ret_count = 0;
	if (field.length == 0)
		return 0;
	return strata_int_parse(field.text, field.length, 0, INT32_MAX, ret_count, NULL)
		       ? fail_field(reader, column, "a whole number", err)
		       : 0;
}

/* What AllocTRES says: "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=1". */
struct tres {
	int64_t gpus, memory_mib;
	struct field type; /* of the GPUs; empty: not said */
};

static int read_tres(const struct reader *reader, struct tres *ret_tres, struct strata_error *err)
{
	static const char gpu[] = "gres/gpu";
	struct field field = field_of(reader, TRES);
	struct tres tres = { 0 };
	int64_t typed = 0;

	for (const char *at = field.text, *end = at + field.length; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;
		const char *equals = memchr(at, '=', (size_t)(stop - at));
		size_t name = equals ? (size_t)(equals - at) : 0;
		size_t value = equals ? (size_t)(stop - equals - 1) : 0;
		int64_t number = 0;
		int rc = 0;

		if (name >= strlen(gpu) && memcmp(at, gpu, strlen(gpu)) == 0) {
			rc = strata_int_parse(equals + 1, value, 0, 1 << 20, &number, NULL);
			if (name == strlen(gpu)) {
				tres.gpus = number;
			} else if (at[strlen(gpu)] == ':') {
				typed += number;
				tres.type = (struct field){ at + strlen(gpu) + 1,
							    name - strlen(gpu) - 1 };
			}
		} else if (name == 3 && memcmp(at, "mem", 3) == 0) {
			rc = strata_size_parse(equals + 1, value, 1 << 20, 0, &number, NULL);
			tres.memory_mib = (number >> 20) + (number % (1 << 20) != 0);
		}
		if (rc)
			return fail_field(reader, TRES, "cpu=8,mem=16G,node=1,gres/gpu=2", err);
		at = comma ? comma + 1 : end;
	}
	tres.gpus = tres.gpus ? tres.gpus : typed;
	*ret_tres = tres;
	return 0;
}

static int64_t status_of(struct field state)
{
	if (is(state, "COMPLETED"))
		return 1;
	return state.length >= 9 && memcmp(state.text, "CANCELLED", 9) == 0 ? 5 : 0;
}

/* "17", "17_3"; the raw form has numbers only. A step, "17.batch", "17+0.extern", is none. */
static bool read_number(const struct reader *reader, int64_t *ret_number)
{
	struct field field = field_of(reader, ID);
	size_t digits = 0;

	while (digits < field.length && field.text[digits] >= '0' && field.text[digits] <= '9')
		digits++;
	if (digits == 0 || memchr(field.text, '.', field.length))
		return false;
	return strata_int_parse(field.text, digits, 0, INT64_MAX, ret_number, NULL) == 0;
}

/* ---- numbers for names ---- */

static int number_name(struct map_text *map, struct field name, int64_t *ret_number,
		       struct strata_error *err)
{
	uintptr_t number = (uintptr_t)map_text_get(map, name.text, name.length);

	*ret_number = -1;
	if (name.length == 0)
		return 0;
	if (!number) {
		number = map->count + 1;
		if (map_text_put(map, name.text, name.length, (void *)number, NULL))
			return strata_fail_memory(err);
	}
	*ret_number = (int64_t)number;
	return 0;
}

static int add_note(struct reader *reader, struct strata_swf_note note, struct strata_error *err)
{
	if (reader->note_count == reader->note_room) {
		size_t room = reader->note_room ? 2 * reader->note_room : 64;
		struct strata_swf_note *more =
			strata_arena_array(reader->arena, room, sizeof(*more));

		if (!more)
			return strata_fail_memory(err);
		if (reader->note_count)
			memcpy(more, reader->notes, reader->note_count * sizeof(*more));
		reader->notes = more;
		reader->note_room = room;
	}
	if (reader->note_count == STRATA_SWF_NOTES_MAX)
		return strata_fail(err, -E2BIG, "its jobs ask for more than %d different things",
				   STRATA_SWF_NOTES_MAX);
	reader->notes[reader->note_count++] = note;
	return 0;
}

/* Jobs that had the same on each node are one executable. */
static int number_demand(struct reader *reader, int64_t cpus, struct strata_swf_job *job,
			 struct strata_error *err)
{
	struct swf_demand demand = { .gpu_milli = SWF_DEMAND_GPU_MILLI, .gpu_models = "" };
	struct strata_swf_note note;
	struct tres tres = { 0 };
	int64_t nodes;
	int rc = read_count(reader, NODES, &nodes, err);

	if (rc == 0)
		rc = read_tres(reader, &tres, err);
	if (rc)
		return rc;
	demand.nodes = nodes > 1 ? nodes : 1;
	demand.nodes = demand.nodes < 1 << 20 ? demand.nodes : 1 << 20;
	demand.gpus = (tres.gpus + demand.nodes - 1) / demand.nodes;
	demand.gpus = demand.gpus < 1024 ? demand.gpus : 1024;
	demand.cpu_milli = (cpus + demand.nodes - 1) / demand.nodes * 1000;
	demand.cpu_milli = demand.cpu_milli < 1000000000 ? demand.cpu_milli : 1000000000;
	demand.memory_mib = (tres.memory_mib + demand.nodes - 1) / demand.nodes;
	demand.memory_mib = demand.memory_mib < SWF_DEMAND_MEMORY_MIB_MAX
				    ? demand.memory_mib
				    : SWF_DEMAND_MEMORY_MIB_MAX;
	if (tres.type.length)
		demand.gpu_models =
			strata_arena_text(reader->arena, tres.type.text, tres.type.length);
	rc = demand.gpu_models ? swf_demand_note(&demand, reader->arena, &note, err)
			       : strata_fail_memory(err);
	if (rc == -EBADMSG)
		return fail_field(reader, TRES, "a GPU type of printable characters", err);
	if (rc)
		return rc;
	struct field text = { note.value, strlen(note.value) };
	size_t before = reader->demands.count;

	rc = number_name(&reader->demands, text, &job->executable, err);
	if (rc || reader->demands.count == before)
		return rc;
	demand.executable = job->executable;
	rc = swf_demand_note(&demand, reader->arena, &note, err);
	return rc ? rc : add_note(reader, note, err);
}

/* ---- jobs ---- */

/* ret_kept: it is one, and it ran. */
static int read_job(struct reader *reader, struct strata_swf_job *job, bool *ret_kept,
		    struct strata_error *err)
{
	int64_t start_s, end_s, cpus;
	int rc = read_time(reader, SUBMIT, &job->submit_s, err);

	if (rc == 0)
		rc = read_time(reader, START, &start_s, err);
	if (rc == 0)
		rc = read_time(reader, END, &end_s, err);
	if (rc == 0)
		rc = read_count(reader, CPUS, &cpus, err);
	if (rc == 0)
		rc = read_limit(reader, &job->requested_s, err);
	*ret_kept = false;
	if (rc || job->submit_s < 0 || start_s < job->submit_s || end_s < start_s || cpus < 1)
		return rc;
	job->wait_s = start_s - job->submit_s;
	job->run_s = end_s > start_s ? end_s - start_s : 1;
	job->procs_used = job->procs_requested = cpus;
	job->cpu_s = job->memory_kb = job->requested_memory_kb = -1;
	job->status = status_of(field_of(reader, STATE));
	job->queue = job->preceding = job->think_s = -1;
	job->line = reader->line;
	rc = number_name(&reader->users, field_of(reader, USER), &job->user, err);
	if (rc == 0)
		rc = number_name(&reader->accounts, field_of(reader, ACCOUNT), &job->group, err);
	if (rc == 0)
		rc = number_name(&reader->partitions, field_of(reader, PARTITION), &job->partition,
				 err);
	*ret_kept = rc == 0;
	return rc ? rc : number_demand(reader, cpus, job, err);
}

static int read_jobs(struct reader *reader, const char *at, const char *end, struct strata_swf *swf,
		     size_t *ret_left_out, struct strata_error *err)
{
	size_t room = 0;
	int rc = 0;

	for (const char *line = at; line < end; line++)
		room += *line == '\n';
	if (room >= STRATA_SWF_JOBS_MAX)
		return strata_fail(err, -E2BIG, "more than %d lines", STRATA_SWF_JOBS_MAX);
	swf->jobs = strata_arena_array(reader->arena, room + 1, sizeof(*swf->jobs));
	if (!swf->jobs)
		return strata_fail_memory(err);
	while (rc == 0 && next_line(reader, &at, end)) {
		struct strata_swf_job job = { 0 };
		bool kept;

		if (!read_number(reader, &job.number))
			continue; /* a step, an empty line */
		rc = read_job(reader, &job, &kept, err);
		if (rc == 0 && kept)
			swf->jobs[swf->job_count++] = job;
		else
			*ret_left_out += 1;
	}
	return rc;
}

/* Times count from the first submission: simulators add them up. */
static int finish(struct reader *reader, struct strata_swf *swf, struct strata_error *err)
{
	int64_t first_s = INT64_MAX;
	char *text = strata_arena_get(reader->arena, NUMBER_BYTES);

	for (size_t i = 0; i < swf->job_count; i++)
		first_s = swf->jobs[i].submit_s < first_s ? swf->jobs[i].submit_s : first_s;
	for (size_t i = 0; i < swf->job_count; i++)
		swf->jobs[i].submit_s -= first_s;
	if (!text)
		return strata_fail_memory(err);
	if (swf->job_count)
		snprintf(text, NUMBER_BYTES, "%" PRId64, first_s);
	int rc = swf->job_count ? add_note(reader,
					   (struct strata_swf_note){ .key = "UnixStartTime",
								     .value = text },
					   err)
				: 0;

	swf->notes = reader->notes;
	swf->note_count = reader->note_count;
	return rc;
}

int sacct_read(const char *text, size_t length, struct strata_arena *arena,
	       struct strata_swf *ret_swf, size_t *ret_left_out, struct strata_error *err)
{
	struct reader reader = { .arena = arena };
	const char *at = text, *end = text + length;
	struct strata_swf swf = { 0 };
	size_t left_out = 0;

	if (!next_line(&reader, &at, end))
		return strata_fail(err, -EBADMSG, "there is no line of names");
	map_text_init(&reader.users, arena->memory);
	map_text_init(&reader.accounts, arena->memory);
	map_text_init(&reader.partitions, arena->memory);
	map_text_init(&reader.demands, arena->memory);
	find_columns(&reader);
	int rc = check_columns(&reader, err);

	if (rc == 0)
		rc = read_jobs(&reader, at, end, &swf, &left_out, err);
	if (rc == 0)
		rc = finish(&reader, &swf, err);
	map_text_fini(&reader.users);
	map_text_fini(&reader.accounts);
	map_text_fini(&reader.partitions);
	map_text_fini(&reader.demands);
	if (rc)
		return rc;
	*ret_swf = swf;
	if (ret_left_out)
		*ret_left_out = left_out;
	return 0;
}
