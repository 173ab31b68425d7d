/*
 * Lists of hosts (<strata/slurm.h>). A name is a row of pieces, each a literal text and perhaps a
 * bracket of ranges behind it; expanding turns the brackets like an odometer, the last one fastest.
 * Compressing joins neighbours only, so that the order of ranks survives.
 */
#include <strata/slurm.h>

#include "core/text.h"
#include "slurm/slurm_value.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Longer runs of digits are part of a name, not a number. */
enum { DIGITS_MAX = 18 };

struct range {
	uint64_t first, last;
	int width; /* digits of first as written, zeros included */
};

struct piece {
	const char *text; /* literal, borrowed from the input */
	size_t length;
	struct range *ranges; /* of the bracket behind it; NULL: none */
	size_t range_count;
	size_t at; /* the odometer: this range, this number */
	uint64_t number;
};

struct host {
	struct piece pieces[STRATA_HOSTLIST_BRACKETS_MAX + 1];
	size_t piece_count;
};

struct names {
	struct strata_arena *arena;
	const char **names;
	size_t count, room;
};

static int fail_form(const struct scan *scan, struct strata_error *err)
{
	return scan_fail(scan, err, -EINVAL,
			 "is not a list of hosts; expected names such as n[001-003,007],login");
}

static int fail_many(struct strata_error *err)
{
	return strata_fail(err, -E2BIG, "a list of hosts has at most %d names",
			   STRATA_HOSTLIST_COUNT_MAX);
}

/* N, N-M or N- (which is N). */
static int read_range(struct scan *scan, struct range *ret_range, struct strata_error *err)
{
	struct range range;
	const char *from = scan->at;

	if (!scan_digits(scan, 1, DIGITS_MAX, &range.first))
		return fail_form(scan, err);
	range.width = (int)(scan->at - from);
	range.last = range.first;
	if (scan_char(scan, '-') && !scan_digits(scan, 1, DIGITS_MAX, &range.last))
		range.last = range.first;
	if (range.last < range.first)
		return fail_form(scan, err);
	if (range.last - range.first >= STRATA_HOSTLIST_COUNT_MAX)
		return fail_many(err);
	*ret_range = range;
	return 0;
}

/* The ranges behind a '[', up to and with the ']'. */
static int read_bracket(struct scan *scan, struct strata_arena *arena, struct piece *piece,
			struct strata_error *err)
{
	size_t room = 1;

	for (const char *p = scan->at; p < scan->end && *p != ']'; p++)
		room += *p == ',';
	piece->ranges = strata_arena_array(arena, room, sizeof(*piece->ranges));
	if (!piece->ranges)
		return strata_fail_memory(err);
	do {
		int rc = read_range(scan, &piece->ranges[piece->range_count], err);

		if (rc)
			return rc;
		piece->range_count++;
	} while (scan_char(scan, ','));
	piece->number = piece->ranges[0].first;
	return scan_char(scan, ']') ? 0 : fail_form(scan, err);
}

