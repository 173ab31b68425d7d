#include "sample.h"

struct more {
	bool json;
	const char *file;
};
static const struct strata_option more_options[] = {
	{ "json", STRATA_BOOL, offsetof(struct more, json), .letter = 'j' },
	{ "file", STRATA_TEXT, offsetof(struct more, file), .letter = 'f' },
	{ 0 }
};
static const struct strata_schema more_schema = { "more", NULL, sizeof(struct more), more_options };

static struct sample sample;
static struct more more;
static struct args args;
static struct origins origins;

static int read_args(struct strata_error *err, ...)
{
	char *argv[32];
	int argc = 0;
	va_list list;

	sample = sample_defaults();
	more = (struct more){ 0 };
	origins = (struct origins){ .arena = &sample_arena };
	args = (struct args){ .tables = { { &sample_schema, &sample }, { &more_schema, &more } },
			      .origins = &origins,
			      .stop_at_operand = args.stop_at_operand };
	va_start(list, err);
	while ((argv[argc] = va_arg(list, char *)))
		argc++;
	va_end(list);
	return option_read_args(&args, argc, argv, &sample_arena, err);
}

TEST(flags_of_every_form_are_read)
{
	struct strata_error err;

	CHECK_OK(read_args(&err, "--steps", "5", "--scale=2.5", "-t", "abc", "-oj", "-f/tmp/x",
			   "--no-loud", "--time-limit=1:00:00", "--net.timeout", "3s", NULL));
	CHECK_INT(sample.steps, 5);
	CHECK_NEAR(sample.scale, 2.5, 0);
	CHECK_TEXT(sample.title, "abc");
	CHECK(sample.on && more.json && !sample.loud);
	CHECK_TEXT(more.file, "/tmp/x");
	CHECK_INT(sample.limit_ns, 3600000000000);
	CHECK_INT(sample.net.timeout_ns, 3000000000);
	CHECK_TEXT(origins_find(&origins, "net.timeout"), "--net.timeout");
	CHECK_TEXT(origins_find(&origins, "title"), "-t");
}

TEST(operands_may_stand_anywhere_and_two_dashes_end_the_flags)
{
	struct strata_error err;

	CHECK_OK(read_args(&err, "one", "--steps", "5", "two", "-", "--", "--three", NULL));
	CHECK_INT(args.operand_count, 4);
	CHECK_TEXT(args.operands[0], "one");
	CHECK_TEXT(args.operands[1], "two");
	CHECK_TEXT(args.operands[2], "-");
	CHECK_TEXT(args.operands[3], "--three");
	args.stop_at_operand = 1;
	CHECK_OK(read_args(&err, "--steps=5", "prog", "--steps", "x", NULL));
	CHECK_INT(args.operand_count, 3);
	CHECK_TEXT(args.operands[2], "x");
	args.stop_at_operand = 2; /* the first is the command's name */
	CHECK_OK(read_args(&err, "submit", "--steps=5", "prog", "--steps", "x", NULL));
	CHECK_INT(args.operand_count, 4);
	CHECK_INT(sample.steps, 5);
	args.stop_at_operand = 0;
}

TEST(a_value_may_look_like_a_flag)
{
	struct strata_error err;

	CHECK_OK(read_args(&err, "--any", "-5", "--title", "--x", NULL));
	CHECK_INT(sample.any, -5);
	CHECK_TEXT(sample.title, "--x");
}

TEST(lists_and_maps_may_be_given_again)
{
	struct strata_error err;

	CHECK_OK(read_args(&err, "--sizes", "3", "--sizes", "4,5", "--labels", "a=1",
			   "--labels=b=2", NULL));
	CHECK_INT(sample.sizes.count, 3);
	CHECK_INT(((int64_t *)sample.sizes.items)[2], 5);
	CHECK_INT(sample.labels.count, 2);
	CHECK_TEXT(sample.labels.keys[1], "b");
	CHECK_ERROR(read_args(&err, "--sizes=1,2,3", "--sizes=4,5", NULL), -ERANGE,
		    "more than 4 items");
}

TEST(mistakes_are_explained)
{
	struct strata_error err;

	CHECK_ERROR(read_args(&err, "--stepz=5", NULL), -EINVAL,
		    "unknown option '--stepz'; did you mean '--steps'?");
	CHECK_ERROR(read_args(&err, "--time-limti", "1", NULL), -EINVAL,
		    "did you mean '--time-limit'?");
	CHECK_ERROR(read_args(&err, "--zzzzzz", NULL), -EINVAL, "unknown option '--zzzzzz'");
	CHECK_ERROR(read_args(&err, "-z", NULL), -EINVAL, "unknown option '-z'");
	CHECK_ERROR(read_args(&err, "--steps", NULL), -EINVAL,
		    "--steps needs a value: a whole number");
	CHECK_ERROR(read_args(&err, "-n", NULL), -EINVAL, "-n needs a value");
	CHECK_ERROR(read_args(&err, "--steps=1", "-n2", NULL), -EINVAL, "-n is given twice");
	CHECK_ERROR(read_args(&err, "--steps=0", NULL), -ERANGE,
		    "--steps is 0; expected 1 to 1000");
	CHECK_ERROR(read_args(&err, "-nx", NULL), -EINVAL, "-n is 'x'; expected a whole number");
	CHECK_ERROR(read_args(&err, "--on=perhaps", NULL), -EINVAL, "--on is 'perhaps'");
	CHECK_ERROR(read_args(&err, "--no-steps", NULL), -EINVAL, "unknown option '--no-steps'");
	CHECK_ERROR(read_args(&err, "--net", "x", NULL), -EINVAL, "unknown option '--net'");
	CHECK_ERROR(read_args(&err, "--net.", "x", NULL), -EINVAL, "unknown option '--net.'");
}
