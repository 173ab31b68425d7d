/* Devices as a table and as a document. */
#include "cli/device_table.h"

#include <strata/text.h>

static void add_flops(struct cli_table *table, double flops_per_s)
{
	if (flops_per_s >= 1e12)
		cli_table_add(table, "%.1f TFLOP/s", flops_per_s / 1e12);
	else if (flops_per_s > 0)
		cli_table_add(table, "%.1f GFLOP/s", flops_per_s / 1e9);
	else
		cli_table_add(table, "-");
}

static int print_links(struct cli *cli, const struct strata_machine *machine)
{
	static const struct cli_column columns[] = { { "FROM", .style = CLI_BOLD },
						     { "TO" },
						     { "BANDWIDTH", .right = true },
						     { "LATENCY", .right = true } };
	size_t count = machine->device_count;
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	for (size_t i = 0; rc == 0 && i < count; i++)
		for (size_t k = i + 1; k < count; k++) {
			char rate[STRATA_FORM_BYTES];

			cli_table_add(table, "%s", machine->devices[i].name);
			cli_table_add(table, "%s", machine->devices[k].name);
			cli_table_add(table, "%s",
				      strata_rate_print_short(
					      (int64_t)machine->bytes_per_s[i * count + k], rate));
			cli_table_add(table, "%.1f us",
				      machine->latency_ns ? machine->latency_ns[i * count + k] / 1e3
							  : 0);
		}
	return rc ? rc : cli_table_print(table);
}

int device_table_print(struct cli *cli, const struct strata_machine *machine)
{
	static const struct cli_column columns[] = {
		{ "DEVICE", .style = CLI_BOLD }, { "KIND" },
		{ "F32", .right = true },        { "F16", .right = true },
		{ "BANDWIDTH", .right = true },  { "MEMORY", .right = true },
		{ "OVERHEAD", .right = true },
	};
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	for (size_t i = 0; i < machine->device_count; i++) {
		const struct strata_device *device = &machine->devices[i];
		char rate[STRATA_FORM_BYTES], size[STRATA_FORM_BYTES];

		cli_table_add(table, "%s", device->name);
		cli_table_add(table, "%s", device->kind);
		add_flops(table, device->flops_per_s);
		add_flops(table, device->half_flops_per_s);
		cli_table_add(table, "%s",
			      strata_rate_print_short((int64_t)device->bytes_per_s, rate));
		cli_table_add(table, "%s", strata_size_print_short(device->capacity_bytes, size));
		cli_table_add(table, "%.2f us", device->overhead_ns / 1e3);
	}
	rc = cli_table_print(table);
	if (rc || machine->device_count < 2)
		return rc;
	cli_printf(cli, "\n");
	return print_links(cli, machine);
}

json_t *device_table_json(const struct strata_machine *machine, double link_bytes_per_s,
			  double link_latency_ns)
{
	json_t *devices = json_array(), *links = json_array();
	size_t count = machine->device_count;
	bool failed = false;

	for (size_t i = 0; i < count; i++) {
		const struct strata_device *device = &machine->devices[i];
		json_t *one = json_pack("{s:s,s:s,s:f,s:f,s:f,s:f,s:I}", "name", device->name,
					"kind", device->kind, "flops_per_s", device->flops_per_s,
					"half_flops_per_s", device->half_flops_per_s, "bytes_per_s",
					device->bytes_per_s, "overhead_ns", device->overhead_ns,
					"capacity", (json_int_t)device->capacity_bytes);

		failed |= json_array_append_new(devices, one) != 0;
		for (size_t k = 0; k < count; k++)
			if (k != i)
				failed |= json_array_append_new(
						  links,
						  json_pack("{s:s,s:s,s:f,s:f}", "from",
							    device->name, "to",
							    machine->devices[k].name, "bytes_per_s",
							    machine->bytes_per_s[i * count + k],
							    "latency_ns",
							    machine->latency_ns[i * count + k])) !=
					  0;
	}
	json_t *json = json_pack("{s:o,s:o,s:f,s:f}", "devices", devices, "links", links,
				 "link_bytes_per_s", link_bytes_per_s, "link_latency_ns",
				 link_latency_ns);

	if (json && failed) {
		json_decref(json);
		json = NULL;
	}
	return json;
}
