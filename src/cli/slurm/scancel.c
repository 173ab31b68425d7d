/*
 * scancel: ends jobs, or sends them a signal. Words and filters both narrow down what is meant.
 * That a job is not known, or has ended, is no mistake to Slurm and is not said.
 */
#include "cli/slurm/chosen.h"

#include "slurm/slurm_value.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

static const char name[] = "scancel";

struct cancel_request {
	const char *account, *job_name, *partition, *qos, *user, *wckey, *reservation;
	const char *clusters, *sibling;
	const char **nodes; /* NULL: any */
	size_t node_count;
	const char *state; /* ours; NULL: any */
	int signal;        /* 0: end it */
	const char *signal_text;
	bool batch, full, ask, quiet;
	int64_t verbose;
	struct chosen *chosen;
	size_t chosen_count;
};

static int read_state(struct slurm_reading *reading, const struct slurm_row *row, const char *text,
		      struct strata_error *err)
{
	static const struct {
		const char *name, *code, *state;
	} states[] = {
		{ "PENDING", "PD", "queued" },
		{ "RUNNING", "R", "running" },
		{ "SUSPENDED", "S", "suspended" },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcasecmp(text, states[i].name) == 0 ||
		    strcasecmp(text, states[i].code) == 0) {
			*(const char **)slurm_row_field(reading, row) = states[i].state;
			return 0;
		}
	fprintf(stderr,
		"Invalid job state specified: %s\n"
		"Valid job states are PENDING, RUNNING, and SUSPENDED\n",
		text);
	return -ECANCELED;
}

static int read_signal(struct slurm_reading *reading, const struct slurm_row *row, const char *text,
		       struct strata_error *err)
{
	struct strata_sbatch_signal signal;
	struct cancel_request *request = reading->into;

	if (strpbrk(text, ":@") || !slurm_signal_parse(text, &signal)) {
		fprintf(stderr, "Unknown job signal: %s\n", text);
		return -ECANCELED;
	}
	request->signal = signal.number;
	return slurm_read_text(reading, row, text, err);
}

static int read_nodes(struct slurm_reading *reading, const struct slurm_row *row, const char *text,
		      struct strata_error *err)
{
	struct cancel_request *request = reading->into;

	if (strata_hostlist_expand(text, STRATA_TEXT_NUL, reading->arena, &request->nodes,
				   &request->node_count, NULL))
		return strata_fail_at(err, -EINVAL, row->option.name,
				      "Invalid node list specified: %s", text);
	return 0;
}

#define FIELD(name) offsetof(struct cancel_request, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	{ { "account", 'A', VALUE, .help = "jobs of this account" }, slurm_read_text, FIELD(account) },
	{ { "batch", 'b', .help = "signal the script alone" }, slurm_read_flag, FIELD(batch) },
	{ { "clusters", 'M', VALUE, .help = "jobs of this cluster" }, slurm_read_text, FIELD(clusters) },
	SLURM_ROW_HOLDS("ctld", 0, "the request goes to the controller"),
	{ { "full", 'f', .help = "signal the script and all steps" }, slurm_read_flag, FIELD(full) },
	SLURM_ROW_HELP('h'),
	SLURM_ROW_HOLDS("hurry", 'H', "do not stage out burst buffers"),
	{ { "interactive", 'i', .help = "ask before each job" }, slurm_read_flag, FIELD(ask) },
	{ { "jobname", 0, VALUE, .help = "jobs of this name" }, slurm_read_text, FIELD(job_name) },
	{ { "me", 0, .help = "my own jobs" }, slurm_read_own_name, FIELD(user) },
	{ { "name", 'n', VALUE, .help = "jobs of this name" }, slurm_read_text, FIELD(job_name) },
	{ { "nodelist", 'w', VALUE, .help = "jobs on these nodes" }, read_nodes, 0 },
	{ { "partition", 'p', VALUE, .help = "jobs of this partition" }, slurm_read_text, FIELD(partition) },
	{ { "qos", 'q', VALUE, .help = "jobs of this quality of service" }, slurm_read_text, FIELD(qos) },
	{ { "quiet", 'Q', .help = "say nothing of jobs that have ended" }, slurm_read_flag, FIELD(quiet) },
	{ { "reservation", 'R', VALUE, .help = "jobs of this reservation" }, slurm_read_text, FIELD(reservation) },
	{ { "sibling", 0, VALUE, .help = "what of a job is on this cluster" }, slurm_read_text, FIELD(sibling) },
	{ { "signal", 's', VALUE, .help = "send this signal instead" }, read_signal, FIELD(signal_text) },
	{ { "state", 't', VALUE, .help = "jobs in this state: PENDING, RUNNING, SUSPENDED" }, read_state, FIELD(state) },
	SLURM_ROW_USAGE(0),
	{ { "user", 'u', VALUE, .help = "jobs of this user" }, slurm_read_text, FIELD(user) },
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ { "wckey", 0, VALUE, .help = "jobs of this label" }, slurm_read_text, FIELD(wckey) },
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

