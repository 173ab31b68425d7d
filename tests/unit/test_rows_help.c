#include "test.h"

#include "slurm/sbatch_int.h"

#include <string.h>

static struct strata_memory memory;

static const struct slurm_row rows[] = {
	{ { "account", 'A', STRATA_SLURM_REQUIRED, .help = "of these" }, slurm_read_text, 8 },
	{ { "accounts", 0, STRATA_SLURM_REQUIRED, .help = "of these" }, slurm_read_text, 8 },
	SLURM_ROW_IGNORED("clusters", 'M', STRATA_SLURM_REQUIRED, "of these clusters"),
	SLURM_ROW_HOLDS("local", 0, "of this cluster"),
	{ { "me", 0, .help = "my own" }, slurm_read_flag, 0 },
	{ { "steps", 's', STRATA_SLURM_OPTIONAL, .help = "steps" }, slurm_read_text, 16 },
	{ .read = NULL },
};
static const struct slurm_syntax syntax = { .rows = rows };

TEST(help_names_every_option_once)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	slurm_rows_help(&syntax, &buf);
	CHECK_TEXT(buf.text, "  -A, --account, --accounts=…            of these\n"
			     "      --me                               my own\n"
			     "  -s, --steps[=…]                        steps\n"
			     "Accepted, and so anyway: --local\n"
			     "Accepted without effect here: --clusters\n");
	buf_fini(&buf);
}

TEST(usage_is_short_and_wrapped)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	slurm_rows_usage(&syntax, &buf);
	CHECK_TEXT(buf.text, "  [--account=…] [--me] [--steps[=…]]\n");
	buf_reset(&buf);
	slurm_rows_usage(&sbatch_syntax, &buf);
	for (const char *at = buf.text; *at; at += strcspn(at, "\n") + 1)
		CHECK(strcspn(at, "\n") < 150); /* bytes, of which an ellipsis has three */
	buf_fini(&buf);
}

TEST(completion_offers_what_acts)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	slurm_rows_complete(&syntax, &buf);
	CHECK_TEXT(buf.text,
		   "--account\tof these\n--accounts\tof these\n--me\tmy own\n--steps\tsteps\n");
	buf_fini(&buf);
}

TEST(effects_have_names)
{
	CHECK_TEXT(slurm_effect_name(STRATA_SLURM_ACTS), "acts");
	CHECK_TEXT(slurm_effect_name(STRATA_SLURM_HOLDS), "holds anyway");
	CHECK_TEXT(slurm_effect_name(STRATA_SLURM_IGNORED), "none");
}
