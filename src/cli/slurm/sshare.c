/* sshare: shares of accounts and users, and what they have used. Usage is in GPU seconds. */
#include "cli/slurm/command.h"

#include "cli/service.h"
#include "cli/slurm/jobs.h"

#include <strata/text.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME "sshare"

enum { CHOSEN_MAX = 32 };

/* A column that is shown, and how wide; below 0: to the left. */
struct chosen_column {
	int column, width;
};

struct sshare {
	const char *users, *accounts;
	struct chosen_column chosen[CHOSEN_MAX];
	int chosen_count;      /* 0: all there are */
	const char *delimiter; /* NULL: columns */
	bool delimiter_last, headless, everybody, detailed, partitions, only_users;
	const char *clusters;
	int64_t verbose;
	const json_t *all_users, *all_accounts;
	double used; /* by all, in hours */
};

static const struct {
	const char *title;
	int width; /* below 0: to the left */
} columns[] = {
	{ "Account", -20 },   { "User", 10 },     { "Partition", 12 },   { "RawShares", 10 },
	{ "NormShares", 11 }, { "RawUsage", 11 }, { "NormUsage", 11 },   { "EffectvUsage", 13 },
	{ "FairShare", 10 },  { "LevelFS", 10 },  { "GrpTRESMins", 30 }, { "TRESRunMins", 30 },
};
/* Which of them are shown when nobody chooses. */
enum {
	USUAL = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8,
	LONG = USUAL | 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11,
	PARTITION = 1 << 2
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* -p and -P: a delimiter between columns; of -p also behind the last. */
static int read_parsable(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	struct sshare *sshare = reading->into;

	(void)value, (void)err;
	sshare->delimiter = "|";
	sshare->delimiter_last = row->option.letter == 'p';
	return 0;
}

/* "Account,User%20,FairShare" */
static int read_format(struct slurm_reading *reading, const struct slurm_row *row,
		       const char *value, struct strata_error *err)
{
	struct sshare *sshare = reading->into;

	(void)row;
	sshare->chosen_count = 0;
	for (const char *at = value; *at;) {
		size_t span = strcspn(at, ","), name = strcspn(at, ",%");
		int column = 0;
		int64_t width = 0;

		while (column < COLUMNS && (strlen(columns[column].title) < name ||
					    strncasecmp(columns[column].title, at, name) != 0))
			column++;
		if (name == 0 || column == COLUMNS || sshare->chosen_count == CHOSEN_MAX)
			return strata_fail(err, -EINVAL, "Invalid field requested: \"%.*s\"",
					   (int)(span > 60 ? 60 : span), at);
		if (name < span &&
		    strata_int_parse(at + name + 1, span - name - 1, -200, 200, &width, NULL))
			return strata_fail(err, -EINVAL, "Invalid width: \"%.*s\"",
					   (int)(span > 60 ? 60 : span), at);
		sshare->chosen[sshare->chosen_count++] =
			(struct chosen_column){ column,
						width ? (int)width : columns[column].width };
		at += span + (at[span] == ',');
	}
	return 0;
}

#define FIELD(name) offsetof(struct sshare, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	{ { "accounts", 'A', VALUE, .help = "these accounts" }, slurm_read_text, FIELD(accounts) },
	{ { "all", 'a', .help = "all users" }, slurm_read_flag, FIELD(everybody) },
	{ { "cluster", 0, VALUE, .help = "shares of these clusters" }, slurm_read_text, FIELD(clusters) },
	{ { "clusters", 'M', VALUE, .help = "shares of these clusters" }, slurm_read_text, FIELD(clusters) },
	{ { "format", 'o', VALUE, .help = "columns: account,user%20,fairshare" }, read_format, 0 },
	SLURM_ROW_HELP('h'),
	{ { "helpformat", 'e', .help = "list the columns" }, slurm_read_end, 0 },
	{ { "long", 'l', .help = "more columns" }, slurm_read_flag, FIELD(detailed) },
	{ { "noheader", 'n', .help = "no titles" }, slurm_read_flag, FIELD(headless) },
	{ { "parsable", 'p', .help = "columns between bars, one behind the last" }, read_parsable, 0 },
	{ { "parsable2", 'P', .help = "columns between bars" }, read_parsable, 0 },
	{ { "partition", 'm', .help = "a column for partitions" }, slurm_read_flag, FIELD(partitions) },
	{ { "uid", 0, VALUE, .help = "these users" }, slurm_read_text, FIELD(users) },
	SLURM_ROW_USAGE(0),
	{ { "user", 'u', VALUE, .help = "these users" }, slurm_read_text, FIELD(users) },
	{ { "users", 0, VALUE, .help = "these users" }, slurm_read_text, FIELD(users) },
	{ { "Users", 'U', .help = "users without their accounts" }, slurm_read_flag, FIELD(only_users) },
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

static void print_row(struct cli *cli, const struct sshare *sshare,
		      const char *const cells[COLUMNS])
{
	for (int i = 0; i < sshare->chosen_count; i++) {
		const struct chosen_column *chosen = &sshare->chosen[i];
		bool last = i + 1 == sshare->chosen_count;

		if (sshare->delimiter)
			cli_printf(cli, "%s%s", cells[chosen->column],
				   !last || sshare->delimiter_last ? sshare->delimiter : "");
		else
			cli_printf(cli, "%*.*s ", chosen->width, abs(chosen->width),
				   cells[chosen->column]);
	}
	cli_print(cli, "\n");
}

static double number(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

/* Whose share it is a part of: NULL is the root. */
static const char *above(const json_t *row, bool user)
{
	return grid_string(row, user ? "account" : "parent");
}

static bool same(const char *left, const char *right)
{
	return left && right ? strcmp(left, right) == 0 : left == right;
}

/* Of all that stand beside it. */
static double weight_below(const struct sshare *sshare, const char *account)
{
	const json_t *row;
	double sum = 0;
	size_t index;

	json_array_foreach(sshare->all_users, index, row)
		sum += same(above(row, true), account) ? number(row, "weight") : 0;
	json_array_foreach(sshare->all_accounts, index, row)
		sum += same(above(row, false), account) ? number(row, "weight") : 0;
	return sum;
}

static void print_share(struct cli *cli, const struct sshare *sshare, const json_t *row,
			const char *account, bool user, int depth)
{
	double weight = number(row, "weight"), all = weight_below(sshare, above(row, user));
	const char *name = grid_or(json_object_get(row, "name"), "?");
	char title[256], shares[32], part[32], used[32], share[32], factor[32], level[32];
	double own = sshare->used > 0 ? fmin(number(row, "gpu_hours") / sshare->used, 1) : 0;

	snprintf(title, sizeof(title), "%*s%.200s", depth, "", user ? account : name);
	snprintf(shares, sizeof(shares), "%.0f", weight);
	snprintf(part, sizeof(part), "%f", all > 0 ? weight / all : 0);
	snprintf(used, sizeof(used), "%.0f", number(row, "gpu_hours") * 3600);
	snprintf(share, sizeof(share), "%f", own);
	snprintf(level, sizeof(level), "%f", own > 0 && all > 0 ? weight / all / own : INFINITY);
	snprintf(factor, sizeof(factor), "%f", number(row, "factor"));
	print_row(cli, sshare,
		  (const char *const[]){ title, user ? name : "", "", shares, part, used, share,
					 share, user ? factor : "", level, "", "" });
}

/* The users of an account, then the accounts below it. */
static void print_below(struct cli *cli, const struct sshare *sshare, const char *account,
			int depth)
{
	enum { DEPTH_MAX = 32 }; /* a ring of parents ends here */
	const json_t *row;
	size_t index;

	json_array_foreach(sshare->all_users, index, row)
	{
		const char *name = grid_or(json_object_get(row, "name"), "?");

		if (same(above(row, true), account) &&
		    (sshare->everybody || slurm_listed(sshare->users, name)))
			print_share(cli, sshare, row, account ? account : "root", true, depth);
	}
	json_array_foreach(sshare->all_accounts, index, row)
	{
		const char *name = grid_or(json_object_get(row, "name"), "?");

		if (!same(above(row, false), account) || depth >= DEPTH_MAX)
			continue;
		if (!sshare->only_users &&
		    (!sshare->accounts || slurm_listed(sshare->accounts, name)))
			print_share(cli, sshare, row, account, false, depth);
		print_below(cli, sshare, name, sshare->only_users ? 0 : depth + 1);
	}
}

/* As long as the widest column; cut to each. */
#define RULE                                                                           \
	"----------------------------------------------------------------------------" \
	"----------------------------------------------------------------------------" \
	"------------------------------------------------"

static void print(struct cli *cli, struct sshare *sshare)
{
	const char *titles[COLUMNS], *rules[COLUMNS];
	char used[32];
	const json_t *row;
	size_t index;

	for (int i = 0; i < COLUMNS; i++) {
		titles[i] = columns[i].title;
		rules[i] = RULE;
	}
	json_array_foreach(sshare->all_users, index, row) sshare->used += number(row, "gpu_hours");
	snprintf(used, sizeof(used), "%.0f", sshare->used * 3600);
	if (!sshare->headless)
		print_row(cli, sshare, titles);
	if (!sshare->headless && !sshare->delimiter)
		print_row(cli, sshare, rules);
	if (!sshare->only_users)
		print_row(cli, sshare,
			  (const char *const[]){ "root", "", "", "", "0.000000", used, "1.000000",
						 "1.000000", "", "", "", "" });
	print_below(cli, sshare, NULL, sshare->only_users ? 0 : 1);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sshare sshare = { .users = service_own_name(cli) };
	struct slurm_reading reading;
	json_t *users = NULL, *accounts = NULL;
	int code = slurm_options(cli, &slurm_sshare, argc, argv, &sshare, &reading);

	if (code >= 0)
		return code;
	if (reading.ended) {
		for (int i = 0; i < COLUMNS; i++)
			cli_printf(cli, "%s\n", columns[i].title);
		return 0;
	}
	if (!slurm_cluster_known(cli, NAME, sshare.clusters))
		return 1;
	int usual = (sshare.detailed ? LONG : USUAL) | (sshare.partitions ? PARTITION : 0);

	for (int i = 0, count = sshare.chosen_count; count == 0 && i < COLUMNS; i++)
		if (usual >> i & 1)
			sshare.chosen[sshare.chosen_count++] =
				(struct chosen_column){ i, columns[i].width };
	slurm_print_cluster(cli, sshare.clusters);
	if (sshare.verbose)
		cli_printf(cli, "Users requested:\n\t: %s\nAccounts requested:\n\t: %s\n",
			   sshare.everybody ? "all" : sshare.users,
			   sshare.accounts ? sshare.accounts : "all");
	int rc = service_list(cli, "users", &users);

	if (rc == 0)
		rc = service_list(cli, "accounts", &accounts);
	if (rc == 0) {
		sshare.all_users = json_object_get(users, "users");
		sshare.all_accounts = json_object_get(accounts, "accounts");
		print(cli, &sshare);
	}
	json_decref(users);
	json_decref(accounts);
	return rc ? slurm_unreachable(cli, "slurm_associations_get_shares") : 0;
}

const struct slurm_command slurm_sshare = { .name = NAME,
					    .summary = "show shares and what was used of them",
					    .syntax = &syntax,
					    .run = run };
