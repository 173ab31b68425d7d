/* What the readers of graphs share. Each fills a case whose graph is new and empty, and does not finish it. */
#ifndef FORMATS_GRAPH_READER_H
#define FORMATS_GRAPH_READER_H

#include "formats/graph_case.h"

#include <jansson.h>

struct graph_reader {
	struct strata_arena *arena;
	struct graph_case *into;
	struct strata_error *err;
};

int graph_read_json_form(struct graph_reader *reader, const json_t *root);
int graph_read_wfcommons(struct graph_reader *reader, const json_t *root);
int graph_read_dnn(struct graph_reader *reader, const json_t *root);
int graph_read_opt(struct graph_reader *reader, const json_t *root);
int graph_read_dot(struct graph_reader *reader, const char *text, size_t length);
int graph_read_stg(struct graph_reader *reader, const char *text, size_t length);
int graph_read_rgpos(struct graph_reader *reader, const char *text, size_t length);

/* ---- JSON values with a sentence when they are not what they should be ---- */

#define GRAPH_AMOUNT_MAX 1e18 /* of flops, bytes and times in a file */

/* A number from 0 to most; `missing` when there is none, refused when that is below 0. */
int graph_take_number(struct graph_reader *reader, const json_t *object, const char *key,
		      double missing, double most, double *ret_value);
int graph_take_array(struct graph_reader *reader, const json_t *object, const char *key,
		     const json_t **ret_array);
/* Text, or a number written as text; NULL is refused. Lives as long as the JSON, or in the arena. */
int graph_take_text(struct graph_reader *reader, const json_t *object, const char *key,
		    const char **ret_text);

/* An op with flops alone, as most forms have them: nothing else is known of it. */
int graph_add_task(struct graph_reader *reader, const char *name, double flops, uint32_t *ret_op);

/* ---- numbers in text, with '#' lines as comments ---- */

struct graph_words {
	const char *at, *end;
	size_t line; /* of the last word, from 1 */
};
/* The next word; false at the end. */
bool graph_next_word(struct graph_words *words, const char **ret_word, size_t *ret_length);
/* The next word as a number from 0 to most. */
int graph_next_number(struct graph_reader *reader, struct graph_words *words, double most,
		      double *ret_value);
int graph_next_count(struct graph_reader *reader, struct graph_words *words, size_t most,
		     size_t *ret_value);

#endif
