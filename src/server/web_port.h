/*
 * The port of the page for those who have the socket only: opened on the loopback when somebody
 * first asks for a link, and opened again after a restart, so that pages that are open find the
 * service where it was.
 */
#ifndef SERVER_WEB_PORT_H
#define SERVER_WEB_PORT_H

#include "server/front.h"

/* The one that was opened before; 0: none. */
int web_port_kept(const struct env *env, const char *state_dir);
int web_port_keep(const struct env *env, const char *state_dir, int port,
		  struct strata_error *err);

#endif
