/* The names of contents. */
#include "store/store.h"
#include "test.h"

TEST(a_blob_has_the_name_that_other_programs_give_it)
{
	char hash[STORE_HASH_BYTES];

	/* b2sum -l 256 */
	store_blob_hash("", 0, hash);
	CHECK_TEXT(hash, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
	store_blob_hash("abc", 3, hash);
	CHECK_TEXT(hash, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}
