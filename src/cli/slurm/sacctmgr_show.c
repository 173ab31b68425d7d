/* sacctmgr show: users, accounts, qualities of service, associations, the cluster, and what can be
 * counted, in Slurm's columns. */
#include "cli/slurm/sacctmgr.h"

#include "cli/service.h"
#include "slurm/output_field.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define NAME "sacctmgr"

/* A line: of the list it comes from; of an association, whose. */
struct line {
	const json_t *row;
	const char *cluster;
	bool user; /* an association's: of a user, else of its account */
};

#define FIELD_ROW const struct line *line = row

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = grid_string(row, key);

	return text ? text : "";
}

static double number_of(const struct line *line, const char *key)
{
	return json_number_value(json_object_get(line->row, key));
}

/* Empty where there is none. */
static void add_limit(struct buf *buf, const struct line *line, const char *key, const char *before)
{
	double number =
		json_number_value(json_object_get(json_object_get(line->row, "limits"), key));

	if (number > 0)
		buf_printf(buf, "%s%.0f", before, number);
}

static void add_list(struct buf *buf, const struct line *line, const char *key, const char *first)
{
	const json_t *item;
	size_t index;

	buf_add(buf, first);
	json_array_foreach(json_object_get(line->row, key), index, item)
	{
		buf_printf(buf, "%s%s", index || *first ? "," : "", grid_or(item, ""));
	}
}

TEXT_FIELD(name, text_of(line->row, "name"))
TEXT_FIELD(cluster, line->cluster)
TEXT_FIELD(account, line->user ? text_of(line->row, "account") : text_of(line->row, "name"))
TEXT_FIELD(default_account, text_of(line->row, "account"))
TEXT_FIELD(user, line->user ? text_of(line->row, "name") : "")
TEXT_FIELD(parent, line->user                      ? ""
		   : *text_of(line->row, "parent") ? text_of(line->row, "parent")
						   : "root")
TEXT_FIELD(admin, json_is_true(json_object_get(line->row, "raise_priority")) ? "Operator" : "None")
TEXT_FIELD(default_qos, text_of(line->row, "qos"))
CONSTANT_FIELD(nothing, "")
CONSTANT_FIELD(cluster_mode, "cluster")
CONSTANT_FIELD(no_grace, "00:00:00")
CONSTANT_FIELD(host, "127.0.0.1")
CONSTANT_FIELD(one, "1")
CONSTANT_FIELD(protocol, "9728")
NUMBER_FIELD(share, number_of(line, "weight"))
NUMBER_FIELD(priority, number_of(line, "priority"))

static void usage_factor(struct buf *buf, const void *row)
{
	FIELD_ROW;
	const json_t *factor = json_object_get(line->row, "usage_factor");

	buf_printf(buf, "%f", json_is_number(factor) ? json_number_value(factor) : 1);
}

static void qos_list(struct buf *buf, const void *row)
{
	FIELD_ROW;

	add_list(buf, line, "allowed_qos", text_of(line->row, "qos"));
}

#define LIMIT_FIELD(name, key, before)                     \
	static void name(struct buf *buf, const void *row) \
	{                                                  \
		FIELD_ROW;                                 \
		add_limit(buf, line, key, before);         \
	}

LIMIT_FIELD(jobs, "jobs", "")
LIMIT_FIELD(waiting, "waiting", "")
LIMIT_FIELD(gpus, "gpus", "gres/gpu=")

static void gpu_minutes(struct buf *buf, const void *row)
{
	FIELD_ROW;
	double hours = json_number_value(
		json_object_get(json_object_get(line->row, "limits"), "gpu_hours"));

	if (hours > 0)
		buf_printf(buf, "gres/gpu=%.0f", hours * 60);
}

