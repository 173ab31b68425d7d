/* Who asks: see identity.c. */
#ifndef SERVER_IDENTITY_H
#define SERVER_IDENTITY_H

#include "server/front.h"
#include "server/request.h"

/* Any thread. ROLE_NONE: nobody that is known. */
void identify(struct front *front, struct MHD_Connection *connection, struct identity *ret_who);

#endif
