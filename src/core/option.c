/*
 * The rows themselves: finding one, its default, its range, its size. No reader or writer is here.
 */
#include "core/option.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

size_t option_size(const struct strata_option *option)
{
	switch (option->type) {
	case STRATA_BOOL:
		return sizeof(bool);
	case STRATA_INT:
	case STRATA_BYTES:
	case STRATA_RATE:
	case STRATA_DURATION:
	case STRATA_TIME:
		return sizeof(int64_t);
	case STRATA_REAL:
		return sizeof(double);
	case STRATA_ENUM:
		return sizeof(int);
	case STRATA_TEXT:
		return sizeof(const char *);
	case STRATA_LIST:
		return sizeof(struct strata_list);
	case STRATA_MAP:
		return sizeof(struct strata_map);
	case STRATA_TABLE:
		return option->table->conf_size;
	}
	assert(!"an option has a type that does not exist");
	return 0;
}

static bool same_name(const char *name, size_t name_length, const char *given, size_t length)
{
	if (name_length != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (name[i] != (given[i] == '-' ? '_' : given[i]))
			return false;
	return true;
}

const struct strata_option *option_find(const struct strata_schema *schema, const char *name,
					size_t length)
{
	for (const struct strata_option *option = schema->options; option->name; option++) {
		if (same_name(option->name, strlen(option->name), name, length))
			return option;
		for (const char *alias = option->aliases; alias && *alias;) {
			size_t span = strcspn(alias, ", ");

			if (span && same_name(alias, span, name, length))
				return option;
			alias += span + strspn(alias + span, ", ");
		}
	}
	return NULL;
}

int option_unknown(const struct strata_schema *schema, const char *name, size_t length,
		   struct strata_error *err)
{
	struct text_closest closest;
	char shown[STRATA_NAME_BYTES_MAX + 1];

	text_closest_init(&closest, name, length);
	for (const struct strata_option *option = schema->options; option->name; option++)
		if (!(option->flags & STRATA_HIDDEN))
			text_closest_offer(&closest, option->name);
	if (length > STRATA_NAME_BYTES_MAX)
		length = STRATA_NAME_BYTES_MAX;
	memcpy(shown, name, length);
	shown[length] = '\0';
	if (closest.best)
		return strata_fail_at(err, -EINVAL, shown,
				      "%s has no option '%s'; did you mean '%s'?", schema->name,
				      shown, closest.best);
	return strata_fail_at(err, -EINVAL, shown, "%s has no option '%s'", schema->name, shown);
}

int option_default(const struct strata_option *option, struct strata_arena *arena, void *slot,
		   struct strata_error *err)
{
	switch (option->type) {
	case STRATA_BOOL:
		*(bool *)slot = option->boolean;
		return 0;
	case STRATA_INT:
	case STRATA_BYTES:
	case STRATA_RATE:
	case STRATA_DURATION:
	case STRATA_TIME:
		*(int64_t *)slot = option->integer.def;
		return 0;
	case STRATA_REAL:
		*(double *)slot = option->real.def;
		return 0;
	case STRATA_ENUM:
		*(int *)slot = option->choice.def;
		return 0;
	case STRATA_TEXT:
		*(const char **)slot = option->text.def;
		return 0;
	case STRATA_LIST:
	case STRATA_MAP:
		memset(slot, 0, option_size(option));
		if (!option->list.def)
			return 0;
		return option_parse(option, option->list.def, strlen(option->list.def), arena, slot,
				    err);
	case STRATA_TABLE:
		return strata_schema_defaults(option->table, arena, slot, err);
	}
	return 0;
}

int64_t option_unit_ns(const struct strata_option *option)
{
	char one[STRATA_NAME_BYTES_MAX];
	int64_t unit_ns = 0;

	snprintf(one, sizeof(one), "1%s", option->unit ? option->unit : "s");
	int rc = strata_duration_parse(one, STRATA_TEXT_NUL, 0, 0, &unit_ns, NULL);

	assert(rc == 0 && unit_ns > 0); /* a table that names another unit is wrong */
	return unit_ns;
}

int strata_schema_defaults(const struct strata_schema *schema, struct strata_arena *arena,
			   void *conf, struct strata_error *err)
{
	memset(conf, 0, schema->conf_size);
	for (const struct strata_option *option = schema->options; option->name; option++) {
		int rc = option_default(option, arena, (char *)conf + option->offset, err);

		if (rc)
			return rc;
	}
	return 0;
}

static void integer_range(const struct strata_option *option, int64_t *ret_min, int64_t *ret_max)
{
	*ret_min = option->integer.min;
	*ret_max = option->integer.max;
	if (*ret_min == 0 && *ret_max == 0) {
		*ret_min = option->type == STRATA_INT ? INT64_MIN : 0;
		*ret_max = INT64_MAX;
	}
}

static void real_range(const struct strata_option *option, double *ret_min, double *ret_max)
{
	*ret_min = option->real.min;
	*ret_max = option->real.max;
	if (*ret_min == 0 && *ret_max == 0) {
		*ret_min = -1.7976931348623157e308;
		*ret_max = 1.7976931348623157e308;
	}
}

static void print_integer(const struct strata_option *option, int64_t value, struct buf *buf)
{
	struct strata_option plain = *option;

	plain.flags &= ~(unsigned)STRATA_SECRET;
	option_print(&plain, &value, buf);
}

static void print_bounds(const struct strata_option *option, struct buf *buf)
{
	int64_t min, max;

	integer_range(option, &min, &max);
	bool open_below = min == INT64_MIN || (min == 0 && option->type != STRATA_INT);
	bool open_above = max == INT64_MAX ||
			  (max == STRATA_DURATION_NS_MAX && option->type == STRATA_DURATION);

	if (open_above && open_below)
		return;
	if (open_above)
		buf_add(buf, "at least ");
	if (open_below)
		buf_add(buf, "at most ");
	if (!open_below)
		print_integer(option, min, buf);
	if (!open_below && !open_above)
		buf_add(buf, " to ");
	if (!open_above)
		print_integer(option, max, buf);
}

static void print_real_bounds(const struct strata_option *option, struct buf *buf)
{
	double min, max;
	char low[STRATA_FORM_BYTES], high[STRATA_FORM_BYTES];

	real_range(option, &min, &max);
	strata_real_print(min, low);
	strata_real_print(max, high);
	if (min <= -1e308 && max >= 1e308)
		return;
	if (max >= 1e308)
		buf_printf(buf, "at least %s", low);
	else if (min <= -1e308)
		buf_printf(buf, "at most %s", high);
	else
		buf_printf(buf, "%s to %s", low, high);
}

static void print_choices(const struct strata_choice *choices, struct buf *buf)
{
	buf_add(buf, "one of ");
	for (const struct strata_choice *choice = choices; choice->name; choice++)
		buf_printf(buf, "%s%s",
			   choice == choices ? ""
			   : choice[1].name  ? ", "
					     : " or ",
			   choice->name);
}

void option_print_range(const struct strata_option *option, struct buf *buf)
{
	switch (option->type) {
	case STRATA_INT:
	case STRATA_BYTES:
	case STRATA_RATE:
	case STRATA_DURATION:
		print_bounds(option, buf);
		break;
	case STRATA_REAL:
		print_real_bounds(option, buf);
		break;
	case STRATA_ENUM:
		print_choices(option->choice.choices, buf);
		break;
	case STRATA_TEXT:
		if (option->text.length_max)
			buf_printf(buf, "at most %zu bytes", option->text.length_max);
		break;
	case STRATA_LIST:
	case STRATA_MAP:
		option_print_range(option->list.item, buf);
		break;
	case STRATA_BOOL:
	case STRATA_TIME:
	case STRATA_TABLE:
		break;
	}
}

/* "steps is 0; expected 1 to 1000". The texts are short, so a scratch memory of their own will do. */
static int out_of_range(const struct strata_option *option, const void *slot,
			struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct buf value, range;

	buf_init(&value, &memory, 0);
	buf_init(&range, &memory, 0);
	option_print(option, slot, &value);
	option_print_range(option, &range);
	const char *name = option->name ? option->name : "value";
	int rc = strata_fail_at(err, -ERANGE, option->name ? option->name : "",
				"%s is %.100s; expected %s", name, value.text,
				range.length ? range.text : option_type_words(option));

	buf_fini(&value);
	buf_fini(&range);
	return rc;
}

static int check_count(const struct strata_option *option, size_t count, struct strata_error *err)
{
	size_t max = option->list.count_max ? option->list.count_max : STRATA_LIST_COUNT_MAX;

	if (count <= max)
		return 0;
	return strata_fail_at(err, -ERANGE, option->name ? option->name : "",
			      "%s has %zu items; expected at most %zu",
			      option->name ? option->name : "list", count, max);
}

static int check_text(const struct strata_option *option, const char *text,
		      struct strata_error *err)
{
	size_t max = option->text.length_max ? option->text.length_max : STRATA_TEXT_BYTES_MAX;

	if (!text || strlen(text) <= max)
		return 0;
	return strata_fail_at(err, -ERANGE, option->name ? option->name : "",
			      "%s is %zu bytes long; expected at most %zu",
			      option->name ? option->name : "text", strlen(text), max);
}

int option_check(const struct strata_option *option, const void *slot, struct strata_error *err)
{
	bool ok = true;

	switch (option->type) {
	case STRATA_INT:
	case STRATA_BYTES:
	case STRATA_RATE:
	case STRATA_DURATION:
	case STRATA_TIME: {
		int64_t value = *(const int64_t *)slot, min, max;

		integer_range(option, &min, &max);
		ok = (value >= min && value <= max) ||
		     ((option->flags & STRATA_UNLIMITED) && value == STRATA_DURATION_UNLIMITED);
		break;
	}
	case STRATA_REAL: {
		double value = *(const double *)slot, min, max;

		real_range(option, &min, &max);
		ok = value >= min && value <= max;
		break;
	}
	case STRATA_TEXT:
		return check_text(option, *(const char *const *)slot, err);
	case STRATA_LIST:
		return check_count(option, ((const struct strata_list *)slot)->count, err);
	case STRATA_MAP:
		return check_count(option, ((const struct strata_map *)slot)->count, err);
	case STRATA_BOOL:
	case STRATA_ENUM:
	case STRATA_TABLE:
		break; /* whatever can be stored is valid */
	}
	return ok ? 0 : out_of_range(option, slot, err);
}

int option_check_required(const struct strata_schema *schema, const bool *seen,
			  struct strata_error *err)
{
	for (size_t i = 0; schema->options[i].name; i++) {
		const struct strata_option *option = &schema->options[i];

		if ((option->flags & STRATA_REQUIRED) && !(seen && seen[i]))
			return strata_fail_at(err, -EINVAL, option->name,
					      "%s is missing; expected %s", option->name,
					      option_type_words(option));
	}
	return 0;
}

const char *option_type_words(const struct strata_option *option)
{
	switch (option->type) {
	case STRATA_BOOL:
		return "true or false";
	case STRATA_INT:
		return "a whole number";
	case STRATA_REAL:
		return "a number";
	case STRATA_ENUM:
		return "a name";
	case STRATA_TEXT:
		return "a text";
	case STRATA_BYTES:
		return "a size such as 2GiB or 512M";
	case STRATA_RATE:
		return "a rate such as 1.5GB/s";
	case STRATA_DURATION:
		return "a duration such as 2h30m or 1-02:03:04";
	case STRATA_TIME:
		return "a time such as 2026-03-01T12:30:00Z";
	case STRATA_LIST:
		return "a list";
	case STRATA_MAP:
		return "a table of names and values";
	case STRATA_TABLE:
		return "a table";
	}
	return "a value";
}

void option_print_value_name(const struct strata_option *option, struct buf *buf)
{
	if (option->value) {
		buf_add(buf, option->value);
		return;
	}
	switch (option->type) {
	case STRATA_BOOL:
	case STRATA_TABLE:
		break;
	case STRATA_INT:
	case STRATA_REAL:
		buf_add(buf, "N");
		break;
	case STRATA_ENUM:
		for (const struct strata_choice *choice = option->choice.choices; choice->name;
		     choice++)
			buf_printf(buf, "%s%s", choice == option->choice.choices ? "" : "|",
				   choice->name);
		break;
	case STRATA_TEXT:
		buf_add(buf, "TEXT");
		break;
	case STRATA_BYTES:
		buf_add(buf, "SIZE");
		break;
	case STRATA_RATE:
		buf_add(buf, "RATE");
		break;
	case STRATA_DURATION:
		buf_add(buf, "DURATION");
		break;
	case STRATA_TIME:
		buf_add(buf, "TIME");
		break;
	case STRATA_LIST:
		option_print_value_name(option->list.item, buf);
		buf_add(buf, ",…");
		break;
	case STRATA_MAP:
		buf_add(buf, "KEY=");
		option_print_value_name(option->list.item, buf);
		buf_add(buf, ",…");
		break;
	}
}
