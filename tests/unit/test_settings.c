#include "test.h"

#include "server/settings.h"

#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
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

TEST(what_makes_no_sense_is_found_before_anything_is_opened)
{
	CHECK_OK(read_conf("{}"));
	CHECK_OK(conf_check(&conf, &err));
	CHECK_OK(read_conf("{\"preempt\":\"none\",\"nodes\":[\"a:cpus=4\"]}"));
	CHECK_OK(conf_check(&conf, &err));
	CHECK_OK(read_conf("{\"backfill\":\"easy:depth=x\"}"));
	CHECK(conf_check(&conf, &err) < 0);
	CHECK(strncmp(err.field, "backfill", 8) == 0);
	CHECK_OK(read_conf("{\"preempt\":\"sometimes\"}"));
	CHECK_ERROR(conf_check(&conf, &err), -ENOENT, "sometimes");
	CHECK_OK(read_conf("{\"nodes\":[\"a\",\"b:cpus=many\"]}"));
	CHECK(conf_check(&conf, &err) < 0);
	CHECK_TEXT(err.field, "nodes[1].cpus");
	CHECK_OK(read_conf("{\"time_limit\":7200,\"time_limit_max\":7199}"));
	CHECK_ERROR(conf_check(&conf, &err), -EINVAL, "time_limit is longer than time_limit_max");
}

TEST(passwords_are_hidden)
{
	static const char *const rows[][2] = {
		{ "postgresql://u:pw@h/d", "postgresql://u:***@h/d" },
		{ "postgresql://u:p@w@h/d", "postgresql://u:***@h/d" },
		{ "postgresql://h/d?password=pw&a=b", "postgresql://h/d?password=***&a=b" },
		{ "postgresql://u:pw@h/d?Password=x", "postgresql://u:***@h/d?Password=***" },
		{ "host=h password='p w' user=u", "host=h password=***' user=u" },
		{ "postgresql://u@h:5432/d", "postgresql://u@h:5432/d" },
		{ "postgresql://u:@h/d", "postgresql://u:@h/d" },
		{ "sqlite:/a:b@c", "sqlite:/a:b@c" },
		{ "", "" },
	};

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_TEXT(conf_hide_password(rows[i][0], &arena), rows[i][1]);
}

TEST(some_settings_may_change_while_it_runs)
{
	CHECK(conf_is_live("grace") && conf_is_live("time_limit") && !conf_is_live("store"));
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

/* Of numbers and sizes 1, of durations a second: what JSON has them in. */
static int64_t unit_of(const struct strata_option *option)
{
	return option->type == STRATA_DURATION ? STRATA_SECOND_NS : 1;
}

static int read_number(const struct strata_option *option, int64_t value)
{
	char json[200];

	snprintf(json, sizeof(json), "{\"%s\":%lld}", option->name,
		 (long long)(value / unit_of(option)));
	return read_conf(json);
}

TEST(every_number_may_be_its_least_and_its_most_and_nothing_beyond)
{
	int checked = 0;

	for (const struct strata_option *option = server_schema.options; option->name; option++) {
		int64_t least = option->integer.min, most = option->integer.max;

		if ((option->type != STRATA_INT && option->type != STRATA_BYTES &&
		     option->type != STRATA_DURATION) ||
		    least == most) /* any */
			continue;
		CHECK_OK(read_number(option, least));
		CHECK(read_number(option, least - unit_of(option)) < 0);
		if (most < INT64_MAX) {
			CHECK_OK(read_number(option, most));
			CHECK(read_number(option, most + unit_of(option)) < 0);
		}
		checked++;
	}
	CHECK(checked >= 8);
	strata_arena_fini(&arena);
}
