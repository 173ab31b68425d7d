/* What a tokenizer.json with a Unigram model says of special tokens: added_tokens, which stand for themselves, and the template that puts some around a text. */
#ifndef FORMATS_UNIGRAM_CONF_H
#define FORMATS_UNIGRAM_CONF_H

#include "formats/tokenizer_conf.h"
#include "formats/unigram.h"

/* `config` is tokenizer_config.json, or NULL. -ENOTSUP for what is not supported, -EBADMSG, -E2BIG, -ENOMEM. */
int unigram_conf_read(const json_t *json, const json_t *config, const struct unigram *unigram,
		      struct strata_arena *arena, struct tokenizer_conf *ret_conf,
		      struct strata_error *err);

#endif
