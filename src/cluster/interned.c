/* Texts that live as long as the cluster, each once, so that equal texts are equal pointers; and
 * lists of words. */
#include "cluster/cluster_int.h"

#include <string.h>

const char *cluster_text(struct strata_cluster *cluster, const char *text)
{
	size_t length;

	if (!text || !*text)
		return "";
	length = strlen(text);
	if (!map_text_find(&cluster->texts, text, length) &&
	    map_text_put(&cluster->texts, text, length, cluster, NULL))
		return NULL;
	return map_text_find(&cluster->texts, text, length)->key;
}

bool cluster_word_in(const char *words, const char *word, size_t length, char separator)
{
	const char stops[2] = { separator, '\0' };

	while (*words) {
		size_t span = strcspn(words, stops);

		if (span == length && memcmp(words, word, length) == 0)
			return true;
		words += span + (words[span] != '\0');
	}
	return false;
}
