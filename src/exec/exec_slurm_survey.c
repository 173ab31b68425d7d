/* What others run on the cluster, and how its nodes are: told when it has changed. */
#include "exec/slurm_attempt.h"

#include "exec/leader.h"

#include "core/buf.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- others, and the nodes ---- */

static bool is_ours(const struct slurm *slurm, int64_t id)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&slurm->followed, entry)))
		if (((const struct followed *)entry->value)->id == id)
			return true;
	return false;
}

/* Whatever is neither waiting nor ended has its place. */
static bool is_taken(const struct slurm *slurm, const struct slurm_row *row)
{
	return row->state != SLURM_PENDING && row->state != SLURM_HELD &&
	       !slurm_state_ended(row->state) && !is_ours(slurm, row->id);
}

static int fill_taken(struct exec_news *news, const struct slurm_row *rows, size_t count,
		      const char *details, const bool *taken, struct exec_survey *survey,
		      struct strata_error *err)
{
	struct exec_taken *list = strata_arena_array(&news->arena, count, sizeof(*list));
	int rc = list ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct exec_taken *at = &list[survey->taken_count];

		if (!taken[i])
			continue;
		rc = slurm_read_parts(details, rows[i].id, &news->arena, &at->parts,
				      &at->part_count, err);
		at->name = strata_arena_printf(&news->arena, "slurm.%" PRId64, rows[i].id);
		at->user = strata_arena_text(&news->arena, rows[i].user, strlen(rows[i].user));
		at->begin_ns = rows[i].started_ns;
		at->end_ns = rows[i].ended_ns;
		if (rc == 0 && (!at->name || !at->user))
			rc = strata_fail_memory(err);
		survey->taken_count += at->part_count > 0;
	}
	survey->taken = list;
	return rc;
}

/* What a survey is made from, to see whether there is something to tell. */
static char *survey_text(const char *states, const struct slurm_row *rows, size_t count,
			 const bool *taken)
{
	struct strata_memory memory = { 0 };
	struct buf buf;
	char *text;

	buf_init(&buf, &memory, 0);
	buf_add(&buf, states);
	for (size_t i = 0; i < count; i++)
		if (taken[i])
			buf_printf(&buf, "%" PRId64 " %" PRId64 "\n", rows[i].id, rows[i].ended_ns);
	text = buf.failed ? NULL : strdup(buf.text);
	buf_fini(&buf);
	return text;
}

static int tell_survey(struct slurm *slurm, const char *states, const struct slurm_row *rows,
		       size_t count, const bool *taken, struct strata_error *err)
{
	static const char *const words[] = { "scontrol", "-o", "-d", "show", "job", NULL };
	struct slurm_answer answer = { .text = "" };
	struct exec_news *news = exec_news_new(EXEC_SURVEY, (struct exec_key){ 0 });
	struct exec_survey *survey = news ? strata_arena_get(&news->arena, sizeof(*survey)) : NULL;
	struct exec_node *nodes;
	bool any = false;
	int rc = survey ? 0 : strata_fail_memory(err);

	for (size_t i = 0; i < count; i++)
		any = any || taken[i];
	if (rc == 0 && any)
		rc = slurm_call(slurm, words, &answer, err);
	if (rc == 0)
		rc = slurm_read_states(states, &news->arena, &nodes, &survey->node_count, err);
	if (rc == 0) {
		survey->nodes = nodes;
		rc = fill_taken(news, rows, count, answer.text, taken, survey, err);
	}
	if (rc == 0) {
		news->event.survey = survey;
		exec_queue_tell(&slurm->queue, news);
	} else {
		exec_news_drop(news);
	}
	return rc;
}

int slurm_survey(struct slurm *slurm, const struct slurm_row *rows, size_t count,
		 struct strata_error *err)
{
	static const char *const words[] = { "sinfo",           "-h", "-N", "-a", "-O",
					     slurm_node_fields, NULL };
	bool *taken = strata_arena_array(&slurm->scratch, count + 1, sizeof(*taken));
	struct slurm_answer answer;
	int rc = taken ? slurm_call(slurm, words, &answer, err) : strata_fail_memory(err);

	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++)
		taken[i] = is_taken(slurm, &rows[i]);
	char *text = survey_text(answer.text, rows, count, taken);

	if (!text)
		return strata_fail_memory(err);
	if (!slurm->told || strcmp(slurm->told, text) != 0)
		rc = tell_survey(slurm, answer.text, rows, count, taken, err);
	if (rc == 0) {
		free(slurm->told);
		slurm->told = text;
	} else {
		free(text);
	}
	return rc;
}
