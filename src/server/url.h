/* What a URL says: parts of its path, and its query by a table. */
#ifndef SERVER_URL_H
#define SERVER_URL_H

#include "server/request.h"

#include <stddef.h>

/* Is every % followed by two hexadecimal digits that are not 00? */
bool url_is_well_formed(const char *url);
/* Takes the escapes out of a well-formed part, in place; its length then. A part that is not well
 * formed stays as it is there. */
size_t url_unescape(char *text);
/* The same, as libmicrohttpd calls it for what is in a query. */
size_t url_unescape_value(void *context, struct MHD_Connection *connection, char *text);

/* The query as the table of the route says, on the arena: request->query; a table that is NULL
 * allows nothing. 0, or an error that names the parameter. */
int url_read_query(struct request *request, const struct strata_schema *schema,
		   struct strata_error *err);

#endif
