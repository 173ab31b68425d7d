/*
 * GET /api/v1/problems: what is wrong, the gravest first: each with what follows from it and one
 * thing to do. Nodes that are down or drained, a store or an inventory that is away, workers that
 * fail, jobs that can never start (everybody's for operators, else one's own), key figures that are
 * worse than usual, disks that are nearly full. The decider tells what it knows; disks are looked
 * at by an HTTP thread.
 */
#include "server/decider.h"
#include "server/figures.h"
#include "server/front.h"
#include "server/live.h"
#include "server/models.h"
#include "server/nodes.h"
#include "server/remote.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <inttypes.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum { FULL_PERCENT = 5, VERY_FULL_PERCENT = 1 };
#define FULL_BYTES (INT64_C(20) << 30) /* with more than that free, no disk is full */

struct problem {
	const char *kind; /* "node_down" */
	bool grave;
	const char *about; /* a node, a model; NULL: none */
	int64_t job;       /* 0: none */
	int64_t since_ns;  /* 0: not known */
	char title[160], text[512];
	/* what to do: in words, as a command (NULL: none), and the page that shows it */
	char act[60], command[200], page[160];
};

/* The list grows until it is long enough; how many there are is told anyway. */
static void put(json_t *answer, const struct problem *problem)
{
	json_t *list = json_object_get(answer, "problems"), *count;

	count = json_object_get(answer, "count");
	json_integer_set(count, json_integer_value(count) + 1);
	if (json_array_size(list) >= STRATA_PROBLEMS_MAX)
		return;
	json_t *json = json_pack("{s:s,s:b,s:s?,s:o,s:o,s:s,s:s,s:{s:s,s:s?,s:s}}", "kind",
				 problem->kind, "grave", problem->grave, "about", problem->about,
				 "job", problem->job ? json_integer(problem->job) : json_null(),
				 "since", view_time(problem->since_ns), "title", problem->title,
				 "text", problem->text, "action", "text", problem->act, "command",
				 *problem->command ? problem->command : NULL, "page",
				 problem->page);

	/* behind the others that are as grave */
	size_t at = json_array_size(list);

	while (problem->grave && at &&
	       !json_is_true(json_object_get(json_array_get(list, at - 1), "grave")))
		at--;
	json_array_insert_new(list, at, json);
}

#define SET(field, ...) snprintf(problem.field, sizeof(problem.field), __VA_ARGS__)

/* ---- nodes ---- */

static void look_at_node(json_t *answer, const struct node_about *node, size_t jobs)
{
	struct problem problem = { .about = node->name, .since_ns = node->since_ns };
	bool down = node->state == STRATA_NODE_DOWN;
	const char *reason = node->reason ? node->reason : "", *stop = node->reason ? ". " : "";

	problem.kind = down ? "node_down" : "node_drained";
	problem.grave = down;
	SET(title, "%s is %s", node->name, nodes_state_name(node->state));
	if (down && node->conf.gpu_count)
		SET(text, "%s%s%u GPU%s cannot be used.", reason, stop, node->conf.gpu_count,
		    node->conf.gpu_count == 1 ? "" : "s");
	else if (down)
		SET(text, "%s%sIts cores cannot be used.", reason, stop);
	else if (jobs)
		SET(text, "%s%sNothing new starts there; %zu job%s still run%s.", reason, stop,
		    jobs, jobs == 1 ? "" : "s", jobs == 1 ? "s" : "");
	else
		SET(text, "%s%sNothing new starts there, and nothing runs.", reason, stop);
	SET(act, "See the node");
	SET(command, "strata nodes resume %s", node->name);
	SET(page, "#/now?node=%s", node->name);
	put(answer, &problem);
}

static void look_at_nodes(struct decider *decider, json_t *answer)
{
	size_t *jobs = strata_arena_array(&decider->scratch, decider->node_count, sizeof(*jobs));

	for (const struct live *live = live_first(decider); jobs && live; live = live_next(live)) {
		struct strata_job_view view;

		if (!live->job.place ||
		    strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL))
			continue;
		for (uint32_t i = 0; i < view.piece_count; i++)
			jobs[view.pieces[i].node]++;
	}
	for (uint32_t row = 0; row < decider->node_count; row++)
		if (decider->nodes[row].state != STRATA_NODE_UP)
			look_at_node(answer, &decider->nodes[row], jobs ? jobs[row] : 0);
}

/* ---- jobs and workers ---- */

static void look_at_jobs(struct decider *decider, const struct identity *who, json_t *answer)
{
	for (const struct live *live = live_first(decider); live; live = live_next(live)) {
		const struct job *job = &live->job;
		struct problem problem = { .kind = "job_never", .grave = true, .job = job->id };

		if (job->completed_ns || (job->reason != STRATA_REASON_IMPOSSIBLE &&
					  job->reason != STRATA_REASON_DEPENDENCY_NEVER))
			continue;
		if (job->uid != (int64_t)who->uid && who->role < ROLE_OPERATOR)
			continue;
		problem.since_ns = job->created_ns;
		SET(title, "%.80s can never start", job->name ? job->name : "a job");
		SET(text, "Job %" PRId64 " of %s: %s.", job->id, job->user,
		    strata_reason_words(job->reason));
		SET(act, "Open the job");
		SET(command, "strata why %" PRId64, job->id);
		SET(page, "#/job/%" PRId64, job->id);
		put(answer, &problem);
	}
}

