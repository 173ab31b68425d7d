#include "test.h"

#include "sbatch_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static const char plain[] = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH -t 3 -N 2\ntrue\n";

TEST(a_script_becomes_a_request)
{
	CHECK_OK(sbatch_text(plain, ""));
	CHECK_TEXT(job.name, "train");
	CHECK_INT(job.nodes, 2);
	CHECK_INT(job.time_limit_ns, 3 * STRATA_MINUTE_NS);
	CHECK_TEXT(job.script, plain);
	CHECK_INT(job.script_length, strlen(plain));
	CHECK_TEXT(job.output, "slurm-%j.out");
	CHECK_TEXT(job.error, "slurm-%j.out");
	CHECK(!job.error_given);
	CHECK_INT(job.mem_bytes, -1);
	CHECK_INT(job.requeue, -1);
}

TEST(command_line_beats_variables_beats_script)
{
	static const char *const env[] = { "PATH=/bin", "SBATCH_TIMELIMIT=5", "SBATCH_PARTITION=p",
					   "SBATCH_JOB_NAME=v", NULL };

	CHECK_OK(sbatch_text_env(plain, "-J c", env));
	CHECK_TEXT(job.name, "c");
	CHECK_TEXT(job.partition, "p");
	CHECK_INT(job.time_limit_ns, 5 * STRATA_MINUTE_NS);
	CHECK_INT(job.nodes, 2);
	CHECK_OK(sbatch_text_env(plain, "--time=7", env));
	CHECK_INT(job.time_limit_ns, 7 * STRATA_MINUTE_NS);
	CHECK_TEXT(job.name, "v");
}

