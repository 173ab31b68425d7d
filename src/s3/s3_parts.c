/*
 * Objects in parts. S3 keeps the parts of an upload that did not end; whoever comes back asks which
 * are there, and sends the others. A part that is there is taken when its size and MD5 (its ETag)
 * are those of the file; where a server's ETags are something else it is sent again.
 */
#include "s3/s3.h"

#include "s3/s3_xml.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
	char etag[S3_ETAG_BYTES]; /* "": not there */
	int64_t size_bytes;
};

struct upload {
	struct s3 *s3;
	const char *key;
	char id[S3_UPLOAD_BYTES];
	int64_t size_bytes, part_bytes;
	size_t part_count;
	struct part *parts;
};

/* Calls, and gives the answer's XML to a visitor. */
static int call(struct s3 *s3, const struct s3_request *request, s3_xml_visit *visit,
		void *context, struct strata_error *err)
{
	struct s3_answer answer;

	s3_answer_init(s3, &answer);
	int rc = s3_call(s3, request, &answer, err);

	if (rc == 0 && visit)
		rc = s3_xml_walk(answer.body.text ? answer.body.text : "", answer.body.length,
				 visit, context, err);
	s3_answer_fini(&answer);
	return rc;
}

/* "uploadId=…", behind what sorts before it. */
static int make_query(struct buf *query, const char *before, const char *id,
		      struct strata_error *err)
{
	buf_add(query, before);
	buf_add(query, "uploadId=");
	s3_escape(query, id);
	return buf_check(query, err);
}

/* ---- what is there ---- */

struct found {
	const char *key;
	char last_key[S3_UPLOAD_BYTES], id[S3_UPLOAD_BYTES];
};

static int find_upload(void *context, const char *parent, const char *name, const char *text)
{
	struct found *found = context;

	if (strcmp(parent, "Upload") != 0 || strlen(text) >= S3_UPLOAD_BYTES)
		return 0;
	if (strcmp(name, "Key") == 0)
		memcpy(found->last_key, text, strlen(text) + 1);
	if (strcmp(name, "UploadId") == 0 && strcmp(found->last_key, found->key) == 0)
		memcpy(found->id, text, strlen(text) + 1); /* the last one is the newest */
	return 0;
}

struct found_part {
	struct upload *upload;
	struct part part;
	size_t number;
};

/* In the order of the format: PartNumber, …, ETag, Size; kept when the part's last one is there. */
static int find_part(void *context, const char *parent, const char *name, const char *text)
{
	struct found_part *found = context;

	if (strcmp(parent, "Part") != 0)
		return 0;
	if (strcmp(name, "PartNumber") == 0) {
		found->number = strtoul(text, NULL, 10);
		found->part = (struct part){ .size_bytes = -1 };
	} else if (strcmp(name, "Size") == 0) {
		found->part.size_bytes = strtoll(text, NULL, 10);
	} else if (strcmp(name, "ETag") == 0) {
		size_t length = strlen(text);

		if (length >= 2 && text[0] == '"' && text[length - 1] == '"')
			text++, length -= 2;
		if (length < S3_ETAG_BYTES) {
			memcpy(found->part.etag, text, length);
			found->part.etag[length] = '\0';
		}
	}
	if (found->number >= 1 && found->number <= found->upload->part_count &&
	    found->part.size_bytes >= 0 && found->part.etag[0])
		found->upload->parts[found->number - 1] = found->part;
	return 0;
}

struct page {
	struct found_part found;
	char marker[32];
	bool more;
};

static int read_page(void *context, const char *parent, const char *name, const char *text)
{
	struct page *page = context;

	if (strcmp(name, "IsTruncated") == 0)
		page->more = strcmp(text, "true") == 0;
	if (strcmp(name, "NextPartNumberMarker") == 0 && strlen(text) < sizeof(page->marker) &&
	    strspn(text, "0123456789") == strlen(text))
		memcpy(page->marker, text, strlen(text) + 1);
	return find_part(&page->found, parent, name, text);
}

