#include "test.h"

#include "server/session.h"

#include <string.h>

#define TOKEN "strata_0123456789012345678901234567890123456789012"

TEST(the_cookie_is_named_by_the_port)
{
	char name[SESSION_COOKIE_BYTES];

	session_cookie_name("127.0.0.1:65535", name);
	CHECK_TEXT(name, "strata_session_65535");
	session_cookie_name(NULL, name);
	CHECK_TEXT(name, "strata_session_80");
}

TEST(a_cookie_is_found_among_others)
{
	char text[TOKEN_TEXT_BYTES];

	CHECK(strlen(TOKEN) == TOKEN_TEXT_BYTES - 1);
	CHECK(session_cookie_read("n=" TOKEN, "n", text));
	CHECK_TEXT(text, TOKEN);
	CHECK(session_cookie_read("a=1; n=" TOKEN "; b=2", "n", text));
	CHECK(session_cookie_read("n=short;n=" TOKEN, "n", text));
	CHECK(!session_cookie_read("", "n", text));
	CHECK(!session_cookie_read(NULL, "n", text));
	CHECK(!session_cookie_read("nn=" TOKEN, "n", text));
	CHECK(!session_cookie_read("n=" TOKEN "x", "n", text));
	CHECK(!session_cookie_read("n=", "n", text));
	CHECK(!session_cookie_read("x; n", "n", text));
}

TEST(a_key_fits_one_session)
{
	unsigned char secret[JOB_TOKEN_KEY_BYTES] = { 1 }, other[JOB_TOKEN_KEY_BYTES] = { 2 };
	char key[SESSION_KEY_BYTES], again[SESSION_KEY_BYTES];

	session_key(secret, TOKEN, key);
	session_key(secret, TOKEN, again);
	CHECK_TEXT(key, again);
	CHECK(strlen(key) == SESSION_KEY_BYTES - 1);
	CHECK(session_key_fits(secret, TOKEN, key));
	CHECK(!session_key_fits(other, TOKEN, key));
	CHECK(!session_key_fits(secret, "strata_another", key));
	CHECK(!session_key_fits(secret, TOKEN, NULL));
	CHECK(!session_key_fits(secret, TOKEN, ""));
	key[3] = (char)(key[3] == 'x' ? 'y' : 'x');
	CHECK(!session_key_fits(secret, TOKEN, key));
}

TEST(a_session_knows_what_it_was_opened_with)
{
	CHECK_TEXT(session_parent("session:12"), "12");
	CHECK_TEXT(session_parent("session:"), "");
	CHECK(!session_parent("12") && !session_parent("link") && !session_parent(NULL));
}
