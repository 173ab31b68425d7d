/* Ways into objects of the API. Pure. */
#ifndef KUBERNETES_KUBE_OBJECT_H
#define KUBERNETES_KUBE_OBJECT_H

#include <strata/memory.h>

#include <jansson.h>

/* The member at the end of a path of names, NULL-terminated; NULL when there is none.
 *	kube_at(pod, "metadata", "name", NULL) */
json_t *kube_at(const json_t *object, ...) __attribute__((sentinel));
/* Its text; "" when it is none. */
const char *kube_text(const json_t *object, ...) __attribute__((sentinel));

/* A value of a query or a part of a path, escaped, in the arena; NULL: out of memory. */
const char *kube_escape(const char *text, struct strata_arena *arena);

#endif
