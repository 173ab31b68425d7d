/* Base64, as Kubernetes has bytes in its objects. Pure. */
#ifndef KUBERNETES_KUBE_BASE64_H
#define KUBERNETES_KUBE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Into bytes, which have room for `length` of them; line breaks are passed over. False when it is
 * none: then bytes may have been written to. */
bool kube_base64_read(const char *text, size_t length, char *bytes, size_t *ret_count);

#endif