static int list_parts(struct upload *upload, struct strata_error *err)
{
	struct page page = { .found = { .upload = upload } };
	int rc = 0, pages = 0;

	do {
		struct s3_request request = { .method = "GET", .key = upload->key };
		char before[64] = "";
		struct buf query;

		if (*page.marker)
			snprintf(before, sizeof(before), "part-number-marker=%s&", page.marker);
		page.more = false;
		page.marker[0] = '\0';
		buf_init(&query, s3_memory(upload->s3), 0);
		rc = make_query(&query, before, upload->id, err);
		request.query = query.text;
		if (rc == 0)
			rc = call(upload->s3, &request, read_page, &page, err);
		buf_fini(&query);
	} while (rc == 0 && page.more && *page.marker && ++pages < STRATA_S3_PARTS_MAX);
	return rc;
}

static int find_begun(struct upload *upload, struct strata_error *err)
{
	struct found found = { .key = upload->key };
	struct s3_request request = { .method = "GET" };
	struct buf query;

	buf_init(&query, s3_memory(upload->s3), 0);
	buf_add(&query, "prefix=");
	s3_escape(&query, upload->key);
	buf_add(&query, "&uploads=");
	request.query = query.text;
	int rc = buf_check(&query, err);

	if (rc == 0)
		rc = call(upload->s3, &request, find_upload, &found, err);
	buf_fini(&query);
	memcpy(upload->id, found.id, sizeof(upload->id));
	return rc;
}

static int take_id(void *context, const char *parent, const char *name, const char *text)
{
	struct upload *upload = context;

	(void)parent;
	if (strcmp(name, "UploadId") == 0 && strlen(text) < S3_UPLOAD_BYTES)
		memcpy(upload->id, text, strlen(text) + 1);
	return 0;
}

static int begin(struct upload *upload, struct strata_error *err)
{
	const struct s3_request request = { .method = "POST",
					    .key = upload->key,
					    .query = "uploads=" };
	int rc = find_begun(upload, err);

	if (rc == 0 && *upload->id)
		return list_parts(upload, err);
	if (rc == 0)
		rc = call(upload->s3, &request, take_id, upload, err);
	if (rc == 0 && !*upload->id)
		rc = strata_fail(err, -EBADMSG, "an upload was begun and has no number");
	return rc;
}

/* ---- sending ---- */

static int put_part(struct upload *upload, size_t index, int fd, struct strata_error *err)
{
	int64_t offset = (int64_t)index * upload->part_bytes;
	int64_t left = upload->size_bytes - offset;
	int64_t size = left < upload->part_bytes ? left : upload->part_bytes;
	struct part *part = &upload->parts[index];
	struct digest digest;
	char before[64];
	struct buf query;
	int rc = digest_file(fd, offset, size, &digest, err);

	if (rc || (part->size_bytes == size && strcmp(part->etag, digest.md5_hex) == 0))
		return rc;
	struct s3_request request = { .method = "PUT",
				      .key = upload->key,
				      .digest = &digest,
				      .fd = fd,
				      .offset = offset,
				      .size_bytes = size };
	struct s3_answer answer;

	snprintf(before, sizeof(before), "partNumber=%zu&", index + 1);
	buf_init(&query, s3_memory(upload->s3), 0);
	rc = make_query(&query, before, upload->id, err);
	request.query = query.text;
	s3_answer_init(upload->s3, &answer);
	if (rc == 0)
		rc = s3_call(upload->s3, &request, &answer, err);
	if (rc == 0 && !*answer.etag)
		rc = strata_fail(err, -EBADMSG, "a part was taken and has no ETag");
	memcpy(part->etag, answer.etag, sizeof(part->etag));
	part->size_bytes = size;
	s3_answer_fini(&answer);
	buf_fini(&query);
	return rc;
}

static int note_error(void *context, const char *parent, const char *name, const char *text)
{
	char *word = context; /* S3 may say 200 and only then that it went wrong */

	if (strcmp(parent, "Error") == 0 && strcmp(name, "Code") == 0)
		snprintf(word, 64, "%s", text);
	return 0;
}

/* An ETag goes into XML as it came. */
static bool is_plain(const char *etag)
{
	return !strpbrk(etag, "<>&\"'");
}