static void look_at_models(struct decider *decider, json_t *answer)
{
	for (const struct model *model = NULL; (model = model_next(decider, model));) {
		struct problem problem = { .kind = "worker", .grave = true, .about = model->name };

		if (!model->trouble[0] || !model->task_count)
			continue;
		SET(title, "%s draws nothing", model->name);
		SET(text, "%s. %zu picture%s for it.", model->trouble, model->task_count,
		    model->task_count == 1 ? " waits" : "s wait");
		SET(act, "See pictures");
		SET(command, "strata models show %s", model->name);
		SET(page, "#/generate");
		put(answer, &problem);
	}
}

/* ---- what the service stands on ---- */

static void look_at_services(struct decider *decider, json_t *answer)
{
	struct problem problem = { .grave = true };
	const char *trouble = remote_trouble(decider, &problem.since_ns);

	SET(page, "#/now");
	SET(act, "How to check");
	SET(command, "strata doctor");
	if (trouble) {
		problem.kind = "inventory_away";
		SET(title, "The inventory does not answer");
		SET(text, "%.300s. No job starts until it does; what runs goes on.", trouble);
		put(answer, &problem);
	}
	if (atomic_load(&decider->common->store_down)) {
		problem.kind = "store_away";
		problem.since_ns = 0;
		SET(title, "The store is away");
		SET(text, "Nothing new is taken in, and nothing starts, until the database is "
			  "back; what runs goes on.");
		put(answer, &problem);
	}
}

/* ---- what has grown ---- */

static const char *figure_text(const struct figure *figure, double value,
			       char text[STRATA_FORM_BYTES])
{
	if (figure_is_time(figure->kind) && value < 1)
		snprintf(text, STRATA_FORM_BYTES, "%.3g ms", value * 1000);
	else if (figure_is_time(figure->kind))
		strata_duration_print_short((int64_t)(value * 1e9), text);
	else
		snprintf(text, STRATA_FORM_BYTES, "%.3g", value);
	return text;
}

static void look_at_figures(struct decider *decider, json_t *answer)
{
	static const char *const what[FIGURE_KIND_COUNT] = {
		[FIGURE_WAIT] = "Jobs wait longer",
		[FIGURE_TASK_WAIT] = "Pictures wait longer",
		[FIGURE_PASS] = "Deciding takes longer",
		[FIGURE_STORE] = "The store takes longer",
		[FIGURE_STEP] = "Steps take longer",
		[FIGURE_PREDICTION] = "Run times are further from what was expected",
	};
	const struct figure *figure = NULL;

	while ((figure = figures_next(decider->figures, figure))) {
		const struct baseline_verdict *verdict = &figure->verdict;
		struct problem problem = { .kind = "regression",
					   .about = *figure->of ? figure->of : NULL,
					   .since_ns = verdict->since_day * STRATA_DAY_NS };
		char now[STRATA_FORM_BYTES], usual[STRATA_FORM_BYTES];

		if (!figure_is_worse(figure))
			continue;
		SET(title, "%s than usual%s%.80s", what[figure->kind], *figure->of ? ": " : "",
		    figure->of);
		SET(text, "%s on the last days; usual is %s, the median of %zu days before.",
		    figure_text(figure, verdict->now, now),
		    figure_text(figure, verdict->usual, usual), verdict->days);
		SET(act, "See the report");
		SET(command, "strata report --since 14d");
		SET(page, "#/now");
		put(answer, &problem);
	}
}

static void get_problems(struct decider *decider, struct request *request)
{
	json_t *answer = json_pack("{s:[],s:i}", "problems", "count", 0);

	look_at_services(decider, answer);
	look_at_nodes(decider, answer);
	look_at_models(decider, answer);
	look_at_jobs(decider, &request->who, answer);
	look_at_figures(decider, answer);
	request->parsed = answer;
}

/* ---- disks ---- */

static void look_at_disk(json_t *answer, const char *dir, const char *what, bool tell_path)
{
	struct problem problem = { .kind = "disk_full", .about = tell_path ? dir : NULL };
	struct statvfs disk;
	char free_text[STRATA_FORM_BYTES];

	if (!dir || statvfs(dir, &disk) || !disk.f_blocks)
		return;
	int64_t free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
	int percent = (int)(disk.f_bavail * 100 / disk.f_blocks);

	if (percent >= FULL_PERCENT || free_bytes >= FULL_BYTES)
		return;
	problem.grave = percent < VERY_FULL_PERCENT;
	SET(title, "The disk of %s is nearly full", what);
	SET(text, "%s are free, %d %%. When it is full nothing is taken in.",
	    strata_size_print_short(free_bytes, free_text), percent);
	SET(act, "How to check");
	SET(command, "df -h %.150s", tell_path ? dir : ".");
	SET(page, "#/now");
	put(answer, &problem);
}

static void look_at_disks(struct request *request)
{
	const struct server_conf *conf = request->front->conf;
	bool operates = request->who.role >= ROLE_OPERATOR;
	json_t *answer = request->parsed;

	if (!answer || request->answered)
		return;
	look_at_disk(answer, conf->state_dir, "the service", operates);
	if (conf->checkpoint_dir &&
	    strncmp(conf->checkpoint_dir, conf->state_dir, strlen(conf->state_dir)) != 0)
		look_at_disk(answer, conf->checkpoint_dir, "checkpoints", operates);
	request->parsed = NULL;
	request_answer(request, MHD_HTTP_OK, answer);
}

/* Decided and not answered, as when the connection broke. */
static void release(struct request *request)
{
	json_decref(request->parsed);
	request->parsed = NULL;
}

static void parse_problems(struct request *request)
{
	request->release = release;
}

/* ---- routes ---- */

const struct route api_problems_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/problems",
	  .summary = "what is wrong, and what to do",
	  .role = ROLE_READER,
	  .parse = parse_problems,
	  .decide = get_problems,
	  .finish = look_at_disks,
	  .answer = "problems count" },
	{ 0 },
};