/* "40_4,41 42": words may hold several. */
static int read_words(struct cli *cli, struct cancel_request *request, const char *const *words,
		      size_t count)
{
	size_t room = 0;

	for (size_t i = 0; i < count; i++)
		room += strlen(words[i]) + 1;
	request->chosen = strata_arena_array(&cli->arena, room, sizeof(*request->chosen));
	for (size_t i = 0; request->chosen && i < count; i++) {
		for (const char *at = words[i]; *at;) {
			const char *bracket = strchr(at, '['), *comma = at + strcspn(at, ",");

			if (bracket && bracket < comma)
				comma = bracket + strcspn(bracket, "]");
			comma += strcspn(comma, ",");
			char *text = strata_arena_text(&cli->arena, at, (size_t)(comma - at));

			if (!text || !chosen_parse(text, &cli->arena,
						   &request->chosen[request->chosen_count++])) {
				slurm_error(cli, name, "Invalid job id %s", text ? text : at);
				return 1;
			}
			at = comma + (*comma == ',');
		}
	}
	return 0;
}

static bool same(const json_t *job, const char *key, const char *wanted)
{
	return !wanted || strcmp(grid_or(json_object_get(job, key), ""), wanted) == 0;
}

static bool is_suspended(const json_t *job)
{
	return strcmp(grid_or(json_object_get(job, "reason"), ""), "suspended") == 0;
}

static bool has_state(const json_t *job, const char *state)
{
	if (!state)
		return true;
	if (strcmp(state, "suspended") == 0)
		return is_suspended(job);
	if (strcmp(state, "running") == 0)
		return !is_suspended(job) &&
		       (same(job, "state", "running") || same(job, "state", "scheduled"));
	return same(job, "state", "queued") || same(job, "state", "preempted");
}

/* Does it run on one of them? */
static bool is_on(const json_t *job, const char *const *nodes, size_t count)
{
	const json_t *node;
	size_t i;

	json_array_foreach(json_object_get(job, "node_names"), i, node)
	{
		for (size_t k = 0; k < count; k++)
			if (strcmp(grid_or(node, ""), nodes[k]) == 0)
				return true;
	}
	return false;
}

static bool has_labels(const struct cancel_request *request, const json_t *job)
{
	const json_t *asked = json_object_get(job, "request");

	return same(json_object_get(asked, "slurm"), "wckey", request->wckey) &&
	       same(asked, "reservation", request->reservation);
}

static bool is_meant(const struct cancel_request *request, const json_t *job)
{
	bool chosen = request->chosen_count == 0;

	for (size_t i = 0; i < request->chosen_count; i++)
		chosen |= chosen_has(&request->chosen[i], job);
	return chosen && same(job, "name", request->job_name) && same(job, "user", request->user) &&
	       same(job, "account", request->account) &&
	       same(job, "partition", request->partition) && same(job, "qos", request->qos) &&
	       has_state(job, request->state) && has_labels(request, job) &&
	       (!request->nodes || is_on(job, request->nodes, request->node_count));
}

