/* Sockets to listen on. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <strata/error.h>

#include <stdbool.h>

/* A Unix socket that anybody may connect to. One that is left over is taken away, one that answers
 * is not (-EADDRINUSE). */
int listen_unix(const char *path, int *ret_fd, struct strata_error *err);

/* "127.0.0.1:8470", "[::1]:8470", "localhost:8470"; port 0 picks one. Addresses that others can
 * reach are refused (-EPERM) unless what goes over them is encrypted. ret_port: the one it got. */
int listen_tcp(const char *address, bool encrypted, int *ret_fd, int *ret_port,
	       struct strata_error *err);

#endif
