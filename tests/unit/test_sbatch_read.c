#include "test.h"

#include "sbatch_text.h"

#include <errno.h>
#include <signal.h>

TEST(every_value_reaches_its_field)
{
	CHECK_OK(options("-J n -p p -A a -q q --reservation=r --wckey=w -C c --prefer=f -w n[1-2] "
			 "-x n3 --comment=x -D /d -o o -e e -i i -L l:2 --mail-user=u "
			 "--export-file=z -t 90 --time-min=1:00:00 --tmp=5G -c 3 --mem=7G"));
	CHECK_TEXT(job.name, "n");
	CHECK_TEXT(job.partition, "p");
	CHECK_TEXT(job.account, "a");
	CHECK_TEXT(job.qos, "q");
	CHECK_TEXT(job.reservation, "r");
	CHECK_TEXT(job.wckey, "w");
	CHECK_TEXT(job.constraint, "c");
	CHECK_TEXT(job.prefer, "f");
	CHECK_TEXT(job.nodelist, "n[1-2]");
	CHECK_TEXT(job.exclude, "n3");
	CHECK_TEXT(job.comment, "x");
	CHECK_TEXT(job.chdir, "/d");
	CHECK_TEXT(job.output, "o");
	CHECK_TEXT(job.error, "e");
	CHECK_TEXT(job.input, "i");
	CHECK_TEXT(job.licenses, "l:2");
	CHECK_TEXT(job.mail_user, "u");
	CHECK_TEXT(job.export_file, "z");
	CHECK_INT(job.time_limit_ns, 90 * STRATA_MINUTE_NS);
	CHECK_INT(job.time_min_ns, STRATA_HOUR_NS);
	CHECK_INT(job.tmp_bytes, INT64_C(5) << 30);
	CHECK_INT(job.mem_bytes, INT64_C(7) << 30);
	CHECK_INT(job.cpus_per_task, 3);
}

TEST(flags_and_choices_are_read)
{
	CHECK_OK(options("-H -O --contiguous --spread-job --use-min-nodes --parsable -Q "
			 "--test-only -W -vv"));
	CHECK(job.hold && job.overcommit && job.contiguous && job.spread_job);
	CHECK(job.use_min_nodes && job.parsable && job.quiet && job.test_only && job.wait);
	CHECK_INT(job.verbose, 2);
	CHECK_OK(options("--exclusive"));
	CHECK_INT(job.share, STRATA_SBATCH_EXCLUSIVE);
	CHECK_OK(options("--exclusive=User"));
	CHECK_INT(job.share, STRATA_SBATCH_EXCLUSIVE_USER);
	CHECK_OK(options("--exclusive=mcs"));
	CHECK_INT(job.share, STRATA_SBATCH_EXCLUSIVE_MCS);
	CHECK_OK(options("--exclusive -s"));
	CHECK_INT(job.share, STRATA_SBATCH_SHARE_NODE);
	CHECK_OK(options("--requeue --no-requeue"));
	CHECK_INT(job.requeue, 0);
	CHECK_OK(options("--requeue"));
	CHECK_INT(job.requeue, 1);
	CHECK_OK(options("--open-mode=append --kill-on-invalid-dep=yes"));
	CHECK_INT(job.open_mode, STRATA_SBATCH_OPEN_APPEND);
	CHECK(job.kill_on_invalid_dep && job.kill_on_invalid_dep_given);
	CHECK_OK(options("--open-mode=t --kill-on-invalid-dep=no --input=none"));
	CHECK_INT(job.open_mode, STRATA_SBATCH_OPEN_TRUNCATE);
	CHECK(!job.kill_on_invalid_dep && job.kill_on_invalid_dep_given && !job.input);
	CHECK_OK(options("--mail-type=begin --mail-type=END"));
	CHECK_INT(job.mail_types, STRATA_MAIL_BEGIN | STRATA_MAIL_END);
	CHECK_OK(options("--signal=B:USR1@60 --begin=now+1hour --deadline=tomorrow"));
	CHECK_INT(job.signal.number, SIGUSR1);
	CHECK_INT(job.begin_ns, SBATCH_TEXT_NOW + STRATA_HOUR_NS);
	CHECK_INT(job.deadline_ns, INT64_C(1794787200) * STRATA_SECOND_NS);
}

