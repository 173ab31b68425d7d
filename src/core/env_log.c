/* The log of this process: see env_log.h. */
#include "core/env_log.h"

#include "core/error.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock; /* of all below */
	enum log_form form;
	enum log_level level;
	bool journal;
	enum log_form asked; /* the form as it was given */
	struct log_limit limit;
} logger = { .lock = PTHREAD_MUTEX_INITIALIZER, .form = LOG_FORM_TEXT, .level = LOG_LEVEL_INFO };

static const char *const form_names[] = { [LOG_FORM_AUTO] = "auto",
					  [LOG_FORM_TEXT] = "text",
					  [LOG_FORM_LOGFMT] = "logfmt",
					  [LOG_FORM_JSON] = "json" };

/* Is standard error the journal's? It says by which file it is known. */
static bool is_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat info;

	return text && sscanf(text, "%ju:%ju", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &info) == 0 && (uintmax_t)info.st_dev == device &&
	       (uintmax_t)info.st_ino == inode;
}

void log_open(enum log_form asked, enum log_level level)
{
	enum log_form form = asked;

	if (form == LOG_FORM_AUTO)
		form = isatty(STDERR_FILENO) ? LOG_FORM_TEXT : LOG_FORM_LOGFMT;
	pthread_mutex_lock(&logger.lock);
	logger.asked = asked;
	logger.form = form;
	logger.level = level;
	logger.journal = is_journal();
	pthread_mutex_unlock(&logger.lock);
}

void log_inherit(struct log_variables *ret_variables)
{
	const char *stream = getenv("JOURNAL_STREAM");

	*ret_variables = (struct log_variables){ 0 };
	pthread_mutex_lock(&logger.lock);
	snprintf(ret_variables->text[0], LOG_VARIABLE_BYTES, "STRATA_LOG_FORMAT=%s",
		 form_names[logger.asked]);
	snprintf(ret_variables->text[1], LOG_VARIABLE_BYTES, "STRATA_LOG_LEVEL=%s",
		 log_level_name(logger.level));
	if (logger.journal)
		snprintf(ret_variables->text[2], LOG_VARIABLE_BYTES, "JOURNAL_STREAM=%.60s",
			 stream);
	pthread_mutex_unlock(&logger.lock);
}

void log_open_inherited(void)
{
	static const enum log_level levels[] = { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
						 LOG_LEVEL_DEBUG };
	const char *form_text = getenv("STRATA_LOG_FORMAT"),
		   *level_text = getenv("STRATA_LOG_LEVEL");
	enum log_form form = LOG_FORM_AUTO;
	enum log_level level = LOG_LEVEL_INFO;

	for (int i = LOG_FORM_AUTO; form_text && i <= LOG_FORM_JSON; i++)
		if (strcmp(form_text, form_names[i]) == 0)
			form = (enum log_form)i;
	for (size_t i = 0; level_text && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(level_text, log_level_name(levels[i])) == 0)
			level = levels[i];
	log_open(form, level);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A failed write is nobody's to report. */
static void write_line(const struct log_line *line, enum log_form form, bool journal)
{
	char text[LOG_LINE_BYTES];
	size_t length = log_format(line, form, journal, text, sizeof(text));

	for (size_t done = 0; done < length;) {
		ssize_t count = write(STDERR_FILENO, text + done, length - done);

		if (count <= 0)
			return;
		done += (size_t)count;
	}
}

static void say(enum log_level level, struct log_line line, const char *format, va_list args)
{
	char text[1024], more[80];
	uint64_t left_out = 0;

	pthread_mutex_lock(&logger.lock);
	enum log_form form = logger.form;
	bool journal = logger.journal;
	bool said = level <= logger.level && log_limit_take(&logger.limit, (uintptr_t)format,
							    clock_ns(CLOCK_MONOTONIC), &left_out);

	pthread_mutex_unlock(&logger.lock);
	if (!said)
		return;
	line.level = level;
	line.time_ns = clock_ns(CLOCK_REALTIME);
	error_print(text, sizeof(text), format, args);
	line.text = text;
	write_line(&line, form, journal);
	if (left_out) {
		snprintf(more, sizeof(more), "%" PRIu64 " more lines like this were left out",
			 left_out);
		line.text = more;
		write_line(&line, form, journal);
	}
}

void log_say(enum log_level level, const char *component, int64_t job, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(level, (struct log_line){ .component = component, .job = job }, format, args);
	va_end(args);
}

void log_say_line(enum log_level level, struct log_line line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(level, line, format, args);
	va_end(args);
}
