/* What the service says of itself: one line on standard error, where the journal or a terminal is. Names and paths of users are in it, so it is escaped. */
#include "server/server.h"

#include "core/error.h"

#include <stdio.h>

void server_say(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	error_print(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "strata: %s\n", line);
}
