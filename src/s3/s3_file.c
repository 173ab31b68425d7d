/* Objects as wholes: from files and into files, listed, deleted. */
#include "s3/s3.h"

#include "s3/s3_xml.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* One object of a file or of bytes. An ETag that is an MD5 has to be that of what was sent. */
static int put(struct s3 *s3, const char *key, const void *bytes, int fd, int64_t size_bytes,
	       const struct digest *digest, struct strata_error *err)
{
	const struct s3_request request = { .method = "PUT",
					    .key = key,
					    .digest = digest,
					    .bytes = bytes,
					    .fd = fd,
					    .size_bytes = size_bytes,
					    .checked = true };
	struct s3_answer answer;

	s3_answer_init(s3, &answer);
	int rc = s3_call(s3, &request, &answer, err);

	s3_answer_fini(&answer);
	return rc;
}

int s3_put_bytes(struct s3 *s3, const char *key, const void *bytes, size_t count,
		 struct strata_error *err)
{
	struct digest digest;
	int rc = digest_bytes(bytes, count, &digest, err);

	return rc ? rc : put(s3, key, bytes, -1, (int64_t)count, &digest, err);
}

int s3_put_file(struct s3 *s3, const char *key, int fd, int64_t size_bytes,
		struct digest *ret_digest, struct strata_error *err)
{
	struct digest digest;
	int rc = digest_file(fd, 0, size_bytes, &digest, err);

	if (rc == 0)
		rc = size_bytes <= s3_part_bytes(s3, size_bytes)
			     ? put(s3, key, NULL, fd, size_bytes, &digest, err)
			     : s3_put_parts(s3, key, fd, size_bytes, err);
	if (rc == 0)
		*ret_digest = digest;
	return rc;
}

/* ---- getting ---- */

struct getting {
	int fd;
	int64_t done, size_bytes;
};

static int take(void *context, const char *bytes, size_t count)
{
	struct getting *getting = context;

	if ((int64_t)count > getting->size_bytes - getting->done)
		return -EBADMSG; /* more than there is */
	while (count) {
		ssize_t written = pwrite(getting->fd, bytes, count, getting->done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		getting->done += written;
		bytes += written;
		count -= (size_t)written;
	}
	return 0;
}

/* A part that goes on where the last one broke off; of the same object, which its ETag says. */
static int get_rest(struct s3 *s3, const char *key, struct getting *getting,
		    char etag[S3_ETAG_BYTES], struct strata_error *err)
{
	const struct s3_request request = { .method = "GET",
					    .key = key,
					    .from = getting->done,
					    .if_match = getting->done && *etag ? etag : NULL,
					    .sink = take,
					    .sink_context = getting };
	struct s3_answer answer;
	int64_t before = getting->done;

	s3_answer_init(s3, &answer);
	int rc = s3_call(s3, &request, &answer, err);

	if (before == 0) {
		memcpy(etag, answer.etag, S3_ETAG_BYTES);
	} else if (answer.status == 200) { /* it was sent from its beginning: once more */
		getting->done = 0;
		rc = strata_fail(err, -EAGAIN, "the server sends whole objects only");
	}
	s3_answer_fini(&answer);
	return rc;
}

int s3_get_file(struct s3 *s3, const char *key, int fd, int64_t size_bytes,
		const char *sha256_hex, struct strata_error *err)
{
	struct getting getting = { .fd = fd, .size_bytes = size_bytes };
	char etag[S3_ETAG_BYTES] = "";
	struct digest digest;
	int rc = 0, tries = 0;

	do {
		int64_t before = getting.done;

		rc = get_rest(s3, key, &getting, etag, err);
		if (rc == 0 && getting.done < size_bytes)
			rc = strata_fail(err, -EBADMSG,
					 "s3 object %s has %lld bytes; expected %lld", key,
					 (long long)getting.done, (long long)size_bytes);
		if (rc == -ESTALE) /* another one is there by now */
			getting.done = 0, rc = -EAGAIN;
		tries = getting.done > before ? 1 : tries + 1;
		if (rc == -EAGAIN && tries < S3_TRIES)
			s3_pause(s3, tries);
	} while (rc == -EAGAIN && tries < S3_TRIES);
	if (rc == 0)
		rc = digest_file(fd, 0, size_bytes, &digest, err);
	if (rc == 0 && strcmp(digest.sha256_hex, sha256_hex) != 0)
		rc = strata_fail(err, -EBADMSG,
				 "s3 object %s is not what was stored: its SHA-256 is %s; expected "
				 "%s",
				 key, digest.sha256_hex, sha256_hex);
	return rc;
}

/* ---- listing and deleting ---- */

struct listing {
	const char *prefix;
	s3_key_sink *sink;
	void *context;
	struct strata_error *err;
	char token[S3_UPLOAD_BYTES];
	bool more;
};

static int read_page(void *context, const char *parent, const char *name, const char *text)
{
	struct listing *listing = context;

	if (strcmp(name, "IsTruncated") == 0)
		listing->more = strcmp(text, "true") == 0;
	if (strcmp(name, "NextContinuationToken") == 0 && strlen(text) < sizeof(listing->token))
		memcpy(listing->token, text, strlen(text) + 1);
	if (strcmp(parent, "Contents") != 0 || strcmp(name, "Key") != 0)
		return 0;
	/* what was not asked for is not touched */
	return strncmp(text, listing->prefix, strlen(listing->prefix)) == 0 && s3_is_plain(text)
		       ? listing->sink(listing->context, text, listing->err)
		       : 0;
}

static int list_page(struct s3 *s3, struct listing *listing, struct strata_error *err)
{
	struct s3_request request = { .method = "GET" };
	struct s3_answer answer;
	struct buf query;

	s3_answer_init(s3, &answer);
	buf_init(&query, s3_memory(s3), 0);
	if (*listing->token) {
		buf_add(&query, "continuation-token=");
		s3_escape(&query, listing->token);
		buf_add_char(&query, '&');
	}
	buf_add(&query, "list-type=2&prefix=");
	s3_escape(&query, listing->prefix);
	request.query = query.text;
	int rc = buf_check(&query, err);

	if (rc == 0)
		rc = s3_call(s3, &request, &answer, err);
	listing->more = false;
	listing->token[0] = '\0';
	if (rc == 0)
		rc = s3_xml_walk(answer.body.text ? answer.body.text : "", answer.body.length,
				 read_page, listing, err);
	buf_fini(&query);
	s3_answer_fini(&answer);
	return rc;
}

int s3_list(struct s3 *s3, const char *prefix, s3_key_sink *sink, void *context,
	    struct strata_error *err)
{
	struct listing listing = { .prefix = prefix, .sink = sink, .context = context, .err = err };
	int rc = 0, pages = 0;

	do
		rc = list_page(s3, &listing, err);
	while (rc == 0 && listing.more && *listing.token && ++pages < STRATA_COPY_FILES_MAX);
	return rc;
}

int s3_delete(struct s3 *s3, const char *key, struct strata_error *err)
{
	const struct s3_request request = { .method = "DELETE", .key = key };
	struct s3_answer answer;

	s3_answer_init(s3, &answer);
	int rc = s3_call(s3, &request, &answer, err);

	s3_answer_fini(&answer);
	return rc == -ENOENT ? 0 : rc;
}
