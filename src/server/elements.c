/* Choosing elements of arrays; see elements.h. */
#include "server/elements.h"

#include "server/api_jobs.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

struct query {
	const char *elements;
};

static const struct strata_option query_options[] = {
	{ "elements", STRATA_TEXT, offsetof(struct query, elements),
	  .text = { NULL, STRATA_SLURM_VALUE_BYTES_MAX },
	  .help = "of the array of this number: 3-9,12 or all; all of a job that is no array is "
		  "the job" },
	{ 0 }
};
const struct strata_schema elements_query = { "the query", NULL, sizeof(struct query),
					      query_options };

bool elements_read(struct request *request, struct elements *ret_elements)
{
	const struct query *query = request->query;
	const char *text = query->elements;
	struct elements elements = { .array = text != NULL };
	struct strata_error err = { 0 };
	int rc = 0;

	if (text && strcmp(text, "all") != 0) {
		rc = strata_array_parse(text, STRATA_TEXT_NUL, &request->arena, &elements.indexes,
					&err);
		if (rc == 0 && elements.indexes.limit)
			rc = strata_fail(&err, -EINVAL,
					 "elements have no %%: expected 3-9,12 or all");
	}
	if (rc) {
		strata_fail_under(&err, rc, "elements");
		request_fail(request, rc, &err);
		return false;
	}
	*ret_elements = elements;
	return true;
}

/* ---- parts ---- */

struct choice {
	struct decider *decider;
	struct request *request;
	const struct strata_array *indexes; /* task_count 0: all */
	struct chosen chosen;
	size_t room;
	bool ended;     /* some that are meant have */
	bool no_memory; /* for the list */
};

static void add_part(struct choice *choice, const struct live *live, int64_t first, int64_t last)
{
	struct chosen *chosen = &choice->chosen;

	if (chosen->count == choice->room) {
		size_t room = choice->room ? 2 * choice->room : 16;
		struct part *parts =
			strata_arena_array(&choice->request->arena, room, sizeof(*parts));

		if (!parts) {
			choice->no_memory = true;
			return;
		}
		if (chosen->count)
			memcpy(parts, chosen->parts, chosen->count * sizeof(*parts));
		chosen->parts = parts;
		choice->room = room;
	}
	chosen->parts[chosen->count++] = (struct part){ live, first, last };
}

static bool is_meant(const struct choice *choice, int64_t index)
{
	return strata_array_next(choice->indexes, index - 1) == index;
}

/* Those elements of a live object that are meant, as few parts as they are. */
static void add_parts(struct choice *choice, const struct live *live)
{
	int64_t id = job_first_id(&live->job), last = live->job.id;
	int64_t index = live->job.array_index - (last - id) * live->job.index_step;

	while (id <= last) {
		int64_t first = id;

		if (choice->indexes->task_count == 0)
			id = last + 1;
		for (; id <= last && is_meant(choice, index); id++)
			index += live->job.index_step;
		if (id > first && live->job.completed_ns)
			choice->ended = true;
		else if (id > first)
			add_part(choice, live, first, id - 1);
		for (; id <= last && !is_meant(choice, index); id++)
			index += live->job.index_step;
	}
}

/* ---- the request ---- */

/* There is nothing to choose from. */
static struct chosen refuse(struct choice *choice, int64_t array)
{
	struct strata_error err = { 0 };
	int rc;

	if (choice->no_memory)
		rc = strata_fail_memory(&err);
	else if (choice->ended)
		rc = strata_fail(&err, -ESTALE,
				 "all elements of array %lld that are meant have "
				 "ended",
				 (long long)array);
	else
		rc = strata_fail_at(&err, -ENOENT, "elements",
				    "array %lld has no such element that is live",
				    (long long)array);
	request_fail(choice->request, rc, &err);
	return (struct chosen){ 0 };
}

static struct chosen choose_job(struct choice *choice)
{
	const struct live *live = api_job_look_live(choice->decider, choice->request, true);

	if (live)
		add_part(choice, live, live->job.id, live->job.id);
	return choice->no_memory ? refuse(choice, 0) : choice->chosen;
}

struct chosen elements_choose(struct decider *decider, struct request *request,
			      const struct elements *elements)
{
	struct choice choice = { .decider = decider,
				 .request = request,
				 .indexes = &elements->indexes };
	const char *id = request->segments[0];
	const struct live *named = elements->array ? live_find(decider, id) : NULL;
	int64_t array = named ? named->job.id : 0;

	if (!named) /* the first of them may have been forgotten */
		strata_int_parse(id, STRATA_TEXT_NUL, 1, INT64_MAX, &array, NULL);
	/* what is no number is no array: 0 is the array of jobs that are in none */
	const struct live *live = elements->array && array > 0 ? live_from(decider, array) : NULL;

	if (!live || live->job.array_id != array) {
		if (!elements->array || elements->indexes.task_count == 0)
			return choose_job(&choice);
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "there is no live array %.40s", id);
		return (struct chosen){ 0 };
	}
	for (; live && live->job.array_id == array; live = live_next(live)) {
		if (!api_job_may(request, &live->job))
			return (struct chosen){ 0 };
		add_parts(&choice, live);
	}
	if (choice.no_memory || choice.chosen.count == 0)
		return refuse(&choice, array);
	choice.chosen.array = array;
	return choice.chosen;
}

/* ---- what is said of them ---- */

void notice_flush(struct decider *decider, struct notice *notice)
{
	if (notice->last > notice->first)
		json_object_set_new(notice->about, "jobs",
				    json_integer(notice->last - notice->first + 1));
	if (notice->first)
		batch_event(decider, notice->first, notice->kind, notice->about);
	*notice = (struct notice){ 0 };
}

void notice_add(struct decider *decider, struct notice *notice, const struct live *live,
		const char *kind, json_t *about)
{
	int64_t first = job_first_id(&live->job);

	if (notice->first && first == notice->last + 1 && strcmp(kind, notice->kind) == 0 &&
	    json_equal(about, notice->about)) {
		json_decref(about);
	} else {
		notice_flush(decider, notice);
		*notice = (struct notice){ .first = first, .kind = kind, .about = about };
	}
	notice->last = live->job.id;
}

void tally_add(struct tally *tally, const struct part *part)
{
	if (tally->jobs == 0)
		tally->first = part->first;
	tally->jobs += part->last - part->first + 1;
}

int part_refuse_ended(const struct part *part, struct strata_error *err)
{
	return part->live->job.completed_ns
		       ? strata_fail(err, -ESTALE, "job %lld has ended (%s)",
				     (long long)part->first,
				     strata_job_state_name(part->live->job.state))
		       : 0;
}
