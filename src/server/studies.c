/*
 * The queue of studies.h and its thread. The lock is of the list and of what others see of a study;
 * what it is about belongs to the thread while it runs. Those that are over stay for a while, the
 * oldest goes first.
 */
#include "server/studies.h"

#include "core/env_log.h"
#include "engine/experience.h"
#include "server/os_user.h"
#include "server/study_history.h"
#include "server/study_process.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files that wait are in memory: two of the largest, or more small ones. */
#define WAITING_BYTES_MAX (2 * (size_t)STRATA_STUDY_FILE_BYTES_MAX)

struct studies {
	struct front *front;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t news;
	struct study *first; /* by their numbers */
	int64_t last_id;
	bool stops;
};

void study_free(struct study *study)
{
	if (!study)
		return;
	free(study->words);
	free(study->nodes);
	free(study->bytes);
	free(study->result);
	free(study);
}

static bool is_over(const struct study *study)
{
	return study->state >= STUDY_DONE;
}

static int64_t now_ns(const struct studies *studies)
{
	return common_now_ns(studies->front->common);
}

/* ---- as others see them ---- */

static bool may_see(const struct identity *who, const struct study *study)
{
	return study->uid == who->uid || who->role >= ROLE_OPERATOR;
}

static json_t *view(const struct study *study)
{
	static const char *const states[] = { "waiting", "running", "done", "failed", "cancelled" };
	static const char *const kinds[] = { "policies", "model" };

	return json_pack("{s:I,s:s,s:s,s:s,s:o,s:o,s:o,s:f,s:s,s:s?,s:s?,s:o}", "id",
			 (json_int_t)study->id, "kind", kinds[study->kind], "user", study->user,
			 "state", states[study->state], "submitted_at", view_time(study->made_ns),
			 "started_at", view_time(study->begun_ns), "ended_at",
			 view_time(study->ended_ns), "progress", study->part, "stage",
			 study->stage, "error", *study->error ? study->error : NULL, "name",
			 *study->name ? study->name : NULL, "asked",
			 study->words ? json_string(study->words) : json_null());
}

static struct study *find(const struct studies *studies, const struct identity *who, int64_t id)
{
	for (struct study *study = studies->first; study; study = study->next)
		if (study->id == id)
			return may_see(who, study) ? study : NULL;
	return NULL;
}

json_t *studies_view(struct studies *studies, const struct identity *who, int64_t id)
{
	json_t *json = NULL;
	char *result = NULL;

	pthread_mutex_lock(&studies->lock);
	const struct study *study = find(studies, who, id);

	if (study) {
		json = view(study);
		result = study->result ? strdup(study->result) : NULL;
	}
	pthread_mutex_unlock(&studies->lock);
	if (json) /* read without the lock: it may be long */
		json_object_set_new(json, "result",
				    result ? json_loads(result, 0, NULL) : json_null());
	free(result);
	return json;
}

json_t *studies_list(struct studies *studies, const struct identity *who)
{
	json_t *list = json_array();

	pthread_mutex_lock(&studies->lock);
	for (const struct study *study = studies->first; study; study = study->next)
		if (may_see(who, study))
			json_array_insert_new(list, 0, view(study));
	pthread_mutex_unlock(&studies->lock);
	return list;
}

/* ---- coming and going ---- */

/* Those that are over and too many; the lock is held. */
static void forget_old(struct studies *studies)
{
	size_t over = 0;

	for (const struct study *study = studies->first; study; study = study->next)
		over += is_over(study);
	for (struct study **at = &studies->first; *at && over > STRATA_STUDIES_KEPT;) {
		struct study *study = *at;

		if (!is_over(study)) {
			at = &study->next;
			continue;
		}
		*at = study->next;
		study_free(study);
		over--;
	}
}

static int check_room(const struct studies *studies, const struct study *study,
		      struct strata_error *err)
{
	size_t live = 0, bytes = study->byte_count;

	for (const struct study *other = studies->first; other; other = other->next) {
		if (is_over(other))
			continue;
		live++;
		bytes += other->byte_count;
		if (other->uid == study->uid)
			return strata_fail(err, -EBUSY,
					   "study %lld of yours is not over; cancel it or wait",
					   (long long)other->id);
	}
	return live < STRATA_STUDIES_MAX && bytes <= WAITING_BYTES_MAX
		       ? 0
		       : strata_fail(err, -EAGAIN, "%zu studies wait already; ask again later",
				     live);
}

