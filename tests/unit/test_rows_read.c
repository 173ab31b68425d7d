#include "test.h"

#include "slurm/rows.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

struct wish {
	const char *user, *format;
	bool json;
	int64_t verbose;
};

static int read_odd(struct slurm_reading *reading, const struct slurm_row *row, const char *value,
		    struct strata_error *e)
{
	(void)reading;
	return strlen(value) % 2 ? 0
				 : strata_fail_at(e, -EINVAL, row->option.name, "--%s is even",
						  row->option.name);
}

#define FIELD(name) offsetof(struct wish, name)

static const struct slurm_row rows[] = {
	{ { "brief", 'b', .help = "few columns" }, slurm_read_text, FIELD(format), "%i" },
	{ { "everybody", 'a', .help = "of all" }, slurm_read_text, FIELD(user) },
	{ { "format", 'o', STRATA_SLURM_REQUIRED, .env = "W_FORMAT", .help = "columns" },
	  slurm_read_text,
	  FIELD(format) },
	SLURM_ROW_HELP(0),
	{ { "json", 0, .env = "W_JSON", .help = "as JSON" }, slurm_read_flag, FIELD(json) },
	SLURM_ROW_HOLDS("local", 0, "of this cluster"),
	{ { "odd", 0, STRATA_SLURM_REQUIRED, 0, NULL, STRATA_SLURM_IGNORED, "checked" }, read_odd },
	SLURM_ROW_IGNORED("sort", 'S', STRATA_SLURM_REQUIRED, "the order"),
	{ { "user", 'u', STRATA_SLURM_REQUIRED, .env = "W_USER", .help = "of whom" },
	  slurm_read_text,
	  FIELD(user) },
	{ { "verbose", 'v', .help = "more" }, slurm_read_tally, FIELD(verbose) },
	{ .read = NULL },
};
static const struct slurm_syntax syntax = { .rows = rows };
static const struct slurm_syntax telling = { .rows = rows, .env_tells = true };

static struct slurm_reading reading;
static struct wish wish;

static void begin(const struct slurm_syntax *which)
{
	strata_arena_init(&arena, &memory, 0);
	wish = (struct wish){ .user = "me" };
	CHECK_OK(slurm_reading_init(&reading, which, &arena, &wish, &err));
}

#define READ(...)                                                             \
	slurm_rows_read_words(&reading, (const char *const[]){ __VA_ARGS__ }, \
			      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), &err)

TEST(values_reach_their_fields)
{
	begin(&syntax);
	CHECK_OK(READ("-u", "ann", "12", "--json", "-vvo", "%j", "13"));
	CHECK_TEXT(wish.user, "ann");
	CHECK_TEXT(wish.format, "%j");
	CHECK(wish.json);
	CHECK_INT(wish.verbose, 2);
	CHECK_INT(reading.operand_count, 2);
	CHECK_TEXT(reading.operands[1], "13");
	CHECK_OK(READ("-ab"));
	CHECK(!wish.user);
	CHECK_TEXT(wish.format, "%i");
	strata_arena_fini(&arena);
}

TEST(variables_come_first)
{
	static const char *const env[] = { "W_USER=bob", "W_FORMAT=", "W_JSON=0", NULL };

	begin(&syntax);
	CHECK_OK(slurm_rows_read_env(&reading, env, &err));
	CHECK_TEXT(wish.user, "bob");
	CHECK_TEXT(wish.format, "");
	CHECK(wish.json); /* it is there */
	CHECK_OK(READ("--user=ann"));
	CHECK_TEXT(wish.user, "ann");
	strata_arena_fini(&arena);
	begin(&telling);
	CHECK_OK(slurm_rows_read_env(&reading, env, &err));
	CHECK(!wish.json); /* it says no */
	CHECK_OK(slurm_rows_read_env(&reading, NULL, &err));
	strata_arena_fini(&arena);
}

TEST(what_has_no_effect_is_remembered_once)
{
	const char *text = "";

	begin(&syntax);
	CHECK_OK(READ("--local"));
	CHECK_OK(slurm_rows_warning(&reading, &text, &err));
	CHECK(!text);
	CHECK_OK(READ("-S", "i", "--odd=x", "-S", "j"));
	CHECK_INT(reading.ignored_count, 2);
	CHECK_TEXT(reading.ignored[0].value, "j");
	CHECK_OK(slurm_rows_warning(&reading, &text, &err));
	CHECK_TEXT(text, "no effect here: --sort, --odd");
	CHECK_ERROR(READ("--odd=xx"), -EINVAL, "--odd is even");
	strata_arena_fini(&arena);
}

TEST(an_option_that_ends_it_hides_what_follows)
{
	begin(&syntax);
	CHECK_OK(READ("-v", "--help", "--nosuch", "--odd="));
	CHECK_TEXT(reading.ended->option.name, "help");
	CHECK_INT(wish.verbose, 1);
	strata_arena_fini(&arena);
}

TEST(a_value_may_be_as_long_as_the_limit)
{
	static char text[STRATA_SLURM_VALUE_BYTES_MAX + 2];

	begin(&syntax);
	memset(text, 'x', STRATA_SLURM_VALUE_BYTES_MAX);
	CHECK_OK(READ("--user", text));
	text[STRATA_SLURM_VALUE_BYTES_MAX] = 'x';
	CHECK_ERROR(READ("--user", text), -E2BIG, "--user has a value of more than");
	strata_arena_fini(&arena);
}

static int read_all(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	static const char *const words[] = { "-u", "ann", "12", "-S", "i" };
	static const char *const env[] = { "W_FORMAT=%i", NULL };
	struct slurm_reading got;
	struct strata_arena scratch;
	const char *text;

	(void)context;
	strata_arena_init(&scratch, scarce, 0);
	int rc = slurm_reading_init(&got, &syntax, &scratch, &wish, error);

	if (rc == 0)
		rc = slurm_rows_read_env(&got, env, error);
	if (rc == 0)
		rc = slurm_rows_read_words(&got, words, 5, error);
	if (rc == 0)
		rc = slurm_rows_warning(&got, &text, error);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(read_all, NULL);
}
