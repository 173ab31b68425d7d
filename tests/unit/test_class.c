#include "sample.h"

#include "core/class.h"

static const struct strata_option good_rows[] = { { "a", STRATA_INT, 0, .integer = { 1, 0, 9 } },
						  { 0 } };
static const struct strata_option outside[] = { { "a", STRATA_INT, 60, .integer = { 1, 0, 9 } },
						{ 0 } };
static const struct strata_option far_outside[] = { { "a", STRATA_BOOL, 400 }, { 0 } };
static const struct strata_option twice[] = { { "a", STRATA_BOOL, 0 },
					      { "a", STRATA_BOOL, 1 },
					      { 0 } };
static const struct strata_option alias_twice[] = { { "a", STRATA_BOOL, 0, .aliases = "b" },
						    { "b", STRATA_BOOL, 1 },
						    { 0 } };
static const struct strata_option capital[] = { { "Steps", STRATA_BOOL, 0 }, { 0 } };
static const struct strata_option bad_default[] = { { "a", STRATA_INT, 0, .integer = { 10, 0, 9 } },
						    { 0 } };
static const struct strata_option bad_choice[] = {
	{ "a", STRATA_ENUM, 0, .choice = { sample_colors, 7 } }, { 0 }
};
static const struct strata_option bad_type[] = { { "a", (enum strata_type)99, 0 }, { 0 } };
static const struct strata_option no_item[] = { { "a", STRATA_LIST, 0 }, { 0 } };
static const struct strata_option no_table[] = { { "a", STRATA_TABLE, 0 }, { 0 } };
static const struct strata_option no_choices[] = { { "a", STRATA_ENUM, 0 }, { 0 } };
static const struct strata_schema endless;
static const struct strata_option endless_rows[] = { { "a", STRATA_TABLE, 0, .table = &endless },
						     { 0 } };
static const struct strata_schema endless = { "endless", NULL, 8, endless_rows };

static int check(const char *name, const char *summary, const struct strata_option *rows,
		 struct strata_error *err)
{
	struct strata_class cls = {
		.name = name, .summary = summary, .conf_size = 64, .options = rows
	};

	return strata_class_check(&cls, err);
}

TEST(a_class_that_contradicts_itself_is_refused)
{
	struct strata_error err = { 0 };

	CHECK_OK(check("fine", "s", good_rows, &err));
	CHECK_OK(check("fine", "s", NULL, &err));
	CHECK_ERROR(check("Not fine", "s", NULL, &err), -EINVAL, "class name 'Not fine'");
	CHECK_ERROR(check(NULL, "s", NULL, &err), -EINVAL, "class name '(none)'");
	CHECK_ERROR(check("x", NULL, NULL, &err), -EINVAL, "no summary");
	CHECK_ERROR(check("x", "s", outside, &err), -EINVAL, "outside its struct");
	CHECK_ERROR(check("x", "s", far_outside, &err), -EINVAL, "outside its struct");
	CHECK_ERROR(check("x", "s", twice, &err), -EINVAL, "two options are called 'a'");
	CHECK_ERROR(check("x", "s", alias_twice, &err), -EINVAL, "two options are called 'b'");
	CHECK_ERROR(check("x", "s", capital, &err), -EINVAL, "option 'Steps'");
	CHECK_ERROR(check("x", "s", bad_default, &err), -ERANGE, "a is 10; expected 0 to 9");
	CHECK_ERROR(check("x", "s", bad_choice, &err), -EINVAL, "none of its choices");
	CHECK_ERROR(check("x", "s", bad_type, &err), -EINVAL, "a type this library does not know");
	CHECK_ERROR(check("x", "s", no_item, &err), -EINVAL, "no item type");
	CHECK_ERROR(check("x", "s", no_table, &err), -EINVAL, "no table");
	CHECK_ERROR(check("x", "s", no_choices, &err), -EINVAL, "no choices");
	CHECK_ERROR(check("x", "s", endless_rows, &err), -EINVAL, "nested too deeply");
}

TEST(names_match_whatever_case_spaces_and_dashes)
{
	struct strata_class cls = { .name = "dpmpp_2m",
				    .aliases = "DPM++ 2M, DPMSolver-Multistep",
				    .summary = "s" };

	CHECK(class_is_called(&cls, "dpmpp_2m", 8));
	CHECK(class_is_called(&cls, "DPMPP 2M", 8));
	CHECK(class_is_called(&cls, "dpm++2m", 7));
	CHECK(class_is_called(&cls, "dpmsolvermultistep", 18));
	CHECK(!class_is_called(&cls, "dpm2m", 5));
	CHECK(!class_is_called(&cls, "dpm++ 2m, dpm", 13));
	CHECK(!class_is_called(&cls, "", 0));
}
