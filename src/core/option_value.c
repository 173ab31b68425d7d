/*
 * One value, from text and as text. Whatever option_print writes, option_parse reads back as the same value; the
 * configuration file, the flags and the spec syntax all come through here.
 */
#include "core/option.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Puts what was expected behind a parser's own sentence and names the option. */
static int bad_value(const struct strata_option *option, const char *text, size_t length,
		     struct strata_error *err)
{
	const char *name = option->name ? option->name : "value";

	return strata_fail_at(err, -EINVAL, option->name ? option->name : "",
			      "%s is '%.*s'; expected %s", name, length > 60 ? 60 : (int)length,
			      text, option_type_words(option));
}

static int parse_bool(const struct strata_option *option, const char *text, size_t length,
		      bool *ret, struct strata_error *err)
{
	static const char *const words[2][5] = { { "false", "no", "off", "0" },
						 { "true", "yes", "on", "1" } };

	for (int value = 0; value < 2; value++)
		for (int i = 0; words[value][i]; i++)
			if (strlen(words[value][i]) == length &&
			    strncasecmp(text, words[value][i], length) == 0) {
				*ret = value;
				return 0;
			}
	return bad_value(option, text, length, err);
}

/* Infinity is a value only where the range has it. */
static int parse_real(const struct strata_option *option, const char *text, size_t length,
		      double *ret)
{
	bool minus = length > 0 && *text == '-';

	if (length - minus == 3 && strncasecmp(text + minus, "inf", 3) == 0 &&
	    (isinf(option->real.min) || isinf(option->real.max))) {
		*ret = minus ? -INFINITY : INFINITY;
		return 0;
	}
	return strata_real_parse(text, length, ret, NULL);
}

static int parse_enum(const struct strata_option *option, const char *text, size_t length, int *ret,
		      struct strata_error *err)
{
	struct text_closest closest;
	struct strata_memory memory = { 0 };
	struct buf range;

	text_closest_init(&closest, text, length);
	for (const struct strata_choice *choice = option->choice.choices; choice->name; choice++) {
		if (strlen(choice->name) == length &&
		    strncasecmp(choice->name, text, length) == 0) {
			*ret = choice->value;
			return 0;
		}
		text_closest_offer(&closest, choice->name);
	}
	buf_init(&range, &memory, 0);
	option_print_range(option, &range);
	const char *name = option->name ? option->name : "value";
	int rc = strata_fail_at(err, -EINVAL, option->name ? option->name : "",
				"%s is '%.*s'; expected %.200s%s%s%s", name,
				length > 60 ? 60 : (int)length, text, range.text,
				closest.best ? "; did you mean '" : "",
				closest.best ? closest.best : "", closest.best ? "'?" : "");

	buf_fini(&range);
	return rc;
}

/* The rule for every text that people are shown: printable (core/text.h). */
static int check_shown(const char *field, const char *text, size_t length, struct strata_error *err)
{
	const char *name = *field ? field : "the text";
	size_t plain = text_printable(text, length);
	char escape[TEXT_ESCAPE_BYTES];
	uint32_t code;

	if (plain == length)
		return 0;
	text_escape_one(text + plain, length - plain, escape);
	if (text_decode(text + plain, length - plain, &code))
		return strata_fail_at(err, -EINVAL, field,
				      "%s has %s at byte %zu, which cannot be shown; expected "
				      "printable characters on one line",
				      name, escape, plain + 1);
	return strata_fail_at(err, -EINVAL, field, "%s has %s at byte %zu, which is not UTF-8",
			      name, escape, plain + 1);
}

int option_check_key(const struct strata_option *option, const char *key, struct strata_error *err)
{
	return option->list.item->flags & STRATA_OPAQUE
		       ? 0
		       : check_shown(option->name ? option->name : "", key, strlen(key), err);
}

static int parse_text(const struct strata_option *option, const char *text, size_t length,
		      struct strata_arena *arena, const char **ret, struct strata_error *err)
{
	const char *name = option->name ? option->name : "";
	int rc = 0;

	if (!(option->flags & STRATA_OPAQUE))
		rc = check_shown(name, text, length, err);
	else if (memchr(text, '\0', length))
		rc = strata_fail_at(err, -EINVAL, name, "%s has a NUL byte in it",
				    *name ? name : "the text");
	else if (!text_valid(text, length))
		rc = strata_fail_at(err, -EINVAL, name, "%s is not valid UTF-8",
				    *name ? name : "the text");
	if (rc)
		return rc;
	char *copy = strata_arena_text(arena, text, length);

	if (!copy)
		return strata_fail_memory(err);
	*ret = copy;
	return 0;
}

