/*
 * scontrol's verbs that change jobs: each is a PATCH of what a word means, be it a job or an array;
 * see scontrol_change.h. `update` of nodes is in scontrol_node.c. What cannot be changed here is
 * refused as Slurm refuses what it does not know.
 */
#include "cli/slurm/scontrol_change.h"

#include "cli/slurm/chosen.h"
#include "cli/slurm/scontrol.h"
#include "cli/slurm/scontrol_node.h"
#include "cli/slurm/slurm_batch.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* What is done to a job; the body is borrowed. */
struct deed {
	struct cli *cli;
	json_t *body;
	int64_t add_s; /* timelimit+=… */
	int code;      /* the exit code so far */
	json_t *jobs;  /* what is queued or runs; NULL: not asked for yet */
};

static int patch(struct cli *cli, const char *word, json_t *body)
{
	struct buf path;
	json_t *answer;

	job_path(cli, &path, word);
	int rc = service_ask(cli, "PATCH", &path, json_incref(body), &answer);

	if (rc == 0)
		json_decref(answer);
	return rc;
}

static void complain(struct deed *deed, const char *word)
{
	const struct strata_error *err = &deed->cli->err;
	const char *why = chosen_why(deed->cli), *sentence = slurm_sentence(err->field, err->code);

	/* of what it asks for */
	if (err->code == -EDOM || (sentence && strcmp(err->field, "time_limit") != 0)) {
		slurm_say(deed->cli, "%s for job %s",
			  sentence ? sentence : slurm_sentence("gpus", 0), word);
		slurm_say(deed->cli, "strata: %s", err->text);
		deed->code = 1;
		return;
	}
	if (strcmp(deed->cli->err.field, "time_limit") == 0)
		why = deed->cli->err.code == -EPERM
			      ? "Access/permission denied"
			      : "Requested time limit is invalid (missing or exceeds some limit)";
	else if (deed->cli->err.code == -ESTALE)
		why = "Job/step already completing or completed";
	slurm_say(deed->cli, "%s for job %s", why, word);
	deed->code = 1;
}

/* A time limit is changed by an amount: only the job itself knows from what. */
static int64_t limit_of(struct cli *cli, int64_t id)
{
	char number[24];
	struct buf path;
	json_t *job;
	int64_t limit_s = 0;

	snprintf(number, sizeof(number), "%" PRId64, id);
	service_path(cli, &path, "jobs", number, NULL);
	if (service_get(cli, &path, &job) == 0) {
		limit_s = grid_int(job, "time_limit_s");
		json_decref(job);
	}
	return limit_s;
}

static void do_to_job(struct deed *deed, const char *said, const char *word, int64_t id)
{
	if (deed->add_s)
		json_object_set_new(deed->body, "time_limit",
				    json_integer(limit_of(deed->cli, id) + deed->add_s));
	if (patch(deed->cli, word, deed->body))
		complain(deed, said);
}

/* What is queued or runs, asked for once. False: it cannot be known, which was said. */
static bool list_jobs(struct deed *deed)
{
	if (deed->jobs || chosen_list(deed->cli, &deed->jobs) == 0)
		return true;
	slurm_say(deed->cli, "%s", chosen_why(deed->cli));
	deed->code = 1;
	return false;
}

/* Those that the word means, or with chosen NULL those of a name. Jobs that are changed alike are
 * one request for each array. */
static size_t do_to_list(struct deed *deed, const char *said, const struct chosen *chosen)
{
	json_t *meant = json_array();
	const json_t *job;
	size_t i, count = 0, found;
	char **words;

	json_array_foreach(deed->jobs, i, job)
	{
		if (chosen ? chosen_has(chosen, job)
			   : strcmp(grid_or(json_object_get(job, "name"), ""),
				    strchr(said, '=') + 1) == 0)
			json_array_append(meant, (json_t *)(uintptr_t)job);
	}
	found = json_array_size(meant);
	if (deed->add_s) {
		json_array_foreach(meant, i, job)
		{
			do_to_job(deed, said, chosen_name(deed->cli, job), grid_int(job, "id"));
		}
	} else if (job_words(deed->cli, meant, &words, &count)) {
		complain(deed, said);
	}
	for (i = 0; i < count; i++)
		do_to_job(deed, said, words[i], 0);
	json_decref(meant);
	return found;
}

