/* sinfo: partitions and nodes, as Slurm shows them. */
#include "cli/slurm/sinfo.h"

#include "cli/service.h"
#include "cli/slurm/json.h"

#include <strata/slurm.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME "sinfo"
#define FORMAT "%#P %.5a %.10l %.6D %.6t %N"
#define FORMAT_LONG "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
#define FORMAT_SHORT "%#P %.5a %.10l %.16F %N"
#define FORMAT_NODES "%#N %.6D %.#P %6t"
#define FORMAT_NODES_LONG "%#N %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
#define FORMAT_REASONS "%20E %9u %19H %N"
#define FORMAT_REASONS_LONG "%20E %12U %19H %6t %N"

struct sinfo {
	const char *partitions, *nodes, *states, *format, *format_names, *sort;
	int64_t every_s; /* 0: once */
	bool headless, detailed, summary, by_node, reasons, dead, responding, json;
	const char *clusters;
	int64_t verbose;
};

/* The last of -o and -O counts, but for -O before -o. */
static int read_format_text(struct slurm_reading *reading, const struct slurm_row *row,
			    const char *value, struct strata_error *err)
{
	struct sinfo *sinfo = reading->into;

	sinfo->format_names = NULL;
	return slurm_read_text(reading, row, value, err);
}

static int read_interval(struct slurm_reading *reading, const struct slurm_row *row,
			 const char *value, struct strata_error *err)
{
	if (slurm_interval_parse(value, slurm_row_field(reading, row)))
		return 0;
	return strata_fail_at(err, -EINVAL, row->option.name,
			      "Error: invalid entry for --iterate=%s", value);
}

#define FIELD(name) offsetof(struct sinfo, name)
#define VALUE STRATA_SLURM_REQUIRED

/* clang-format off */
static const struct slurm_row rows[] = {
	SLURM_ROW_HOLDS("all", 'a', "hidden partitions too"),
	SLURM_ROW_IGNORED("bg", 'b', STRATA_SLURM_NONE, "Blue Gene systems"),
	{ { "cluster", 0, VALUE, .help = "nodes of these clusters" }, slurm_read_text, FIELD(clusters) },
	{ { "clusters", 'M', VALUE, .help = "nodes of these clusters" }, slurm_read_text, FIELD(clusters) },
	{ { "dead", 'd', .help = "nodes that do not respond" }, slurm_read_flag, FIELD(dead) },
	SLURM_ROW_HOLDS("exact", 'e', "a line for each configuration of nodes"),
	SLURM_ROW_HOLDS("federation", 0, "nodes of the federation"),
	{ { "format", 'o', VALUE, .env = "SINFO_FORMAT", .help = "columns as letters: %#P %.6D" }, read_format_text, FIELD(format) },
	{ { "Format", 'O', VALUE, .help = "columns as names: nodelist:20,gres" }, slurm_read_text, FIELD(format_names) },
	SLURM_ROW_HOLDS("future", 0, "nodes that are to come"),
	SLURM_ROW_HELP(0),
	SLURM_ROW_HOLDS("hide", 0, "no hidden partitions"),
	{ { "iterate", 'i', VALUE, .help = "again every so many seconds" }, read_interval, FIELD(every_s) },
	{ { "json", 0, .help = "as JSON" }, slurm_read_flag, FIELD(json) },
	{ { "list-reasons", 'R', .help = "why nodes are out of use" }, slurm_read_flag, FIELD(reasons) },
	SLURM_ROW_HOLDS("local", 0, "nodes of this cluster only"),
	{ { "long", 'l', .help = "more columns" }, slurm_read_flag, FIELD(detailed) },
	SLURM_ROW_HOLDS("noconvert", 0, "sizes in the units they were given in"),
	{ { "Node", 'N', .help = "a line for each node" }, slurm_read_flag, FIELD(by_node) },
	{ { "nodes", 'n', VALUE, .help = "these nodes" }, slurm_read_text, FIELD(nodes) },
	{ { "noheader", 'h', .help = "no titles" }, slurm_read_flag, FIELD(headless) },
	{ { "partition", 'p', VALUE, .env = "SINFO_PARTITION", .help = "these partitions" }, slurm_read_text, FIELD(partitions) },
	{ { "reservation", 'T', .help = "reservations: there are none" }, slurm_read_end, 0 },
	{ { "responding", 'r', .help = "nodes that respond" }, slurm_read_flag, FIELD(responding) },
	{ { "sort", 'S', VALUE, .env = "SINFO_SORT", .help = "the order, as letters of columns: #P,-t" }, slurm_read_text, FIELD(sort) },
	{ { "states", 't', VALUE, .help = "nodes in these states: idle,mix,drain" }, slurm_read_text, FIELD(states) },
	{ { "summarize", 's', .help = "numbers of nodes instead of a line for each state" }, slurm_read_flag, FIELD(summary) },
	SLURM_ROW_USAGE(0),
	{ { "verbose", 'v', .help = "say more" }, slurm_read_tally, FIELD(verbose) },
	SLURM_ROW_VERSION,
	{ .read = NULL },
};
/* clang-format on */

