/*
 * What somebody at `strata top` has chosen: the selected job, an order, a filter, a page; and what
 * each key does to that. Nothing here asks the server: cmd_top.c does what is to be done when it
 * draws.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum top_page { TOP_JOBS, TOP_LOG, TOP_WHY, TOP_HELP };
enum top_sort { TOP_BY_QUEUE, TOP_BY_USER, TOP_BY_GPUS, TOP_BY_NAME, TOP_SORT_COUNT };

struct top_view {
	bool keys; /* somebody sits there */
	enum top_page page;
	enum top_sort sort;
	char filter[64];
	bool typing;       /* the filter */
	bool asks;         /* whether the selected job is to be cancelled … */
	bool cancels;      /* … and it is, when this is drawn next */
	char selected[64]; /* what the job is called: "17", "35_2", "35_[3-9]"; "": none */
	size_t at, count;  /* its row, of so many */
	char note[160];    /* what came of the last key; "": nothing */
};

/* What was typed, as it came: a character, or the bytes of an arrow. True: it is the end. */
bool top_view_key(struct top_view *view, const char *bytes, size_t count);

/* The jobs that the filter lets through, in the chosen order, as a new list. NULL: no memory. */
json_t *top_view_choose(const struct top_view *view, const json_t *jobs);
/* What a row of the queue is called. */
void top_view_word(const json_t *job, char *text, size_t size);
/* The lists in the order in which they are shown: the selection is looked for in them, and its row
 * gets "selected". */
void top_view_settle(struct top_view *view, json_t *const *lists, size_t list_count);
/* The first row of a list to show, so that the selected one is among `room` of them; `before` rows
 * of other lists stand above it. */
size_t top_view_first(const struct top_view *view, size_t before, size_t count, size_t room);
const char *top_sort_name(enum top_sort sort);

#endif
