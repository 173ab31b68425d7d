/* The columns of sinfo: letters of -o and names of -O. */
#include "cli/slurm/sinfo.h"

#include "slurm/output_field.h"

#include <inttypes.h>
#include <string.h>

#define ROW const struct sinfo_row *line = row
/* Nodes of a line are alike in what is shown of them: the first speaks for all. */
#define NODE const struct slurm_node *node = ((const struct sinfo_row *)row)->nodes[0]
#define FIELD_ROW NODE

TEXT_FIELD(code, slurm_node_code(node))
TEXT_FIELD(word, slurm_node_word(node))
TEXT_FIELD(gres, node->gres)
TEXT_FIELD(gres_used, node->gres_used)
TEXT_FIELD(features, node->features)
TEXT_FIELD(reason, node->reason ? node->reason : "none")
TEXT_FIELD(user, node->reason ? "root" : "Unknown")
TEXT_FIELD(user_long, node->reason ? "root(0)" : "Unknown")
NUMBER_FIELD(cpus, node->cpus)
NUMBER_FIELD(memory, node->memory_bytes >> 20)
NUMBER_FIELD(memory_used, node->memory_used_bytes >> 20)
NUMBER_FIELD(memory_free, (node->memory_bytes - node->memory_used_bytes) >> 20)
NUMBER_FIELD(sockets, node->sockets)
NUMBER_FIELD(cores, node->cores / node->sockets)
NUMBER_FIELD(threads, node->cores ? node->cpus / node->cores : 1)
CONSTANT_FIELD(all, "all")
CONSTANT_FIELD(no, "no")
CONSTANT_FIELD(never, "NO")
CONSTANT_FIELD(zero, "0")
CONSTANT_FIELD(one, "1")
CONSTANT_FIELD(unlimited, "UNLIMITED")
CONSTANT_FIELD(size, "1-infinite")
CONSTANT_FIELD(na, "N/A")
CONSTANT_FIELD(requeue, "REQUEUE")
CONSTANT_FIELD(version, "22.05.8")
CONSTANT_FIELD(cluster, "strata")
CONSTANT_FIELD(null, "(null)")

static void since(struct buf *buf, const void *row)
{
	NODE;

	slurm_date(buf, node->reason ? node->since_ns : 0, "Unknown");
}

static void shape(struct buf *buf, const void *row)
{
	NODE;

	buf_printf(buf, "%" PRId64 ":%" PRId64 ":%" PRId64, node->sockets,
		   node->cores / node->sockets, node->cores ? node->cpus / node->cores : 1);
}

static void partition(struct buf *buf, const void *row)
{
	ROW;

	buf_printf(buf, "%s%s", line->partition->name, line->partition->usual ? "*" : "");
}

static void partition_name(struct buf *buf, const void *row)
{
	ROW;

	buf_add(buf, line->partition->name);
}

static void add_limit(struct buf *buf, int64_t seconds, const char *otherwise)
{
	if (seconds)
		slurm_span(buf, seconds);
	else
		buf_add(buf, otherwise);
}

/* In five letters. */
static void available(struct buf *buf, const void *row)
{
	ROW;

	buf_printf(buf, "%.5s", line->partition->state);
}

static void longest(struct buf *buf, const void *row)
{
	ROW;

	add_limit(buf, line->partition->longest_s, "infinite");
}

static void usual_time(struct buf *buf, const void *row)
{
	ROW;

	add_limit(buf, line->partition->default_s, "n/a");
}

static void count(struct buf *buf, const void *row)
{
	ROW;

	buf_printf(buf, "%zu", line->count);
}

static void list(struct buf *buf, const void *row)
{
	ROW;
	const char **names = strata_arena_array(&line->cli->arena, line->count + 1, sizeof(*names));
	const char *text = NULL;

	for (size_t i = 0; names && i < line->count; i++)
		names[i] = line->nodes[i]->name;
	if (names)
		text = slurm_hosts(line->cli, names, line->count);
	buf_add(buf, text ? text : "");
}

/* Allocated, idle, other, total. */
struct tally {
	int64_t used, idle, other;
};

static struct tally tally_nodes(const struct sinfo_row *line)
{
	struct tally tally = { 0 };

	for (size_t i = 0; i < line->count; i++)
		if (line->nodes[i]->down || line->nodes[i]->drained)
			tally.other++;
		else if (line->nodes[i]->use)
			tally.used++;
		else
			tally.idle++;
	return tally;
}