static const struct slurm_syntax syntax = { .rows = rows };

/* ---- which nodes ---- */

static const char *const state_words[] = {
	"all",        "alloc",  "allocated", "cg",       "comp",       "completing",
	"down",       "drain",  "drained",   "draining", "drng",       "fail",
	"failing",    "future", "idle",      "maint",    "mix",        "mixed",
	"no_respond", "npc",    "perfctrs",  "planned",  "power_down", "powering_down",
	"power_up",   "resv",   "reserved",  "unk",      "unknown",    NULL
};

static bool check_states(struct cli *cli, const struct sinfo *sinfo)
{
	for (const char *at = sinfo->states; at && *at;) {
		size_t span = strcspn(at, ",&"), i = 0;

		while (state_words[i] &&
		       (strncasecmp(state_words[i], at, span) != 0 || state_words[i][span] != '\0'))
			i++;
		if (!state_words[i]) {
			slurm_error(cli, NAME, "Bad state string: \"%.*s\"", (int)span, at);
			slurm_error(cli, NAME,
				    "valid states: unknown,down,idle,allocated,?,mixed,future,"
				    "drain,drained,draining,no_respond,reserved,perfctrs,cloud,"
				    "completing,powering_down,powered_down,power_down,powering_up,"
				    "fail,maint,reboot,reboot^,unknown");
			return false;
		}
		at += span + (at[span] != '\0');
	}
	return true;
}

static bool state_wanted(const struct sinfo *sinfo, const struct slurm_node *node)
{
	for (const char *at = sinfo->states; at && *at;) {
		size_t span = strcspn(at, ",&");
		const char *code = slurm_node_code(node), *word = slurm_node_word(node);

		if ((span == 3 && strncasecmp(at, "all", 3) == 0) ||
		    (strncasecmp(code, at, span) == 0 && !code[span]) ||
		    (strncasecmp(word, at, span) == 0 && !word[span]) ||
		    (strncasecmp("drain", at, span) == 0 && span == 5 && node->drained))
			return true;
		at += span + (at[span] != '\0');
	}
	return !sinfo->states;
}

static bool wanted(const struct sinfo *sinfo, const struct slurm_node *node, const char **names,
		   size_t count)
{
	bool named = !sinfo->nodes;

	for (size_t i = 0; i < count && !named; i++)
		named = strcmp(names[i], node->name) == 0;
	return named && state_wanted(sinfo, node) && !(sinfo->dead && !node->down) &&
	       !(sinfo->responding && node->down) && !(sinfo->reasons && !node->reason);
}

/* ---- lines ---- */

struct lines {
	struct sinfo_row *rows;
	size_t count;
};

/* Would they stand in one line? They do if nothing that is shown of a single node is different. */
static bool alike(struct cli *cli, const struct slurm_format *format, const struct sinfo_row *row,
		  const struct slurm_partition *partition, const struct slurm_node *node)
{
	const struct slurm_node *const one[] = { node };
	struct sinfo_row other = { cli, partition, (const struct slurm_node **)one, 1 };
	struct buf left, right;
	bool same = true;

	buf_init(&left, &cli->memory, 0);
	buf_init(&right, &cli->memory, 0);
	for (size_t i = 0; same && i < format->count; i++) {
		const struct slurm_field *field = format->columns[i].field;

		if (sinfo_adds_up(field))
			continue;
		buf_reset(&left);
		buf_reset(&right);
		field->write(&left, row);
		field->write(&right, &other);
		same = strcmp(left.text, right.text) == 0;
	}
	buf_fini(&left);
	buf_fini(&right);
	return same;
}

static bool has(const struct sinfo_row *row, const struct slurm_node *node)
{
	for (size_t i = 0; i < row->count; i++)
		if (row->nodes[i] == node)
			return true;
	return false;
}