int option_append(const struct strata_option *option, const char *key, const void *item,
		  struct strata_arena *arena, void *slot, struct strata_error *err)
{
	struct strata_list *list = slot;
	struct strata_map *map = slot;
	bool is_map = option->type == STRATA_MAP;
	size_t count = is_map ? map->count : list->count, size = option_size(option->list.item);
	size_t max = option->list.count_max ? option->list.count_max : STRATA_LIST_COUNT_MAX;
	char *items = is_map ? map->items : list->items;
	const char **keys = is_map ? map->keys : NULL;

	if (count >= max)
		return strata_fail_at(err, -ERANGE, option->name ? option->name : "",
				      "%s has more than %zu items",
				      option->name ? option->name : "list", max);
	if ((count & (count - 1)) == 0) { /* room doubles at the powers of two */
		size_t room = count ? count * 2 : 1;
		char *grown = strata_arena_array(arena, room, size);
		const char **grown_keys = is_map ? strata_arena_array(arena, room, sizeof(*keys))
						 : NULL;

		if (!grown || (is_map && !grown_keys))
			return strata_fail_memory(err);
		if (count) {
			memcpy(grown, items, count * size);
			if (is_map)
				memcpy(grown_keys, keys, count * sizeof(*keys));
		}
		items = grown;
		keys = grown_keys;
	}
	memcpy(items + count * size, item, size);
	if (is_map) {
		keys[count] = key;
		*map = (struct strata_map){ keys, items, count + 1 };
	} else {
		*list = (struct strata_list){ items, count + 1 };
	}
	return 0;
}

static int duplicate_key(const struct strata_option *option, const struct strata_map *map,
			 const char *key, struct strata_error *err)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->keys[i], key) == 0)
			return strata_fail_at(err, -EINVAL, option->name ? option->name : "",
					      "%s has the key '%.60s' twice",
					      option->name ? option->name : "map", key);
	return 0;
}

/* "a,b" or "k=v,k=v". */
static int parse_items(const struct strata_option *option, const char *text, size_t length,
		       struct strata_arena *arena, void *slot, struct strata_error *err)
{
	const char *at = text, *end = text + length;
	union {
		struct strata_list list;
		struct strata_map map;
	} result = { 0 };
	char *item = strata_arena_get(arena, option_size(option->list.item));
	struct strata_option row = *option->list.item;
	char stop = length ? ',' : 0;
	int rc = item ? 0 : strata_fail_memory(err);

	row.name = option->name; /* in sentences: "state is 'x'; expected …" */
	while (rc == 0 && stop) {
		char *piece, *key = NULL;

		if (option->type == STRATA_MAP) {
			rc = option_split(&at, end, "=,", arena, &key, &stop, err);
			if (rc == 0 && stop != '=')
				return strata_fail_at(
					err, -EINVAL, option->name ? option->name : "",
					"'%.60s' has no '='; expected KEY=VALUE", key);
			if (rc == 0)
				rc = option_check_key(option, key, err);
			if (rc == 0)
				rc = duplicate_key(option, &result.map, key, err);
		}
		if (rc == 0)
			rc = option_split(&at, end, ",", arena, &piece, &stop, err);
		if (rc == 0) {
			rc = option_parse(&row, piece, strlen(piece), arena, item, err);
			if (rc && row.type == STRATA_TABLE && option->name)
				return strata_fail_under(err, rc, "%s", option->name);
		}
		if (rc == 0)
			rc = option_append(option, key, item, arena, &result, err);
	}
	if (rc == 0)
		memcpy(slot, &result, option_size(option));
	return rc;
}

static int parse_scalar(const struct strata_option *option, const char *text, size_t length,
			struct strata_arena *arena, void *slot, struct strata_error *err)
{
	unsigned unlimited = option->flags & STRATA_UNLIMITED ? STRATA_DURATION_UNLIMITED_OK : 0;

	switch (option->type) {
	case STRATA_BOOL:
		return parse_bool(option, text, length, slot, err);
	case STRATA_INT:
		return strata_int_parse(text, length, INT64_MIN, INT64_MAX, slot, NULL);
	case STRATA_REAL:
		return parse_real(option, text, length, slot);
	case STRATA_ENUM:
		return parse_enum(option, text, length, slot, err);
	case STRATA_TEXT:
		return parse_text(option, text, length, arena, slot, err);
	case STRATA_BYTES:
		return strata_size_parse(text, length, 1, 0, slot, NULL);
	case STRATA_RATE:
		return strata_rate_parse(text, length, slot, NULL);
	case STRATA_DURATION:
		return strata_duration_parse(text, length, option_unit_ns(option), unlimited, slot,
					     NULL);
	case STRATA_TIME:
		return strata_time_parse(text, length, STRATA_TIME_NO_NOW, 0, slot, NULL);
	case STRATA_LIST:
	case STRATA_MAP:
		return parse_items(option, text, length, arena, slot, err);
	case STRATA_TABLE:
		return strata_schema_read_text(option->table, text, length, arena, slot, err);
	}
	return -EINVAL;
}

