/* YAML, as kubeconfig files are written, as a value of jansson. Pure, bounded, fuzzed. */
#ifndef KUBERNETES_KUBE_YAML_H
#define KUBERNETES_KUBE_YAML_H

#include <strata/error.h>

#include <jansson.h>
#include <stddef.h>

/*
 * The one document of a text (JSON is YAML too). Scalars are texts, whatever they look like; plain
 * ones that mean nothing (empty, ~, null) are null. -EBADMSG with the line when it is none, has a
 * key twice, or has aliases, which a few bytes of make a large document. The value is the caller's.
 */
int kube_yaml_read(const char *text, size_t length, json_t **ret_value, struct strata_error *err);

#endif