int studies_add(struct studies *studies, struct study *study, int64_t *ret_id,
		struct strata_error *err)
{
	pthread_mutex_lock(&studies->lock);
	int rc = check_room(studies, study, err);
	struct study **at = &studies->first;

	if (rc == 0) {
		study->id = ++studies->last_id;
		study->made_ns = now_ns(studies);
		study->state = STUDY_WAITS;
		*ret_id = study->id;
		while (*at)
			at = &(*at)->next;
		*at = study;
		pthread_cond_signal(&studies->news);
	}
	pthread_mutex_unlock(&studies->lock);
	if (rc)
		study_free(study);
	return rc;
}

bool studies_remove(struct studies *studies, const struct identity *who, int64_t id)
{
	pthread_mutex_lock(&studies->lock);
	struct study *study = find(studies, who, id);

	if (study && study->state == STUDY_RUNS) {
		study->stop = true;
	} else if (study) {
		struct study **at = &studies->first;

		while (*at != study)
			at = &(*at)->next;
		*at = study->next;
		study_free(study);
	}
	pthread_mutex_unlock(&studies->lock);
	return study != NULL;
}

/* ---- the thread ---- */

struct running {
	struct studies *studies;
	struct study *study;
	size_t parts, part; /* trials, and which of them runs */
	char what[80];
	char *result; /* malloc's, until it is the study's */
};

static void set_stage(struct running *running, double part, const char *stage)
{
	pthread_mutex_lock(&running->studies->lock);
	running->study->part = part;
	snprintf(running->study->stage, sizeof(running->study->stage), "%.79s", stage);
	pthread_mutex_unlock(&running->studies->lock);
}

/* Each trial begins at 0 again. */
static bool goes_on(void *context, double part, const char *what)
{
	struct running *running = context;

	pthread_mutex_lock(&running->studies->lock);
	bool stop = running->study->stop || running->studies->stops;
	double before = running->study->part;

	pthread_mutex_unlock(&running->studies->lock);
	if (part >= 0 && running->parts) {
		double whole = ((double)running->part + part) / (double)running->parts;

		if (whole + 0.5 / (double)running->parts < before &&
		    running->part + 1 < running->parts)
			whole = ((double)++running->part + part) / (double)running->parts;
		snprintf(running->what, sizeof(running->what), "replaying (%.40s)", what);
		set_stage(running, whole > before ? whole : before, running->what);
	}
	return !stop;
}

static size_t count_trials(const char *words)
{
	size_t count = 1;

	for (; *words; words++)
		count += *words == ',';
	return count;
}

/* What was replayed goes with what came of it. */
static int wrap_policies(struct running *running, const struct study_history *history,
			 const char *text, struct strata_error *err)
{
	const struct study *study = running->study;
	json_t *trials = json_loads(text, 0, NULL);
	json_t *json = trials ? json_pack("{s:I,s:I,s:b,s:o,s:o,s:O}", "jobs",
					  (json_int_t)history->jobs, "left_out",
					  (json_int_t)history->left_out, "cut", history->cut,
					  "since", view_time(study->since_ns), "trials", trials,
					  "users", history->users)
			      : NULL;

	running->result = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(json);
	return running->result ? 0 : strata_fail_memory(err);
}

static int run_policies(struct running *running, struct strata_error *err)
{
	struct study *study = running->study;
	struct study_history history;
	char *text = NULL;

	set_stage(running, 0, "reading the history");
	int rc = study_history_read(running->studies->front, study->since_ns, study->nodes,
				    &history, err);

	if (rc)
		return rc;
	const struct study_run run = {
		.words = { "sim", "cluster", "-", "--nodes", "/dev/fd/3", "--bands", "--json",
			   "--details", "--config", "/dev/null", "--compare", study->words },
		.inputs = { { history.log, strlen(history.log) },
			    { history.nodes, strlen(history.nodes) } },
		.input_count = 2,
		.goes_on = goes_on,
		.context = running,
	};

	running->parts = count_trials(study->words);
	rc = study_process_run(&run, &text, err);
	if (rc == 0)
		rc = wrap_policies(running, &history, text, err);
	free(text);
	study_history_fini(&history);
	return rc;
}

/* What engines of the service's user learned on this machine, as JSON: malloc's. NULL: nothing,
 * or a file that cannot be believed. It is read here, for the process may open nothing of ours. */
