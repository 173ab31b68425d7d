/* Sessions of the page: see session.h. The hash is BLAKE2b. */
#include "server/session.h"

#include "server/web_guard.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

void session_cookie_name(const char *host, char ret_name[SESSION_COOKIE_BYTES])
{
	snprintf(ret_name, SESSION_COOKIE_BYTES, SESSION_COOKIE "%u", web_guard_port(host));
}

bool session_cookie_read(const char *header, const char *name, char ret_text[TOKEN_TEXT_BYTES])
{
	size_t length = strlen(name);

	while (header && *header) {
		header += strspn(header, "; ");
		size_t span = strcspn(header, ";");

		if (span == length + TOKEN_TEXT_BYTES && strncmp(header, name, length) == 0 &&
		    header[length] == '=') {
			memcpy(ret_text, header + length + 1, TOKEN_TEXT_BYTES - 1);
			ret_text[TOKEN_TEXT_BYTES - 1] = '\0';
			return true;
		}
		header += span;
	}
	return false;
}

void session_key(const unsigned char secret[JOB_TOKEN_KEY_BYTES], const char *token,
		 char ret_key[SESSION_KEY_BYTES])
{
	static const unsigned char purpose[] = "the key of a page: ";
	unsigned char mac[32];
	crypto_generichash_state state;

	crypto_generichash_init(&state, secret, JOB_TOKEN_KEY_BYTES, sizeof(mac));
	crypto_generichash_update(&state, purpose, sizeof(purpose));
	crypto_generichash_update(&state, (const unsigned char *)token, strlen(token));
	crypto_generichash_final(&state, mac, sizeof(mac));
	sodium_bin2base64(ret_key, SESSION_KEY_BYTES, mac, sizeof(mac),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool session_key_fits(const unsigned char secret[JOB_TOKEN_KEY_BYTES], const char *token,
		      const char *key)
{
	char want[SESSION_KEY_BYTES];

	session_key(secret, token, want);
	return key && strlen(key) == SESSION_KEY_BYTES - 1 &&
	       sodium_memcmp(want, key, SESSION_KEY_BYTES - 1) == 0;
}

const char *session_parent(const char *made_by)
{
	size_t length = strlen(SESSION_MADE_BY);

	return made_by && strncmp(made_by, SESSION_MADE_BY, length) == 0 ? made_by + length : NULL;
}
