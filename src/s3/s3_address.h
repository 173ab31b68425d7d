/* What settings say of S3: "s3://bucket/prefix", and files of credentials. Pure. */
#ifndef S3_S3_ADDRESS_H
#define S3_S3_ADDRESS_H

#include <strata/error.h>
#include <strata/memory.h>

#include <stdbool.h>

enum { S3_BUCKET_BYTES_MAX = 63, S3_PREFIX_BYTES_MAX = 512 };

/* Texts in the arena; the prefix has no slash at either end, and may be "". -EINVAL. */
int s3_address_read(const char *text, struct strata_arena *arena, const char **ret_bucket,
		    const char **ret_prefix, struct strata_error *err);

/* Is it a key, or a part of one, as this client has them? */
bool s3_is_plain(const char *key);

struct s3_credentials {
	const char *access_key, *secret_key;
	const char *session_token; /* NULL: none */
};

/* A file as aws-cli has it: of [default], or in front of any section, aws_access_key_id,
 * aws_secret_access_key and aws_session_token; all else is not looked at. -EINVAL: one of the first
 * two is missing, or has a character that cannot be sent; the text never has a value. */
int s3_credentials_read(char *text, struct s3_credentials *ret_credentials,
			struct strata_error *err); /* texts are in `text`, which is changed */
/* May these be sent as they are? */
int s3_credentials_check(const struct s3_credentials *credentials, struct strata_error *err);

#endif