static bool ends_name(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

/* One name with its brackets; the text behind the last bracket must be empty, as in Slurm. */
static int read_host(struct scan *scan, struct strata_arena *arena, struct host *ret_host,
		     struct strata_error *err)
{
	struct host host = { .piece_count = 0 };

	while (!scan_ended(scan) && !ends_name(*scan->at)) {
		if (host.piece_count == STRATA_HOSTLIST_BRACKETS_MAX)
			return strata_fail(err, -E2BIG, "a host's name has at most %d brackets",
					   STRATA_HOSTLIST_BRACKETS_MAX);
		struct piece *piece = &host.pieces[host.piece_count++];

		piece->text = scan->at;
		while (!scan_ended(scan) && !ends_name(*scan->at) && !strchr("[]", *scan->at))
			scan->at++;
		piece->length = (size_t)(scan->at - piece->text);
		if (scan_ended(scan) || ends_name(*scan->at)) {
			if (host.piece_count > 1)
				return fail_form(scan, err);
			break;
		}
		if (!scan_char(scan, '['))
			return fail_form(scan, err);
		int rc = read_bracket(scan, arena, piece, err);

		if (rc)
			return rc;
	}
	*ret_host = host;
	return 0;
}

static int add_name(struct names *names, const char *text, size_t length, struct strata_error *err)
{
	if (names->count == STRATA_HOSTLIST_COUNT_MAX)
		return fail_many(err);
	if (names->count == names->room) {
		size_t room = names->room ? names->room * 2 : 16;
		const char **larger = strata_arena_array(names->arena, room, sizeof(*larger));

		if (!larger)
			return strata_fail_memory(err);
		if (names->count)
			memcpy(larger, names->names, names->count * sizeof(*larger));
		names->names = larger;
		names->room = room;
	}
	const char *copy = strata_arena_text(names->arena, text, length);

	if (!copy)
		return strata_fail_memory(err);
	names->names[names->count++] = copy;
	return 0;
}

/* The name that the odometer shows. */
static int add_shown(struct names *names, const struct host *host, struct strata_error *err)
{
	char text[STRATA_NAME_BYTES_MAX + 1];
	size_t used = 0;

	for (size_t i = 0; i < host->piece_count; i++) {
		const struct piece *piece = &host->pieces[i];
		char number[32] = "";

		if (piece->ranges)
			snprintf(number, sizeof(number), "%0*" PRIu64,
				 piece->ranges[piece->at].width, piece->number);
		size_t digits = strlen(number);

		if (used + piece->length + digits > STRATA_NAME_BYTES_MAX)
			return strata_fail(err, -E2BIG, "a host's name has at most %d characters",
					   STRATA_NAME_BYTES_MAX);
		memcpy(text + used, piece->text, piece->length);
		memcpy(text + used + piece->length, number, digits + 1);
		used += piece->length + digits;
	}
	return add_name(names, text, used, err);
}

/* Moves the odometer on; false when it has been all the way round. */
static bool turn(struct host *host)
{
	for (size_t i = host->piece_count; i-- > 0;) {
		struct piece *piece = &host->pieces[i];

		if (!piece->ranges)
			continue;
		if (piece->number < piece->ranges[piece->at].last) {
			piece->number++;
			return true;
		}
		bool more = ++piece->at < piece->range_count;

		if (!more)
			piece->at = 0;
		piece->number = piece->ranges[piece->at].first;
		if (more)
			return true;
	}
	return false;
}

int strata_hostlist_expand(const char *text, size_t length, struct strata_arena *arena,
			   const char ***ret_names, size_t *ret_count, struct strata_error *err)
{
	struct names names = { .arena = arena };
	struct scan scan;

	for (scan_init(&scan, text, length); !scan_ended(&scan);) {
		struct host host = { .piece_count = 0 };
		int rc = read_host(&scan, arena, &host, err);

		if (rc == 0 && host.piece_count > 0)
			do
				rc = add_shown(&names, &host, err);
			while (rc == 0 && turn(&host));
		if (rc)
			return rc;
		if (!scan_ended(&scan))
			scan.at++; /* the comma or blank; several count as one */
	}
	*ret_names = names.names;
	*ret_count = names.count;
	return 0;
}

/* Where the number at a name's end begins; the name's length when it has none. */
static size_t number_start(const char *name, uint64_t *ret_number)
{
	size_t length = strlen(name), start = length;

	while (start > 0 && length - start < DIGITS_MAX && name[start - 1] >= '0' &&
	       name[start - 1] <= '9')
		start--;
	*ret_number = 0;
	for (size_t i = start; i < length; i++)
		*ret_number = *ret_number * 10 + (uint64_t)(name[i] - '0');
	return start;
}

/* Does `digits` spell number with that many digits at least, as a range of this width would? */
static bool spells(const char *digits, uint64_t number, int width)
{
	char text[32];

	snprintf(text, sizeof(text), "%0*" PRIu64, width, number);
	return strcmp(text, digits) == 0;
}

/* Names from `from` on that share a prefix and end in a number. */
static size_t group_end(const char *const *names, size_t count, size_t from, size_t prefix)
{
	size_t end = from + 1;
	uint64_t number;

	while (names[from][prefix] && end < count && number_start(names[end], &number) == prefix &&
	       names[end][prefix] && memcmp(names[end], names[from], prefix) == 0)
		end++;
	return end;
}

static void add_group(struct buf *buf, const char *const *names, size_t from, size_t end,
		      size_t prefix)
{
	uint64_t first;

	buf_add_bytes(buf, names[from], prefix);
	buf_add(buf, end > from + 1 ? "[" : "");
	for (size_t i = from; i < end;) {
		const char *digits = names[i] + prefix;
		size_t next = i + 1;

		number_start(names[i], &first);
		while (next < end &&
		       spells(names[next] + prefix, first + (next - i), (int)strlen(digits)))
			next++;
		buf_printf(buf, "%s%s", i > from ? "," : "", digits);
		if (next > i + 1)
			buf_printf(buf, "-%s", names[next - 1] + prefix);
		i = next;
	}
	buf_add(buf, end > from + 1 ? "]" : "");
}

int strata_hostlist_compress(const char *const *names, size_t count, struct strata_arena *arena,
			     const char **ret_text, struct strata_error *err)
{
	struct buf buf;

	buf_init(&buf, arena->memory, 0);
	for (size_t from = 0; from < count;) {
		uint64_t number;
		size_t prefix = number_start(names[from], &number);
		size_t end = group_end(names, count, from, prefix);

		buf_add(&buf, from ? "," : "");
		add_group(&buf, names, from, end, prefix);
		from = end;
	}
	return slurm_keep(&buf, arena, ret_text, err);
}