int option_parse(const struct strata_option *option, const char *text, size_t length,
		 struct strata_arena *arena, void *slot, struct strata_error *err)
{
	union { /* checked here, then stored: a bad value leaves the slot as it was */
		bool boolean;
		int64_t integer;
		double real;
		int choice;
		const char *text;
		struct strata_list list;
		struct strata_map map;
	} value = { 0 };

	if (option->type == STRATA_TABLE)
		return parse_scalar(option, text, length, arena, slot, err);
	if (err)
		err->code = 0;
	int rc = parse_scalar(option, text, length, arena, &value, err);

	if (rc && err && err->code == 0)
		return bad_value(option, text, length, err);
	if (rc == 0)
		rc = option_check(option, &value, err);
	if (rc == 0)
		memcpy(slot, &value, option_size(option));
	return rc;
}

void option_print_piece(const char *piece, struct buf *buf)
{
	if (*piece && !piece[strcspn(piece, ",=:'\\ \t")]) {
		buf_add(buf, piece);
		return;
	}
	buf_add_char(buf, '\'');
	for (; *piece; piece++)
		buf_printf(buf, "%s%c", *piece == '\'' || *piece == '\\' ? "\\" : "", *piece);
	buf_add_char(buf, '\'');
}

static void print_items(const struct strata_option *option, const char *const *keys,
			const char *items, size_t count, struct buf *buf)
{
	struct buf piece;

	buf_init(&piece, buf->memory, 0);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_char(buf, ',');
		if (keys) {
			option_print_piece(keys[i], buf);
			buf_add_char(buf, '=');
		}
		buf_reset(&piece);
		option_print(option->list.item, items + i * option_size(option->list.item), &piece);
		option_print_piece(piece.text, buf);
		buf->failed |= piece.failed;
	}
	buf_fini(&piece);
}

static void print_table(const struct strata_schema *schema, const char *conf, struct buf *buf)
{
	struct buf piece;

	buf_init(&piece, buf->memory, 0);
	for (const struct strata_option *option = schema->options; option->name; option++) {
		if (option->type == STRATA_TEXT && !*(const char *const *)(conf + option->offset))
			continue;
		if (option->type == STRATA_TIME && !*(const int64_t *)(conf + option->offset))
			continue;
		if (buf->length && buf->text[buf->length - 1] != ':')
			buf_add_char(buf, ':');
		buf_reset(&piece);
		option_print(option, conf + option->offset, &piece);
		buf_printf(buf, "%s=", option->name);
		option_print_piece(piece.text, buf);
		buf->failed |= piece.failed;
	}
	buf_fini(&piece);
}

static const char *choice_name(const struct strata_option *option, int value)
{
	for (const struct strata_choice *choice = option->choice.choices; choice->name; choice++)
		if (choice->value == value)
			return choice->name;
	return "?";
}

void option_print(const struct strata_option *option, const void *slot, struct buf *buf)
{
	char text[STRATA_FORM_BYTES] = "";
	const struct strata_list *list = slot;
	const struct strata_map *map = slot;

	if (option->flags & STRATA_SECRET) {
		buf_add(buf, "***");
		return;
	}
	switch (option->type) {
	case STRATA_BOOL:
		buf_add(buf, *(const bool *)slot ? "true" : "false");
		return;
	case STRATA_ENUM:
		buf_add(buf, choice_name(option, *(const int *)slot));
		return;
	case STRATA_TEXT:
		if (*(const char *const *)slot)
			buf_add(buf, *(const char *const *)slot);
		return;
	case STRATA_LIST:
		print_items(option, NULL, list->items, list->count, buf);
		return;
	case STRATA_MAP:
		print_items(option, map->keys, map->items, map->count, buf);
		return;
	case STRATA_TABLE:
		print_table(option->table, slot, buf);
		return;
	case STRATA_INT:
		buf_printf(buf, "%" PRId64, *(const int64_t *)slot);
		return;
	case STRATA_REAL:
		strata_real_print(*(const double *)slot, text);
		break;
	case STRATA_BYTES:
		strata_size_print(*(const int64_t *)slot, text);
		break;
	case STRATA_RATE:
		strata_rate_print(*(const int64_t *)slot, text);
		break;
	case STRATA_DURATION:
		strata_duration_print(*(const int64_t *)slot, text);
		break;
	case STRATA_TIME:
		if (*(const int64_t *)slot)
			strata_time_print(*(const int64_t *)slot, text);
		break;
	}
	buf_add(buf, text);
}
