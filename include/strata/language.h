/*
 * Language models: a folder in optimum's ONNX layout (decoder_model.onnx reads a prompt, decoder_with_past_model.onnx goes on by one token, both share their
 * caches) and a session that holds what was said so far.
 *
 *	strata_language_open(engine, "models/tiny-llama", NULL, &memory, &language, &err);
 *	strata_session_new(language, &conf, &session, &err);
 *	strata_session_read(session, prompt_ids, count, &err);
 *	while (!ended)
 *		strata_session_next(session, &id, &err);
 *
 * Caches stay where they are between two calls: an output is the next call's input.
 */
#ifndef STRATA_LANGUAGE_H
#define STRATA_LANGUAGE_H

#include <strata/engine.h>
#include <strata/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct strata_language_conf {
	int64_t budget_bytes; /* of weights in memory, for both models together; 0: all stay */
	double budget_share;  /* the same as a share of the weights; 0: budget_bytes */
	int64_t cache_bytes_max; /* of the caches of one session; 0: no limit */
};

struct strata_language;
int strata_language_open(struct strata_engine *engine, const char *folder,
			 const struct strata_language_conf *conf, struct strata_memory *memory,
			 struct strata_language **ret_language, struct strata_error *err);
void strata_language_close(struct strata_language *language); /* NULL is nothing */
/* NULL where the folder has none. Borrowed. */
const struct strata_tokenizer *strata_language_tokenizer(const struct strata_language *language);
int64_t strata_language_end(
	const struct strata_language
		*language); /* the token that ends an answer; -1: none is known */

/* How the next token is chosen. Zeroed: always the likeliest. */
struct strata_sampling {
	double temperature; /* 0: the likeliest */
	int64_t top_k;      /* only of so many; 0: of all */
	double top_p;       /* only of the likeliest that have this share together; 0: of all */
	uint64_t seed;
};

struct strata_session;
int strata_session_new(struct strata_language *language, const struct strata_sampling *sampling,
		       struct strata_session **ret_session, struct strata_error *err);
void strata_session_free(struct strata_session *session); /* NULL is nothing */

/* Reads tokens: the prompt, or more of it later. -E2BIG past STRATA_LANGUAGE_TOKENS_MAX, and where the caches would become too large: the session stands
 * where it stood then. */
int strata_session_read(struct strata_session *session, const int64_t *ids, size_t count,
			struct strata_error *err);
/* The next token, chosen by what was read; it counts as read with the call after it. */
int strata_session_next(struct strata_session *session, int64_t *ret_id, struct strata_error *err);

/* What the caches take. */
int64_t strata_session_cache_bytes(const struct strata_session *session);

/* Of the last token that was read: what every token of the vocabulary got. Borrowed until the next call. */
const float *strata_session_logits(const struct strata_session *session, size_t *ret_count);
/* For those who check: of all tokens of the last call, [tokens, vocabulary]; and a cache by its name ("present.0.key"), shared, dtype NONE: there is none. */
const float *strata_session_all_logits(const struct strata_session *session, size_t *ret_rows,
				       size_t *ret_count);
struct strata_array strata_session_cache(const struct strata_session *session, const char *name);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
