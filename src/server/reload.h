/* Settings that change while the service runs. */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include "core/buf.h"
#include "server/settings.h"

struct common;
struct server;

/* Asks for it; may be called from a signal handler. The deciding thread calls common.read_settings between two rounds. */
void reload_ask(struct server *server);
void reload_look(struct common *common);
/* Takes over what may change (conf_is_live); names of other settings that differ, and need a restart, are added to ret_later with blanks
 * between. Nothing is taken when the settings make no sense. On the deciding thread. */
int server_reload(struct server *server, const struct server_conf *conf, struct buf *ret_later,
		  struct strata_error *err);

#endif
