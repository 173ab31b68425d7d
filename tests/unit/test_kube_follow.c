/* Lists that become differences, and streams that make no sense. */
#include "kube_told.h"

#include <strata/limits.h>

TEST(after_410_a_list_becomes_differences)
{
	static const struct kube_step steps[] = {
		{ OK,
		  LIST("5", POD("a", "1", "1") "," POD("b", "2", "2") "," POD(
				    "c", "3", "3") "," POD("d", "4", "4")),
		  false },
		{ OK, EVENT("ERROR", "{\"code\":410,\"message\":\"too old\"}"), false },
		/* a as it was, b changed, c gone, d made again */
		{ OK,
		  LIST("20", POD("a", "1", "1") "," POD("b", "2", "12") "," POD("d", "9", "13")),
		  false },
		{ "410 Gone", "{\"message\":\"too old\"}", false },
		{ OK, LIST("30", POD("a", "1", "1") "," POD("b", "2", "12")), false },
		{ OK, EVENT("ADDED", POD("f", "6", "31")), true },
	};
	struct kube_server server;

	TELL(steps, "+a+b+c+d.~b-d4+d-c3.-d9.+f", &server);
	CHECK(strstr(server.requests[5], "resourceVersion=30&"));
	kube_server_forget(&server);
}

TEST(lines_that_are_no_events_lead_to_another_list)
{
	static const struct kube_step steps[] = {
		{ OK, LIST("5", ""), false },
		{ OK, "nonsense\n", false },
		{ OK, LIST("6", POD("a", "1", "6")), false },
		{ OK, EVENT("ADDED", "{\"metadata\":{}}"), false },
		{ OK, LIST("7", POD("a", "1", "6")), false },
		{ OK, EVENT("DELETED", POD("a", "1", "8")), true },
	};
	struct kube_server server;

	TELL(steps, ".!=+a.!=.-a1", &server);
	kube_server_forget(&server);
}

TEST(a_line_has_a_limit)
{
	char *body = malloc(STRATA_KUBE_LINE_BYTES_MAX + 2);

	memset(body, ' ', STRATA_KUBE_LINE_BYTES_MAX + 1);
	body[STRATA_KUBE_LINE_BYTES_MAX + 1] = '\0';
	const struct kube_step steps[] = {
		{ OK, LIST("5", ""), false },
		{ OK, body, false },
		{ OK, LIST("6", ""), false },
		{ OK, "", true },
	};
	struct kube_server server;

	TELL(steps, ".!=.", &server);
	free(body);
	kube_server_forget(&server);
}
