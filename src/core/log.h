/*
 * The lines of a log. A line has a level, a time, the component that says it, and the job attempt or the request it is about, if any; it is
 * written in one of three forms:
 *
 *	text	strata: job 17.1: its checkpoint cannot be recorded: No space left on device
 *	logfmt	time=2026-11-17T20:25:06.123Z level=warning component=supervisor job=17 attempt=1 msg="its checkpoint …"
 *	json	{"time":"2026-11-17T20:25:06.123Z","level":"warning","component":"supervisor","job":17,"attempt":1,"msg":"its …"}
 *
 * Whatever form, a line is one line: what cannot be shown is escaped. Here are the lines and the rule of how many; who writes them to where
 * is env_log.h.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As syslog's priorities name them; the number is theirs. */
enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7
};
const char *log_level_name(enum log_level level); /* "warning" */

enum log_form { LOG_FORM_AUTO, LOG_FORM_TEXT, LOG_FORM_LOGFMT, LOG_FORM_JSON };

enum { LOG_LINE_BYTES = 2048 };

struct log_line {
	enum log_level level;
	int64_t time_ns;       /* since 1970 */
	const char *component; /* "decider" */
	int64_t job;           /* 0: it is about none */
	int64_t attempt;       /* of that job; 0: none in particular */
	uint64_t request;      /* of the HTTP front; 0: none */
	const char *text;
};

/* The line with its newline, in at most `room` bytes (at least 256), cut at a character. form: not AUTO. journal: with "<4>" in front, which
 * journald takes for the level. Returns its length. */
size_t log_format(const struct log_line *line, enum log_form form, bool journal, char *ret_text,
		  size_t room);

/*
 * How often the same may be said. What is the same is told by a key (its format and its job); each may be said LOG_BURST times in LOG_WINDOW_NS,
 * the others are counted and reported with the next one that is let through.
 */
#define LOG_WINDOW_NS INT64_C(10000000000)
enum { LOG_BURST = 20, LOG_KEYS = 64 };

struct log_limit {
	struct log_limit_entry {
		uintptr_t key; /* 0: unused */
		int64_t since_ns;
		uint32_t said;
		uint64_t left_out;
	} entries[LOG_KEYS]; /* a key that meets others' takes one over whose window is past */
};

/* May it be said at now_ns (of a clock that does not go back)? ret_left_out: so many of the same were not, since the last that was. */
bool log_limit_take(struct log_limit *limit, uintptr_t key, int64_t now_ns, uint64_t *ret_left_out);

#endif
