/* strata web: a link that opens the page of the service, signed in as whoever asks. */
#include "cli/service.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct buf path;
	json_t *json;

	(void)conf, (void)operands, (void)operand_count;
	service_path(cli, &path, "session-link", NULL, NULL);
	int rc = service_ask(cli, "POST", &path, NULL, &json);

	if (rc || service_printed(cli, json, &rc))
		return rc;
	cli_printf(cli, "%s\n", grid_or(json_object_get(json, "link"), ""));
	cli_note(cli, "open it within two minutes; it works once. From another machine: ssh -L "
		      "PORT:127.0.0.1:PORT to this one");
	json_decref(json);
	return 0;
}

const struct cli_command cli_web_link = {
	.name = "web",
	.summary = "a link to the page of the service",
	.about = "The link signs in as you, once, within two minutes. The service opens a port of "
		 "the loopback for it if it has none. Over TCP there is no link: open the "
		 "address of the service in a browser and sign in with a token.",
	.examples = "  strata web",
	.run = run,
};