/* clang-format off */
static const struct slurm_field user_fields[] = {
	{ 0, "User", "User", name, .width = 10, .chosen = true },
	{ 0, "DefaultAccount", "Def Acct", default_account, .width = 10, .chosen = true },
	{ 0, "DefaultQOS", "Def QOS", default_qos, .width = 10 },
	{ 0, "AdminLevel", "Admin", admin, .width = 9 },
	{ 0, "Cluster", "Cluster", cluster, .width = 10 },
	{ 0, "Account", "Account", default_account, .width = 10, .chosen = true },
	{ 0, "Partition", "Partition", nothing, .width = 10 },
	{ 0, "Share", "Share", share, .width = 9 },
	{ 0, "Fairshare", "Share", share, .width = 9 },
	{ 0, "MaxJobs", "MaxJobs", jobs, .width = 7 },
	{ 0, "MaxSubmitJobs", "MaxSubmit", waiting, .width = 9 },
	{ 0, "GrpTRES", "GrpTRES", gpus, .width = 13 },
	{ 0, "GrpTRESMins", "GrpTRESMins", gpu_minutes, .width = 13 },
	{ 0, "QOS", "QOS", qos_list, .width = 20 },
	{ .write = NULL },
};
static const struct slurm_field account_fields[] = {
	{ 0, "Account", "Account", name, .width = 10, .chosen = true },
	{ 0, "Description", "Descr", name, .width = 20, .chosen = true },
	{ 0, "Organization", "Org", parent, .width = 20, .chosen = true },
	{ 0, "Parent", "Par Name", parent, .width = 10, .chosen = true },
	{ 0, "Cluster", "Cluster", cluster, .width = 10 },
	{ 0, "Share", "Share", share, .width = 9 },
	{ 0, "Fairshare", "Share", share, .width = 9 },
	{ 0, "GrpJobs", "GrpJobs", jobs, .width = 7 },
	{ 0, "GrpSubmit", "GrpSubmit", waiting, .width = 9 },
	{ 0, "GrpTRES", "GrpTRES", gpus, .width = 13 },
	{ 0, "GrpTRESMins", "GrpTRESMins", gpu_minutes, .width = 13 },
	{ 0, "QOS", "QOS", qos_list, .width = 20 },
	{ .write = NULL },
};
static const struct slurm_field qos_fields[] = {
	{ 0, "Name", "Name", name, .width = 10, .chosen = true },
	{ 0, "Priority", "Priority", priority, .width = 10 },
	{ 0, "GraceTime", "GraceTime", no_grace, .width = 10 },
	{ 0, "Preempt", "Preempt", nothing, .width = 10 },
	{ 0, "PreemptExemptTime", "PreemptExemptTime", nothing, .width = 19 },
	{ 0, "PreemptMode", "PreemptMode", cluster_mode, .width = 11 },
	{ 0, "Flags", "Flags", nothing, .width = 40 },
	{ 0, "UsageThreshold", "UsageThres", nothing, .width = 10 },
	{ 0, "UsageFactor", "UsageFactor", usage_factor, .width = 11 },
	{ 0, "GrpTRES", "GrpTRES", gpus, .width = 13 },
	{ 0, "GrpTRESMins", "GrpTRESMins", gpu_minutes, .width = 13 },
	{ 0, "GrpTRESRunMins", "GrpTRESRunMin", nothing, .width = 13 },
	{ 0, "GrpJobs", "GrpJobs", jobs, .width = 7 },
	{ 0, "GrpSubmit", "GrpSubmit", waiting, .width = 9 },
	{ 0, "GrpWall", "GrpWall", nothing, .width = 11 },
	{ 0, "MaxTRES", "MaxTRES", nothing, .width = 13 },
	{ 0, "MaxTRESPerNode", "MaxTRESPerNode", nothing, .width = 14 },
	{ 0, "MaxTRESMins", "MaxTRESMins", nothing, .width = 13 },
	{ 0, "MaxWall", "MaxWall", nothing, .width = 11 },
	{ 0, "MaxTRESPU", "MaxTRESPU", nothing, .width = 13 },
	{ 0, "MaxJobsPU", "MaxJobsPU", nothing, .width = 9 },
	{ 0, "MaxSubmitPU", "MaxSubmitPU", nothing, .width = 11 },
	{ 0, "MaxTRESPA", "MaxTRESPA", nothing, .width = 13 },
	{ 0, "MaxJobsPA", "MaxJobsPA", nothing, .width = 9 },
	{ 0, "MaxSubmitPA", "MaxSubmitPA", nothing, .width = 11 },
	{ 0, "MinTRES", "MinTRES", nothing, .width = 13 },
	{ .write = NULL },
};
static const struct slurm_field association_fields[] = {
	{ 0, "Cluster", "Cluster", cluster, .width = 10 },
	{ 0, "Account", "Account", account, .width = 10, .chosen = true },
	{ 0, "User", "User", user, .width = 10, .chosen = true },
	{ 0, "Partition", "Partition", nothing, .width = 10 },
	{ 0, "Share", "Share", share, .width = 9 },
	{ 0, "Fairshare", "Share", share, .width = 9 },
	{ 0, "Parent", "Par Name", parent, .width = 10, .chosen = true },
	{ 0, "Priority", "Priority", nothing, .width = 10 },
	{ 0, "GrpJobs", "GrpJobs", jobs, .width = 7 },
	{ 0, "GrpTRES", "GrpTRES", gpus, .width = 13 },
	{ 0, "GrpSubmit", "GrpSubmit", waiting, .width = 9 },
	{ 0, "GrpTRESMins", "GrpTRESMins", gpu_minutes, .width = 13 },
	{ 0, "QOS", "QOS", qos_list, .width = 20 },
	{ 0, "DefaultQOS", "Def QOS", default_qos, .width = 9 },
	{ .write = NULL },
};
static const struct slurm_field cluster_fields[] = {
	{ 0, "Cluster", "Cluster", cluster, .width = 10 },
	{ 0, "ControlHost", "ControlHost", host, .width = 15 },
	{ 0, "ControlPort", "ControlPort", nothing, .width = 12 },
	{ 0, "RPC", "RPC", protocol, .width = 5 },
	{ 0, "Share", "Share", one, .width = 9 },
	{ 0, "QOS", "QOS", nothing, .width = 20 },
	{ .write = NULL },
};
/* clang-format on */

