/* The lines of log.h. They are built in the caller's bytes: a log must work when memory is short. */
#include "core/log.h"

#include "core/text.h"

#include <strata/text.h>

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *log_level_name(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_ERROR:
		return "error";
	case LOG_LEVEL_WARNING:
		return "warning";
	case LOG_LEVEL_INFO:
		return "info";
	case LOG_LEVEL_DEBUG:
		return "debug";
	}
	return "info";
}

struct out {
	char *text;
	size_t used, room; /* room: without what closes the line */
};

static void add(struct out *out, const char *bytes, size_t count)
{
	if (count > out->room - out->used)
		return;
	memcpy(out->text + out->used, bytes, count);
	out->used += count;
}

static void addf(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void addf(struct out *out, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	int length = vsnprintf(text, sizeof(text), format, args);

	va_end(args);
	assert(length >= 0 && (size_t)length < sizeof(text));
	add(out, text, (size_t)length);
}

/* Adds a text character by character until one does not fit; what cannot be shown is escaped. quoted: so are " and \. */
static void add_shown(struct out *out, const char *text, bool quoted)
{
	size_t left = strlen(text);

	while (left) {
		char escape[TEXT_ESCAPE_BYTES];
		uint32_t code;
		size_t bytes = text_decode(text, left, &code);
		const char *shown = text;
		size_t shown_bytes = bytes;

		if (bytes == 0 || text_printable(text, bytes) < bytes) {
			bytes = text_escape_one(text, left, escape);
			shown = escape;
			shown_bytes = strlen(escape);
		}
		bool slashed = quoted && (*shown == '"' || *shown == '\\');

		if (shown_bytes + slashed > out->room - out->used)
			return;
		if (slashed)
			add(out, "\\", 1);
		add(out, shown, shown_bytes);
		text += bytes;
		left -= bytes;
	}
}

static void add_time(struct out *out, int64_t time_ns)
{
	char text[STRATA_FORM_BYTES];

	strata_time_print(time_ns - time_ns % 1000000, text);
	add(out, text, strlen(text));
}

static void add_text(struct out *out, const struct log_line *line)
{
	addf(out, "strata: ");
	if (line->job && line->attempt)
		addf(out, "job %" PRId64 ".%" PRId64 ": ", line->job, line->attempt);
	else if (line->job)
		addf(out, "job %" PRId64 ": ", line->job);
	add_shown(out, line->text, false);
}

static void add_logfmt(struct out *out, const struct log_line *line)
{
	addf(out, "time=");
	add_time(out, line->time_ns);
	addf(out, " level=%s component=%.64s", log_level_name(line->level), line->component);
	if (line->job)
		addf(out, " job=%" PRId64, line->job);
	if (line->attempt)
		addf(out, " attempt=%" PRId64, line->attempt);
	if (line->request)
		addf(out, " request=%" PRIu64, line->request);
	addf(out, " msg=\"");
	add_shown(out, line->text, true);
}

static void add_json(struct out *out, const struct log_line *line)
{
	addf(out, "{\"time\":\"");
	add_time(out, line->time_ns);
	addf(out, "\",\"level\":\"%s\",\"component\":\"%.64s\"", log_level_name(line->level),
	     line->component);
	if (line->job)
		addf(out, ",\"job\":%" PRId64, line->job);
	if (line->attempt)
		addf(out, ",\"attempt\":%" PRId64, line->attempt);
	if (line->request)
		addf(out, ",\"request\":%" PRIu64, line->request);
	addf(out, ",\"msg\":\"");
	add_shown(out, line->text, true);
}

size_t log_format(const struct log_line *line, enum log_form form, bool journal, char *ret_text,
		  size_t room)
{
	const char *end = form == LOG_FORM_JSON ? "\"}\n" : form == LOG_FORM_LOGFMT ? "\"\n" : "\n";
	struct out out = { ret_text, 0, room - strlen(end) };

	assert(room >= 256);
	if (journal)
		addf(&out, "<%d>", (int)line->level);
	if (form == LOG_FORM_JSON)
		add_json(&out, line);
	else if (form == LOG_FORM_LOGFMT)
		add_logfmt(&out, line);
	else
		add_text(&out, line);
	out.room = room;
	add(&out, end, strlen(end));
	return out.used;
}

static bool is_past(const struct log_limit_entry *entry, int64_t now_ns)
{
	return entry->key == 0 || now_ns - entry->since_ns >= LOG_WINDOW_NS;
}

/* The key's own entry, or one that is free or whose window is past; NULL: others have all of those
 * that it could have. */
static struct log_limit_entry *find_entry(struct log_limit *limit, uintptr_t key, int64_t now_ns)
{
	enum { TRIES = 8 };
	size_t first = key * UINT64_C(0x9e3779b97f4a7c15) >> 58;
	struct log_limit_entry *usable = NULL;

	for (size_t i = 0; i < TRIES; i++) {
		struct log_limit_entry *entry = &limit->entries[(first + i) % LOG_KEYS];

		if (entry->key == key)
			return entry;
		if (!usable && is_past(entry, now_ns))
			usable = entry;
	}
	return usable;
}

bool log_limit_take(struct log_limit *limit, uintptr_t key, int64_t now_ns, uint64_t *ret_left_out)
{
	struct log_limit_entry *entry = find_entry(limit, key, now_ns);

	*ret_left_out = 0;
	if (!entry)
		return true; /* there are so many: said, and not counted */
	bool past = is_past(entry, now_ns);

	if (entry->key != key)
		*entry = (struct log_limit_entry){ .key = key, .since_ns = now_ns };
	else if (past)
		entry->since_ns = now_ns, entry->said = 0;
	if (entry->said == LOG_BURST) {
		entry->left_out++;
		return false;
	}
	entry->said++;
	*ret_left_out = entry->left_out;
	entry->left_out = 0;
	return true;
}
