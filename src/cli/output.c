/*
 * Standard output and standard error: colours where a terminal wants them, and an honest end when
 * what was printed cannot be written.
 */
#include "cli/cli.h"

#include "core/env.h"
#include "core/text.h"

#include <sys/stat.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 16 };

static bool wants_color(const struct cli *cli, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (cli->config.color == CLI_COLOR_NEVER)
		return false;
	if (cli->config.color == CLI_COLOR_ALWAYS)
		return true;
	if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0)
		return false;
	return isatty(fd);
}

void cli_output_init(struct cli *cli)
{
	struct winsize size;

	cli->color = wants_color(cli, STDOUT_FILENO);
	cli->talk_color = wants_color(cli, STDERR_FILENO);
	cli->columns = cli->rows = 0;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
		cli->columns = size.ws_col;
		cli->rows = size.ws_row;
	}
}

static const char *style_text(bool color, enum cli_style style)
{
	static const char *const sequences[] = {
		[CLI_PLAIN] = "\033[0m",  [CLI_BOLD] = "\033[1m",    [CLI_DIM] = "\033[2m",
		[CLI_GREEN] = "\033[32m", [CLI_YELLOW] = "\033[33m", [CLI_RED] = "\033[31m",
		[CLI_BLUE] = "\033[34m",
	};

	return color ? sequences[style] : "";
}

const char *cli_style(const struct cli *cli, enum cli_style style)
{
	return style_text(cli->color, style);
}

void cli_talk(const char *format, va_list args)
{
	struct strata_memory memory = { 0 };
	struct buf raw, shown;

	buf_init(&raw, &memory, 0);
	buf_init(&shown, &memory, 0);
	buf_vprintf(&raw, format, args);
	text_show(&shown, raw.text, raw.length);
	fprintf(stderr, "%s\n", shown.text);
	buf_fini(&raw);
	buf_fini(&shown);
}

static void say(const struct cli *cli, enum cli_style style, const char *format, va_list args)
{
	fprintf(stderr, "%sstrata:%s ", style_text(cli->talk_color, style),
		style_text(cli->talk_color, CLI_PLAIN));
	cli_talk(format, args);
}

void cli_say(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(cli, CLI_RED, format, args);
	va_end(args);
}

void cli_note(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(cli, CLI_YELLOW, format, args);
	va_end(args);
}

void cli_flush(struct cli *cli)
{
	const char *at = cli->out.text, *end = at + cli->out.length;

	if (cli->out.failed) {
		cli_say(cli, "out of memory while printing");
		_exit(STRATA_EXIT_FAILED);
	}
	while (at < end) {
		ssize_t count = write(STDOUT_FILENO, at, (size_t)(end - at));

		if (count >= 0) {
			at += count;
		} else if (errno == EPIPE) {
			_exit(STRATA_EXIT_OK); /* whoever reads has had enough */
		} else if (errno != EINTR) {
			cli_say(cli, "cannot write to standard output: %s", strerror(errno));
			_exit(STRATA_EXIT_FAILED);
		}
	}
	buf_reset(&cli->out);
}

static void flush_if_large(struct cli *cli)
{
	if (cli->out.length >= FLUSH_BYTES)
		cli_flush(cli);
}

void cli_print(struct cli *cli, const char *text)
{
	buf_add(&cli->out, text);
	flush_if_large(cli);
}

void cli_printf(struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(&cli->out, format, args);
	va_end(args);
	flush_if_large(cli);
}

static int add_json(const char *bytes, size_t count, void *context)
{
	struct cli *cli = context;

	text_show_json(&cli->out, bytes, count); /* of whole characters, says jansson */
	flush_if_large(cli);
	return 0;
}

int cli_print_json(struct cli *cli, json_t *json)
{
	if (!json)
		return strata_fail_memory(&cli->err);
	int rc = json_dump_callback(json, add_json, cli,
				    JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));

	json_decref(json);
	buf_add_char(&cli->out, '\n');
	return rc ? strata_fail_memory(&cli->err) : 0;
}

const char *cli_plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static int add_to_draft(void *draft, const char *bytes, size_t count)
{
	return env_draft_add(draft, bytes, count);
}

struct strata_trace_sink cli_draft_sink(struct env_draft *draft)
{
	return (struct strata_trace_sink){ add_to_draft, draft };
}

int cli_draft_end(struct cli *cli, struct env_draft *draft, int rc)
{
	if (rc == 0)
		return env_draft_keep(draft, 0644, &cli->err);
	env_draft_drop(draft);
	return rc;
}

mode_t cli_file_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}
