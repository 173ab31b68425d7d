/*
 * "Did you mean": the optimal string alignment distance (insert, leave out, replace, swap
 * neighbours), case aside, with three rows of the usual table on the stack. Names are short, so no
 * cleverness is due.
 */
#include "core/text.h"

#include <string.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance_between(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][STRATA_NAME_BYTES_MAX + 1];

	for (size_t k = 0; k <= b_length; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3],
		       *above_that = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= b_length; k++) {
			char x = text_lower(a[i - 1]), y = text_lower(b[k - 1]);

			row[k] = least(least(above[k], row[k - 1]) + 1, above[k - 1] + (x != y));
			if (i > 1 && k > 1 && x == text_lower(b[k - 2]) &&
			    y == text_lower(a[i - 2]))
				row[k] = least(row[k], above_that[k - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

void text_closest_init(struct text_closest *closest, const char *name, size_t length)
{
	size_t near = length > 5 ? length / 3 : length > 1 ? 1 : 0;

	*closest = (struct text_closest){ .name = name, .length = length, .distance = near + 1 };
	if (length > STRATA_NAME_BYTES_MAX)
		closest->distance = 0;
}

/* "depend" of "dependencies": whoever stops early means that. '-' and '_' are alike. */
static bool begins_with(const char *candidate, size_t length, const char *name, size_t name_length)
{
	enum { TELLING = 3 };

	if (name_length < TELLING || name_length >= length)
		return false;
	for (size_t i = 0; i < name_length; i++)
		if (text_lower(name[i] == '-' ? '_' : name[i]) !=
		    text_lower(candidate[i] == '-' ? '_' : candidate[i]))
			return false;
	return true;
}

void text_closest_offer_as(struct text_closest *closest, const char *candidate, size_t length,
			   const char *meant)
{
	if (closest->distance == 0 || length > STRATA_NAME_BYTES_MAX)
		return;
	size_t distance = distance_between(closest->name, closest->length, candidate, length);

	if (distance > 1 && begins_with(candidate, length, closest->name, closest->length))
		distance = 1;

	if (distance < closest->distance) {
		closest->best = meant;
		closest->distance = distance;
	}
}

void text_closest_offer(struct text_closest *closest, const char *candidate)
{
	text_closest_offer_as(closest, candidate, strlen(candidate), candidate);
}
