#include "test.h"

#include "slurm/rows.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_arena arena;

static const char *complaint(int code, const char *text, int *ret_exit)
{
	struct strata_error err;

	strata_fail(&err, code, "%s", text);
	return strata_sbatch_complaint(&err, "sbatch", &arena, ret_exit);
}

TEST(getopt_is_quoted_with_a_hint)
{
	int code = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_TEXT(complaint(-EINVAL, "unrecognized option '--x'", &code),
		   "sbatch: unrecognized option '--x'\n"
		   "Try \"sbatch --help\" for more information\n");
	CHECK_INT(code, 255);
	CHECK_TEXT(
		complaint(-EINVAL, "unrecognized option '--ndoes=2'; did you mean --nodes?", &code),
		"sbatch: unrecognized option '--ndoes=2'\n"
		"Try \"sbatch --help\" for more information\n"
		"strata: did you mean --nodes?\n");
	strata_arena_fini(&arena);
}

TEST(other_sentences_stand_behind_the_name)
{
	int code = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_TEXT(complaint(-EBADMSG, "Batch script is empty!", &code),
		   "sbatch: error: Batch script is empty!\n");
	CHECK_INT(code, 1);
	CHECK_TEXT(complaint(-EBADMSG, "fatal: --mem twice", &code),
		   "sbatch: fatal: --mem twice\n");
	CHECK_TEXT(complaint(-EINVAL,
			     "Invalid time specification (pos=0): x; Invalid --begin "
			     "specification",
			     &code),
		   "Invalid time specification (pos=0): x\n"
		   "sbatch: error: Invalid --begin specification\n");
	strata_arena_fini(&arena);
}
