/*
 * sacctmgr: a front of our own users, accounts and qualities of service, in its words. A verb, a
 * kind of thing, names, and what is asked for or set: `sacctmgr add user ann account=lab`. What is
 * made, changed and deleted is our own (`strata users` shows the same); what it prints is in
 * sacctmgr_show.c.
 */
#include "cli/slurm/sacctmgr.h"

#include "cli/service.h"

#include <strata/slurm.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NAME "sacctmgr"

/* -p and -P: a delimiter between columns; of -p also behind the last. */
static int read_parsable(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	struct sacctmgr *sacctmgr = reading->into;

	(void)value, (void)err;
	sacctmgr->listing.delimiter = "|";
	sacctmgr->listing.delimiter_last = row->option.letter == 'p';
	return 0;
}

#define FIELD(name) offsetof(struct sacctmgr, name)

/* clang-format off */
static const struct slurm_row rows[] = {
	SLURM_ROW_HOLDS("account", 0, "accounts in each row, which they are anyway"),
	{ { "associations", 's', .help = "with the associations of users" }, slurm_read_flag, FIELD(associations) },
	SLURM_ROW_HELP('h'),
	{ { "immediate", 'i', .help = "ask nobody before it is done" }, slurm_read_flag, FIELD(immediate) },
	{ { "noheader", 'n', .help = "no titles" }, slurm_read_flag, FIELD(listing.headless) },
	{ { "parsable", 'p', .help = "columns between bars, one behind the last" }, read_parsable, 0 },
	{ { "parsable2", 'P', .help = "columns between bars" }, read_parsable, 0 },
	{ { "quiet", 'Q', .help = "say nothing but errors" }, slurm_read_flag, FIELD(quiet) },
	{ { "readonly", 'r', .help = "change nothing" }, slurm_read_flag, FIELD(readonly) },
	SLURM_ROW_USAGE(0),
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows, .stops = true };

/* ---- words ---- */

/* "account=lab": its name, at least so long, in any case. */
static bool is_key(const char *word, const char *name, size_t shortest)
{
	size_t length = strcspn(word, "=");

	return word[length] && length >= shortest && length <= strlen(name) &&
	       strncasecmp(word, name, length) == 0;
}

static const char *value_of(const char *word)
{
	return strchr(word, '=') + 1;
}

static bool say_unknown(struct cli *cli, const char *word)
{
	slurm_say(cli, " Unknown option: %s", word);
	slurm_say(cli, " Use keyword 'where' to modify condition");
	return false;
}

static bool read_number(struct cli *cli, const char *word, double *ret_number)
{
	char *end;

	*ret_number = strtod(value_of(word), &end);
	if (!*end && end != value_of(word))
		return true;
	slurm_say(cli, " Bad value of %s", word);
	return false;
}

static void add_limit(json_t *body, const char *name, double value)
{
	json_t *limits = json_object_get(body, "limits");

	if (!limits) {
		limits = json_object();
		json_object_set_new(body, "limits", limits);
	}
	value = value < 0 ? 0 : value; /* -1 is none */
	json_object_set_new(limits, name,
			    strcmp(name, "gpu_hours") == 0 ? json_real(value)
							   : json_integer((json_int_t)value));
}

/* GrpTRES=gres/gpu=4: of what is limited here. */
static bool read_tres(struct cli *cli, const char *word, const char *limit, json_t *body)
{
	const char *at = strstr(value_of(word), "gres/gpu=");

	if (!at) {
		slurm_say(cli, " Only gres/gpu can be limited here: %s", word);
		return false;
	}
	double number = strtod(at + strlen("gres/gpu="), NULL);

	/* minutes of GPUs are hours here */
	add_limit(body, limit, strcmp(limit, "gpu_hours") == 0 ? number / 60 : number);
	return true;
}

