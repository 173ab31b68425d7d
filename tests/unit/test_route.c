#include "test.h"

#include "server/route.h"

#include <string.h>

static const struct route *find(const char *method, const char *path, const char **segments,
				bool *known)
{
	static char copy[256];

	strcpy(copy, path);
	memset(segments, 0, REQUEST_SEGMENTS_MAX * sizeof(*segments));
	return route_find(method, copy, segments, known);
}

TEST(paths_are_found_with_their_open_parts)
{
	const char *segments[REQUEST_SEGMENTS_MAX];
	bool known;

	CHECK_TEXT(find("GET", "/api/v1/jobs/17/why", segments, &known)->path,
		   "/api/v1/jobs/*/why");
	CHECK_TEXT(segments[0], "17");
	CHECK_TEXT(find("GET", "/api/v1/jobs/a-b", segments, &known)->path, "/api/v1/jobs/*");
	CHECK_TEXT(segments[0], "a-b");
	CHECK(!find("PUT", "/api/v1/jobs/17", segments, &known) && known);
	CHECK(!find("GET", "/api/v1/jobs/", segments, &known) && !known);
	CHECK(!find("GET", "/api/v1/jobs/17/", segments, &known) && !known);
	CHECK(!find("GET", "/api/v1/jobs/17/why/not", segments, &known) && !known);
	CHECK(!find("GET", "", segments, &known) && !known);
}

TEST(every_route_has_what_it_needs)
{
	const struct route *route;

	for (size_t i = 0; (route = route_at(i)); i++) {
		CHECK(route->parse || route->decide);
		CHECK(route->summary && *route->summary);
		CHECK(route->role != ROLE_NONE || strncmp(route->path, "/api/", 5) != 0);
		CHECK((route->body_bytes_max > 0) ==
		      (strcmp(route->method, "POST") == 0 || strcmp(route->method, "PATCH") == 0 ||
		       strcmp(route->method, "PUT") == 0));
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(route_at(k)->path, route->path) != 0 ||
			      strcmp(route_at(k)->method, route->method) != 0);
	}
}
