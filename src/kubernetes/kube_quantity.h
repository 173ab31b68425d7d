/* Quantities as Kubernetes writes them: "500m" of a CPU, "1Gi", "1.5G", "1e3". Pure, fuzzed. */
#ifndef KUBERNETES_KUBE_QUANTITY_H
#define KUBERNETES_KUBE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* So many times `scale` (1000: thousandths), rounded up as Kubernetes does. False, and nothing
 * stored, when it is none, negative, or more than an int64_t holds. */
bool kube_quantity_read(const char *text, int64_t scale, int64_t *ret_value);

#endif
