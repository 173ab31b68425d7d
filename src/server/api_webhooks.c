/* GET /api/v1/webhooks: what a caller needs to know of messages to webhooks. */
#include "server/route.h"
#include "server/webhooks.h"

#include <microhttpd.h>

static void get_webhooks(struct decider *decider, struct request *request)
{
	request->durable = true; /* the first call makes the key that secrets come from */
	request_answer(request, MHD_HTTP_OK, webhooks_view(decider, request->who.user));
}

const struct route api_webhooks_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/webhooks",
	  .summary = "the caller's secret that messages are signed with, and those that have not "
		     "arrived",
	  .role = ROLE_USER,
	  .decide = get_webhooks,
	  .answer = "secret waiting" },
	{ 0 },
};
