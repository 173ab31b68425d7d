/* strata engine text, in the full program: the answer appears as it is made. */
#include "cli/engine_options.h"

#include "core/text.h"

#include <strata/language.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

struct talk {
	struct cli *cli;
	const struct engine_text_options *options;
	struct strata_language *language;
	struct strata_session *session;
	int64_t *ids; /* of the answer */
	size_t count, shown_bytes;
};

/* "88 12 7" */
static int read_ids(struct talk *it, const char *text, int64_t **ret_ids, size_t *ret_count)
{
	int64_t *ids = strata_arena_array(&it->cli->arena, strlen(text) / 2 + 1, sizeof(*ids));
	size_t count = 0;

	if (!ids)
		return strata_fail_memory(&it->cli->err);
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, " ,");

		if (length && strata_int_parse(at, length, 0, STRATA_TOKENIZER_TOKENS_MAX,
					       &ids[count++], &it->cli->err))
			return strata_fail(
				&it->cli->err, -EINVAL,
				"with --ids the prompt is numbers of tokens, as \"88 12\"; "
				"it is \"%.64s\"",
				text);
		at += length + (at[length] != '\0');
	}
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}

static int read_prompt(struct talk *it, const char *text)
{
	const struct strata_tokenizer *tokenizer = strata_language_tokenizer(it->language);
	struct cli *cli = it->cli;
	int64_t *ids;
	size_t count;
	int rc;

	if (it->options->ids)
		rc = read_ids(it, text, &ids, &count);
	else if (!tokenizer)
		rc = strata_fail(
			&cli->err, -ENOTSUP,
			"the model has no vocab.json and merges.txt; --ids takes and prints "
			"numbers of tokens");
	else
		rc = strata_tokenizer_encode(tokenizer, text, STRATA_TEXT_NUL, &cli->arena, &ids,
					     &count, &cli->err);
	return rc ? rc : strata_session_read(it->session, ids, count, &cli->err);
}

/* A text that may have lines; what else cannot be seen is escaped. */
static void show_lines(struct cli *cli, const char *text, size_t length)
{
	for (size_t at = 0, end; at < length; at = end + 1) {
		const char *newline = memchr(text + at, '\n', length - at);

		end = newline ? (size_t)(newline - text) : length;
		text_show(&cli->out, text + at, end - at);
		if (newline)
			cli_print(cli, "\n");
	}
}

/* What has become of the text, up to the last whole character: one may be in two tokens. */
static int show(struct talk *it)
{
	const struct strata_tokenizer *tokenizer = strata_language_tokenizer(it->language);
	struct cli *cli = it->cli;
	struct strata_arena arena;
	char *text;
	size_t length;

	if (it->options->ids) {
		cli_printf(cli, "%s%lld", it->count > 1 ? " " : "",
			   (long long)it->ids[it->count - 1]);
		return 0;
	}
	strata_arena_init(&arena, &cli->memory, 0);
	int rc = strata_tokenizer_decode(tokenizer, it->ids, it->count, &arena, &text, &length,
					 &cli->err);

	if (rc == 0) {
		while (length > it->shown_bytes &&
		       !text_valid(text + it->shown_bytes, length - it->shown_bytes))
			length--;
		show_lines(cli, text + it->shown_bytes, length - it->shown_bytes);
		it->shown_bytes = length;
	}
	strata_arena_fini(&arena);
	return rc;
}

static int answer(struct talk *it)
{
	struct cli *cli = it->cli;
	int64_t end = strata_language_end(it->language), id = end;
	int rc = 0;

	it->ids = strata_arena_array(&cli->arena, (size_t)it->options->tokens, sizeof(*it->ids));
	if (!it->ids)
		return strata_fail_memory(&cli->err);
	while (rc == 0 && it->count < (size_t)it->options->tokens) {
		rc = strata_session_next(it->session, &id, &cli->err);
		if (rc || (id == end && !it->options->ids))
			break;
		it->ids[it->count++] = id;
		if (!cli->globals.json)
			rc = show(it);
		cli_flush(cli);
	}
	if (rc == 0 && !cli->globals.json)
		cli_print(cli, "\n");
	return rc;
}

static int print_json(struct talk *it)
{
	const struct strata_tokenizer *tokenizer = strata_language_tokenizer(it->language);
	json_t *ids = json_array(), *object = json_object();
	char *text = NULL;
	size_t length;
	int rc = tokenizer ? strata_tokenizer_decode(tokenizer, it->ids, it->count, &it->cli->arena,
						     &text, &length, &it->cli->err)
			   : 0;

	for (size_t i = 0; i < it->count; i++)
		json_array_append_new(ids, json_integer(it->ids[i]));
	json_object_set_new(object, "ids", ids);
	if (text && text_valid(text, length))
		json_object_set_new(object, "text", json_string(text));
	if (rc) {
		json_decref(object);
		return rc;
	}
	return cli_print_json(it->cli, object);
}

static int talk(struct talk *it, const char *prompt)
{
	const struct strata_sampling sampling = { it->options->temperature, it->options->top_k,
						  it->options->top_p, (uint64_t)it->options->seed };
	int rc = strata_session_new(it->language, &sampling, &it->session, &it->cli->err);

	if (rc == 0)
		rc = read_prompt(it, prompt);
	if (rc == 0)
		rc = answer(it);
	if (rc == 0 && it->cli->globals.json)
		rc = print_json(it);
	strata_session_free(it->session);
	return rc;
}

int engine_text_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct engine_text_options *options = conf;
	const struct strata_engine_conf engine_conf = { .devices = options->devices,
							.backend = options->backend,
							.experimental = options->experimental };
	struct strata_language_conf language = { .cache_bytes_max = options->cache };
	struct talk it = { .cli = cli, .options = options };
	struct strata_engine *engine;
	int rc = engine_budget_read(cli, options->budget, &language.budget_bytes,
				    &language.budget_share);

	(void)operand_count;
	if (rc == 0)
		rc = engine_open(cli, &engine_conf, options->experience, &engine);
	if (rc)
		return rc;
	engine_interruptible(engine);
	rc = strata_language_open(engine, operands[0], &language, &cli->memory, &it.language,
				  &cli->err);
	if (rc == 0)
		rc = talk(&it, operands[1]);
	strata_language_close(it.language);
	engine_interruptible(NULL);
	if (rc == 0)
		rc = engine_keep(cli, engine, options->experience);
	strata_engine_free(engine);
	return rc;
}
