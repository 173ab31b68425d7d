/*
 * scancel: ends jobs, or sends them a signal. Words and filters both narrow down what is meant. That a job is not known, or has ended, is
 * no mistake to Slurm and is not said.
 */
#include "cli/slurm/chosen.h"

#include "formats/slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

static const char name[] = "scancel";

struct wish {
	const char *account, *job_name, *partition, *qos, *user;
	const char **nodes; /* NULL: any */
	size_t node_count;
	const char *state; /* ours; NULL: any */
	int signal;        /* 0: end it */
	const char *signal_text;
	bool batch, full, ask, quiet;
	int verbose;
	struct chosen *chosen;
	size_t chosen_count;
};

enum { LONG_ME = 256, LONG_CTLD, LONG_USAGE, LONG_WCKEY, LONG_AUTOCOMPLETE };

static const struct option options[] = {
	{ "account", required_argument, NULL, 'A' },
	{ "batch", no_argument, NULL, 'b' },
	{ "ctld", no_argument, NULL, LONG_CTLD },
	{ "full", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "hurry", no_argument, NULL, 'H' },
	{ "interactive", no_argument, NULL, 'i' },
	{ "jobname", required_argument, NULL, 'n' },
	{ "me", no_argument, NULL, LONG_ME },
	{ "name", required_argument, NULL, 'n' },
	{ "nodelist", required_argument, NULL, 'w' },
	{ "partition", required_argument, NULL, 'p' },
	{ "qos", required_argument, NULL, 'q' },
	{ "quiet", no_argument, NULL, 'Q' },
	{ "reservation", required_argument, NULL, 'R' },
	{ "signal", required_argument, NULL, 's' },
	{ "state", required_argument, NULL, 't' },
	{ "usage", no_argument, NULL, LONG_USAGE },
	{ "user", required_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "wckey", required_argument, NULL, LONG_WCKEY },
	{ 0 },
};

static bool read_state(struct wish *wish, const char *text)
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
			wish->state = states[i].state;
			return true;
		}
	fprintf(stderr,
		"Invalid job state specified: %s\n"
		"Valid job states are PENDING, RUNNING, and SUSPENDED\n",
		text);
	return false;
}

static bool read_signal(struct wish *wish, const char *text)
{
	struct strata_sbatch_signal signal;

	if (strpbrk(text, ":@") || !slurm_signal_parse(text, &signal)) {
		fprintf(stderr, "Unknown job signal: %s\n", text);
		return false;
	}
	wish->signal = signal.number;
	wish->signal_text = text;
	return true;
}

/* −1: go on; else the exit code. */
static int read_option(struct cli *cli, struct wish *wish, int letter)
{
	switch (letter) {
	case 'A':
		wish->account = optarg;
		break;
	case 'b':
		wish->batch = true;
		break;
	case 'f':
		wish->full = true;
		break;
	case 'i':
		wish->ask = true;
		break;
	case 'n':
		wish->job_name = optarg;
		break;
	case 'p':
		wish->partition = optarg;
		break;
	case 'q':
		wish->qos = optarg;
		break;
	case 'Q':
		wish->quiet = true;
		break;
	case 's':
		return read_signal(wish, optarg) ? -1 : 1;
	case 't':
		return read_state(wish, optarg) ? -1 : 1;
	case 'u':
		wish->user = optarg;
		break;
	case LONG_ME:
		wish->user = service_own_name(cli);
		break;
	case 'v':
		wish->verbose++;
		break;
	case 'w':
		if (strata_hostlist_expand(optarg, STRATA_TEXT_NUL, &cli->arena, &wish->nodes,
					   &wish->node_count, NULL)) {
			slurm_error(cli, name, "Invalid node list specified: %s", optarg);
			return 1;
		}
		break;
	case 'V':
		return slurm_version(cli);
	case 'h':
	case LONG_USAGE:
		slurm_help(cli, &slurm_scancel, options, -1);
		return 0;
	case '?':
		return 1;
	default:
		break;
	}
	return -1;
}

