/*
 * The sentences of victims_text.h. Whether a job may be stopped for another one is decided by
 * src/cluster/preempt.c; this says the same in words, job by job, with the time at which it
 * changes.
 */
#include "server/victims_text.h"

#include <strata/text.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { VICTIMS_NAMED_MAX = 5 };

static void say(json_t *sentences, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(json_t *sentences, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(sentences, json_string(text));
}

/* "; it ends by 2027-…", when that is known. */
static const char *end_words(const struct strata_job_view *view, char text[64])
{
	char time[STRATA_FORM_BYTES];

	text[0] = '\0';
	if (view->expected_end_ns != STRATA_TIME_NONE)
		snprintf(text, 64, "; it ends by %s",
			 strata_time_print(view->expected_end_ns -
						   view->expected_end_ns % STRATA_SECOND_NS,
					   time));
	return text;
}

/* Why this one is not stopped; false: it could be. */
static bool say_left_alone(const struct decider *decider, const struct live *live,
			   const struct strata_job_view *view, json_t *sentences)
{
	const struct strata_victims_conf *conf = decider->victims;
	const char *name = live->job.name ? live->job.name : "no name";
	int64_t protected_ns = view->start_ns + conf->protect_ns, now_ns = decider_now_ns(decider);
	char end[64], time[STRATA_FORM_BYTES];

	if (!live->spec->spec.preemptible)
		say(sentences,
		    "Job %" PRId64 " (%.60s) is less urgent but may not be interrupted (no "
		    "--preemptible)%s.",
		    live->job.id, name, end_words(view, end));
	else if (live->job.gang_id)
		say(sentences,
		    "Job %" PRId64 " (%.60s) is less urgent but one of a gang, which is not "
		    "interrupted%s.",
		    live->job.id, name, end_words(view, end));
	else if (view->preempted >= conf->times_max)
		say(sentences,
		    "Job %" PRId64 " (%.60s) is less urgent but was interrupted %u time%s, as often "
		    "as is allowed%s.",
		    live->job.id, name, view->preempted, view->preempted == 1 ? "" : "s",
		    end_words(view, end));
	else if (protected_ns > now_ns)
		say(sentences,
		    "Job %" PRId64 " (%.60s) is less urgent but protected until %s, as each job is "
		    "for a while after its start.",
		    live->job.id, name,
		    strata_time_print(protected_ns - protected_ns % STRATA_SECOND_NS, time));
	else
		return false;
	return true;
}

void victims_sentences(struct decider *decider, const struct live *waiting, json_t *sentences)
{
	size_t named = 0, more = 0;

	if (!decider->victims || waiting->job.band == STRATA_BAND_LOW || waiting->job.gang_id)
		return;
	for (const struct live *live = live_first(decider); live; live = live_next(live)) {
		struct strata_job_view view;

		if (!live->job.place || live->job.completed_ns ||
		    live->job.band >= waiting->job.band ||
		    strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL) ||
		    view.state != STRATA_JOB_RUNNING || view.stopping)
			continue;
		if (named == VICTIMS_NAMED_MAX)
			more++;
		else
			named += say_left_alone(decider, live, &view, sentences);
	}
	if (more)
		say(sentences, "%zu more running job%s less urgent.", more,
		    more == 1 ? " is" : "s are");
}
