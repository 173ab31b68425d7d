/*
 * Graphviz DAGs with weights: `a [Weight=35];` is a task of that time, `a -> b [Weight=3];` data that takes so long to move when the two are apart.
 * That much of the language and no more; other attributes are passed over. Nodes may be named by edges before they have a weight of their own.
 */
#include "formats/graph_reader.h"

#include "core/map.h"
#include "core/text.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

struct node {
	const char *name;
	double weight;
	bool weighed;
};

struct link {
	uint32_t from, to;
	double weight;
};

struct dot {
	struct graph_reader *reader;
	const char *at, *end;
	size_t line;
	struct map_text names; /* → index + 1 */
	struct node *nodes;
	size_t node_count, node_room;
	struct link *links;
	size_t link_count, link_room;
};

/* ---- words ---- */

static void skip(struct dot *dot)
{
	while (dot->at < dot->end) {
		if (strchr(" \t\r\n;", *dot->at) && *dot->at) {
			dot->line += *dot->at++ == '\n';
		} else if (dot->end - dot->at > 1 && dot->at[0] == '/' && dot->at[1] == '/') {
			while (dot->at < dot->end && *dot->at != '\n')
				dot->at++;
		} else if (dot->end - dot->at > 1 && dot->at[0] == '/' && dot->at[1] == '*') {
			dot->at += 2;
			while (dot->at < dot->end && !(dot->at[0] == '/' && dot->at[-1] == '*'))
				dot->line += *dot->at++ == '\n';
			if (dot->at < dot->end)
				dot->at++;
		} else {
			return;
		}
	}
}

static int odd(struct dot *dot, const char *expected)
{
	char excerpt[TEXT_EXCERPT_BYTES];
	size_t left = (size_t)(dot->end - dot->at);

	return strata_fail(dot->reader->err, -EINVAL, "line %zu: \"%s\"; expected %s", dot->line,
			   text_excerpt(dot->at, left < 16 ? left : 16, excerpt), expected);
}

static bool take(struct dot *dot, const char *sign)
{
	size_t length = strlen(sign);

	skip(dot);
	if ((size_t)(dot->end - dot->at) < length || memcmp(dot->at, sign, length) != 0)
		return false;
	dot->at += length;
	return true;
}

/* A name or a number, or anything in quotes. Length 0: there is none. */
static size_t take_name(struct dot *dot, const char **ret_name)
{
	skip(dot);
	const char *from = dot->at;

	if (dot->at < dot->end && *dot->at == '"') {
		const char *stop = memchr(from + 1, '"', (size_t)(dot->end - from - 1));

		if (!stop)
			return 0;
		dot->at = stop + 1;
		*ret_name = from + 1;
		return (size_t)(stop - from - 1);
	}
	while (dot->at < dot->end && *dot->at && !strchr(" \t\r\n;[]{}=,\"", *dot->at) &&
	       !(dot->end - dot->at > 1 && dot->at[0] == '-' && dot->at[1] == '>'))
		dot->at++;
	*ret_name = from;
	return (size_t)(dot->at - from);
}

/* [Weight=3, …]; -1 when there is no weight. */
static int take_weight(struct dot *dot, double *ret_weight)
{
	const char *name, *value;
	size_t name_length, value_length;

	*ret_weight = -1;
	if (!take(dot, "["))
		return 0;
	while (!take(dot, "]")) {
		name_length = take_name(dot, &name);
		if (!name_length)
			return odd(dot, "an attribute or ]");
		if (!take(dot, "="))
			return odd(dot, "= behind an attribute");
		value_length = take_name(dot, &value);
		if (!value_length)
			return odd(dot, "a value");
		take(dot, ",");
		if (!text_same(name, name_length, "weight"))
			continue;
		if (strata_real_parse(value, value_length, ret_weight, NULL) || *ret_weight < 0 ||
		    *ret_weight > GRAPH_AMOUNT_MAX)
			return odd(dot, "a weight of 0 or more before this");
	}
	return 0;
}

/* ---- statements ---- */