static bool agreed(const struct cancel_request *request, const char *id, const json_t *job)
{
	char answer[32];

	if (!request->ask)
		return true;
	printf("Cancel job_id=%s name=%s partition=%s [y/n]? ", id,
	       grid_or(json_object_get(job, "name"), "(null)"),
	       grid_or(json_object_get(job, "partition"), "(null)"));
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Only SIGKILL for all of a job is its end, as in Slurm. */
static bool is_end(const struct cancel_request *request)
{
	return !request->signal || (request->signal == SIGKILL && !request->batch);
}

/* What a word means: a job, an array, elements of one. */
static int act(struct cli *cli, const struct cancel_request *request, const char *id)
{
	bool end = is_end(request);
	struct buf path;
	json_t *answer;

	if (request->verbose)
		slurm_say(cli, "%s: %s job %s", name, end ? "Terminating" : "Signal sent to", id);
	job_path(cli, &path, id);
	int rc = end ? service_ask(cli, "DELETE", &path, NULL, &answer)
		     : service_ask(cli, "PATCH", &path,
				   json_pack("{s:s,s:s}", "signal", request->signal_text,
					     "signal_to",
					     request->batch  ? "batch"
					     : request->full ? "all"
							     : "steps"),
				   &answer);

	if (rc == 0)
		json_decref(answer);
	if (rc == 0 || rc == -ENOENT || rc == -ESTALE) /* it has ended meanwhile */
		return 0;
	slurm_error(cli, name, "Kill job error on job id %s: %s", id, chosen_why(cli));
	return 1;
}

/* Said with -v only: that a job is not there is what is wished for. */
static void tell_unknown(struct cli *cli, const struct cancel_request *request, const json_t *jobs)
{
	for (size_t k = 0; request->verbose && k < request->chosen_count; k++) {
		bool found = false;
		const json_t *job;
		size_t i;

		json_array_foreach(jobs, i, job)
		{
			found |= chosen_has(&request->chosen[k], job);
		}
		if (!found) {
			slurm_say(cli, "%s: Terminating job %" PRId64, name,
				  request->chosen[k].job);
			slurm_error(cli, name,
				    "Kill job error on job id %" PRId64
				    ": Invalid job id specified",
				    request->chosen[k].job);
		}
	}
}

static bool has_filter(const struct cancel_request *request)
{
	return request->account || request->job_name || request->partition || request->qos ||
	       request->user || request->state || request->nodes || request->wckey ||
	       request->reservation;
}

/* Those of the list that words and filters mean, and who is asked agrees to. */
static int act_on_list(struct cli *cli, const struct cancel_request *request, const json_t *jobs)
{
	json_t *meant = json_array();
	const json_t *job;
	char **words;
	size_t i, count = 0;
	int code = 0;

	json_array_foreach(jobs, i, job)
	{
		if (is_meant(request, job) && agreed(request, chosen_name(cli, job), job) &&
		    (is_end(request) || !has_state(job, "queued")))
			json_array_append(meant, (json_t *)(uintptr_t)job);
	}
	if (job_words(cli, meant, &words, &count)) {
		slurm_error(cli, name, "%s", cli->err.text);
		code = 1;
	}
	for (i = 0; i < count; i++)
		code |= act(cli, request, words[i]);
	json_decref(meant);
	return code;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct cancel_request request = { 0 };
	struct slurm_reading reading;
	json_t *jobs;
	int code = slurm_options(cli, &slurm_scancel, argc, argv, &request, &reading);

	if (code >= 0)
		return code;
	code = read_words(cli, &request, reading.operands, reading.operand_count);
	if (code)
		return code;
	if (!slurm_cluster_known(cli, name, request.clusters) ||
	    !slurm_cluster_known(cli, name, request.sibling))
		return 1;
	if (!request.chosen_count && !has_filter(&request)) {
		slurm_error(cli, name, "No job identification provided");
		return 1;
	}
	if (request.user && !getpwnam(request.user)) {
		slurm_error(cli, name, "Invalid user name: %s", request.user);
		return 1;
	}
	if (!has_filter(&request) && !request.ask && !request.verbose) {
		for (size_t i = 0; i < request.chosen_count; i++)
			code |= act(cli, &request, request.chosen[i].word);
		return code;
	}
	if (chosen_list(cli, &jobs)) {
		slurm_error(cli, name, "%s", chosen_why(cli));
		return 1;
	}
	code = act_on_list(cli, &request, jobs);
	tell_unknown(cli, &request, jobs);
	json_decref(jobs);
	return code;
}

const struct slurm_command slurm_scancel = { .name = "scancel",
					     .summary = "cancel jobs or send them signals",
					     .operands = "[JOB…]",
					     .syntax = &syntax,
					     .run = run };
