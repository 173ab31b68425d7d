/* Texts: StringNormalizer, and TfIdfVectorizer, which counts sequences of texts or numbers. */
#include "engine/native/native.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* ---- StringNormalizer ---- */

enum letters { AS_THEY_ARE, LOWER, UPPER };

/* The letters of English only: others stay as they are, and are refused where they would have to change. */
static bool change(const char *from, enum letters letters, char *to)
{
	for (; *from; from++, to++) {
		if (*from & 0x80 && letters != AS_THEY_ARE)
			return false;
		*to = letters == LOWER && *from >= 'A' && *from <= 'Z'   ? (char)(*from + 32)
		      : letters == UPPER && *from >= 'a' && *from <= 'z' ? (char)(*from - 32)
									 : *from;
	}
	*to = 0;
	return true;
}

static bool is_stop_word(const struct onnx_attribute *words, bool exact, const char *text)
{
	for (size_t i = 0; words && i < words->count; i++)
		if ((exact ? strcmp(text, words->texts[i]) : strcasecmp(text, words->texts[i])) ==
		    0)
			return true;
	return false;
}

static enum letters read_letters(struct native_call *call)
{
	const char *text = native_text(call, "case_change_action", "NONE");

	return strcmp(text, "LOWER") == 0   ? LOWER
	       : strcmp(text, "UPPER") == 0 ? UPPER
					    : AS_THEY_ARE;
}

/* Keeps texts that are no stop words, changed, in `room`. -1: one has letters that are not known here. */
static int64_t normalize(struct native_call *call, const struct engine_value *x, char *room,
			 const char **kept)
{
	const struct onnx_attribute *words = onnx_attribute_find(call->node, "stopwords");
	bool exact = native_int(call, "is_case_sensitive", 0);
	enum letters letters = read_letters(call);
	int64_t count = engine_value_elements(x), found = 0;

	if (words && words->type != ONNX_ATTR_STRINGS)
		words = NULL;
	for (int64_t i = 0; i < count; i++) {
		const char *text = ((char *const *)x->data)[i];

		if (is_stop_word(words, exact, text))
			continue;
		if (!change(text, letters, room))
			return -1;
		kept[found++] = room;
		room += strlen(text) + 1;
	}
	return found;
}

static int run_normalizer(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_typed(call, 0, ONNX_STRING, &x, err);

	if (rc)
		return rc;
	if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
		return native_refuse(call, err, "input 1 is not a list of texts");
	int64_t count = engine_value_elements(x);
	size_t bytes = ((size_t)count + 1) * sizeof(char *);

	for (int64_t i = 0; i < count; i++)
		bytes += strlen(((char *const *)x->data)[i]) + 1;
	const char **kept = native_scratch(call, bytes, err);

	if (!kept)
		return -ENOMEM;
	int64_t found = normalize(call, x, (char *)(kept + count + 1), kept);
	int64_t dims[2] = { 1, found };

	if (found == 0) { /* one empty text stands for none */
		kept[0] = "";
		dims[1] = 1;
	}
	if (found < 0)
		rc = native_lacks(call, err, "other letters than English ones are not changed");
	else
		rc = engine_value_texts(call->heap, x->rank, x->rank == 2 ? dims : dims + 1, kept,
					&call->outputs[0], err);
	engine_heap_put(call->heap, kept, bytes);
	return rc;
}

/* ---- TfIdfVectorizer ---- */

/* Sequences to look for: those of length n are pool[starts[n − 1]] … in groups of n. */
struct grams {
	const int64_t *numbers; /* one of the two */
	const char *const *texts;
	int64_t pool, columns;
	const int64_t *starts, *indexes; /* where each length begins; which column a sequence is */
	size_t lengths, index_count;
	int64_t least, most, skips;
};

static int read_grams(struct native_call *call, struct grams *grams, struct strata_error *err)
{
	const struct onnx_attribute *texts = onnx_attribute_find(call->node, "pool_strings");
	size_t pool = 0;

	grams->numbers = native_ints(call, "pool_int64s", &pool);
	if (texts && texts->type == ONNX_ATTR_STRINGS) {
		grams->texts = texts->texts;
		pool = texts->count;
	}
	grams->pool = (int64_t)pool;
	grams->starts = native_ints(call, "ngram_counts", &grams->lengths);
	grams->indexes = native_ints(call, "ngram_indexes", &grams->index_count);
	grams->least = native_int(call, "min_gram_length", 1);
	grams->most = native_int(call, "max_gram_length", 1);
	grams->skips = native_int(call, "max_skip_count", 0);
	if (!grams->starts || !grams->indexes || (!grams->numbers && !grams->texts) ||
	    grams->least < 1 || grams->most < grams->least || grams->skips < 0 ||
	    (size_t)grams->most > grams->lengths)
		return native_refuse(call, err, "its attributes do not fit together");
	for (size_t i = 0; i < grams->lengths; i++)
		if (grams->starts[i] < 0 || grams->starts[i] > grams->pool)
			return native_refuse(call, err, "ngram_counts has %lld",
					     (long long)grams->starts[i]);
	for (size_t i = 0; i < grams->index_count; i++) {
		if (grams->indexes[i] < 0 || grams->indexes[i] > INT32_MAX)
			return native_refuse(call, err, "ngram_indexes has %lld",
					     (long long)grams->indexes[i]);
		grams->columns = grams->indexes[i] >= grams->columns ? grams->indexes[i] + 1
								     : grams->columns;
	}
	return 0;
}