struct sacctmgr_columns sacctmgr_users(const struct sacctmgr *sacctmgr)
{
	return (struct sacctmgr_columns){
		user_fields, sacctmgr->associations
				     ? "user,defaultaccount,adminlevel,cluster,account,partition,"
				       "share,maxjobs,maxsubmitjobs,qos,defaultqos"
				     : "user,defaultaccount,adminlevel"
	};
}

struct sacctmgr_columns sacctmgr_accounts(const struct sacctmgr *sacctmgr)
{
	(void)sacctmgr;
	return (struct sacctmgr_columns){ account_fields, "account,description,organization" };
}

struct sacctmgr_columns sacctmgr_qos(const struct sacctmgr *sacctmgr)
{
	(void)sacctmgr;
	return (struct sacctmgr_columns){
		qos_fields,
		"name,priority,gracetime,preempt,preemptexempttime,preemptmode,flags,"
		"usagethreshold,usagefactor,grptres,grptresmins,grptresrunmins,grpjobs,"
		"grpsubmit,grpwall,maxtres,maxtrespernode,maxtresmins,maxwall,maxtrespu,"
		"maxjobspu,maxsubmitpu,maxtrespa,maxjobspa,maxsubmitpa,mintres"
	};
}

/* ---- printing ---- */

/* What is behind the kind: names, and which columns. */
struct wish {
	const char *names; /* "a,b"; NULL: all */
	const char *format;
};

static void read_wish(struct sacctmgr *sacctmgr, int count, char **words, struct wish *wish)
{
	for (int i = 2; i < count; i++) {
		const char *value = strchr(words[i], '=');
		size_t length = value ? (size_t)(value - words[i]) : strlen(words[i]);

		if (value && strncasecmp(words[i], "format", length) == 0)
			wish->format = value + 1;
		else if (value)
			wish->names = value + 1; /* user=ann, name=fast */
		else if (strncasecmp(words[i], "withassoc", 5) == 0)
			sacctmgr->associations = true;
		else if (strcasecmp(words[i], "where") != 0)
			wish->names = words[i];
	}
}