static void do_to_word(struct deed *deed, const char *word)
{
	struct chosen chosen;

	if (strncasecmp(word, "name=", 5) == 0 || strncasecmp(word, "jobname=", 8) == 0) {
		if (list_jobs(deed))
			do_to_list(deed, word, NULL);
		return;
	}
	if (strncasecmp(word, "job=", 4) == 0 || strncasecmp(word, "jobid=", 6) == 0)
		word = strchr(word, '=') + 1;
	if (!chosen_parse(word, &deed->cli->arena, &chosen)) {
		slurm_say(deed->cli, "Invalid job id specified for job %s", word);
		deed->code = 1;
		return;
	}
	if (deed->add_s && (!list_jobs(deed) || do_to_list(deed, word, &chosen)))
		return;
	do_to_job(deed, word, word, chosen.job); /* ended, or never there: the service knows */
}

/* "36 37_[1,4],name=train" */
static void do_to_words(struct deed *deed, const char *list)
{
	while (*list) {
		size_t length = strcspn(list, ",["), closed = length;

		if (list[length] == '[')
			closed += strcspn(list + length, "]");
		length = closed + strcspn(list + closed, ",");
		char *word = strata_arena_text(&deed->cli->arena, list, length);

		if (word && *word)
			do_to_word(deed, word);
		list += length + (list[length] == ',');
	}
}

static int do_to_all(struct cli *cli, json_t *body, int64_t add_s, char **words, size_t count)
{
	struct deed deed = { .cli = cli, .body = body, .add_s = add_s };

	for (size_t i = 0; i < count; i++)
		do_to_words(&deed, words[i]);
	json_decref(deed.jobs);
	return deed.code;
}

/* ---- update jobid=… ---- */

struct update {
	struct cli *cli;
	json_t *body;
	int64_t add_s;
};

static bool read_limit(struct update *update, char sign, const char *value)
{
	int64_t ns;

	if (strata_slurm_time_parse(value, STRATA_TEXT_NUL, &ns, NULL)) {
		slurm_say(update->cli, "Invalid TimeLimit value");
		return false;
	}
	int64_t seconds = ns == STRATA_DURATION_UNLIMITED
				  ? STRATA_DURATION_NS_MAX / STRATA_SECOND_NS
				  : ns / STRATA_SECOND_NS;

	if (sign)
		update->add_s = sign == '+' ? seconds : -seconds;
	else
		json_object_set_new(update->body, "time_limit", json_integer(seconds));
	return true;
}

static bool read_start(struct update *update, const char *value)
{
	int64_t now_ns = when_now_ns(), ns;
	char text[STRATA_FORM_BYTES];

	if (strata_begin_parse(value, STRATA_TEXT_NUL, now_ns, when_zone(now_ns), &ns, NULL)) {
		slurm_say(update->cli, "Invalid StartTime value");
		return false;
	}
	json_object_set_new(update->body, "begin", json_string(strata_time_print(ns, text)));
	return true;
}

/* 0 holds a job; other numbers are bands here: those above the usual are high. */
static bool read_priority(struct update *update, const char *value)
{
	int64_t number = 0;

	if (strcasecmp(value, "TOP") != 0 &&
	    strata_int_parse(value, STRATA_TEXT_NUL, 0, UINT32_MAX, &number, NULL)) {
		slurm_say(update->cli, "Invalid Priority value: %s", value);
		return false;
	}
	if (number == 0 && strcasecmp(value, "TOP") != 0)
		json_object_set_new(update->body, "hold", json_true());
	else
		json_object_set_new(update->body, "priority", json_string("high"));
	return true;
}

static bool read_nice(struct update *update, const char *value)
{
	int64_t nice = 100;

	if (*value &&
	    strata_int_parse(value, STRATA_TEXT_NUL, -2147483645, 2147483645, &nice, NULL)) {
		slurm_say(update->cli, "Invalid nice value, must be between -2147483645 and "
				       "2147483645");
		return false;
	}
	json_object_set_new(update->body, "nice", json_integer(nice));
	return true;
}

