/* Addresses and credentials: see s3_address.h. */
#include "s3/s3_address.h"

#include <errno.h>
#include <string.h>

bool s3_is_plain(const char *key)
{
	return *key && *key != '/' && !strstr(key, "//") && !strstr(key, "..") &&
	       strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			   "-._/") == strlen(key);
}

int s3_address_read(const char *text, struct strata_arena *arena, const char **ret_bucket,
		    const char **ret_prefix, struct strata_error *err)
{
	static const char scheme[] = "s3://";
	bool is_s3 = strncmp(text, scheme, sizeof(scheme) - 1) == 0;
	const char *bucket = is_s3 ? text + sizeof(scheme) - 1 : text;
	size_t length = strcspn(bucket, "/");
	const char *prefix = bucket + length + (bucket[length] == '/');
	size_t prefix_length = strlen(prefix);

	if (prefix_length && prefix[prefix_length - 1] == '/')
		prefix_length--;
	if (!is_s3 || length < 3 || length > S3_BUCKET_BYTES_MAX ||
	    strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") < length ||
	    strchr(".-", bucket[0]))
		return strata_fail_at(err, -EINVAL, "checkpoint_path",
				      "checkpoint_path is '%.100s'; expected s3://BUCKET/PREFIX, a "
				      "bucket of 3 to %d lower-case letters, digits, '.' and '-'",
				      text, S3_BUCKET_BYTES_MAX);
	const char *own_bucket = strata_arena_text(arena, bucket, length);
	const char *own_prefix = strata_arena_text(arena, prefix, prefix_length);

	if (!own_bucket || !own_prefix)
		return strata_fail_memory(err);
	if (prefix_length > S3_PREFIX_BYTES_MAX || (*own_prefix && !s3_is_plain(own_prefix)))
		return strata_fail_at(err, -EINVAL, "checkpoint_path",
				      "checkpoint_path has the prefix '%.100s'; expected at most "
				      "%d letters, digits, '-', '_', '.' and '/'",
				      own_prefix, S3_PREFIX_BYTES_MAX);
	*ret_bucket = own_bucket;
	*ret_prefix = own_prefix;
	return 0;
}

static bool can_be_sent(const char *text)
{
	for (const char *at = text; *at; at++)
		if (*at <= ' ' || *at > '~')
			return false;
	return *text;
}

int s3_credentials_check(const struct s3_credentials *credentials, struct strata_error *err)
{
	if (!credentials->access_key || !credentials->secret_key)
		return strata_fail(err, -EINVAL,
				   "there are no credentials for S3: expected aws_access_key_id and "
				   "aws_secret_access_key in the file of s3_credentials, or "
				   "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
	if (!can_be_sent(credentials->access_key) || strchr(credentials->access_key, ':') ||
	    !can_be_sent(credentials->secret_key) ||
	    (credentials->session_token && !can_be_sent(credentials->session_token)))
		return strata_fail(err, -EINVAL,
				   "the credentials for S3 have a character that none has");
	return 0;
}

/* Without blanks at either end. */
static char *trim(char *text)
{
	text += strspn(text, " \t");
	for (size_t length = strlen(text); length && strchr(" \t\r", text[length - 1]);)
		text[--length] = '\0';
	return text;
}

int s3_credentials_read(char *text, struct s3_credentials *ret_credentials,
			struct strata_error *err)
{
	struct s3_credentials found = { 0 };
	bool ours = true;
	char *next;

	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line = trim(line);
		char *equals = strchr(line, '=');

		if (*line == '[')
			ours = strcmp(line, "[default]") == 0;
		if (!ours || !equals || strchr("#;[", *line))
			continue;
		*equals = '\0';
		const char *name = trim(line), *value = trim(equals + 1);

		if (strcmp(name, "aws_access_key_id") == 0)
			found.access_key = value;
		else if (strcmp(name, "aws_secret_access_key") == 0)
			found.secret_key = value;
		else if (strcmp(name, "aws_session_token") == 0)
			found.session_token = *value ? value : NULL;
	}
	int rc = s3_credentials_check(&found, err);

	if (rc == 0)
		*ret_credentials = found;
	return rc;
}