/* What every kind has. -1: it is another; else whether it is good. */
static int read_common(struct cli *cli, const char *word, json_t *body)
{
	double number;

	if (is_key(word, "GrpTRES", 7) || is_key(word, "MaxTRESPerUser", 11))
		return read_tres(cli, word, "gpus", body);
	if (is_key(word, "GrpTRESMins", 8))
		return read_tres(cli, word, "gpu_hours", body);
	if (is_key(word, "GrpJobs", 4) || is_key(word, "MaxJobs", 4) ||
	    is_key(word, "GrpSubmitJobs", 4) || is_key(word, "MaxSubmitJobs", 4)) {
		bool waiting = strcasestr(word, "submit");

		if (!read_number(cli, word, &number))
			return 0;
		add_limit(body, waiting ? "waiting" : "jobs", number);
		return 1;
	}
	return -1;
}

static bool read_share(struct cli *cli, const char *word, json_t *body)
{
	double number;

	if (!read_number(cli, word, &number))
		return false;
	return json_object_set_new(body, "weight", json_real(number)) == 0;
}

static bool set_text(json_t *body, const char *key, const char *text)
{
	return json_object_set_new(body, key, *text ? json_string(text) : json_null()) == 0;
}

/* "a,b" */
static json_t *texts(const char *list)
{
	json_t *all = json_array();

	for (const char *at = list; *at;) {
		size_t span = strcspn(at, ",");

		if (span)
			json_array_append_new(all, json_stringn(at, span));
		at += span + (at[span] == ',');
	}
	return all;
}

static bool read_user(struct cli *cli, const char *word, json_t *body)
{
	int common = read_common(cli, word, body);

	if (common >= 0)
		return common;
	if (is_key(word, "Account", 2) || is_key(word, "DefaultAccount", 8))
		return set_text(body, "account", value_of(word));
	if (is_key(word, "DefaultQOS", 8))
		return set_text(body, "qos", value_of(word));
	if (is_key(word, "QOSLevel", 1))
		return json_object_set_new(body, "allowed_qos", texts(value_of(word))) == 0;
	if (is_key(word, "Fairshare", 1) || is_key(word, "Shares", 1))
		return read_share(cli, word, body);
	if (is_key(word, "AdminLevel", 2) || is_key(word, "Cluster", 1) ||
	    is_key(word, "Partition", 1))
		return true; /* there is one cluster; who is what is a setting of the service */
	return say_unknown(cli, word);
}

static bool read_account(struct cli *cli, const char *word, json_t *body)
{
	int common = read_common(cli, word, body);

	if (common >= 0)
		return common;
	if (is_key(word, "Parent", 1))
		return set_text(body, "parent",
				strcasecmp(value_of(word), "root") ? value_of(word) : "");
	if (is_key(word, "QOSLevel", 1))
		return json_object_set_new(body, "allowed_qos", texts(value_of(word))) == 0;
	if (is_key(word, "Fairshare", 1) || is_key(word, "Shares", 1))
		return read_share(cli, word, body);
	if (is_key(word, "Description", 1) || is_key(word, "Organization", 1) ||
	    is_key(word, "Cluster", 1))
		return true; /* said, and not kept: an account is its name */
	return say_unknown(cli, word);
}

static bool read_qos(struct cli *cli, const char *word, json_t *body)
{
	int common = read_common(cli, word, body);
	double number;

	if (common >= 0)
		return common;
	if (is_key(word, "Priority", 3) || is_key(word, "UsageFactor", 6)) {
		if (!read_number(cli, word, &number))
			return false;
		return json_object_set_new(
			       body, is_key(word, "Priority", 3) ? "priority" : "usage_factor",
			       json_real(number)) == 0;
	}
	if (is_key(word, "Description", 1))
		return true;
	return say_unknown(cli, word);
}

static const struct sacctmgr_kind kinds[] = {
	{ "account", "accounts", "Account(s)", "accounts", read_account, sacctmgr_accounts },
	{ "qos", "qos", "QOS(s)", "QOS(s)", read_qos, sacctmgr_qos },
	{ "user", "users", "User(s)", "users", read_user, sacctmgr_users },
};

static const struct sacctmgr_kind *find_kind(const char *word)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncasecmp(word, kinds[i].name, strlen(kinds[i].name)) == 0 ||
		    (strlen(word) >= 3 && strncasecmp(word, kinds[i].name, strlen(word)) == 0))
			return &kinds[i];
	return NULL;
}