TEST(numbers_have_slurms_meaning)
{
	CHECK_OK(options("--nice"));
	CHECK(job.nice_given && job.nice == 100);
	CHECK_OK(options("--nice=-5 --priority=TOP"));
	CHECK_INT(job.nice, -5);
	CHECK_INT(job.priority, STRATA_SBATCH_PRIORITY_TOP);
	CHECK_OK(options("--priority=7"));
	CHECK_INT(job.priority, 7);
	CHECK_OK(options("--ntasks-per-tres=gpu:2 -G 2"));
	CHECK_INT(job.ntasks_per_gpu, 2);
	CHECK_ERROR(options("--nice=99999999999"), -EINVAL, "out of range (+/- 2147483645)");
}

TEST(variables_to_export_are_listed)
{
	CHECK_OK(options(""));
	CHECK_INT(job.export_mode, STRATA_SBATCH_EXPORT_ALL);
	CHECK_OK(options("--export=NONE"));
	CHECK_INT(job.export_mode, STRATA_SBATCH_EXPORT_NONE);
	CHECK_INT(job.export_count, 0);
	CHECK_OK(options("--export=ALL,A,B=1,C=\"x,y\""));
	CHECK_INT(job.export_mode, STRATA_SBATCH_EXPORT_ALL);
	CHECK_INT(job.export_count, 3);
	CHECK_TEXT(job.export_items[0], "A");
	CHECK_TEXT(job.export_items[1], "B=1");
	CHECK_TEXT(job.export_items[2], "C=\"x,y\"");
	CHECK_OK(options("--export=A"));
	CHECK_INT(job.export_mode, STRATA_SBATCH_EXPORT_NONE);
}

/* Text and exit status (255 for -EINVAL, 1 for -EBADMSG) are sbatch's. */
TEST(bad_values_are_refused_in_slurms_words)
{
	static const struct {
		const char *args;
		int code;
		const char *text;
	} cases[] = {
		{ "--time=abc", -EINVAL, "Invalid --time specification" },
		{ "--time=1:2:3:4", -EINVAL, "Invalid --time specification" },
		{ "--time-min=x", -EINVAL, "Invalid --time-min specification" },
		{ "--mem=abc", -EINVAL, "Invalid --mem specification" },
		{ "--mem-per-cpu=x", -EINVAL, "Invalid --mem-per-cpu specification" },
		{ "--tmp=x", -EINVAL, "Invalid --tmp specification" },
		{ "--nodes=4-2", -EINVAL,
		  "Maximum node count 2 is less than minimum node count 4" },
		{ "--ntasks=abc", -EBADMSG, "Invalid numeric value \"abc\" for --ntasks." },
		{ "--ntasks=0", -EBADMSG, "Invalid numeric value \"0\" for --ntasks." },
		{ "-c 2147483648", -EBADMSG, "Invalid numeric value \"2147483648\" for" },
		{ "--threads-per-core=x", -EBADMSG,
		  "Invalid numeric value \"x\" for --threads-per-core." },
		{ "--begin=nonsense", -EINVAL,
		  "Invalid time specification (pos=0): nonsense; Invalid --begin specification" },
		{ "--begin=", -EINVAL, "Invalid --begin specification" },
		{ "--mail-type=NOPE", -EINVAL, "Invalid --mail-type specification" },
		{ "--signal=NOPE@1", -EINVAL, "Invalid --signal specification" },
		{ "--exclusive=foo", -EINVAL, "Invalid --exclusive specification" },
		{ "--open-mode=x", -EINVAL, "Invalid --open-mode specification" },
		{ "--kill-on-invalid-dep=x", -EINVAL,
		  "Invalid --kill-on-invalid-dep specification" },
		{ "--wait-all-nodes=2", -EINVAL, "Invalid --wait-all-nodes specification" },
		{ "--hint=foo", -EBADMSG, "unrecognized --hint argument \"foo\", see --hint=help" },
		{ "--priority=x", -EINVAL, "Invalid --priority specification" },
		{ "--nice=x", -EINVAL, "Invalid --nice specification" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_ERROR(options(cases[i].args), cases[i].code, cases[i].text);
		CHECK_INT(job.verbose, -7);
	}
}

TEST(options_without_effect_are_remembered)
{
	CHECK_OK(options("--profile=none --reboot --profile=task --mem-bind=local"));
	CHECK_INT(job.ignored_count, 3);
	CHECK_TEXT(job.ignored[0].name, "profile");
	CHECK_TEXT(job.ignored[0].value, "task");
	CHECK_TEXT(job.ignored[1].name, "reboot");
	CHECK(!job.ignored[1].value);
	CHECK_INT(job.warning_count, 1);
	CHECK_TEXT(job.warnings[0], "no effect here: --profile, --reboot, --mem-bind");
	CHECK_OK(options("--profile=task --quiet"));
	CHECK_INT(job.ignored_count, 1);
	CHECK_INT(job.warning_count, 0);
}
