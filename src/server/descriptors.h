/*
 * File descriptors, shared out when the service starts. Each connection needs one and each job that
 * is looked after another; what the service needs for itself (the store, its readers, files that
 * are open for a moment) is kept back, so that neither can use up what the rest depends on.
 */
#ifndef SERVER_DESCRIPTORS_H
#define SERVER_DESCRIPTORS_H

#include <stdint.h>

struct descriptors {
	uint32_t connections; /* at a time by the socket, and as many by TCP */
	uint32_t jobs;        /* that have a place at a time */
};

/* Raises the process's limit as far as the system allows. */
void descriptors_raise(void);
/* What a process that may open `limit` files gives to whom. Never less than one of each. */
struct descriptors descriptors_share(uint64_t limit);
/* The same for this process as it is now. */
struct descriptors descriptors_own(void);

#endif
