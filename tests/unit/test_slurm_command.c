/* Running Slurm's commands: other programs stand in for them. */
#include "test.h"

#include "exec/exec_slurm.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static int run(const char *const *words, int64_t limit_ns, struct slurm_answer *ret_answer)
{
	const struct slurm_conf conf = { .bin = "/bin", .conf_file = "/x/slurm.conf" };

	strata_arena_init(&arena, &memory, 0);
	return slurm_run(&conf, env_system(), words, limit_ns, &arena, ret_answer, &err);
}

TEST(both_outputs_and_the_code)
{
	static const char *const words[] = { "sh", "-c", "echo one; echo two >&2; exit 3", NULL };
	struct slurm_answer answer;

	CHECK_OK(run(words, STRATA_MINUTE_NS, &answer));
	CHECK_INT(answer.code, 3);
	CHECK_TEXT(answer.text, "one\n");
	CHECK_TEXT(answer.trouble, "two");
	strata_arena_fini(&arena);
}

TEST(more_than_a_pipe_holds)
{
	static const char *const words[] = { "sh", "-c",
					     "yes | head -c 300000; yes | head -c 300000 >&2",
					     NULL };
	struct slurm_answer answer;

	CHECK_OK(run(words, STRATA_MINUTE_NS, &answer));
	CHECK_INT(strlen(answer.text), 300000);
	strata_arena_fini(&arena);
}

TEST(memory_for_its_answer_may_run_out)
{
	static const char *const words[] = { "sh", "-c", "yes | head -c 300000", NULL };
	struct slurm_answer answer;
	int rc = -ENOMEM;

	for (uint64_t call = 1; rc; call++) {
		CHECK(call < 100);
		memory.fail_at = memory.calls + call;
		rc = run(words, STRATA_MINUTE_NS, &answer);
		memory.fail_at = 0;
		CHECK(rc == 0 || rc == -ENOMEM);
		CHECK(rc || strlen(answer.text) == 300000);
		strata_arena_fini(&arena);
	}
	CHECK_INT(memory.used_bytes, 0);
}

/* What the service was started with is nobody's business; times come as numbers. */
TEST(its_environment_is_its_own)
{
	static const char *const words[] = { "sh", "-c",
					     "echo $SECRET $SLURM_CONF $SLURM_TIME_FORMAT", NULL };
	struct slurm_answer answer;

	setenv("SECRET", "x", 1);
	CHECK_OK(run(words, STRATA_MINUTE_NS, &answer));
	CHECK_TEXT(answer.text, "/x/slurm.conf %s\n");
	strata_arena_fini(&arena);
}

TEST(one_that_does_not_end_is_ended)
{
	static const char *const words[] = { "sleep", "1000", NULL };
	struct slurm_answer answer = { .code = 77 };

	CHECK_INT(run(words, 50 * STRATA_MS_NS, &answer), -ETIMEDOUT);
	CHECK(strstr(err.text, "sleep"));
	CHECK_INT(answer.code, 77);
	strata_arena_fini(&arena);
}

TEST(one_that_is_not_there)
{
	static const char *const words[] = { "no-such-command", NULL };
	struct slurm_answer answer;

	CHECK_INT(run(words, STRATA_MINUTE_NS, &answer), -ENOENT);
	strata_arena_fini(&arena);
}

TEST(away_is_not_a_refusal)
{
	struct slurm_answer away = { .code = 1,
				     .trouble = "slurm_load_jobs error: Unable to contact slurm "
						"controller (connect failure)" };
	struct slurm_answer no = { .code = 1,
				   .trouble =
					   "sbatch: error: Batch job submission failed: Requested "
					   "node configuration is not available" };

	CHECK(slurm_is_away(&away));
	CHECK(!slurm_is_away(&no));
	away.code = 0;
	CHECK(!slurm_is_away(&away));
}