static bool same_item(const struct grams *grams, const struct engine_value *items, int64_t at,
		      int64_t pool)
{
	return grams->texts ? strcmp(((char *const *)items->data)[at], grams->texts[pool]) == 0
			    : ((const int64_t *)items->data)[at] == grams->numbers[pool];
}

/* Counts sequences of n items, `apart` apart, that begin in a row. */
static void count_grams(const struct grams *grams, const struct engine_value *items, int64_t first,
			int64_t row, int64_t n, int64_t apart, size_t index, float *counts)
{
	int64_t begin = grams->starts[n - 1];
	int64_t past = (size_t)n < grams->lengths ? grams->starts[n] : grams->pool;

	for (int64_t gram = begin; gram + n <= past; gram += n, index++)
		for (int64_t at = 0; at + (n - 1) * apart < row && index < grams->index_count;
		     at++) {
			int64_t i = 0;

			while (i < n && same_item(grams, items, first + at + i * apart, gram + i))
				i++;
			counts[grams->indexes[index]] += i == n;
		}
}

static void count_row(const struct grams *grams, const struct engine_value *items, int64_t first,
		      int64_t row, float *counts)
{
	size_t index = 0;

	for (int64_t n = 1; n <= grams->most; n++) {
		int64_t past = (size_t)n < grams->lengths ? grams->starts[n] : grams->pool;

		for (int64_t skip = 0; n >= grams->least && skip <= grams->skips; skip++) {
			if (n == 1 && skip > 0) /* single items have nothing between them */
				break;
			if (skip >= row)
				break;
			count_grams(grams, items, first, row, n, skip + 1, index, counts);
		}
		if (past > grams->starts[n - 1])
			index += (size_t)((past - grams->starts[n - 1]) / n);
	}
}

/* TF: counts; IDF: weights of what is there; TFIDF: both. */
static int weigh(struct native_call *call, const struct grams *grams, float *counts, int64_t total,
		 struct strata_error *err)
{
	const char *mode = native_text(call, "mode", "TF");
	size_t given;
	const double *weights = native_reals(call, "weights", &given);
	bool there = strcmp(mode, "IDF") == 0, both = strcmp(mode, "TFIDF") == 0;

	if (!there && !both)
		return strcmp(mode, "TF") == 0
			       ? 0
			       : native_lacks(call, err, "mode '%.40s' is not known", mode);
	if (weights && given != grams->index_count)
		return native_refuse(call, err, "there are %zu weights; expected %zu", given,
				     grams->index_count);
	for (int64_t i = 0; i < total; i++) {
		double weight = 1;

		for (size_t k = 0; weights && k < grams->index_count; k++)
			if (grams->indexes[k] == i % grams->columns)
				weight = weights[k];
		counts[i] = (float)((there ? counts[i] > 0 : counts[i]) * weight);
	}
	return 0;
}

static int run_tf_idf(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value items = { 0 };
	struct grams grams = { 0 };
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = read_grams(call, &grams, err);
	if (rc == 0 &&
	    (x->rank < 1 || x->rank > 2 || (x->dtype == ONNX_STRING) != (grams.texts != NULL) ||
	     onnx_dtype_real(x->dtype)))
		rc = native_refuse(call, err, "input 1 is %s in %u dimensions",
				   engine_dtype_name(x->dtype), x->rank);
	if (rc)
		return rc;
	int64_t rows = x->rank == 2 ? x->dims[0] : 1, row = x->dims[x->rank - 1];
	int64_t dims[2] = { rows, grams.columns };

	rc = engine_value_cast(call->heap, x, x->dtype == ONNX_STRING ? ONNX_STRING : ONNX_INT64,
			       &items, err);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->rank == 2 ? dims : dims + 1, err);
	if (rc == 0) {
		float *counts = call->outputs[0].data;

		memset(counts, 0, engine_value_bytes(&call->outputs[0]));
		for (int64_t r = 0; r < rows && row > 0; r++)
			count_row(&grams, &items, r * row, row, counts + r * grams.columns);
		rc = weigh(call, &grams, counts, rows * grams.columns, err);
	}
	engine_value_drop(&items);
	return rc;
}

static const struct native_op ops[] = {
	{ "StringNormalizer", run_normalizer },
	{ "TfIdfVectorizer", run_tf_idf },
};

const struct native_family native_family_text = { "texts", "", ops, sizeof(ops) / sizeof(ops[0]) };