static int add_node(struct cli *cli, const struct sinfo *sinfo, const struct slurm_format *format,
		    struct lines *lines, const struct slurm_partition *partition,
		    const struct slurm_node *node, size_t room)
{
	for (size_t i = 0; i < lines->count; i++) {
		struct sinfo_row *row = &lines->rows[i];
		bool fits = row->count && alike(cli, format, row, partition, node) &&
			    (!sinfo->by_node || row->nodes[0] == node);

		if (!fits)
			continue;
		if (!has(row, node))
			row->nodes[row->count++] = node;
		return 0;
	}
	struct sinfo_row *row = &lines->rows[lines->count++];

	*row = (struct sinfo_row){ cli, partition, NULL, 1 };
	row->nodes = strata_arena_array(&cli->arena, room + 1, sizeof(const struct slurm_node *));
	if (!row->nodes)
		return strata_fail_memory(&cli->err);
	row->nodes[0] = node;
	return 0;
}

/* A partition without nodes has a line too. */
static int add_empty(struct cli *cli, struct lines *lines, const struct slurm_partition *partition)
{
	static const struct slurm_node none = { .name = "", .sockets = 1 };
	struct sinfo_row *row = &lines->rows[lines->count++];

	*row = (struct sinfo_row){ .cli = cli, .partition = partition };
	row->nodes = strata_arena_array(&cli->arena, 1, sizeof(const struct slurm_node *));
	if (!row->nodes)
		return strata_fail_memory(&cli->err);
	row->nodes[0] = &none;
	return 0;
}

static int gather(struct cli *cli, const struct sinfo *sinfo, const struct slurm_format *format,
		  const struct slurm_nodes *nodes, struct lines *ret_lines)
{
	struct lines lines = { 0 };
	const char **names = NULL;
	size_t name_count = 0, room = 1;
	int rc = 0;

	for (size_t i = 0; i < nodes->partition_count; i++)
		room += nodes->partitions[i].node_count + 1;
	lines.rows = strata_arena_array(&cli->arena, room, sizeof(*lines.rows));
	if (!lines.rows)
		return strata_fail_memory(&cli->err);
	if (sinfo->nodes)
		rc = strata_hostlist_expand(sinfo->nodes, STRATA_TEXT_NUL, &cli->arena, &names,
					    &name_count, &cli->err);
	for (size_t i = 0; rc == 0 && i < nodes->partition_count; i++) {
		const struct slurm_partition *partition = &nodes->partitions[i];
		size_t before = lines.count;

		if (sinfo->partitions && !slurm_listed(sinfo->partitions, partition->name))
			continue;
		for (size_t j = 0; rc == 0 && j < partition->node_count; j++)
			if (wanted(sinfo, partition->nodes[j], names, name_count))
				rc = add_node(cli, sinfo, format, &lines, partition,
					      partition->nodes[j], nodes->count);
		if (rc == 0 && lines.count == before && !sinfo->by_node && !sinfo->reasons)
			rc = add_empty(cli, &lines, partition);
	}
	*ret_lines = lines;
	return rc;
}

/* --sort: letters of columns, "-" for downwards; numbers in texts count as such. */
static int compare_keys(const char *keys, const struct sinfo_row *left,
			const struct sinfo_row *right)
{
	struct buf a, b;
	int order = 0;

	buf_init(&a, &left->cli->memory, 0);
	buf_init(&b, &left->cli->memory, 0);
	for (const char *at = keys; *at && order == 0; at++) {
		const struct slurm_field *field = slurm_field_find(sinfo_fields, *at);

		if (*at == 'P' && at > keys && at[-1] == '#') {
			order = (left->partition > right->partition) -
				(left->partition < right->partition);
		} else if (*at == 't' || *at == 'T') {
			order = (left->nodes[0]->order > right->nodes[0]->order) -
				(left->nodes[0]->order < right->nodes[0]->order);
		} else if (field) {
			buf_reset(&a);
			buf_reset(&b);
			field->write(&a, left);
			field->write(&b, right);
			order = strverscmp(a.text, b.text);
		}
		order = at > keys && at[-1] == '-' ? -order : order;
	}
	buf_fini(&a);
	buf_fini(&b);
	return order;
}

/* In the order of partitions, and the states of each in Slurm's; by name when nodes are listed one
 * by one. */
static int compare(const void *left_any, const void *right_any, void *context)
{
	const struct sinfo *sinfo = context;
	const struct sinfo_row *left = left_any, *right = right_any;
	const struct slurm_node *a = left->nodes[0], *b = right->nodes[0];
	int order = sinfo->sort ? compare_keys(sinfo->sort, left, right) : 0;

	if (order == 0 && sinfo->by_node)
		order = strcmp(a->name, b->name);
	if (order == 0)
		order = (left->partition > right->partition) - (left->partition < right->partition);
	if (order == 0)
		order = (b->order > a->order) - (b->order < a->order);
	return order ? order : strcmp(a->name, b->name);
}

/* ---- printing ---- */

