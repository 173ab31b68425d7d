/* What registry.c, the CLI and the contract tests share about one class. */
#ifndef CORE_CLASS_H
#define CORE_CLASS_H

#include <strata/class.h>

/* The class's option table as a schema (an empty one when it has no options). */
struct strata_schema class_schema(const struct strata_class *cls);

/* Walks "a, b, c": start with *at = aliases (NULL is fine). */
bool class_next_alias(const char **at, const char **ret_alias, size_t *ret_length);

/* By name or alias, whatever the case, spaces, '_' and '-'. */
bool class_is_called(const struct strata_class *cls, const char *name, size_t length);

#endif
