/*
 * The page: its files, which are the same for everybody and say nothing about anybody. What the
 * page shows comes from the API, with the rights of whoever is signed in.
 */
#include "server/route.h"
#include "server/web_files.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing but our own files; pictures also from memory, where scripts put what they were given. */
static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const struct web_file *find(const char *name)
{
	const struct web_file *file = web_files;

	while (file->name && strcmp(file->name, name) != 0)
		file++;
	return file->name ? file : NULL;
}

static const char *header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static void give(struct request *request, const struct web_file *file, const char *cache)
{
	const char *accepted = header(request, "Accept-Encoding"),
		   *known = header(request, "If-None-Match");
	bool packed = accepted && strstr(accepted, "gzip");
	size_t count = packed ? file->packed_bytes : file->plain_bytes;

	request_add_header(request, "Content-Security-Policy", policy);
	request_add_header(request, "Cache-Control", cache);
	request_add_header(request, "Vary", "Accept-Encoding");
	request->etag = file->etag;
	if (known && strcmp(known, file->etag) == 0) {
		request_answer_empty(request, MHD_HTTP_NOT_MODIFIED);
		return;
	}
	char *bytes = malloc(count);

	if (bytes)
		memcpy(bytes, packed ? file->packed : file->plain, count);
	request_give_bytes(request, MHD_HTTP_OK, file->media, bytes, count);
	if (bytes && packed)
		request_add_header(request, "Content-Encoding", "gzip");
}

static void get_page(struct request *request)
{
	give(request, find("index.html"), "no-cache");
}

/* One of another version is not there: who asks for it has an old page, and is to load it anew. */
static void get_file(struct request *request)
{
	const struct web_file *file = find(request->segments[1]);

	if (file && strcmp(request->segments[0], web_files_version) == 0)
		give(request, file, "public, max-age=31536000, immutable");
	else
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "the page has no file %.80s of this version; load it anew",
			       request->segments[1]);
}

/* ---- routes ---- */

const struct route api_web_routes[] = {
	{ .method = "GET",
	  .path = "/",
	  .summary = "the page",
	  .role = ROLE_NONE,
	  .parse = get_page },
	{ .method = "GET",
	  .path = "/web/*/*",
	  .summary = "a file of the page",
	  .role = ROLE_NONE,
	  .parse = get_file },
	{ 0 },
};