static const char *own_cluster(struct cli *cli)
{
	json_t *session = NULL;
	const char *name = "strata";

	if (service_list(cli, "session", &session) == 0)
		name = strata_arena_printf(&cli->arena, "%s",
					   grid_or(json_object_get(session, "cluster"), name));
	json_decref(session);
	return name ? name : "strata";
}

/* Rows of a collection, in the order of their names. Returns 0 or the exit code. */
static int print_rows(struct sacctmgr *sacctmgr, const char *collection, const struct wish *wish,
		      bool user)
{
	struct cli *cli = sacctmgr->cli;
	struct line line = { .cluster = own_cluster(cli), .user = user };
	json_t *answer;
	const json_t *row;
	size_t index;

	if (service_list(cli, collection, &answer)) {
		slurm_error(cli, NAME, "slurmdbd: %s", cli->err.text);
		return 1;
	}
	json_array_foreach(json_object_get(answer, collection), index, row)
	{
		line.row = row;
		if (!wish->names || slurm_listed(wish->names, text_of(row, "name")))
			listing_row(cli, &sacctmgr->listing, &line);
	}
	json_decref(answer);
	return 0;
}

static int print_kind(struct sacctmgr *sacctmgr, const char *collection, const struct wish *wish,
		      struct sacctmgr_columns columns)
{
	if (!listing_read(sacctmgr->cli, NAME, columns.fields,
			  wish->format ? wish->format : columns.usual, &sacctmgr->listing))
		return 1;
	listing_head(sacctmgr->cli, &sacctmgr->listing);
	return print_rows(sacctmgr, collection, wish, strcmp(collection, "users") == 0);
}

static int print_associations(struct sacctmgr *sacctmgr, const struct wish *wish)
{
	static const char usual[] = "cluster,account,user,partition,share,priority,grpjobs,grptres,"
				    "grpsubmit,grptresmins,qos,defaultqos";

	if (!listing_read(sacctmgr->cli, NAME, association_fields,
			  wish->format ? wish->format : usual, &sacctmgr->listing))
		return 1;
	listing_head(sacctmgr->cli, &sacctmgr->listing);
	int code = print_rows(sacctmgr, "accounts", wish, false);

	return code ? code : print_rows(sacctmgr, "users", wish, true);
}

static int print_cluster(struct sacctmgr *sacctmgr, const struct wish *wish)
{
	struct line line = { .cluster = own_cluster(sacctmgr->cli) };

	if (!listing_read(sacctmgr->cli, NAME, cluster_fields,
			  wish->format ? wish->format
				       : "cluster,controlhost,controlport,rpc,share,qos",
			  &sacctmgr->listing))
		return 1;
	listing_head(sacctmgr->cli, &sacctmgr->listing);
	listing_row(sacctmgr->cli, &sacctmgr->listing, &line);
	return 0;
}

int sacctmgr_show(struct sacctmgr *sacctmgr, int count, char **words)
{
	const char *kind = count > 1 ? words[1] : "";
	struct wish wish = { 0 };

	read_wish(sacctmgr, count, words, &wish);
	if (sacctmgr->verbose)
		slurm_say(sacctmgr->cli, "sacctmgr: showing %s", kind);
	if (strncasecmp(kind, "user", 4) == 0)
		return print_kind(sacctmgr, "users", &wish, sacctmgr_users(sacctmgr));
	if (strncasecmp(kind, "acc", 3) == 0)
		return print_kind(sacctmgr, "accounts", &wish, sacctmgr_accounts(sacctmgr));
	if (strncasecmp(kind, "qos", 3) == 0)
		return print_kind(sacctmgr, "qos", &wish, sacctmgr_qos(sacctmgr));
	if (strncasecmp(kind, "assoc", 5) == 0)
		return print_associations(sacctmgr, &wish);
	if (strncasecmp(kind, "cluster", 7) == 0)
		return print_cluster(sacctmgr, &wish);
	slurm_say(sacctmgr->cli, "No valid entity in list command");
	slurm_say(sacctmgr->cli,
		  "Input line must include \"Account\", \"Association\", \"Cluster\", "
		  "\"QOS\" or \"User\"");
	return 1;
}