static char *read_experience(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	bool has_state = state && *state == '/';
	struct os_user user;
	json_t *object = NULL;
	char path[PATH_MAX], *text = NULL;

	if (!has_state && !os_user_by_uid(geteuid(), &user))
		return NULL;
	int length = snprintf(path, sizeof(path), "%s%s/strata/experience.json",
			      has_state ? state : user.home, has_state ? "" : "/.local/state");

	if (length < (int)sizeof(path) && engine_experience_read(path, &object, NULL) == 0)
		text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

static int run_model(struct running *running, struct strata_error *err)
{
	struct study *study = running->study;
	char *learned = read_experience(); /* none: the answer says that nothing was observed */
	const char *experience = learned ? learned : "{\"strata_experience\":1,\"devices\":{}}";
	struct study_run run = {
		.words = { "place", "-", "--json", "--config", "/dev/null", "--devices", "detect",
			   "--experience", "/dev/fd/3",
			   *study->words ? "--dim" : NULL, *study->words ? study->words : NULL },
		.inputs = { { study->bytes, study->byte_count },
			    { experience, strlen(experience) } },
		.input_count = 2,
		.goes_on = goes_on,
		.context = running,
	};

	set_stage(running, 0, "reading the model and looking for plans");
	int rc = study_process_run(&run, &running->result, err);

	free(learned);
	free(study->bytes);
	study->bytes = NULL;
	pthread_mutex_lock(&running->studies->lock);
	study->byte_count = 0;
	pthread_mutex_unlock(&running->studies->lock);
	return rc;
}

static void finish(struct running *running, int rc, const struct strata_error *err)
{
	struct study *study = running->study;

	pthread_mutex_lock(&running->studies->lock);
	study->state = rc == 0 ? STUDY_DONE : rc == -ECANCELED ? STUDY_CANCELLED : STUDY_FAILED;
	study->ended_ns = now_ns(running->studies);
	study->result = running->result;
	study->part = rc == 0 ? 1 : study->part;
	study->stage[0] = '\0';
	if (rc)
		snprintf(study->error, sizeof(study->error), "%.290s", err->text);
	forget_old(running->studies);
	pthread_mutex_unlock(&running->studies->lock);
}

static struct study *next(struct studies *studies)
{
	struct study *study = NULL;

	pthread_mutex_lock(&studies->lock);
	while (!studies->stops && !study) {
		for (study = studies->first; study && study->state != STUDY_WAITS;)
			study = study->next;
		if (!study)
			pthread_cond_wait(&studies->news, &studies->lock);
	}
	if (studies->stops)
		study = NULL;
	if (study) {
		study->state = STUDY_RUNS;
		study->begun_ns = now_ns(studies);
	}
	pthread_mutex_unlock(&studies->lock);
	return study;
}

static void *run(void *context)
{
	struct studies *studies = context;
	struct study *study;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* those of the service are for others */
	while ((study = next(studies))) {
		struct running running = { .studies = studies, .study = study };
		struct strata_error err = { 0 };
		int rc = study->kind == STUDY_POLICIES ? run_policies(&running, &err)
						       : run_model(&running, &err);

		finish(&running, rc, &err);
	}
	return NULL;
}

int studies_open(struct front *front, struct studies **ret_studies, struct strata_error *err)
{
	struct studies *studies = calloc(1, sizeof(*studies));

	if (!studies)
		return strata_fail_memory(err);
	studies->front = front;
	pthread_mutex_init(&studies->lock, NULL);
	pthread_cond_init(&studies->news, NULL);
	int code = pthread_create(&studies->thread, NULL, run, studies);

	if (code) {
		pthread_cond_destroy(&studies->news);
		pthread_mutex_destroy(&studies->lock);
		free(studies);
		return strata_fail(err, -code, "no thread for studies: %s", strerror(code));
	}
	*ret_studies = studies;
	return 0;
}

void studies_close(struct studies *studies)
{
	if (!studies)
		return;
	pthread_mutex_lock(&studies->lock);
	studies->stops = true;
	pthread_cond_signal(&studies->news);
	pthread_mutex_unlock(&studies->lock);
	pthread_join(studies->thread, NULL);
	while (studies->first) {
		struct study *study = studies->first;

		studies->first = study->next;
		study_free(study);
	}
	pthread_cond_destroy(&studies->news);
	pthread_mutex_destroy(&studies->lock);
	free(studies);
}
