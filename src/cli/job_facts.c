/* What follows from what is known of a job: how long it ran, how busy its cores were, how it
 * ended. */
#include "cli/service.h"

#include <inttypes.h>
#include <math.h>

int64_t job_elapsed_ns(const json_t *job, int64_t now_ns)
{
	int64_t started_ns = when_json(job, "started_at"), ended_ns = when_json(job, "ended_at");
	int64_t until_ns = ended_ns ? ended_ns : now_ns;

	return started_ns && until_ns >= started_ns ? until_ns - started_ns : -1;
}

double job_cpu_share(const json_t *job)
{
	int64_t elapsed_ns = job_elapsed_ns(job, 0), cpus = grid_int(job, "cpus");
	double used_ms = (double)grid_int(job, "cpu_user_ms") + (double)grid_int(job, "cpu_system_ms");

	if (!json_is_integer(json_object_get(job, "cpu_user_ms")) || elapsed_ns <= 0 || cpus <= 0)
		return NAN;
	return used_ms * 1e6 / ((double)elapsed_ns * (double)cpus);
}

void job_elapsed_cell(const struct grid_cell *cell)
{
	int64_t ns = job_elapsed_ns(cell->row, cell->now_ns);
	char text[STRATA_FORM_BYTES];

	cli_table_add(cell->table, "%s",
		      ns < 0 ? "-"
			     : strata_duration_print_short(ns - ns % STRATA_SECOND_NS, text));
}

void job_cpu_cell(const struct grid_cell *cell)
{
	double share = job_cpu_share(cell->row);

	if (isnan(share))
		cli_table_add(cell->table, "-");
	else
		cli_table_add(cell->table, "%.0f %%", 100 * share);
}

/* "0", "1", "signal 9"; "-": it has not ended, or never ran. */
void job_exit_cell(const struct grid_cell *cell)
{
	const json_t *code = json_object_get(cell->row, "exit_code");
	int64_t number = grid_int(cell->row, "exit_signal");

	if (number)
		cli_table_add(cell->table, "signal %" PRId64, number);
	else if (json_is_integer(code))
		cli_table_add(cell->table, "%" JSON_INTEGER_FORMAT, json_integer_value(code));
	else
		cli_table_add(cell->table, "-");
}

void job_peak_cell(const struct grid_cell *cell)
{
	int64_t peak = grid_int(cell->row, "memory_peak_bytes");
	int64_t asked = grid_int(cell->row, "memory_bytes");
	char text[STRATA_FORM_BYTES];

	if (peak <= 0)
		cli_table_add(cell->table, "-");
	else if (asked > 0)
		cli_table_add(cell->table, "%s (%.0f %%)", strata_size_print_short(peak, text),
			      100 * (double)peak / (double)asked);
	else
		cli_table_add(cell->table, "%s", strata_size_print_short(peak, text));
}