static void *grow(struct dot *dot, void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	size_t more = *room ? 2 * *room : 64;
	void *grown = strata_arena_array(dot->reader->arena, more, size);

	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, array, count * size);
	*room = more;
	return grown;
}

static int find_node(struct dot *dot, const char *name, size_t length, uint32_t *ret_node)
{
	size_t found = (size_t)map_text_get(&dot->names, name, length);

	if (!found) {
		struct node *nodes =
			grow(dot, dot->nodes, dot->node_count, &dot->node_room, sizeof(*nodes));
		char *copy = strata_arena_text(dot->reader->arena, name, length);

		if (!nodes || !copy ||
		    map_text_put(&dot->names, name, length, (void *)(dot->node_count + 1), NULL))
			return strata_fail_memory(dot->reader->err);
		dot->nodes = nodes;
		nodes[dot->node_count++] = (struct node){ .name = copy };
		found = dot->node_count;
	}
	*ret_node = (uint32_t)(found - 1);
	return 0;
}

static int read_edge(struct dot *dot, uint32_t from)
{
	const char *name;
	size_t length = take_name(dot, &name);
	uint32_t to = 0;
	double weight;
	int rc = length ? find_node(dot, name, length, &to) : odd(dot, "a node behind ->");

	if (rc == 0)
		rc = take_weight(dot, &weight);
	if (rc)
		return rc;
	struct link *links =
		grow(dot, dot->links, dot->link_count, &dot->link_room, sizeof(*links));

	if (!links)
		return strata_fail_memory(dot->reader->err);
	dot->links = links;
	links[dot->link_count++] = (struct link){ from, to, weight < 0 ? 0 : weight };
	return 0;
}

static int read_statement(struct dot *dot)
{
	const char *name;
	size_t length = take_name(dot, &name);
	uint32_t node = 0;
	double weight;
	int rc;

	if (!length)
		return odd(dot, "a node");
	if (take(dot, "=")) /* an attribute of the graph */
		return take_name(dot, &name) ? 0 : odd(dot, "a value");
	if (text_same(name, length, "graph") || text_same(name, length, "node") ||
	    text_same(name, length, "edge"))
		return take_weight(dot, &weight);
	rc = find_node(dot, name, length, &node);
	if (rc == 0 && take(dot, "->"))
		return read_edge(dot, node);
	if (rc == 0)
		rc = take_weight(dot, &weight);
	if (rc)
		return rc;
	if (dot->nodes[node].weighed)
		return strata_fail(dot->reader->err, -EINVAL,
				   "line %zu: node \"%.40s\" comes twice", dot->line,
				   dot->nodes[node].name);
	dot->nodes[node].weighed = true;
	dot->nodes[node].weight = weight < 0 ? 0 : weight;
	return 0;
}

static int read_all(struct dot *dot)
{
	const char *name;
	int rc = 0;

	take(dot, "strict");
	if (!take(dot, "digraph"))
		return odd(dot, "digraph");
	take_name(dot, &name);
	if (!take(dot, "{"))
		return odd(dot, "{");
	while (rc == 0 && !take(dot, "}"))
		rc = read_statement(dot);
	skip(dot);
	return rc == 0 && dot->at < dot->end ? odd(dot, "the end") : rc;
}

int graph_read_dot(struct graph_reader *reader, const char *text, size_t length)
{
	struct dot dot = { .reader = reader, .at = text, .end = text + length, .line = 1 };
	int rc;

	reader->into->form = GRAPH_DOT;
	map_text_init(&dot.names, reader->arena->memory);
	rc = read_all(&dot);
	map_text_fini(&dot.names);
	for (size_t i = 0; i < dot.node_count && rc == 0; i++)
		rc = graph_add_task(reader, dot.nodes[i].name, dot.nodes[i].weight, NULL);
	for (size_t i = 0; i < dot.link_count && rc == 0; i++)
		rc = strata_graph_add_edge(reader->into->graph, dot.links[i].from, dot.links[i].to,
					   0, dot.links[i].weight, reader->err);
	return rc;
}