/* "40_4,41 42": words may hold several. */
static int read_words(struct cli *cli, struct wish *wish, int count, char **words)
{
	size_t room = 0;

	for (int i = 0; i < count; i++)
		room += strlen(words[i]) + 1;
	wish->chosen = strata_arena_array(&cli->arena, room, sizeof(*wish->chosen));
	for (int i = 0; wish->chosen && i < count; i++) {
		for (char *at = words[i]; *at;) {
			char *bracket = strchr(at, '['), *comma = at + strcspn(at, ",");

			if (bracket && bracket < comma)
				comma = bracket + strcspn(bracket, "]");
			comma += strcspn(comma, ",");
			char *text = strata_arena_text(&cli->arena, at, (size_t)(comma - at));

			if (!text ||
			    !chosen_parse(text, &cli->arena, &wish->chosen[wish->chosen_count++])) {
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

static bool is_meant(const struct wish *wish, const json_t *job)
{
	bool chosen = wish->chosen_count == 0;

	for (size_t i = 0; i < wish->chosen_count; i++)
		chosen |= chosen_has(&wish->chosen[i], job);
	return chosen && same(job, "name", wish->job_name) && same(job, "user", wish->user) &&
	       same(job, "account", wish->account) && same(job, "partition", wish->partition) &&
	       same(job, "qos", wish->qos) && has_state(job, wish->state) &&
	       (!wish->nodes || is_on(job, wish->nodes, wish->node_count));
}

static bool agreed(const struct wish *wish, const char *id, const json_t *job)
{
	char answer[32];

	if (!wish->ask)
		return true;
	printf("Cancel job_id=%s name=%s partition=%s [y/n]? ", id,
	       grid_or(json_object_get(job, "name"), "(null)"),
	       grid_or(json_object_get(job, "partition"), "(null)"));
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* One job. Only SIGKILL for all of it is the end of the job, as in Slurm. */
static int act(struct cli *cli, const struct wish *wish, const json_t *job)
{
	const char *id = chosen_name(cli, job);
	bool end = !wish->signal || (wish->signal == SIGKILL && !wish->batch);
	char number[24];
	struct buf path;
	json_t *answer;

	if (!agreed(wish, id, job))
		return 0;
	if (!end && has_state(job, "queued"))
		return 0;
	if (wish->verbose)
		slurm_say(cli, "%s: %s job %s", name, end ? "Terminating" : "Signal sent to", id);
	snprintf(number, sizeof(number), "%" PRId64, grid_int(job, "id"));
	service_path(cli, &path, "jobs", number, NULL);
	int rc = end ? service_ask(cli, "DELETE", &path, NULL, &answer)
		     : service_ask(cli, "PATCH", &path,
				   json_pack("{s:s,s:s}", "signal", wish->signal_text, "signal_to",
					     wish->batch  ? "batch"
					     : wish->full ? "all"
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
static void tell_unknown(struct cli *cli, const struct wish *wish, const json_t *jobs)
{
	for (size_t k = 0; wish->verbose && k < wish->chosen_count; k++) {
		bool found = false;
		const json_t *job;
		size_t i;

		json_array_foreach(jobs, i, job)
		{
			found |= chosen_has(&wish->chosen[k], job);
		}
		if (!found)
			slurm_error(cli, name,
				    "Kill job error on job id %" PRId64
				    ": Invalid job id specified",
				    wish->chosen[k].job);
	}
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct wish wish = { 0 };
	int letter, code = 0;
	json_t *jobs;
	const json_t *job;
	size_t i;

	while ((letter = slurm_option(argc, argv, "A:bfhHin:p:Qq:R:s:t:u:vVw:", options)) >= 0) {
		code = read_option(cli, &wish, letter);
		if (code >= 0)
			return code;
	}
	code = read_words(cli, &wish, argc - optind, argv + optind);
	if (code)
		return code;
	if (!wish.chosen_count && !wish.account && !wish.job_name && !wish.partition && !wish.qos &&
	    !wish.user && !wish.state && !wish.nodes) {
		slurm_error(cli, name, "No job identification provided");
		return 1;
	}
	if (wish.user && !getpwnam(wish.user)) {
		slurm_error(cli, name, "Unknown user: %s", wish.user);
		return 1;
	}
	if (chosen_list(cli, &jobs)) {
		slurm_error(cli, name, "%s", chosen_why(cli));
		return 1;
	}
	json_array_foreach(jobs, i, job)
	{
		if (is_meant(&wish, job))
			code |= act(cli, &wish, job);
	}
	tell_unknown(cli, &wish, jobs);
	json_decref(jobs);
	return code;
}

const struct slurm_command slurm_scancel = { "scancel", "cancel jobs or send them signals", run };
