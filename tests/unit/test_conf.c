#include "test.h"

#include "server/server.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct server_conf conf;

static int read_conf(const char *json)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_schema_defaults(&server_schema, &arena, &conf, &err));
	return strata_schema_read_json(&server_schema, json, strlen(json), &arena, &conf, &err);
}

TEST(every_setting_explains_itself)
{
	for (const struct strata_option *option = server_schema.options; option->name; option++)
		CHECK(option->help && *option->help);
}

TEST(what_is_left_out_is_usual)
{
	CHECK_OK(read_conf("{}"));
	CHECK_TEXT(conf.order, "fair_share");
	CHECK_TEXT(conf.cluster_name, "strata");
	CHECK_INT(conf.time_limit_ns, STRATA_HOUR_NS);
	CHECK_INT(conf.grace_ns, 30 * STRATA_SECOND_NS);
	CHECK(!conf.store && !conf.inventory_url && conf.nodes.count == 0);
}

TEST(values_have_their_ranges)
{
	CHECK_OK(read_conf("{\"grace\":86400,\"http_threads\":64}"));
	CHECK_ERROR(read_conf("{\"grace\":86401}"), -ERANGE, "grace");
	CHECK_ERROR(read_conf("{\"http_threads\":65}"), -ERANGE, "http_threads");
	CHECK_ERROR(read_conf("{\"http_threads\":0}"), -ERANGE, "http_threads");
	CHECK_ERROR(read_conf("{\"sotre\":\"x\"}"), -EINVAL, "did you mean 'store'");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
