/* SentencePiece's map of characters: see charsmap.h. Every index of the trie is checked, so that a damaged map finds nothing instead of something else. */
#include "formats/charsmap.h"

#include "core/text.h"
#include "formats/unicode.h"

#include <errno.h>
#include <string.h>

enum { UNIT_BYTES = 4, CLUSTER_BYTES = 6 };

/* ---- reading ---- */

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The bytes of base64 with padding; false: it is none. */
static bool decode(const char *text, size_t length, uint8_t *ret_bytes, size_t *ret_count)
{
	size_t count = 0, pads = 0;

	if (length % 4)
		return false;
	while (pads < 2 && pads < length && text[length - 1 - pads] == '=')
		pads++;
	for (size_t i = 0; i < length; i += 4) {
		uint32_t word = 0;

		for (size_t k = 0; k < 4; k++) {
			bool pad = i + k >= length - pads;
			int digit = pad ? 0 : digit_of(text[i + k]);

			if (digit < 0)
				return false;
			word = word << 6 | (uint32_t)digit;
		}
		for (size_t k = 0; k < 3 && i / 4 * 3 + k < length / 4 * 3 - pads; k++)
			ret_bytes[count++] = (uint8_t)(word >> (16 - 8 * k));
	}
	*ret_count = count;
	return true;
}

static uint32_t unit_at(const uint8_t *units, size_t index)
{
	const uint8_t *unit = units + index * UNIT_BYTES;

	return unit[0] | (uint32_t)unit[1] << 8 | (uint32_t)unit[2] << 16 | (uint32_t)unit[3] << 24;
}

int charsmap_read(const char *base64, size_t length, struct strata_arena *arena,
		  struct charsmap *ret_map, struct strata_error *err)
{
	uint8_t *bytes = strata_arena_array(arena, length / 4 + 1, 3);
	size_t count = 0, trie = 0;

	if (!bytes)
		return strata_fail_memory(err);
	bool good = decode(base64, length, bytes, &count) && count >= UNIT_BYTES;

	if (good) {
		trie = unit_at(bytes, 0);
		good = trie >= UNIT_BYTES && trie % UNIT_BYTES == 0 && trie <= count - UNIT_BYTES;
	}
	if (good)
		good = text_valid((const char *)bytes + UNIT_BYTES + trie,
				  count - UNIT_BYTES - trie);
	if (!good)
		return strata_fail(err, -EBADMSG,
				   "precompiled_charsmap is not the base64 of a size, a trie of "
				   "that size and texts");
	*ret_map = (struct charsmap){ bytes + UNIT_BYTES, trie / UNIT_BYTES,
				      (const char *)bytes + UNIT_BYTES + trie,
				      count - UNIT_BYTES - trie };
	return 0;
}

/* ---- looking up ---- */

static size_t offset_of(uint32_t unit)
{
	return (size_t)(unit >> 10) << ((unit & (1U << 9)) >> 6);
}

/* What the shortest known beginning of a text becomes; NULL: none is known. */
static const char *look_up(const struct charsmap *map, const char *text, size_t length,
			   size_t *ret_length)
{
	uint32_t unit = unit_at(map->units, 0);
	size_t at = offset_of(unit);

	for (size_t i = 0; i < length && text[i]; i++) {
		at ^= (uint8_t)text[i];
		if (at >= map->unit_count)
			return NULL;
		unit = unit_at(map->units, at);
		if ((unit & (1U << 31 | 0xFF)) != (uint8_t)text[i])
			return NULL;
		at ^= offset_of(unit);
		if (!(unit >> 8 & 1))
			continue;
		if (at >= map->unit_count)
			return NULL;
		size_t place = unit_at(map->units, at) & 0x7FFFFFFF;

		/* A place in the middle of a character is damage. */
		if (place >= map->text_bytes || ((uint8_t)map->texts[place] & 0xC0) == 0x80)
			return NULL;
		*ret_length = strnlen(map->texts + place, map->text_bytes - place);
		return map->texts + place;
	}
	return NULL;
}

static bool add_known(const struct charsmap *map, const char *text, size_t length, struct buf *buf)
{
	size_t bytes;
	const char *known = look_up(map, text, length, &bytes);

	if (known)
		buf_add_bytes(buf, known, bytes);
	return known != NULL;
}

void charsmap_apply(const struct charsmap *map, const uint32_t *codes, size_t count,
		    struct buf *buf)
{
	for (size_t at = 0, end; at < count; at = end) {
		char cluster[CLUSTER_BYTES + UNICODE_UTF8_MAX], one[UNICODE_UTF8_MAX];
		size_t bytes = 0;

		end = unicode_cluster_end(codes, count, at);
		for (size_t i = at; i < end && bytes < CLUSTER_BYTES; i++)
			bytes += unicode_encode(codes[i], cluster + bytes);
		if (bytes < CLUSTER_BYTES && add_known(map, cluster, bytes, buf))
			continue;
		for (size_t i = at; i < end; i++) {
			bytes = unicode_encode(codes[i], one);
			if (!add_known(map, one, bytes, buf))
				buf_add_bytes(buf, one, bytes);
		}
	}
}
