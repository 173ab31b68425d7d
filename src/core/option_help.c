/*
 * Options for people: the lines below "options:" in --help, and the same as scdoc source for the man pages.
 */
#include "core/option.h"

#include "core/text.h"

#include <string.h>

enum { HELP_COLUMN = 28 };

/* What is on by itself has a flag that turns it off: "--[no-]requeue". */
static bool is_negated(const struct strata_option *option)
{
	return option->type == STRATA_BOOL && option->boolean;
}

static void add_flag(const struct strata_option *option, const char *prefix, struct buf *buf)
{
	buf_printf(buf, "--%s%s", is_negated(option) ? "[no-]" : "", prefix);
	for (const char *at = option->name; *at; at++)
		buf_add_char(buf, *at == '_' ? '-' : *at);
}

/* "default 8", "1 to 1000; default 8", "" … */
static void add_notes(const struct strata_option *option, struct buf *buf)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct buf range, value;
	const char *gap = option->help ? " " : "";
	union {
		int64_t integer;
		double real;
		struct strata_map map;
	} slot = { 0 };

	strata_arena_init(&arena, &memory, 0);
	buf_init(&range, &memory, 0);
	buf_init(&value, &memory, 0);
	if (option->type != STRATA_ENUM) /* its names already stand in front */
		option_print_range(option, &range);
	if (is_negated(option))
		buf_add(&value, "yes");
	else if (option->type != STRATA_TABLE && option->type != STRATA_BOOL &&
		 option_default(option, &arena, &slot, NULL) == 0)
		option_print(option, &slot, &value);
	if (option->flags & STRATA_REQUIRED) {
		buf_reset(&value);
		buf_printf(buf, "%s(required%s%s)", gap, range.length ? "; " : "", range.text);
	} else if (range.length && value.length) {
		buf_printf(buf, "%s(%s; default %s)", gap, range.text, value.text);
	} else if (range.length) {
		buf_printf(buf, "%s(%s)", gap, range.text);
	} else if (value.length) {
		buf_printf(buf, "%s(default %s)", gap, value.text);
	}
	buf->failed |= range.failed | value.failed;
	buf_fini(&range);
	buf_fini(&value);
	strata_arena_fini(&arena);
}

static void help_rows(const struct strata_schema *schema, const char *prefix, struct buf *buf)
{
	for (const struct strata_option *option = schema->options; option->name; option++) {
		size_t start = buf->length;

		if (option->flags & STRATA_HIDDEN)
			continue;
		if (option->type == STRATA_TABLE) {
			struct buf longer;

			buf_init(&longer, buf->memory, 0);
			buf_printf(&longer, "%s%s.", prefix, option->name);
			help_rows(option->table, longer.text, buf);
			buf->failed |= longer.failed;
			buf_fini(&longer);
			continue;
		}
		if (option->letter)
			buf_printf(buf, "  -%c, ", option->letter);
		else
			buf_add(buf, "      ");
		add_flag(option, prefix, buf);
		if (option->type != STRATA_BOOL) {
			buf_add_char(buf, ' ');
			option_print_value_name(option, buf);
		}
		size_t width = text_width(buf->text + start, buf->length - start);

		if (width + 2 > HELP_COLUMN) {
			buf_add_char(buf, '\n');
			width = 0;
		}
		buf_add_repeat(buf, ' ', HELP_COLUMN - width);
		buf_add(buf, option->help ? option->help : "");
		add_notes(option, buf);
		buf_add_char(buf, '\n');
	}
}

void option_help(const struct strata_schema *schema, struct buf *buf)
{
	help_rows(schema, "", buf);
}

/* scdoc gives meaning to _ * # \ and to a leading . */
static void add_escaped(struct buf *buf, const char *text)
{
	for (; *text; text++)
		buf_printf(buf, "%s%c", strchr("_*#\\<>[]~.", *text) ? "\\" : "", *text);
}

/* Empty for the next text; a failure of this one is the page's. */
static void begin_again(struct buf *text, struct buf *page)
{
	page->failed |= text->failed;
	buf_reset(text);
}

static void manual_rows(const struct strata_schema *schema, const char *prefix, struct buf *buf)
{
	for (const struct strata_option *option = schema->options; option->name; option++) {
		struct buf text;

		if (option->flags & STRATA_HIDDEN)
			continue;
		buf_init(&text, buf->memory, 0);
		if (option->type == STRATA_TABLE) {
			buf_printf(&text, "%s%s.", prefix, option->name);
			manual_rows(option->table, text.text, buf);
		} else {
			if (option->letter)
				buf_printf(buf, "*-%c*, ", option->letter);
			add_flag(option, prefix, &text);
			buf_add_char(buf, '*');
			add_escaped(buf, text.text);
			buf_add_char(buf, '*');
			begin_again(&text, buf);
			option_print_value_name(option, &text);
			if (option->type != STRATA_BOOL) {
				buf_add_char(buf, ' ');
				add_escaped(buf, text.text);
			}
			begin_again(&text, buf);
			buf_add(&text, option->help ? option->help : "");
			add_notes(option, &text);
			buf_add(buf, "\n\t");
			add_escaped(buf, text.text);
			buf_add(buf, "\n\n");
		}
		buf->failed |= text.failed;
		buf_fini(&text);
	}
}

void option_manual(const struct strata_schema *schema, struct buf *buf)
{
	manual_rows(schema, "", buf);
}
