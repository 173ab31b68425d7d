/*
 * The body of every request that has one, as an HTTP thread reads it: jobs, one or many, changes, nodes, people, tokens, reservations, batch scripts. The
 * first byte picks the route by its number among those. Whatever comes, it is taken or answered with an error that says why.
 */
#include "server/front.h"
#include "server/route.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read is the decider's to free, and here is none: all that jansson has taken is given back after each run. */
static void *taken[1 << 16];
static size_t taken_count;

static void *take(size_t bytes)
{
	void *block = taken_count < sizeof(taken) / sizeof(taken[0]) ? malloc(bytes) : NULL;

	if (block)
		taken[taken_count++] = block;
	return block;
}

static void give(void *block)
{
	size_t i = taken_count;

	while (i > 0 && taken[i - 1] != block)
		i--;
	if (i > 0)
		taken[i - 1] = taken[--taken_count];
	free(block);
}

static const struct route *pick(unsigned number)
{
	const struct route *route, *with_body[64];
	unsigned count = 0;

	for (size_t i = 0; (route = route_at(i)) && count < 64; i++)
		if (route->parse && route->body_bytes_max)
			with_body[count++] = route;
	assert(count > 0);
	return with_body[number % count];
}

/* What http.c makes of a URL that asks for nothing. */
static const void *plain_query(const struct strata_schema *query, struct strata_arena *arena)
{
	void *conf = query ? strata_arena_get(arena, query->conf_size) : NULL;

	assert(!query || (conf && strata_schema_defaults(query, arena, conf, NULL) == 0));
	return conf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* what would be written cannot be, and says so */
	static const struct server_conf conf = { .state_dir = "/nosuch" };
	static struct common common = { .conf = &conf };
	static struct front front = { .common = &common, .conf = &conf };
	struct request request = { .front = &front, .path = "/", .segments = { "one", "two" } };

	if (size == 0)
		return 0;
	common.env = front.env = env_system();
	json_set_alloc_funcs(take, give);
	strata_arena_init(&request.arena, &request.memory, 512 << 20);
	request.route = pick(data[0]);
	request.method = request.route->method;
	request.query = plain_query(request.route->query, &request.arena);
	request.who = (struct identity){ .user = "ann", .uid = 1, .gid = 1, .role = ROLE_ADMIN };
	request.body_length = size - 1;
	request.body = malloc(size);
	memcpy(request.body, data + 1, size - 1);
	request.body[size - 1] = '\0';
	request.route->parse(&request);
	if (request.answered && request.status != 200) /* that asks for nothing is done at once */
		assert(request.status >= 400 && request.status < 600 &&
		       (request.status == 500 || strstr(request.text, "\"message\"")));
	give(request.text);
	while (taken_count)
		free(taken[--taken_count]);
	free(request.body);
	strata_arena_fini(&request.arena);
	assert(request.memory.used_bytes == 0);
	return 0;
}