static int read_format(struct cli *cli, const struct sinfo *sinfo, struct slurm_format *ret_format)
{
	const char *usual = sinfo->summary                      ? FORMAT_SHORT
			    : sinfo->reasons && sinfo->detailed ? FORMAT_REASONS_LONG
			    : sinfo->reasons                    ? FORMAT_REASONS
			    : sinfo->by_node && sinfo->detailed ? FORMAT_NODES_LONG
			    : sinfo->by_node                    ? FORMAT_NODES
			    : sinfo->detailed                   ? FORMAT_LONG
								: FORMAT;

	return slurm_columns_read(cli, NAME, "node format specification", sinfo_fields,
				  sinfo->format ? sinfo->format : usual, sinfo->format_names,
				  ret_format);
}

static int print_json(struct cli *cli, const struct slurm_nodes *nodes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nodes->count; i++)
		json_array_append_new(list, slurm_node_json(&nodes->list[i]));
	return slurm_print_json(cli, "nodes", list);
}

static int print_lines(struct cli *cli, const struct sinfo *sinfo, const struct slurm_nodes *nodes)
{
	struct slurm_format format;
	struct lines lines = { 0 };
	int rc = read_format(cli, sinfo, &format);

	if (rc == 0)
		rc = gather(cli, sinfo, &format, nodes, &lines);
	if (rc)
		return rc;
	qsort_r(lines.rows, lines.count, sizeof(*lines.rows), compare, (void *)sinfo);
	for (size_t i = 0; i < lines.count; i++)
		slurm_format_fit(&format, &lines.rows[i], &cli->memory);
	slurm_print_cluster(cli, sinfo->headless ? NULL : sinfo->clusters);
	if (sinfo->detailed || sinfo->every_s || sinfo->verbose)
		slurm_print_date(cli);
	if (!sinfo->headless)
		slurm_columns_head(cli, &format);
	for (size_t i = 0; i < lines.count; i++)
		slurm_columns_row(cli, &format, &lines.rows[i]);
	return 0;
}

static int print_once(struct cli *cli, const void *context)
{
	const struct sinfo *sinfo = context;
	struct slurm_nodes nodes;
	int rc = slurm_nodes_load(cli, &nodes);

	if (rc)
		return slurm_unreachable(cli, "slurm_load_partitions");
	rc = sinfo->json ? print_json(cli, &nodes) : print_lines(cli, sinfo, &nodes);
	slurm_nodes_fini(&nodes);
	return rc ? 1 : 0;
}

#define YES(flag) ((flag) ? "true" : "false")

static void tell(struct cli *cli, const struct sinfo *sinfo)
{
	char every[24], verbose[24];

	snprintf(every, sizeof(every), "%lld", (long long)sinfo->every_s);
	snprintf(verbose, sizeof(verbose), "%lld", (long long)sinfo->verbose);
	const struct slurm_setting settings[] = {
		{ "dead", YES(sinfo->dead) },
		{ "exact", "1" },
		{ "filtering", YES(sinfo->states || sinfo->nodes || sinfo->partitions) },
		{ "format", sinfo->format },
		{ "iterate", every },
		{ "long", YES(sinfo->detailed) },
		{ "no_header", YES(sinfo->headless) },
		{ "nodes", sinfo->nodes ? sinfo->nodes : "n/a" },
		{ "partition", sinfo->partitions ? sinfo->partitions : "n/a" },
		{ "responding", YES(sinfo->responding) },
		{ "states", sinfo->states },
		{ "sort", sinfo->sort },
		{ "summarize", YES(sinfo->summary) },
		{ "verbose", verbose },
	};

	slurm_print_settings(cli, settings, sizeof(settings) / sizeof(settings[0]), 11);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct sinfo sinfo = { 0 };
	struct slurm_reading reading;
	int code = slurm_options(cli, &slurm_sinfo, argc, argv, &sinfo, &reading);

	if (code >= 0)
		return code;
	if (reading.ended) {
		slurm_say(cli, "No reservations in the system");
		return 0;
	}
	if (reading.operand_count) {
		slurm_error(cli, NAME, "Unrecognized option: %s", reading.operands[0]);
		slurm_help(cli, &slurm_sinfo);
		return 1;
	}
	if (!check_states(cli, &sinfo) || !slurm_cluster_known(cli, NAME, sinfo.clusters))
		return 1;
	if (sinfo.verbose)
		tell(cli, &sinfo);
	return slurm_repeat(cli, sinfo.every_s, print_once, &sinfo);
}

static const struct slurm_field_table tables[] = { { "nodes", sinfo_fields }, { 0 } };

const struct slurm_command slurm_sinfo = { .name = NAME,
					   .summary = "show partitions and nodes",
					   .syntax = &syntax,
					   .fields = tables,
					   .run = run };
