/*
 * The log of this process: lines of core/log.h on standard error, where a terminal, a file or the journal is. One for the whole process, from any
 * thread; before log_open it has the usual form. A line is one write, so lines of several processes do not mix.
 */
#ifndef CORE_ENV_LOG_H
#define CORE_ENV_LOG_H

#include "core/log.h"

/* Sets what is written from now on. AUTO: text on a terminal, else logfmt. journald is told levels when standard error is its own
 * (JOURNAL_STREAM says so). */
void log_open(enum log_form form, enum log_level level);

/* A process that this one starts goes on in the same way if it gets these variables and calls log_open_inherited. */
enum { LOG_VARIABLES = 3, LOG_VARIABLE_BYTES = 80 };
struct log_variables {
	char text[LOG_VARIABLES][LOG_VARIABLE_BYTES]; /* NAME=value; "": not set */
};
void log_inherit(struct log_variables *ret_variables);
void log_open_inherited(void);

/* One line, unless it is below the level or the same was said too often. component: a constant. job 0: about none. */
void log_say(enum log_level level, const char *component, int64_t job, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* All a line may have; its level, time and text are set here. */
void log_say_line(enum log_level level, struct log_line line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(component, ...) log_say(LOG_LEVEL_ERROR, component, 0, __VA_ARGS__)
#define log_warning(component, ...) log_say(LOG_LEVEL_WARNING, component, 0, __VA_ARGS__)
#define log_info(component, ...) log_say(LOG_LEVEL_INFO, component, 0, __VA_ARGS__)

#endif
