/* Lines of a record from their tables, straight into a text: a service writes one for everything that happens. */
#include "formats/recording_int.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add_text(struct buf *buf, const char *text)
{
	buf_add_char(buf, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			buf_printf(buf, "\\%c", c);
		else if (c < 0x20)
			buf_printf(buf, "\\u%04x", c);
		else
			buf_add_char(buf, (char)c);
	}
	buf_add_char(buf, '"');
}

/* Whole numbers of all widths, as the signed one of the same bits. */
static int64_t get_number(const struct recording_field *field, const void *at)
{
	switch (field->type) {
	case RECORDING_BOOL:
		return *(const bool *)at;
	case RECORDING_U16:
		return *(const uint16_t *)at;
	case RECORDING_U32:
		return *(const uint32_t *)at;
	case RECORDING_U64:
		return (int64_t) * (const uint64_t *)at;
	case RECORDING_NAME:
		return *(const int *)at;
	default:
		return *(const int64_t *)at;
	}
}

static size_t get_count(const struct recording_field *field, const char *row)
{
	const void *at = row + field->count_offset;

	return field->wide ? *(const size_t *)at : *(const uint32_t *)at;
}

static bool is_empty(const struct recording_field *field, const char *row)
{
	static const uint8_t zeros[STRATA_NODE_GPUS_MAX];
	const void *at = row + field->offset;

	if (field->always)
		return false;
	switch (field->type) {
	case RECORDING_REAL:
		return !isfinite(*(const double *)at) || *(const double *)at == 0;
	case RECORDING_TEXT:
	case RECORDING_POINTER:
		return !*(const void *const *)at;
	case RECORDING_NUMBERS:
		return memcmp(at, zeros, sizeof(zeros)) == 0;
	case RECORDING_LIST:
	case RECORDING_WORDS:
	case RECORDING_ROW:
		return get_count(field, row) == 0;
	case RECORDING_STRUCT:
		for (const struct recording_field *inner = field->table; inner->name; inner++)
			if (!is_empty(inner, at))
				return false;
		return true;
	default:
		return get_number(field, at) == 0;
	}
}

static void add_row(struct buf *buf, const struct recording_field *table, const char *row);

static void add_list(struct buf *buf, const struct recording_field *field, const char *row)
{
	const char *items = *(const char *const *)(row + field->offset);
	size_t count = get_count(field, row);

	buf_add_char(buf, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_char(buf, ',');
		buf_add_char(buf, '{');
		add_row(buf, field->table, items + i * field->size);
		buf_add_char(buf, '}');
	}
	buf_add_char(buf, ']');
}

static void add_numbers(struct buf *buf, const uint8_t *numbers)
{
	for (int i = 0; i < STRATA_NODE_GPUS_MAX; i++)
		buf_printf(buf, "%c%u", i ? ',' : '[', numbers[i]);
	buf_add_char(buf, ']');
}

static void add_words(struct buf *buf, const uint64_t *words, size_t count)
{
	buf_add_char(buf, '[');
	for (size_t i = 0; i < count; i++)
		buf_printf(buf, "%s%" PRId64, i ? "," : "", (int64_t)words[i]);
	buf_add_char(buf, ']');
}

static void add_value(struct buf *buf, const struct recording_field *field, const char *row)
{
	const char *at = row + field->offset;

	switch (field->type) {
	case RECORDING_BOOL:
		buf_add(buf, "true");
		break;
	case RECORDING_REAL:
		buf_printf(buf, "%.17g", *(const double *)at);
		break;
	case RECORDING_TEXT:
		add_text(buf, *(const char *const *)at);
		break;
	case RECORDING_NAME:
		add_text(buf, field->name_of(*(const int *)at));
		break;
	case RECORDING_NUMBERS:
		add_numbers(buf, (const uint8_t *)at);
		break;
	case RECORDING_STRUCT:
	case RECORDING_POINTER:
		buf_add_char(buf, '{');
		add_row(buf, field->table,
			field->type == RECORDING_STRUCT ? at : *(const char *const *)at);
		buf_add_char(buf, '}');
		break;
	case RECORDING_LIST:
		add_list(buf, field, row);
		break;
	case RECORDING_WORDS:
		add_words(buf, *(const uint64_t *const *)at, get_count(field, row));
		break;
	case RECORDING_ROW:
		add_words(buf, (const uint64_t *)at, get_count(field, row));
		break;
	default:
		buf_printf(buf, "%" PRId64, get_number(field, at));
	}
}

static void add_row(struct buf *buf, const struct recording_field *table, const char *row)
{
	bool first = true;

	for (const struct recording_field *field = table; field->name; field++) {
		if (is_empty(field, row))
			continue;
		buf_printf(buf, "%s\"%s\":", first ? "" : ",", field->name);
		add_value(buf, field, row);
		first = false;
	}
}

static void add_fields(struct buf *buf, const struct recording_field *table, const void *row)
{
	for (const struct recording_field *field = table; field->name; field++)
		if (!is_empty(field, row)) {
			buf_printf(buf, ",\"%s\":", field->name);
			add_value(buf, field, row);
		}
}

static void add_pool(struct buf *buf, const struct recording_line *line)
{
	buf_printf(buf, "{\"event\":\"" RECORDING_POOL "%s\",\"pool\":",
		   line->begins ? "begin" : strata_pool_event_name(line->pool_event.kind));
	add_text(buf, line->pool);
	if (line->begins)
		add_fields(buf, recording_pool_fields, &line->pool_begin);
	else
		add_fields(buf, recording_pool_event_fields, &line->pool_event);
}

static void add_cluster(struct buf *buf, const struct recording_line *line)
{
	struct recording_begin begin = line->begin;

	begin.format = RECORDING_FORMAT;
	buf_printf(buf, "{\"event\":\"%s\"",
		   line->begins ? "begin" : strata_event_name(line->event.kind));
	if (line->begins)
		add_fields(buf, recording_begin_fields, &begin);
	else
		add_fields(buf, recording_event_fields, &line->event);
}

void recording_add(struct buf *buf, const struct recording_line *line)
{
	if (line->pool)
		add_pool(buf, line);
	else
		add_cluster(buf, line);
	if (line->digest)
		buf_printf(buf, ",\"digest\":%" PRId64, (int64_t)line->digest);
	buf_add(buf, "}\n");
}
