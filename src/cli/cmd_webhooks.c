/* strata webhooks: the secret that messages to webhooks are signed with, and those on their way. */
#include "cli/service.h"

static const struct grid_column columns[] = {
	{ { .title = "EVENT" }, grid_text, "event" },
	{ { .title = "CREATED" }, grid_time, "created_at" },
	{ { .title = "ATTEMPTS", .right = true }, grid_text, "attempts" },
	{ { .title = "NEXT" }, grid_time, "due_at" },
	{ { .title = "URL", .flexible = true }, grid_text, "url" },
	{ { .title = "ERROR", .flexible = true }, grid_text, "error" },
};

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	json_t *json;
	int rc = service_list(cli, "webhooks", &json);

	(void)conf, (void)operands, (void)operand_count;
	if (rc || service_printed(cli, json, &rc))
		return rc;
	const json_t *rows = json_object_get(json, "waiting");

	cli_printf(cli, "secret: %s\n", grid_or(json_object_get(json, "secret"), "-"));
	if (json_array_size(rows) == 0)
		cli_note(cli, "every message has arrived");
	else
		rc = grid_print(cli, columns, sizeof(columns) / sizeof(columns[0]), rows, 0);
	json_decref(json);
	return rc;
}

const struct cli_command cli_webhooks = {
	.name = "webhooks",
	.summary = "show your secret for webhooks, and messages that have not arrived",
	.about = "A job or a task with a webhook tells that URL how it ended, as JSON. The header "
		 "Strata-Signature is\n"
		 "t=TIME,v1=HMAC: HMAC-SHA256 of TIME, a dot and the body, in hexadecimal; the key is "
		 "the secret's text.",
	.examples = "  strata submit --webhook https://example.org/done -- ./train.sh\n"
		    "  strata webhooks",
	.run = run,
};