/* ---- asking ---- */

bool sacctmgr_agreed(const struct sacctmgr *sacctmgr)
{
	char answer[32];

	if (sacctmgr->immediate)
		return true;
	cli_print(sacctmgr->cli,
		  "Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): ");
	cli_flush(sacctmgr->cli);
	if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	cli_print(sacctmgr->cli, " Changes Discarded\n");
	return false;
}

static int ask(const struct sacctmgr *sacctmgr, const char *method,
	       const struct sacctmgr_kind *kind, const char *name, json_t *body)
{
	struct buf path;
	json_t *answer;

	service_path(sacctmgr->cli, &path, kind->collection, name, NULL);
	int rc = service_ask(sacctmgr->cli, method, &path, body, &answer);

	if (rc == 0)
		json_decref(answer);
	return rc;
}

static int complain(const struct sacctmgr *sacctmgr, const char *what)
{
	const struct strata_error *err = &sacctmgr->cli->err;

	if (service_away(err->code)) {
		slurm_error(sacctmgr->cli, NAME, "slurmdbd: %s", err->text);
		return 1;
	}
	slurm_error(sacctmgr->cli, NAME, "%s: %s", what, err->text);
	return 1;
}

/* ---- add, modify, delete ---- */

static bool is_made(const json_t *list, const char *name)
{
	const json_t *row;
	size_t index;

	json_array_foreach(list, index, row)
	{
		if (strcmp(grid_or(json_object_get(row, "name"), ""), name) == 0)
			return !json_is_false(json_object_get(row, "made"));
	}
	return false;
}

/* The names of a command: behind the kind, or "name=a,b"; what is no name is read into the body. */
static bool read_words(struct sacctmgr *sacctmgr, const struct sacctmgr_kind *kind, int count,
		       char **words, json_t **ret_names, json_t *body)
{
	bool set = false, good = true;
	json_t *names = json_array();

	for (int i = 0; good && i < count; i++) {
		bool name = !strchr(words[i], '=') || is_key(words[i], "Names", 2);

		if (strcasecmp(words[i], "set") == 0 || strcasecmp(words[i], "where") == 0) {
			set = strcasecmp(words[i], "set") == 0;
		} else if (name && !set) {
			json_t *more = texts(strchr(words[i], '=') ? value_of(words[i]) : words[i]);

			json_array_extend(names, more);
			json_decref(more);
		} else {
			good = kind->read(sacctmgr->cli, words[i], body);
		}
	}
	if (good && json_array_size(names) == 0) {
		slurm_say(sacctmgr->cli, " Need name of %s", kind->name);
		good = false;
	}
	if (good)
		*ret_names = names;
	else
		json_decref(names);
	return good;
}

static void tell_names(const struct sacctmgr *sacctmgr, const char *title, const json_t *names)
{
	const json_t *name;
	size_t index;

	if (sacctmgr->quiet)
		return;
	cli_printf(sacctmgr->cli, " %s\n", title);
	json_array_foreach(names, index, name)
		cli_printf(sacctmgr->cli, "  %s\n", grid_or(name, ""));
}

enum deed { ADD, MODIFY, DELETE };

/* Those that are to be there already are, or not yet. */
static json_t *meant(const json_t *list, const json_t *names, bool there)
{
	json_t *kept = json_array();
	const json_t *name;
	size_t index;

	json_array_foreach(names, index, name)
	{
		if (is_made(list, grid_or(name, "")) == there)
			json_array_append(kept, (json_t *)(uintptr_t)name);
	}
	return kept;
}

