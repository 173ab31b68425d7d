/* Many clients of one Unix socket in one thread, so that it is the server that is measured; and one request at a time, for the rest. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Sends the same request again and again from so many kept connections, for so long; how many were answered with this status. */
long load_run(const char *socket_path, const char *request, int clients, int64_t duration_ns,
	      int status);

/* One request; the answer's body (malloc's), its length, and the status. */
char *load_ask(const char *socket_path, const char *method, const char *path, const char *body,
	       size_t *ret_length, int *ret_status);

int64_t load_now_ns(void);

#endif
