/* Who asks: see identity.c. */
#ifndef SERVER_IDENTITY_H
#define SERVER_IDENTITY_H

#include "server/front.h"
#include "server/request.h"

/* Any thread. ROLE_NONE: nobody that is known. */
#define IDENTITY_BASIC_PATHS "/sdapi/" /* below which HTTP Basic is understood */
/* `path` is that of the request, as it was sent. */
void identify(struct front *front, struct MHD_Connection *connection, const char *path,
	      struct identity *ret_who);

#endif
