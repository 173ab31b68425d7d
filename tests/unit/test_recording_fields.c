#include "test.h"

#include "formats/recording_int.h"

#include <string.h>

static size_t width(const struct recording_field *field)
{
	switch (field->type) {
	case RECORDING_BOOL:
		return sizeof(bool);
	case RECORDING_U16:
		return sizeof(uint16_t);
	case RECORDING_U32:
	case RECORDING_NAME:
		return sizeof(uint32_t);
	case RECORDING_NUMBERS:
		return STRATA_NODE_GPUS_MAX;
	case RECORDING_STRUCT:
		return field->size;
	default:
		return 8;
	}
}

/* A member that is in no table would be lost; what no field covers is padding, less than a word at a time. */
static void check_covered(const struct recording_field *table, size_t size, size_t from)
{
	unsigned char covered[1024] = { 0 };
	size_t gap = 0;

	CHECK(size <= sizeof(covered));
	memset(covered, 1, from);
	for (const struct recording_field *field = table; field->name; field++) {
		memset(covered + field->offset, 1, width(field));
		if (field->type == RECORDING_LIST)
			memset(covered + field->count_offset, 1, field->wide ? 8 : 4);
		if (field->table)
			check_covered(field->table, field->size, 0);
	}
	for (size_t i = 0; i < size; i++) {
		gap = covered[i] ? 0 : gap + 1;
		CHECK(gap < 8);
	}
}

TEST(no_member_of_an_event_is_forgotten)
{
	/* the kind is written as the line's name */
	check_covered(recording_event_fields, sizeof(struct strata_event),
		      sizeof(enum strata_event_kind));
	check_covered(recording_begin_fields, sizeof(struct recording_begin), 0);
}

TEST(every_name_of_an_enum_is_its_own)
{
	for (const struct recording_field *field = recording_event_fields; field->name; field++)
		for (int i = 0; field->type == RECORDING_NAME && i < field->name_count; i++)
			for (int k = 0; k < i; k++)
				CHECK(strcmp(field->name_of(i), field->name_of(k)) != 0);
}
