/* What writers of sentences share beside <strata/error.h>. */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include <strata/error.h>

/* A sentence into an array: cut to fit between two characters, escaped where it is not printable. */
void error_print(char *to, size_t room, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

#endif
