/* Picking by tables: see lookup.h. A row of the last dimension is one piece of work; a table that counts up by one is a copy. */
#include "engine/native/lookup.h"

#include <string.h>

struct rows {
	const struct lookup *how;
	const int64_t *last; /* the last dimension's table */
	int64_t row, in_row;
	int64_t first, past; /* where that table counts up by one; -1 around it */
	bool counts_up;
};

#define FILL(type)                                  \
	do {                                        \
		type value = *(const type *)filler; \
		for (int64_t i = 0; i < count; i++) \
			((type *)to)[i] = value;    \
	} while (0)

static void fill(void *to, int64_t count, const void *filler, size_t width)
{
	if (count == 0)
		return;
	switch (width) {
	case 1:
		FILL(uint8_t);
		break;
	case 2:
		FILL(uint16_t);
		break;
	case 4:
		FILL(uint32_t);
		break;
	default:
		FILL(uint64_t);
	}
}

#define PICK(type)                                                       \
	for (int64_t i = 0; i < rows->row; i++)                          \
	((type *)to)[i] = table[i] >= 0 ? ((const type *)from)[table[i]] \
					: *(const type *)rows->how->filler

static void pick(const struct rows *rows, const void *from, void *to)
{
	const int64_t *table = rows->last;

	switch (rows->how->width) {
	case 1:
		PICK(uint8_t);
		break;
	case 2:
		PICK(uint16_t);
		break;
	case 4:
		PICK(uint32_t);
		break;
	default:
		PICK(uint64_t);
	}
}

/* Where the row comes from, in elements; -1: it is all filler. */
static int64_t source_of(const struct lookup *how, int64_t row)
{
	int64_t at = 0, step = how->in[how->rank - 1];

	for (size_t axis = how->rank - 1; axis-- > 0; row /= how->out[axis]) {
		int64_t index = how->tables[axis][row % how->out[axis]];

		if (index < 0)
			return -1;
		at += index * step;
		step *= how->in[axis];
	}
	return at;
}

static void run_rows(void *arg, int64_t first, int64_t past)
{
	const struct rows *rows = arg;
	const struct lookup *how = rows->how;
	size_t width = how->width;

	for (int64_t r = first; r < past; r++) {
		char *to = (char *)how->to + (size_t)(r * rows->row) * width;
		int64_t at = source_of(how, r);

		if (at < 0) {
			fill(to, rows->row, how->filler, width);
			continue;
		}
		const char *from = (const char *)how->from + (size_t)at * width;

		if (!rows->counts_up) {
			pick(rows, from, to);
			continue;
		}
		fill(to, rows->first, how->filler, width);
		if (rows->past > rows->first)
			memcpy(to + (size_t)rows->first * width,
			       from + (size_t)rows->last[rows->first] * width,
			       (size_t)(rows->past - rows->first) * width);
		fill(to + (size_t)rows->past * width, rows->row - rows->past, how->filler, width);
	}
}

void lookup_run(struct engine_team *team, const struct lookup *lookup)
{
	static const int64_t zero[1], one = 1;
	static const int64_t *const single[1] = { zero };
	struct lookup how = *lookup;
	struct rows rows = { .how = &how, .counts_up = true };
	int64_t count = 1;

	if (how.rank == 0) { /* a single number is a row of one */
		how.rank = 1;
		how.in = how.out = &one;
		how.tables = single;
	}
	rows.row = how.out[how.rank - 1];
	rows.last = how.tables[how.rank - 1];
	for (size_t i = 0; i < how.rank; i++)
		count *= how.out[i];
	if (count == 0)
		return;
	while (rows.first < rows.row && rows.last[rows.first] < 0)
		rows.first++;
	for (rows.past = rows.first;
	     rows.past < rows.row && rows.last[rows.past] >= 0 &&
	     rows.last[rows.past] == rows.last[rows.first] + rows.past - rows.first;)
		rows.past++;
	for (int64_t i = rows.past; i < rows.row; i++)
		rows.counts_up &= rows.last[i] < 0;
	engine_team_run(team, count / rows.row, 1 + 8192 / (rows.row + 1), run_rows, &rows);
}
