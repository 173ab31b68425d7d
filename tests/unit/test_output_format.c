#include "test.h"

#include "slurm/output_field.h"
#include "slurm/output_format.h"

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct slurm_format format;
static struct buf line;

struct job {
	int id;
	const char *name;
};

#define FIELD_ROW const struct job *job = row
NUMBER_FIELD(id, job->id)
TEXT_FIELD(name, job->name)
CONSTANT_FIELD(never, "never")

static const struct slurm_field fields[] = {
	{ 'i', "jobid", "JOBID", id, .width = -5 },
	{ 'j', "name", "NAME", name, .chosen = true, .width = 6 },
	{ 'l', "timelimit", "TIME_LIMIT", never, .whole = true, .width = 4 },
	{ .write = NULL },
};
static const struct job train = { 12, "training" }, none = { 7, NULL };

static const char *show(const struct job *job)
{
	buf_reset(&line);
	slurm_format_head(&format, &line);
	slurm_format_row(&format, job, &line);
	return line.text;
}

static void begin(void)
{
	strata_arena_init(&arena, &memory, 0);
	buf_init(&line, &memory, 0);
}

static void end(void)
{
	buf_fini(&line);
	strata_arena_fini(&arena);
}

#define LETTERS(text) slurm_format_read(fields, text, &arena, &format, &err)
#define NAMES(text) slurm_format_read_names(fields, "job format", text, &arena, &format, &err)
#define LIST(text) slurm_format_read_list(fields, text, &arena, &format, &err)

TEST(letters_say_width_and_side)
{
	begin();
	CHECK_OK(LETTERS("<%.5i|%4j|%j>"));
	CHECK_TEXT(show(&train), "<JOBID|NAME|NAME>\n<   12|trai|training>\n");
	CHECK_OK(LETTERS("%.3i %2l%"));
	CHECK_TEXT(show(&train), "JOB TI\n 12 never\n"); /* a time is not cut */
	CHECK_OK(LETTERS(""));
	CHECK_TEXT(show(&train), "\n\n");
	CHECK_OK(LETTERS("%j"));
	CHECK_TEXT(show(&none), "NAME\n(null)\n");
	end();
}

TEST(unknown_letters_are_left_out_and_named)
{
	begin();
	CHECK_OK(LETTERS("%i%?x%9_"));
	CHECK_TEXT(format.unknown, "?_");
	CHECK_INT(format.count, 1);
	CHECK_OK(LETTERS("%i"));
	CHECK_TEXT(format.unknown, "");
	end();
}

TEST(columns_fit_the_widest_cell)
{
	begin();
	CHECK_OK(LETTERS("%#j|%.#i|"));
	CHECK_TEXT(show(&train), "NAME     |    JOBID|\ntraining |       12|\n");
	slurm_format_fit(&format, &(struct job){ 1, "a longer name" }, &memory);
	CHECK_TEXT(show(&train), "NAME         |    JOBID|\ntraining     |       12|\n");
	end();
}

TEST(names_are_twenty_wide_unless_they_say)
{
	begin();
	CHECK_OK(NAMES("JobID:5,name:.6,timelimit:4!"));
	CHECK_TEXT(show(&train), "JOBID  NAMETIME!\n12   traininever!\n");
	end();
}

TEST(names_that_are_none_are_refused)
{
	begin();
	CHECK_ERROR(NAMES("jobid,nope:3"), -EINVAL, "Invalid job format: nope");
	CHECK_ERROR(LIST("jobid,nope%3"), -EINVAL, "Invalid field requested: \"nope\"");
	end();
}

TEST(lists_keep_the_side_of_a_field)
{
	begin();
	CHECK_OK(LIST("jobid,name%9,,timelimit%-7,jobid%3,name%0,name%99999"));
	CHECK_INT(format.count, 6);
	CHECK(!format.columns[0].right && format.columns[0].width == 5);
	CHECK(format.columns[1].right && format.columns[1].width == 9);
	CHECK(!format.columns[2].right && format.columns[2].width == 7);
	CHECK(!format.columns[3].right && format.columns[3].width == 3);
	CHECK_INT(format.columns[4].width, 6);
	CHECK_INT(format.columns[5].width, 6);
	end();
}

TEST(a_width_ends_at_ten_thousand)
{
	begin();
	CHECK_OK(LETTERS("%999999i"));
	CHECK_INT(format.columns[0].width, 10000);
	end();
}

static int read_all(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	struct slurm_format got;

	(void)context;
	strata_arena_init(&scratch, scarce, 0);
	int rc = slurm_format_read(fields, "<%i|%?>", &scratch, &got, error);

	if (rc == 0)
		rc = slurm_format_read_names(fields, "format", "jobid:5!,name", &scratch, &got,
					     error);
	if (rc == 0)
		rc = slurm_format_read_list(fields, "jobid,name%3", &scratch, &got, error);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(read_all, NULL);
}
