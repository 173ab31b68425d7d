/* Settings that change while the service runs. */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include "core/buf.h"
#include "server/settings.h"

struct common;
struct front;
struct server;

/* Asks for it; may be called from a signal handler. The deciding thread calls common.read_settings
 * between two rounds. */
void reload_ask(struct server *server);
void reload_look(struct common *common);
/* Hands the front, whose threads read at any time, those settings of it that may change. */
void reload_front(struct front *front, const struct server_conf *conf);
/* Takes over what may change (conf_is_live); names of other settings that differ, and need a
 * restart, are added to ret_later with blanks between. Nothing is taken when the settings make
 * no sense. On the deciding thread. */
int server_reload(struct server *server, const struct server_conf *conf, struct buf *ret_later,
		  struct strata_error *err);

#endif
