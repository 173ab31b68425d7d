/* POST /api/v1/reload: the settings are read again, as on SIGHUP; between this round and the
 * next. */
#include "server/decider.h"
#include "server/route.h"

#include <microhttpd.h>

static void post_reload(struct decider *decider, struct request *request)
{
	atomic_store(&decider->common->renew, true);
	decider->again = true;
	request_answer(request, MHD_HTTP_ACCEPTED, json_pack("{s:b}", "reload", 1));
}

const struct route api_reload_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/reload",
	  .summary = "read the settings again",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .decide = post_reload,
	  .answer = "reload",
	  .also = 202 },
	{ 0 },
};