static struct tally tally_cpus(const struct sinfo_row *line)
{
	struct tally tally = { 0 };

	for (size_t i = 0; i < line->count; i++) {
		const struct slurm_node *node = line->nodes[i];
		int64_t rest = node->cpus - node->cpus_used;

		tally.used += node->cpus_used;
		*(node->down || node->drained ? &tally.other : &tally.idle) += rest;
	}
	return tally;
}

static void write_tally(struct buf *buf, struct tally tally)
{
	buf_printf(buf, "%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, tally.used, tally.idle,
		   tally.other, tally.used + tally.idle + tally.other);
}

static void nodes_all(struct buf *buf, const void *row)
{
	write_tally(buf, tally_nodes(row));
}

static void cpus_all(struct buf *buf, const void *row)
{
	write_tally(buf, tally_cpus(row));
}

static void nodes_used(struct buf *buf, const void *row)
{
	struct tally tally = tally_nodes(row);

	buf_printf(buf, "%" PRId64 "/%" PRId64, tally.used, tally.idle);
}

bool sinfo_adds_up(const struct slurm_field *field)
{
	return field->write == count || field->write == list || field->write == nodes_all ||
	       field->write == cpus_all || field->write == nodes_used;
}

/* clang-format off */
const struct slurm_field sinfo_fields[] = {
	{ 'a', "available", "AVAIL", available },
	{ 'A', "nodeai", "NODES(A/I)", nodes_used },
	{ 'b', "features_act", "ACTIVE_FEATURES", features },
	{ 'B', "maxcpuspernode", "MAX_CPUS_PER_NODE", unlimited },
	{ 'c', "cpus", "CPUS", cpus },
	{ 'C', "cpusstate", "CPUS(A/I/O/T)", cpus_all },
	{ 'd', "disk", "TMP_DISK", zero },
	{ 'D', "nodes", "NODES", count },
	{ 'e', "freemem", "FREE_MEM", memory_free },
	{ 'E', "reason", "REASON", reason },
	{ 'f', "features", "AVAIL_FEATURES", features },
	{ 'F', "nodeaiot", "NODES(A/I/O/T)", nodes_all },
	{ 'g', "groups", "GROUPS", all },
	{ 'G', "gres", "GRES", gres },
	{ 'h', "oversubscribe", "OVERSUBSCRIBE", never },
	{ 'H', "timestamp", "TIMESTAMP", since },
	{ 'i', NULL, "RESERVATION", null },
	{ 'I', "priorityjobfactor", "PRIO_JOB_FACTOR", one },
	{ 'l', "time", "TIMELIMIT", longest },
	{ 'L', "defaulttime", "DEFAULTTIME", usual_time },
	{ 'm', "memory", "MEMORY", memory },
	{ 'M', "preemptmode", "PREEMPT_MODE", requeue },
	{ 'n', "nodehost", "HOSTNAMES", list },
	{ 'N', "nodelist", "NODELIST", list },
	{ 'o', "nodeaddr", "NODE_ADDR", list },
	{ 'O', "cpusload", "CPU_LOAD", na },
	{ 'p', "prioritytier", "PRIO_TIER", one },
	{ 'P', "partition", "PARTITION", partition },
	{ 'r', "root", "ROOT", no },
	{ 'R', "partitionname", "PARTITION", partition_name },
	{ 's', "size", "JOB_SIZE", size },
	{ 'S', "allocnodes", "ALLOCNODES", all },
	{ 't', "statecompact", "STATE", code },
	{ 'T', "statelong", "STATE", word },
	{ 0, "statecomplete", "STATECOMPLETE", word },
	{ 'u', "user", "USER", user },
	{ 'U', "userlong", "USER", user_long },
	{ 'v', "version", "VERSION", version },
	{ 'V', "cluster", "CLUSTER", cluster },
	{ 'w', "weight", "WEIGHT", one },
	{ 'X', "sockets", "SOCKETS", sockets },
	{ 'Y', "cores", "CORES", cores },
	{ 'Z', "threads", "THREADS", threads },
	{ 'z', "socketcorethread", "S:C:T", shape },
	{ 0, "sct", "S:C:T", shape },
	{ 0, "allocmem", "ALLOCMEM", memory_used },
	{ 0, "gresused", "GRES_USED", gres_used },
	{ 0, "comment", "COMMENT", null },
	{ 0, "port", "PORT", zero },
	{ .write = NULL },
};
/* clang-format on */
