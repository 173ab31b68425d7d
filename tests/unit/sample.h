/* A table with every type of option, for the tests of the readers and writers. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "test.h"

#include "core/option.h"

#include <strata/text.h>

#include <errno.h>
#include <string.h>

enum { SAMPLE_RED, SAMPLE_GREEN };

struct sample_disk {
	const char *name;
	int64_t size_bytes;
	bool fast;
};

struct sample_net {
	const char *url;
	int64_t timeout_ns;
	int64_t speed;
};

struct sample {
	bool on;
	bool loud; /* default true */
	int64_t steps;
	int64_t any;
	double scale;
	int color;
	const char *title;
	const char *secret;
	int64_t memory_bytes;
	int64_t limit_ns;
	int64_t grace_ns;
	int64_t begin_ns;
	struct strata_list sizes;  /* of int64_t */
	struct strata_list disks;  /* of struct sample_disk */
	struct strata_map labels;  /* to const char * */
	struct strata_map weights; /* to double */
	struct sample_net net;
};

static const struct strata_choice sample_colors[] = { { "red", SAMPLE_RED, "warm" },
						      { "green", SAMPLE_GREEN, NULL },
						      { 0 } };

static const struct strata_option sample_disk_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct sample_disk, name), .flags = STRATA_REQUIRED,
	  .text = { .length_max = 8 } },
	{ "size", STRATA_BYTES, offsetof(struct sample_disk, size_bytes),
	  .integer = { .def = 1 << 20 } },
	{ "fast", STRATA_BOOL, offsetof(struct sample_disk, fast) },
	{ 0 }
};
static const struct strata_schema sample_disk_schema = { .name = "disk",
							 .conf_size = sizeof(struct sample_disk),
							 .options = sample_disk_options };
static const struct strata_option sample_net_options[] = {
	{ "url", STRATA_TEXT, offsetof(struct sample_net, url), .help = "where it is" },
	{ "timeout", STRATA_DURATION, offsetof(struct sample_net, timeout_ns),
	  .integer = { 5000000000, 0, 60000000000 } },
	{ "speed", STRATA_RATE, offsetof(struct sample_net, speed), .integer = { .def = 1000000 } },
	{ 0 }
};
static const struct strata_schema sample_net_schema = { .name = "net",
							.conf_size = sizeof(struct sample_net),
							.options = sample_net_options };

static const struct strata_option sample_size = { .type = STRATA_INT, .integer = { 0, 0, 100 } };
static const struct strata_option sample_disk_item = { .type = STRATA_TABLE,
						       .table = &sample_disk_schema };
static const struct strata_option sample_label = { .type = STRATA_TEXT };
static const struct strata_option sample_weight = { .type = STRATA_REAL, .real = { 1, 0, 10 } };

static const struct strata_option sample_options[] = {
	{ "on", STRATA_BOOL, offsetof(struct sample, on), .help = "do it", .letter = 'o' },
	{ "loud", STRATA_BOOL, offsetof(struct sample, loud), .boolean = true, .help = "it is heard" },
	{ "steps", STRATA_INT, offsetof(struct sample, steps), .integer = { 20, 1, 1000 },
	  .letter = 'n', .aliases = "num_steps, inference_steps", .help = "how many steps" },
	{ "any", STRATA_INT, offsetof(struct sample, any) },
	{ "scale", STRATA_REAL, offsetof(struct sample, scale), .real = { 7.5, 0, 1e9 },
	  .help = "guidance" },
	{ "color", STRATA_ENUM, offsetof(struct sample, color),
	  .choice = { sample_colors, SAMPLE_GREEN }, .help = "which one" },
	{ "title", STRATA_TEXT, offsetof(struct sample, title),
	  .text = { .def = "untitled", .length_max = 16 }, .letter = 't' },
	{ "secret", STRATA_TEXT, offsetof(struct sample, secret), .flags = STRATA_SECRET },
	{ "memory", STRATA_BYTES, offsetof(struct sample, memory_bytes),
	  .integer = { 1 << 30, 1 << 20, INT64_MAX } },
	{ "time_limit", STRATA_DURATION, offsetof(struct sample, limit_ns),
	  .integer = { .def = STRATA_DURATION_UNLIMITED }, .unit = "min",
	  .flags = STRATA_UNLIMITED },
	{ "grace", STRATA_DURATION, offsetof(struct sample, grace_ns),
	  .integer = { .def = 60000000000 } },
	{ "begin", STRATA_TIME, offsetof(struct sample, begin_ns) },
	{ "sizes", STRATA_LIST, offsetof(struct sample, sizes),
	  .list = { &sample_size, 4, "1,2" } },
	{ "disk", STRATA_LIST, offsetof(struct sample, disks),
	  .list = { &sample_disk_item, .count_max = 3 } },
	{ "labels", STRATA_MAP, offsetof(struct sample, labels), .list = { &sample_label } },
	{ "weights", STRATA_MAP, offsetof(struct sample, weights),
	  .list = { &sample_weight, 2, "a=2" } },
	{ "net", STRATA_TABLE, offsetof(struct sample, net), .table = &sample_net_schema },
	{ 0 }
};

static const struct strata_schema sample_schema = {
	.name = "sample",
	.summary = "every type of option",
	.conf_size = sizeof(struct sample),
	.options = sample_options,
};

/* An arena that a test file's tests share, and the sample with its defaults in it. */
static struct strata_memory sample_memory;
static struct strata_arena sample_arena;

static inline struct sample sample_defaults(void)
{
	struct sample sample;
	struct strata_error err = { 0 };

	strata_arena_fini(&sample_arena);
	strata_arena_init(&sample_arena, &sample_memory, 0);
	CHECK_OK(strata_schema_defaults(&sample_schema, &sample_arena, &sample, &err));
	return sample;
}

#endif