static int do_to(struct sacctmgr *sacctmgr, const struct sacctmgr_kind *kind, enum deed deed,
		 const json_t *names, const json_t *body)
{
	static const char *const titles[] = { "Adding", "Modified", "Deleting" };
	static const char *const nothing[] = { " Nothing new added.", " Nothing modified",
					       " Nothing deleted" };
	const char *title = strata_arena_printf(&sacctmgr->cli->arena, "%s %s%s", titles[deed],
						deed == ADD      ? kind->title
						: deed == DELETE ? kind->plural
								 : kind->name,
						deed == ADD ? "" : "...");
	const json_t *name;
	size_t index;
	int rc = 0;

	if (json_array_size(names) == 0) {
		cli_printf(sacctmgr->cli, "%s\n", nothing[deed]);
		return 1;
	}
	tell_names(sacctmgr, title ? title : "", names);
	if (!sacctmgr_agreed(sacctmgr))
		return 0;
	json_array_foreach(names, index, name)
	{
		if (rc == 0)
			rc = ask(sacctmgr, deed == DELETE ? "DELETE" : "PUT", kind,
				 grid_or(name, ""), deed == DELETE ? NULL : json_deep_copy(body));
	}
	return rc ? complain(sacctmgr,
			     deed == DELETE ? "Error with request" : "Problem with request")
		  : 0;
}

static int change(struct sacctmgr *sacctmgr, enum deed deed, int count, char **words)
{
	const struct sacctmgr_kind *kind = count > 1 ? find_kind(words[1]) : NULL;
	json_t *body = json_object(), *names = NULL, *answer = NULL, *kept = NULL;
	int code = 1;

	if (sacctmgr->readonly) {
		slurm_say(sacctmgr->cli, "Can't run this command in readonly mode.");
	} else if (!kind) {
		slurm_say(sacctmgr->cli, "No valid entity in %s command", words[0]);
		slurm_say(sacctmgr->cli,
			  "Input line must include \"Account\", \"QOS\" or \"User\"");
	} else if (read_words(sacctmgr, kind, count - 2, words + 2, &names, body)) {
		if (service_list(sacctmgr->cli, kind->collection, &answer)) {
			complain(sacctmgr, "Error with request");
		} else {
			kept = meant(json_object_get(answer, kind->collection), names, deed != ADD);
			code = do_to(sacctmgr, kind, deed, kept, body);
		}
	}
	json_decref(body);
	json_decref(names);
	json_decref(answer);
	json_decref(kept);
	return code;
}

static int add(struct sacctmgr *sacctmgr, int count, char **words)
{
	return change(sacctmgr, ADD, count, words);
}

static int modify(struct sacctmgr *sacctmgr, int count, char **words)
{
	return change(sacctmgr, MODIFY, count, words);
}

static int delete (struct sacctmgr *sacctmgr, int count, char **words)
{
	return change(sacctmgr, DELETE, count, words);
}

static int version(struct sacctmgr *sacctmgr, int count, char **words)
{
	(void)count, (void)words;
	return slurm_version(sacctmgr->cli);
}

static const struct {
	const char *name;
	int (*run)(struct sacctmgr *sacctmgr, int count, char **words);
} verbs[] = {
	{ "add", add },
	{ "create", add },
	{ "delete", delete },
	{ "list", sacctmgr_show },
	{ "modify", modify },
	{ "remove", delete },
	{ "show", sacctmgr_show },
	{ "version", version },
};

static void print_verbs(struct cli *cli)
{
	cli_print(cli, "Its verbs:");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		cli_printf(cli, "%s %s", i ? "," : "", verbs[i].name);
	cli_print(cli, "; of account, qos and user\n");
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sacctmgr sacctmgr = { .cli = cli };
	struct slurm_reading reading;
	int code = slurm_options(cli, &slurm_sacctmgr, argc, argv, &sacctmgr, &reading);

	if (code >= 0)
		return code;
	int count = (int)reading.operand_count;
	char **words = argv + argc - count;

	if (count == 0) {
		slurm_help(cli, &slurm_sacctmgr);
		return 1;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcasecmp(verbs[i].name, words[0]) == 0)
			return verbs[i].run(&sacctmgr, count, words);
	slurm_say(cli, "invalid keyword: %s", words[0]);
	return 1;
}

const struct slurm_command slurm_sacctmgr = {
	.name = NAME,
	.summary = "show and change users, accounts and qualities of service",
	.operands = "VERB KIND [NAME…] [FIELD=VALUE…]",
	.syntax = &syntax,
	.help = print_verbs,
	.run = run
};