/* Nothing, yes and numbers other than 0 switch a flag on; other words do not. */
TEST(flags_can_be_variables)
{
	static const struct {
		const char *value;
		bool set;
	} cases[] = { { "SBATCH_WAIT=", true },    { "SBATCH_WAIT=1", true },
		      { "SBATCH_WAIT=yes", true }, { "SBATCH_WAIT=0", false },
		      { "SBATCH_WAIT=no", false }, { "SBATCH_WAITX=1", false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const env[] = { cases[i].value, NULL };

		CHECK_OK(sbatch_text_env(NULL, "", env));
		CHECK_INT(job.wait, cases[i].set);
	}
	static const char *const exclusive[] = { "SBATCH_EXCLUSIVE=", NULL };
	static const char *const bad[] = { "SBATCH_TIMELIMIT=abc", NULL };

	CHECK_OK(sbatch_text_env(NULL, "", exclusive));
	CHECK_INT(job.share, STRATA_SBATCH_EXCLUSIVE);
	CHECK_ERROR(sbatch_text_env(NULL, "", bad), -EINVAL, "Invalid --time specification");
}

TEST(wrap_makes_a_script)
{
	CHECK_OK(options(""));
	CHECK_TEXT(job.name, "wrap");
	CHECK_TEXT(job.wrap, "true");
	CHECK_TEXT(job.script, "#!/bin/sh\n# This script was created by sbatch --wrap.\n\ntrue\n");
	CHECK_ERROR(options("--wrap=x a"), -EBADMSG,
		    "Script arguments not permitted with --wrap option");
	CHECK_OK(sbatch_text("#!/bin/sh\n#SBATCH --wrap=hostname\n", ""));
	CHECK(!job.wrap);
	CHECK_TEXT(job.name, "job.sh");
}

TEST(names_and_files_have_defaults)
{
	struct strata_sbatch_input in = { .script = "#!/bin/sh\n", .script_length = 10 };

	CHECK_OK(sbatch_text("#!/bin/sh\n", "-a 1-3"));
	CHECK_TEXT(job.name, "job.sh");
	CHECK_TEXT(job.output, "slurm-%A_%a.out");
	CHECK_OK(sbatch_text("#!/bin/sh\n", "-o x -e y"));
	CHECK(job.error_given);
	CHECK_OK(strata_sbatch_parse(&in, &arena, &job, &err));
	CHECK_TEXT(job.name, "sbatch");
}

TEST(words_behind_the_script_are_its_own)
{
	const char *words[] = { "-N", "2", "job.sh", "-x", "--nosuch" };
	struct strata_sbatch_input in = { .script = plain,
					  .script_length = strlen(plain),
					  .script_name = "job.sh",
					  .args = words,
					  .arg_count = 5 };
	size_t index = 9;
	bool wrap = true;

	CHECK_OK(strata_sbatch_find_script(words, 5, &index, &wrap, &err));
	CHECK(index == 2 && !wrap);
	CHECK_OK(strata_sbatch_parse(&in, &arena, &job, &err));
	CHECK_INT(job.script_arg_count, 2);
	CHECK_TEXT(job.script_args[1], "--nosuch");
	words[0] = "--wrap";
	CHECK_OK(strata_sbatch_find_script(words, 2, &index, &wrap, &err));
	CHECK(index == 2 && wrap);
	words[0] = "--help";
	in.script = NULL;
	CHECK_OK(strata_sbatch_find_script(words, 5, &index, &wrap, &err));
	CHECK(wrap);
	CHECK_OK(strata_sbatch_parse(&in, &arena, &job, &err));
	CHECK(job.help);
}

TEST(what_is_no_batch_job_is_refused)
{
	CHECK_ERROR(sbatch_text("true\n", ""), -EBADMSG, "does not look like a batch script");
	CHECK_ERROR(sbatch_text("", ""), -EBADMSG, "Batch script is empty!");
	CHECK_ERROR(sbatch_text("#!/bin/sh\n#SBATCH foo\n#SBATCH --nosuch\n", ""), -EINVAL,
		    "Invalid directive found in batch script: foo");
	CHECK_ERROR(sbatch_text("#!/bin/sh\n#SBATCH --nosuch\n", "-t 2h"), -EINVAL,
		    "Invalid --time specification");
	CHECK_ERROR(sbatch_text("#!/bin/sh\n#SBATCH --nosuch foo\n", ""), -EINVAL,
		    "unrecognized option '--nosuch'");
	CHECK_ERROR(sbatch_text("#!/bin/sh\n#SBATCH -N2\n#SBATCH hetjob\n", ""), -EBADMSG,
		    "heterogeneous jobs are not supported");
	CHECK_ERROR(sbatch_text("#!/bin/sh\n#SBATCH -- -N3\n", ""), -EINVAL,
		    "Invalid directive found in batch script: -N3");
	CHECK_INT(job.verbose, -7);
}

TEST(command_lines_and_values_have_limits)
{
	static const char *words[STRATA_SCRIPT_WORDS_MAX + 1];
	struct strata_sbatch_input in = { .args = words, .arg_count = STRATA_SCRIPT_WORDS_MAX };
	char *value = malloc(STRATA_SLURM_VALUE_BYTES_MAX + 2 + 10);

	for (size_t i = 0; i <= STRATA_SCRIPT_WORDS_MAX; i++)
		words[i] = i == 0 ? "--wrap=x" : "-v";
	CHECK_OK(strata_sbatch_parse(&in, &arena, &job, &err));
	in.arg_count++;
	CHECK_ERROR(strata_sbatch_parse(&in, &arena, &job, &err), -E2BIG, "more than 4096 words");
	memcpy(value, "--comment=", 10);
	memset(value + 10, 'x', STRATA_SLURM_VALUE_BYTES_MAX);
	value[10 + STRATA_SLURM_VALUE_BYTES_MAX] = '\0';
	words[1] = value;
	in.arg_count = 2;
	CHECK_OK(strata_sbatch_parse(&in, &arena, &job, &err));
	memcpy(value + 10 + STRATA_SLURM_VALUE_BYTES_MAX, "x", 2);
	CHECK_ERROR(strata_sbatch_parse(&in, &arena, &job, &err), -E2BIG, "more than 65536 bytes");
	free(value);
}

static const char *complaint(const char *script, const char *args, int *status)
{
	CHECK(sbatch_text(script, args) < 0);
	return strata_sbatch_complaint(&err, "sbatch", &arena, status);
}

TEST(complaints_are_printed_as_by_slurm)
{
	int status;

	CHECK_TEXT(complaint("true\n", "", &status),
		   "sbatch: error: This does not look like a batch script.  The first\n"
		   "sbatch: error: line must start with #! followed by the path to an "
		   "interpreter.\n"
		   "sbatch: error: For instance: #!/bin/sh\n");
	CHECK_INT(status, 1);
	CHECK_TEXT(complaint("#!/bin/sh\r\n", "", &status),
		   "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\n"
		   "sbatch: error: instead of expected UNIX line breaks (\\n).\n");
	CHECK_TEXT(complaint(NULL, "--nosuch=1", &status),
		   "sbatch: unrecognized option '--nosuch=1'\n"
		   "Try \"sbatch --help\" for more information\n");
	CHECK_INT(status, 255);
	CHECK_TEXT(complaint(NULL, "--begin=nonsense", &status),
		   "Invalid time specification (pos=0): nonsense\n"
		   "sbatch: error: Invalid --begin specification\n");
	CHECK_INT(status, 255);
	CHECK_TEXT(complaint(NULL, "--ntasks=abc", &status),
		   "sbatch: error: Invalid numeric value \"abc\" for --ntasks.\n");
	CHECK_INT(status, 1);
	CHECK_TEXT(complaint(NULL, "--mem=1 --mem-per-cpu=1", &status),
		   "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually "
		   "exclusive.\n");
	CHECK_TEXT(complaint(NULL, "--gpus=9999 --gres=gpu:4", &status),
		   "sbatch: error: Failed to validate job spec, --gpus is not multiple of "
		   "--gres=gpu/--gpus-per-node\n"
		   "sbatch: error: Invalid generic resource (gres) specification\n");
}

static int everything(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	static const char script[] =
		"#!/bin/sh\n"
		"#SBATCH -J x -N2 --gres=gpu:a100:2 --hint=multithread -w n[1-2]\n"
		"#SBATCH -d afterok:1 -a 1-3%2 --export=A,B=2 -o %j\n";
	static const char *const words[] = { "-n", "2", "job.sh", "arg" };
	static const char *const env[] = { "SBATCH_QOS=q", NULL };
	struct strata_sbatch_input in = { .script = script,
					  .script_length = sizeof(script) - 1,
					  .script_name = "job.sh",
					  .args = words,
					  .arg_count = 4,
					  .env = env,
					  .nodes = "n[1-4]" };
	struct strata_sbatch got;
	struct strata_arena scratch;

	strata_arena_init(&scratch, scarce, 0);
	int rc = strata_sbatch_parse(&in, &scratch, &got, error);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	CHECK_INT(everything(&memory, NULL, &err), 0);
	test_every_allocation(everything, NULL);
}

/* The public scripts: what Slurm made of each is in GOLDEN.txt. */

/* Megabytes as Slurm prints them: the next unit as long as half of it goes in without a rest. */
static const char *slurm_megabytes(int64_t mb, char *text)
{
	static const char units[] = "MGTP";
	double value = (double)mb;
	int64_t whole = mb;
	size_t unit = 0;

	for (; whole >= 1024 && whole % 512 == 0 && value == (double)whole; unit++) {
		value = (double)whole / 1024;
		whole = (int64_t)value;
	}
	if (mb == 0)
		sprintf(text, "0");
	else if (value == (double)whole)
		sprintf(text, "%" PRId64 "%c", whole, units[unit]);
	else
		sprintf(text, "%.2f%c", value, units[unit]);
	return text;
}

/* The cluster of the recording: nodes of 500 GB, one hour where no time was asked for. */
static int64_t total_megabytes(void)
{
	if (job.mem_bytes > 0)
		return (job.mem_bytes >> 20) * job.nodes;
	if (job.mem_per_cpu_bytes >= 0)
		return (job.mem_per_cpu_bytes >> 20) * job.tasks * job.cpus_per_task;
	if (job.mem_per_gpu_bytes >= 0)
		return (job.mem_per_gpu_bytes >> 20) * job.gpus_total;
	return 500 * 1024 * job.nodes;
}

static void describe(int64_t number, char *line, size_t room)
{
	static const char *const over[] = { "OK", "YES", "NO", "USER", "MCS" };
	int64_t limit_ns = job.time_limit_ns < 0 ? STRATA_HOUR_NS : job.time_limit_ns;
	int64_t cpus = job.tasks * job.cpus_per_task;
	int64_t mem = job.mem_per_cpu_bytes >= 0 ? job.mem_per_cpu_bytes
		      : job.mem_bytes > 0        ? job.mem_bytes
						 : 0;
	struct strata_output_values values = { number, -1, -1, -1, -1, -1, NULL, NULL, job.name };
	char nodes[64], limit[STRATA_FORM_BYTES], total[64], least[64], per_node[200] = "";
	const char *out, *error, *array = "";

	snprintf(nodes, sizeof(nodes), job.nodes_max ? "%" PRId64 "-%" PRId64 : "%" PRId64,
		 job.nodes, job.nodes_max);
	bool both = job.gres && job.gpus_per_node.text != job.gres;

	if (job.gpus_per_node.text && job.gpus_per_node.text != job.gres)
		snprintf(per_node, sizeof(per_node), "gres:gpu:%s", job.gpus_per_node.text);
	if (job.gres)
		snprintf(per_node + strlen(per_node), sizeof(per_node) - strlen(per_node),
			 "%sgres:%s", both ? "," : "", job.gres);
	CHECK_OK(strata_output_expand(job.output, &values, &arena, &out, &err));
	CHECK_OK(strata_output_expand(job.error, &values, &arena, &error, &err));
	if (job.array.task_count)
		CHECK_OK(strata_array_print(&job.array, &arena, &array, &err));
	out = strrchr(out, '/') ? strrchr(out, '/') + 1 : out;
	error = strrchr(error, '/') ? strrchr(error, '/') + 1 : error;
	snprintf(line, room,
		 "ok|name=%s|nodes=%s|tasks=%" PRId64 "|cpt=%" PRId64 "|time=%s|tres=cpu=%" PRId64
		 ",mem=%s,node=%" PRId64 ",billing=%" PRId64
		 "|mem=%s|tpn=%s|tpt=%s%s|tpj=%s%s|array=%s|out=%s|err=%s|requeue=%d|over=%s",
		 job.name, nodes, job.tasks, job.cpus_per_task,
		 strata_duration_print_slurm(limit_ns, limit), cpus,
		 slurm_megabytes(total_megabytes(), total), job.nodes, cpus,
		 slurm_megabytes(mem >> 20, least), per_node,
		 job.gpus_per_task.text ? "gres:gpu:" : "",
		 job.gpus_per_task.text ? job.gpus_per_task.text : "",
		 job.gpus.text ? "gres:gpu:" : "", job.gpus.text ? job.gpus.text : "", array, out,
		 error, job.requeue != 0, over[job.share]);
}

/* The number that Slurm gave the job is in its files' names only: one must fit both. */
static void check_accepted(const char *name, const char *want)
{
	char line[2000];

	for (int64_t number = 1; number < 200; number++) {
		describe(number, line, sizeof(line));
		if (strcmp(line, want) == 0)
			return;
	}
	test_fail(__FILE__, __LINE__, "%s gives\n%s, expected\n%s", name, line, want);
}

static void check_refused(const char *name, const char *want)
{
	int status;
	const char *text = strata_sbatch_complaint(&err, "sbatch", &arena, &status);
	char *line = strata_arena_printf(&arena, "exit=%d|%s", status, text);

	for (char *p = line; *p; p++)
		*p = *p == '\n' ? ';' : *p;
	if (strcmp(line, want) != 0)
		test_fail(__FILE__, __LINE__, "%s gives\n%s, expected\n%s", name, line, want);
}

TEST(public_scripts_give_what_slurm_made_of_them)
{
	size_t size, scripts = 0;
	char *golden = test_read_file(test_shared_file("slurm/corpus/GOLDEN.txt"), &size), *rest;

	for (char *row = strtok_r(golden, "\n", &rest); row; row = strtok_r(NULL, "\n", &rest)) {
		char *want = strchr(row, '|'), path[100];

		*want++ = '\0';
		snprintf(path, sizeof(path), "slurm/corpus/%s", row);
		char *script = test_read_file(test_shared_file(path), &size);
		struct strata_sbatch_input in = { .script = script,
						  .script_length = size,
						  .script_name = row,
						  .nodes = "n[001-064]" };

		strata_arena_fini(&arena);
		strata_arena_init(&arena, &memory, 0);
		if (strata_sbatch_parse(&in, &arena, &job, &err) == 0)
			check_accepted(row, want);
		else
			check_refused(row, want);
		free(script);
		scripts++;
	}
	free(golden);
	CHECK_INT(scripts, 44);
}

static int srun_parse(const char *const *words, size_t count)
{
	struct strata_sbatch_input in = { .command = STRATA_SLURM_SRUN,
					  .args = words,
					  .arg_count = count,
					  .env = (const char *const[]){ "SBATCH_ACCOUNT=x",
									NULL } };

	return strata_sbatch_parse(&in, &arena, &job, &err);
}

/* srun has a program where sbatch has a script, and options of its own. */
TEST(srun_is_read_by_the_same_rows)
{
	const char *const words[] = {
		"-n2", "--label", "-K0", "--mpi=pmix", "/bin/echo", "-n", "x"
	};

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(srun_parse(words, 7));
	CHECK_INT(job.tasks, 2);
	CHECK(job.label && !job.kill_on_bad_exit && !job.account && !job.script);
	CHECK_INT(job.script_arg_count, 3);
	CHECK_TEXT(job.script_args[1], "-n");
	CHECK_TEXT(job.name, "echo");
	CHECK_INT(job.warning_count, 1);
	CHECK_TEXT(job.warnings[0], "no effect here: --mpi");
	CHECK_OK(srun_parse(words + 2, 1));
	CHECK_INT(job.script_arg_count, 0);
	CHECK_ERROR(srun_parse((const char *const[]){ "--wrap=x" }, 1), -EINVAL,
		    "unrecognized option '--wrap=x'");
	strata_arena_fini(&arena);
}