static bool is_key(const char *key, size_t length, const char *name, size_t shortest)
{
	return length >= shortest && length <= strlen(name) && strncasecmp(key, name, length) == 0;
}

/* ---- what it asks for ---- */

/* How a value of Slurm's is sent. */
enum form { FORM_TEXT, FORM_NUMBER, FORM_MEGABYTES, FORM_DEPENDENCY, FORM_GPUS };

static const struct {
	const char *name;
	size_t shortest;
	const char *field;
	enum form form;
} fields[] = {
	{ "JobName", 4, "name", FORM_TEXT },
	{ "Name", 3, "name", FORM_TEXT },
	{ "Comment", 3, "comment", FORM_TEXT },
	{ "Account", 1, "account", FORM_TEXT },
	{ "Partition", 2, "partition", FORM_TEXT },
	{ "QOS", 1, "qos", FORM_TEXT },
	{ "Dependency", 1, "dependencies", FORM_DEPENDENCY },
	{ "NumNodes", 6, "nodes", FORM_NUMBER },
	{ "NumTasks", 6, "tasks", FORM_NUMBER },
	{ "MinMemoryNode", 10, "memory", FORM_MEGABYTES },
	{ "MinMemoryCPU", 10, "memory_per_task", FORM_MEGABYTES },
	{ "Features", 1, "features", FORM_TEXT },
	{ "ReqNodeList", 8, "node_list", FORM_TEXT },
	{ "ExcNodeList", 3, "node_exclude", FORM_TEXT },
	{ "Gres", 1, "gpus_per_node", FORM_GPUS },
};

/* "gpu:a100:2", "gpu:2"; none: "gpu:0". */
static bool set_gpus(struct update *update, const char *value)
{
	const char *last = strrchr(value, ':'), *type = value + strlen("gpu:");
	int64_t count = 1;

	if (strncasecmp(value, "gpu", 3) != 0 || (value[3] && value[3] != ':'))
		return false;
	if (last && strata_int_parse(last + 1, STRATA_TEXT_NUL, 0, 1000, &count, NULL) == 0) {
		if (last > type)
			json_object_set_new(update->body, "gpu_type",
					    json_stringn(type, (size_t)(last - type)));
	} else if (last) {
		json_object_set_new(update->body, "gpu_type", json_string(type));
	}
	json_object_set_new(update->body, "gpus_per_node", json_integer(count));
	return true;
}

static bool set_value(struct update *update, size_t row, const char *value)
{
	const char *field = fields[row].field;
	int64_t number;

	switch (fields[row].form) {
	case FORM_NUMBER: /* of "2-4" nodes the fewer */
		value = strata_arena_text(&update->cli->arena, value, strcspn(value, "-"));
		if (!value ||
		    strata_int_parse(value, STRATA_TEXT_NUL, 1, UINT32_MAX, &number, NULL))
			return false;
		return json_object_set_new(update->body, field, json_integer(number)) == 0;
	case FORM_MEGABYTES:
		if (strata_slurm_memory_parse(value, STRATA_TEXT_NUL, &number, NULL))
			return false;
		return json_object_set_new(update->body, field, json_integer(number)) == 0;
	case FORM_GPUS:
		return set_gpus(update, value);
	default:
		return json_object_set_new(update->body, field,
					   *value ? json_string(value) : json_null()) == 0;
	}
}

/* -1: there is no such. */
static int find_field(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (is_key(word, length, fields[i].name, fields[i].shortest))
			return (int)i;
	return -1;
}

static bool read_throttle(struct update *update, const char *value)
{
	int64_t number;

	if (strata_int_parse(value, STRATA_TEXT_NUL, 0, STRATA_ARRAY_INDEX_MAX + 1, &number,
			     NULL)) {
		slurm_say(update->cli, "Invalid ArrayTaskThrottle value: %s", value);
		return false;
	}
	return json_object_set_new(update->body, "array_throttle", json_integer(number)) == 0;
}

