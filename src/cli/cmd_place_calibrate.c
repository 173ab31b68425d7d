/* strata place calibrate: what this machine's processors, memory and network really do. */
#include "cli/device_table.h"

#include "core/env.h"
#include <strata/machine.h>
#include "stream/blas.h"

#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct calibrate_options {
	const char *save;
	int64_t time;
};

static const struct strata_option calibrate_rows[] = {
	{ "save", STRATA_TEXT, offsetof(struct calibrate_options, save), .value = "FILE",
	  .help = "write what was measured for `strata place MODEL --devices FILE`" },
	{ "time", STRATA_DURATION, offsetof(struct calibrate_options, time),
	  .integer = { STRATA_SECOND_NS / 2, STRATA_MS_NS, STRATA_MINUTE_NS },
	  .help = "of each measurement; there are five" },
	{ 0 }
};
static const struct strata_schema calibrate_schema = { "place calibrate", NULL,
						       sizeof(struct calibrate_options),
						       calibrate_rows };

static void multiply(void *context, int n, const float *a, const float *b, float *c)
{
	blas_linear(context, n, n, n, a, b, c);
}

static void show(void *context, const char *what, double done)
{
	struct cli_progress *progress = context;

	progress->what = what;
	cli_progress_show(progress, done);
}

static int measure(struct cli *cli, const struct calibrate_options *options,
		   struct strata_measured *result)
{
	struct cli_progress progress;
	struct strata_error why;
	struct blas blas;
	int rc = blas_open(&blas, NULL, &why);
	const struct strata_measure_conf conf = { .time_ns = options->time,
						  .matmul = rc ? NULL : multiply,
						  .matmul_context = &blas,
						  .progress = show,
						  .progress_context = &progress };

	if (rc)
		cli_note(cli, "%s; a plain loop stands for it, which is slower", why.text);
	cli_progress_start(&progress, cli, "measuring", 1);
	int measured = cli_calibrate(cli, &conf, result);

	cli_progress_end(&progress);
	if (rc == 0)
		blas_close(&blas);
	return measured;
}

static int save(struct cli *cli, const char *path, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;

	if (!text)
		return strata_fail_memory(&cli->err);
	int rc = env_write_file(env_system(), AT_FDCWD, path, text, strlen(text), 0644, &cli->err);

	free(text);
	if (rc == 0 && !cli->globals.json)
		cli_note(cli, "written to %s", path);
	return rc;
}

static int print(struct cli *cli, const struct strata_machine *machine,
		 const struct strata_measured *result)
{
	char rate[STRATA_FORM_BYTES];
	int rc = device_table_print(cli, machine);

	if (rc == 0)
		cli_printf(cli, "\nnetwork within the machine: %s, %.1f us\n",
			   strata_rate_print_short((int64_t)result->network_bytes_per_s, rate),
			   result->network_latency_ns / 1e3);
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct calibrate_options *options = conf;
	struct strata_machine assumed, machine;
	struct strata_measured result;
	int rc = cli_devices(cli, &assumed, NULL, NULL);

	(void)operands, (void)operand_count;
	if (rc == 0)
		rc = measure(cli, options, &result);
	if (rc == 0)
		rc = strata_machine_calibrate(&assumed, &result, &cli->arena, &machine, &cli->err);
	if (rc)
		return rc;
	json_t *json =
		device_table_json(&machine, result.network_bytes_per_s, result.network_latency_ns);

	if (options->save)
		rc = save(cli, options->save, json);
	if (rc == 0 && cli->globals.json)
		return cli_print_json(cli, json);
	json_decref(json);
	return rc ? rc : print(cli, &machine, &result);
}

const struct cli_command cli_place_calibrate = {
	.name = "place calibrate",
	.summary = "measure what this machine really does",
	.about = "Multiplies matrices (OpenBLAS), copies memory, also between NUMA domains, and "
		 "sends over "
		 "the loopback network; the best of several rounds\n"
		 "counts, since others on the machine only make it slower. GPUs keep what their "
		 "makers "
		 "say. --save writes a profile for `strata place MODEL --devices FILE`.",
	.examples = "  strata place calibrate\n"
		    "  strata place calibrate --save devices.json --time 2s",
	.options = &calibrate_schema,
	.run = run,
};
