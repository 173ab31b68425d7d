/* The files of the page, from web/; tools/web-embed writes them at build time. */
#ifndef SERVER_WEB_FILES_H
#define SERVER_WEB_FILES_H

#include <stddef.h>

struct web_file {
	const char *name, *media;
	const char *etag; /* of its contents, in quotes */
	const unsigned char *plain;
	size_t plain_bytes;
	const unsigned char *packed; /* by gzip */
	size_t packed_bytes;
};
extern const struct web_file web_files[]; /* one without a name is behind the last */
extern const char web_files_version[];    /* of all of them together but index.html */

#endif