static int complete(struct upload *upload, struct strata_error *err)
{
	struct s3_request request = { .method = "POST", .key = upload->key };
	struct buf query, body;
	struct digest digest;
	char word[64] = "";
	int rc = 0;

	buf_init(&query, s3_memory(upload->s3), 0);
	buf_init(&body, s3_memory(upload->s3), 0);
	buf_add(&body, "<CompleteMultipartUpload>");
	for (size_t i = 0; rc == 0 && i < upload->part_count; i++) {
		if (!is_plain(upload->parts[i].etag))
			rc = strata_fail(err, -EBADMSG, "an ETag has a character that none has");
		buf_printf(&body, "<Part><PartNumber>%zu</PartNumber><ETag>&quot;%s&quot;</ETag>"
				  "</Part>",
			   i + 1, upload->parts[i].etag);
	}
	buf_add(&body, "</CompleteMultipartUpload>");
	if (rc == 0)
		rc = buf_check(&body, err);
	if (rc == 0)
		rc = make_query(&query, "", upload->id, err);
	if (rc == 0)
		rc = digest_bytes(body.text, body.length, &digest, err);
	request.query = query.text;
	request.bytes = body.text;
	request.size_bytes = (int64_t)body.length;
	request.digest = &digest;
	if (rc == 0)
		rc = call(upload->s3, &request, note_error, word, err);
	if (rc == 0 && *word)
		rc = strata_fail(err, -EAGAIN, "the parts of %s were not put together: %s",
				 upload->key, word);
	buf_fini(&body);
	buf_fini(&query);
	return rc;
}

int s3_put_parts(struct s3 *s3, const char *key, int fd, int64_t size_bytes,
		 struct strata_error *err)
{
	struct upload upload = { .s3 = s3, .key = key, .size_bytes = size_bytes };

	upload.part_bytes = s3_part_bytes(s3, size_bytes);
	upload.part_count =
		(size_t)((size_bytes + upload.part_bytes - 1) / upload.part_bytes);
	upload.parts = calloc(upload.part_count, sizeof(*upload.parts));
	if (!upload.parts)
		return strata_fail_memory(err);
	int rc = begin(&upload, err);

	for (size_t i = 0; rc == 0 && i < upload.part_count; i++)
		rc = put_part(&upload, i, fd, err);
	if (rc == 0)
		rc = complete(&upload, err);
	free(upload.parts);
	return rc;
}

/* ---- ending ---- */

struct ending {
	struct s3 *s3;
	const char *prefix;
	char key[S3_UPLOAD_BYTES];
	struct strata_error *err;
};

static int end_one(void *context, const char *parent, const char *name, const char *text)
{
	struct ending *ending = context;
	struct buf query;

	if (strcmp(parent, "Upload") != 0 || strlen(text) >= S3_UPLOAD_BYTES)
		return 0;
	if (strcmp(name, "Key") == 0)
		memcpy(ending->key, text, strlen(text) + 1);
	if (strcmp(name, "UploadId") != 0 || !s3_is_plain(ending->key) ||
	    strncmp(ending->key, ending->prefix, strlen(ending->prefix)) != 0)
		return 0;
	buf_init(&query, s3_memory(ending->s3), 0);
	int rc = make_query(&query, "", text, ending->err);
	const struct s3_request request = { .method = "DELETE",
					    .key = ending->key,
					    .query = query.text };

	if (rc == 0)
		rc = call(ending->s3, &request, NULL, NULL, ending->err);
	buf_fini(&query);
	return rc == -ENOENT ? 0 : rc;
}

int s3_abort_parts(struct s3 *s3, const char *prefix, struct strata_error *err)
{
	struct ending ending = { .s3 = s3, .prefix = prefix, .err = err };
	struct s3_request request = { .method = "GET" };
	struct buf query;

	buf_init(&query, s3_memory(s3), 0);
	buf_add(&query, "prefix=");
	s3_escape(&query, prefix);
	buf_add(&query, "&uploads=");
	request.query = query.text;
	int rc = buf_check(&query, err);

	if (rc == 0)
		rc = call(s3, &request, end_one, &ending, err);
	buf_fini(&query);
	return rc;
}
