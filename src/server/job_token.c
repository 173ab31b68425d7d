/* Tokens of jobs; job_token.h says what they are. The hash is BLAKE2b. */
#include "server/job_token.h"

#include "core/env_trust.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { MAC_BYTES = 32 };

int job_token_open(const struct env *env, const char *state_dir,
		   unsigned char ret_key[JOB_TOKEN_KEY_BYTES], struct strata_error *err)
{
	unsigned char key[JOB_TOKEN_KEY_BYTES];
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	char *bytes;
	size_t count;

	strata_arena_init(&arena, &memory, 0);
	const char *path = strata_arena_printf(&arena, "%s/job.key", state_dir);
	int rc = path ? env_trust_check(path, ENV_TRUST_FILE, "the key of job tokens", err)
		      : strata_fail_memory(err);

	if (rc == 0)
		rc = env_read_file(env, AT_FDCWD, path, JOB_TOKEN_KEY_BYTES, &arena, &bytes, &count,
				   err);
	if (rc == 0 && count != JOB_TOKEN_KEY_BYTES)
		rc = strata_fail(err, -EBADMSG,
				 "%s has %zu bytes; expected %d (without it, a new one is made)",
				 path, count, JOB_TOKEN_KEY_BYTES);
	else if (rc == 0)
		memcpy(key, bytes, sizeof(key));
	if (rc == -ENOENT) {
		rc = env_random(env, key, sizeof(key), err);
		if (rc == 0)
			rc = env_claim_file(env, AT_FDCWD, path, key, sizeof(key), 0600, err);
	}
	if (rc == 0)
		memcpy(ret_key, key, sizeof(key));
	strata_arena_fini(&arena);
	/* of two servers that start at once one makes it */
	return rc == -EEXIST ? job_token_open(env, state_dir, ret_key, err) : rc;
}

/* The token without its hash; its length. */
static size_t print_attempt(int64_t job, int64_t attempt, char *text)
{
	return (size_t)snprintf(text, JOB_TOKEN_BYTES, JOB_TOKEN_PREFIX "%" PRId64 ".%" PRId64, job,
				attempt);
}

char *job_token_make(const unsigned char key[JOB_TOKEN_KEY_BYTES], int64_t job, int64_t attempt,
		     char ret_text[JOB_TOKEN_BYTES])
{
	unsigned char mac[MAC_BYTES];
	size_t length = print_attempt(job, attempt, ret_text);

	crypto_generichash(mac, sizeof(mac), (const unsigned char *)ret_text, length, key,
			   JOB_TOKEN_KEY_BYTES);
	ret_text[length] = '.';
	sodium_bin2hex(ret_text + length + 1, JOB_TOKEN_BYTES - length - 1, mac, sizeof(mac));
	return ret_text;
}

bool job_token_read(const unsigned char key[JOB_TOKEN_KEY_BYTES], const char *text,
		    int64_t *ret_job, int64_t *ret_attempt)
{
	char want[JOB_TOKEN_BYTES];
	int64_t job, attempt;
	size_t prefix = strlen(JOB_TOKEN_PREFIX), length = strlen(text);
	const char *dot = length > prefix ? strchr(text + prefix, '.') : NULL;
	const char *last = dot ? strchr(dot + 1, '.') : NULL;

	if (!last || strncmp(text, JOB_TOKEN_PREFIX, prefix) != 0 ||
	    strata_int_parse(text + prefix, (size_t)(dot - text) - prefix, 1, INT64_MAX, &job,
			     NULL) ||
	    strata_int_parse(dot + 1, (size_t)(last - dot) - 1, 1, UINT32_MAX, &attempt, NULL))
		return false;
	job_token_make(key, job, attempt, want);
	if (length != strlen(want) || sodium_memcmp(want, text, length) != 0)
		return false;
	*ret_job = job;
	*ret_attempt = attempt;
	return true;
}
