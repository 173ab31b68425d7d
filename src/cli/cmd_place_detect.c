/* strata place detect: what this machine has to compute with. */
#include "cli/device_table.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct strata_machine machine;
	struct strata_error note;
	size_t guessed;
	int rc = cli_devices(cli, &machine, &note, &guessed);

	(void)conf, (void)operands, (void)operand_count;
	if (rc)
		return rc;
	if (cli->globals.json)
		return cli_print_json(cli, device_table_json(&machine, 0, 0));
	rc = device_table_print(cli, &machine);
	if (rc == 0 && note.code)
		cli_note(cli, "no GPUs: %s", note.text);
	if (rc == 0 && guessed)
		cli_note(cli,
			 "%zu GPU%s of a type that is not known; slow figures are assumed", guessed,
			 guessed == 1 ? " is" : "s are");
	return rc;
}

const struct cli_command cli_place_detect = {
	.name = "place detect",
	.summary = "show what this machine has to compute with",
	.about = "The processors of each NUMA domain and each GPU are a device, with what their "
		 "makers "
		 "say of them; `strata place calibrate`\n"
		 "measures what processors and memory really do. With --json it is a document for "
		 "`strata place MODEL --devices FILE`.",
	.examples = "  strata place detect\n"
		    "  strata place detect --json >devices.json",
	.run = run,
};