static bool read_field(struct update *update, const char *word)
{
	size_t length = strcspn(word, "=");
	const char *value = word[length] ? word + length + 1 : "";
	char sign = length && strchr("+-", word[length - 1]) ? word[length - 1] : '\0';
	size_t name = length - (sign != '\0');

	if (is_key(word, name, "TimeLimit", 5))
		return read_limit(update, sign, value);
	if (is_key(word, name, "StartTime", 2) || is_key(word, name, "EligibleTime", 8))
		return read_start(update, value);
	if (is_key(word, name, "Priority", 2))
		return read_priority(update, value);
	if (is_key(word, name, "Nice", 2))
		return read_nice(update, value);
	if (is_key(word, name, "ArrayTaskThrottle", 10))
		return read_throttle(update, value);
	int row = find_field(word, name);

	if (row >= 0 && set_value(update, (size_t)row, value))
		return true;
	if (row >= 0) {
		slurm_say(update->cli, "Invalid %s value: %s", fields[row].name, value);
		return false;
	}
	slurm_say(update->cli, "Update of this parameter is not supported: %s", word);
	slurm_say(update->cli, "Request aborted");
	return false;
}

static int update_job(struct cli *cli, char *ids, char **words, size_t count)
{
	struct update update = { .cli = cli, .body = json_object() };
	int code = 0;

	for (size_t i = 0; i < count && code == 0; i++)
		if (strcspn(words[i], "=") < strlen(words[i]) && words[i] != ids)
			code = read_field(&update, words[i]) ? 0 : 1;
	if (code == 0) {
		ids = strchr(ids, '=') + 1;
		code = do_to_all(cli, update.body, update.add_s, &ids, 1);
	}
	json_decref(update.body);
	return code;
}

static int update_any(struct cli *cli, char **words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(words[i], "=");

		if (words[i][length] && is_key(words[i], length, "JobId", 3))
			return update_job(cli, words[i], words, count);
		if (words[i][length] && is_key(words[i], length, "NodeName", 5))
			return scontrol_update_node(cli, words, count);
		if (words[i][length] && is_key(words[i], length, "ReservationName", 3))
			return scontrol_update_reservation(cli, (int)count, words);
	}
	slurm_say(cli, "No valid entity in update command");
	slurm_say(cli, "Input line must include \"NodeName\" or \"JobId\"");
	return 1;
}

/* ---- the verbs ---- */

static const struct {
	const char *name;
	size_t shortest; /* letters that tell it from others */
	const char *field;
	bool value;
} verbs[] = {
	{ "hold", 2, "hold", true },       { "uhold", 2, "hold", true },
	{ "release", 3, "hold", false },   { "requeue", 3, "requeue", true },
	{ "requeuehold", 8, NULL, true },  { "suspend", 2, "suspend", true },
	{ "resume", 3, "suspend", false }, { "update", 1, NULL, false },
};

static int find(const char *verb)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (is_key(verb, strlen(verb), verbs[i].name, verbs[i].shortest))
			return (int)i;
	return -1;
}

const char *scontrol_change_at(size_t index)
{
	return index < sizeof(verbs) / sizeof(verbs[0]) ? verbs[index].name : NULL;
}

bool scontrol_changes(const char *verb)
{
	return find(verb) >= 0;
}

static int set_flag(struct cli *cli, const char *field, bool value, char **words, size_t count)
{
	json_t *body = json_pack("{s:b}", field, (int)value);
	int code = do_to_all(cli, body, 0, words, count);

	json_decref(body);
	if (code && strcmp(field, "hold") == 0 && cli->err.code == -ENOENT)
		slurm_say(cli, "slurm_suspend error: %s", chosen_why(cli)); /* as Slurm has it */
	return code;
}

int scontrol_change(struct cli *cli, const char *verb, char **words, size_t count)
{
	int which = find(verb);

	if (count == 0) {
		bool update = strcmp(verbs[which].name, "update") == 0;

		slurm_say(cli,
			  update ? "too few arguments for %s keyword"
				 : "too few arguments for keyword:%s",
			  verb);
		return 1;
	}
	if (strcmp(verbs[which].name, "update") == 0)
		return update_any(cli, words, count);
	if (verbs[which].field)
		return set_flag(cli, verbs[which].field, verbs[which].value, words, count);
	json_t *both = json_pack("{s:b,s:b}", "requeue", 1, "hold", 1);
	int code = do_to_all(cli, both, 0, words, count);

	json_decref(both);
	return code;
}
