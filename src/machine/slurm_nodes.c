/*
 * Nodes as Slurm tells them: `scontrol -o show node`, a line each of NAME=value words. Only what the scheduler needs is read; values with blanks
 * in them (OS, Reason) are passed over, since no name that is looked for can stand before its own in a line.
 */
#include "machine/inventory.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The value of a word of a line; its length may be 0. False: there is no such word. */
static bool find(const char *line, size_t length, const char *name, const char **ret_value,
		 size_t *ret_length)
{
	size_t span = strlen(name);

	for (const char *at = line; at + span < line + length; at++) {
		if ((at != line && at[-1] != ' ') || strncmp(at, name, span) != 0 ||
		    at[span] != '=')
			continue;
		const char *value = at + span + 1;
		const char *end = memchr(value, ' ', (size_t)(line + length - value));

		*ret_value = value;
		*ret_length = (size_t)((end ? end : line + length) - value);
		return true;
	}
	return false;
}

static int read_number(const char *line, size_t length, const char *name, int64_t usual,
		       int64_t max, int64_t *ret_number, struct strata_error *err)
{
	const char *value;
	size_t span;
	char text[TEXT_EXCERPT_BYTES];

	*ret_number = usual;
	if (!find(line, length, name, &value, &span))
		return 0;
	if (strata_int_parse(value, span, 0, max, ret_number, NULL))
		return strata_fail_at(err, -EBADMSG, name, "%s is %s; expected a number up to %lld",
				      name, text_excerpt(value, span, text), (long long)max);
	return 0;
}

/* "a,b"; NULL: none, as Slurm writes "(null)" or nothing. */
static int read_text(const char *line, size_t length, const char *name, struct strata_arena *arena,
		     const char **ret_text, struct strata_error *err)
{
	const char *value;
	size_t span;

	*ret_text = NULL;
	if (!find(line, length, name, &value, &span) || span == 0 ||
	    (span == 6 && memcmp(value, "(null)", 6) == 0))
		return 0;
	*ret_text = strata_arena_text(arena, value, span);
	return *ret_text ? 0 : strata_fail_memory(err);
}

/* One of "gpu:a100:8(S:0-1),shard:4": where the next begins. */
static const char *next_gres(const char *at)
{
	int depth = 0;

	for (; *at && (*at != ',' || depth); at++)
		depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
	return *at ? at + 1 : at;
}

/* "gpu:8", "gpu:a100:8": so many of a type. False: it is something else. */
static bool read_gres(const char *at, const char **ret_type, size_t *ret_span, int64_t *ret_count)
{
	const char *end = at + strcspn(at, ",(");
	const char *type = at + 4, *colon;

	if (strncmp(at, "gpu:", 4) != 0)
		return false;
	colon = memchr(type, ':', (size_t)(end - type));
	*ret_type = colon ? type : "gpu";
	*ret_span = colon ? (size_t)(colon - type) : 3;
	type = colon ? colon + 1 : type;
	return strata_int_parse(type, (size_t)(end - type), 0, STRATA_NODE_GPUS_MAX, ret_count,
				NULL) == 0;
}

static int read_gpus(const char *line, size_t length, struct strata_arena *arena,
		     struct inventory_node *node, struct strata_error *err)
{
	struct inventory_gpu *gpus = strata_arena_array(arena, STRATA_NODE_GPUS_MAX, sizeof(*gpus));
	const char *gres, *type;
	size_t span;
	int64_t count;
	int rc = gpus ? read_text(line, length, "Gres", arena, &gres, err)
		      : strata_fail_memory(err);

	for (const char *at = rc ? NULL : gres; rc == 0 && at && *at; at = next_gres(at)) {
		if (!read_gres(at, &type, &span, &count))
			continue;
		if (node->gpu_count + count > STRATA_NODE_GPUS_MAX)
			return strata_fail_at(err, -EBADMSG, "Gres", "%.100s are more than %d GPUs",
					      gres, STRATA_NODE_GPUS_MAX);
		const char *own = strata_arena_text(arena, type, span);

		if (!own)
			return strata_fail_memory(err);
		for (int64_t i = 0; i < count; i++)
			gpus[node->gpu_count++] = (struct inventory_gpu){ .type = own };
	}
	node->gpus = gpus;
	return rc;
}

static int read_node(const char *line, size_t length, struct strata_arena *arena,
		     struct inventory_node *node, struct strata_error *err)
{
	int64_t cpus, usable, threads, sockets, mebibytes;
	int rc = read_text(line, length, "NodeName", arena, &node->name, err);

	if (rc == 0)
		rc = inventory_check_name(node->name, err);
	if (rc == 0)
		rc = read_number(line, length, "CPUTot", 1, 1 << 20, &cpus, err);
	if (rc == 0) /* without those that are kept for the system */
		rc = read_number(line, length, "CPUEfctv", cpus, 1 << 20, &usable, err);
	if (rc == 0)
		rc = read_number(line, length, "ThreadsPerCore", 1, 1024, &threads, err);
	if (rc == 0)
		rc = read_number(line, length, "Sockets", 1, 1 << 20, &sockets, err);
	if (rc == 0)
		rc = read_number(line, length, "RealMemory", 0, INT64_C(1) << 30, &mebibytes, err);
	if (rc == 0)
		rc = read_text(line, length, "ActiveFeatures", arena, &node->features, err);
	if (rc == 0)
		rc = read_text(line, length, "Partitions", arena, &node->partitions, err);
	if (rc)
		return rc;
	node->cpus = (uint32_t)(usable > 0 ? usable : 1);
	node->cores = (uint32_t)(threads > 1 ? node->cpus / threads : node->cpus);
	node->cores = node->cores ? node->cores : 1;
	node->numa_count = sockets >= 1 && sockets <= 64 ? (uint32_t)sockets : 1;
	node->memory_bytes = mebibytes << 20;
	return read_gpus(line, length, arena, node, err);
}

int inventory_read_slurm(const char *text, struct strata_arena *arena,
			 struct inventory *ret_inventory, struct strata_error *err)
{
	static const char begin[] = "NodeName=";
	size_t room = 0;
	uint32_t count = 0;
	int rc = 0;

	for (const char *at = text; (at = strstr(at, begin)); at++)
		room++;
	if (room < 1 || room > STRATA_INVENTORY_NODES_MAX)
		return strata_fail(err, -EBADMSG, "Slurm tells of %zu nodes; expected 1 to %d",
				   room, STRATA_INVENTORY_NODES_MAX);
	struct inventory_node *nodes = strata_arena_array(arena, room, sizeof(*nodes));

	if (!nodes)
		return strata_fail_memory(err);
	for (const char *at = text; rc == 0 && *at;) {
		size_t length = strcspn(at, "\n");

		if (strncmp(at, begin, strlen(begin)) == 0) {
			rc = read_node(at, length, arena, &nodes[count], err);
			if (rc)
				strata_fail_under(err, rc, "nodes[%u]", count);
			count++;
		}
		at += length + (at[length] == '\n');
	}
	if (rc == 0 && count == 0)
		rc = strata_fail(err, -EBADMSG, "Slurm tells of no node");
	if (rc == 0)
		*ret_inventory = (struct inventory){ nodes, count };
	return rc;
}
