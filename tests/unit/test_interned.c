#include "small_cluster.h"

TEST(equal_texts_are_equal_pointers)
{
	small_open("fifo", "easy", 1, 0);
	char copy[] = "a100";
	const char *first = cluster_text(small, copy);

	CHECK_TEXT(first, "a100");
	copy[0] = 'b';
	CHECK(cluster_text(small, "a100") == first);
	CHECK(cluster_text(small, "b100") != first);
	CHECK_TEXT(cluster_text(small, NULL), "");
	CHECK_TEXT(cluster_text(small, ""), "");
	small_close();
}

TEST(words_are_found_whole)
{
	CHECK(cluster_word_in("a,bb,c", "bb", 2, ','));
	CHECK(cluster_word_in("a,bb,c", "c", 1, ','));
	CHECK(!cluster_word_in("a,bb,c", "b", 1, ','));
	CHECK(!cluster_word_in("a,bb,c", "bb,c", 4, ','));
	CHECK(cluster_word_in("a|b", "b", 1, '|'));
	CHECK(!cluster_word_in("", "a", 1, ','));
}
