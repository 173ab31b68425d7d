/*
 * What the commands of the service share: asking it (service.c), times as people read them
 * (when.c), lists as tables (grid.c), jobs in words (job_text.c), what follows from what is known
 * of them (job_facts.c), words for jobs (job_words.c), the same done to several jobs (job_each.c),
 * waiting for them (follow.c), a screen that is drawn again and again (screen.c).
 */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include "cli/cli.h"

#include "client/client.h"

#include <strata/text.h>

/* ---- service.c ---- */

/* What says where the server is. */
struct client_hints service_hints(const struct cli *cli);
/* Where the server is. */
int service_find(struct cli *cli, struct client_place *ret_place);
/* The token of the job that this runs in, in the arena. -ENOKEY where it is none. */
int service_token(struct cli *cli, const char **ret_token);
/* The client, opened at the first call. */
int service_open(struct cli *cli, struct client **ret_client);
/* Starts a path: "/api/v1/jobs/17/why" for ("jobs", "17", "/why"). name (escaped) and rest may be
 * NULL. */
void service_path(struct cli *cli, struct buf *path, const char *collection, const char *name,
		  const char *rest);
/* Asks; ends the path and gives back the reference to the body (NULL: none). */
int service_ask(struct cli *cli, const char *method, struct buf *path, json_t *body,
		json_t **ret_json);
int service_get(struct cli *cli, struct buf *path, json_t **ret_json);
/* The same for a path without a name or query. */
int service_list(struct cli *cli, const char *collection, json_t **ret_json);
/* Escapes what cannot be shown in the texts of an answer, unless it is printed as JSON, which has
 * escapes of its own. What is asked is shown already. */
void service_show(struct cli *cli, json_t *json);
/* Prints the answer as it is, with --json, and gives back the reference: whether that was all there
 * is to do. */
bool service_printed(struct cli *cli, json_t *json, int *ret_rc);
/* Is it that the server cannot be reached just now? */
bool service_away(int rc);
/* The caller's name, as the machine knows it; in the arena. */
const char *service_own_name(struct cli *cli);
/* The caller's umask, in octal; in the arena. */
const char *service_own_umask(struct cli *cli);

/* ---- when.c ---- */

int64_t when_now_ns(void);
/* Seconds that local time is east of UTC at that time. */
int32_t when_zone(int64_t ns);
/* Local time, as short as is clear from now: "14:05", "Tue 14:05", "2026-11-20 14:05". */
char *when_print(int64_t ns, int64_t now_ns, char ret_text[STRATA_FORM_BYTES]);
/* A time of the API; 0 for null and what is none. */
int64_t when_json(const json_t *object, const char *key);
/* "7d" (before now) or a time, as the API's text. */
int when_since(struct cli *cli, const char *text, char ret_text[STRATA_FORM_BYTES]);

/* ---- grid.c ---- */

/* What a cell is made from. */
struct grid_cell {
	struct cli *cli;
	struct cli_table *table; /* the cell is to be added to */
	const json_t *row;
	const char *key;
	int64_t now_ns;
};

struct grid_column {
	struct cli_column look;
	void (*add)(const struct grid_cell *cell); /* adds exactly one cell */
	const char *key;                           /* in the row; may be NULL */
};

void grid_text(const struct grid_cell *cell); /* also lists of texts and numbers; "-" for nothing */
void grid_size(const struct grid_cell *cell); /* of bytes */
void grid_span(const struct grid_cell *cell); /* of seconds */
void grid_time(const struct grid_cell *cell); /* local */
void grid_hours(const struct grid_cell *cell); /* with one decimal */

/* Any value, as people read it. */
void grid_add(struct buf *buf, const json_t *value);

/* A table of the rows, all of them when limit is 0. */
int grid_print(struct cli *cli, const struct grid_column *columns, size_t column_count,
	       const json_t *rows, size_t limit);
/* One row as lines of field and value; what is null, false, zero or empty is left out. The columns'
 * titles name the fields. */
int grid_fields(struct cli *cli, const struct grid_column *columns, size_t column_count,
		const json_t *row);
/* Gets a collection and prints it: the answer's list `key` as a table. Without rows, `empty` is
 * said. */
int grid_collection(struct cli *cli, struct buf *path, const char *key,
		    const struct grid_column *columns, size_t column_count, const char *empty);

const char *grid_string(const json_t *object, const char *key);  /* NULL: none */
const char *grid_or(const json_t *value, const char *otherwise); /* what is no text */
int64_t grid_int(const json_t *object, const char *key);         /* 0: none */
/* A bar of `width` cells, `part` (0 to 1) of which are full. */
void grid_bar(struct buf *buf, double part, int width);

/* ---- job_text.c ---- */

/* "job 17 is queued: it is next; starts ≈ 14:05 on n3" */
void job_sentence(const json_t *job, int64_t now_ns, struct buf *buf);
/* "17"; of an array "35_2", of several of its elements "35_[3-98]". */
void job_add_id(const json_t *job, struct buf *buf);
/* " on n1 and 2 more"; nothing when it is not foreseen. */
void job_add_expected_place(const json_t *job, struct buf *buf);
bool job_ended(const json_t *job);
/* What a program that stands for the job should exit with. */
int job_exit_code(const json_t *job);
enum cli_style job_style(const char *state);
/* The queue's columns. */
extern const struct grid_column job_columns[];
extern const size_t job_column_count;

/* ---- job_facts.c ---- */

/* From its start to its end, or to now; -1: it has not started. */
int64_t job_elapsed_ns(const json_t *job, int64_t now_ns);
/* CPU time of one that has ended ÷ what its cores could have given; NAN: not known. */
double job_cpu_share(const json_t *job);
void job_elapsed_cell(const struct grid_cell *cell);
void job_cpu_cell(const struct grid_cell *cell);
void job_exit_cell(const struct grid_cell *cell);
void job_peak_cell(const struct grid_cell *cell); /* of what it asked for */
/* "17", "35_2", "35_[3-98]"; its state, coloured. */
void job_id_cell(const struct grid_cell *cell);
void job_state_cell(const struct grid_cell *cell);

/* ---- job_each.c ---- */

/* Does something to one job; the answer is printed. */
typedef int job_action(struct cli *cli, const char *id, const void *context, json_t **ret_json);
/* What to print of an answer. */
typedef int job_printer(struct cli *cli, const char *id, const json_t *json);
/* One after the other; one that fails does not keep the others from their turn. */
int job_each(struct cli *cli, char *const *ids, size_t count, job_action *act, const void *context,
	     job_printer *print);
/* PATCH with a body, and the sentence of the job that comes back, or of the first of an array's.
 * The body is borrowed. */
int job_change(struct cli *cli, char *const *ids, size_t count, json_t *body);
/* The same, told of by another sentence. */
int job_change_by(struct cli *cli, char *const *ids, size_t count, json_t *body,
		  job_printer *print);
int job_print_sentence(struct cli *cli, const char *id, const json_t *job);
/* The same, and of how many of its array that holds. */
int job_print_changed(struct cli *cli, const char *id, const json_t *job);

/* ---- job_words.c ---- */

/* Starts the path of what a word means: "17" (all of it where it is an array), "17_3", "17_[3-9]",
 * "17_*", a job's uuid. */
void job_path(struct cli *cli, struct buf *path, const char *word);
/* Such a word, read: which of its forms it has. */
struct job_word {
	enum job_word_form {
		JOB_WORD_NAME,    /* a job's uuid, or nothing that is known here */
		JOB_WORD_NUMBER,  /* "17": a job, or all of an array */
		JOB_WORD_ALL,     /* "17_*" */
		JOB_WORD_ELEMENT, /* "17_3" */
		JOB_WORD_LIST,    /* "17_[3-9,12]" */
	} form;
	size_t digits;        /* of the number that it begins with */
	const char *elements; /* in the word: "3", "3-9,12" */
	size_t length;        /* of elements */
};
struct job_word job_word_read(const char *word);
/* Such words for the jobs of a list, which have id, array_id and array_index: elements of an
 * array are in one as long as it is not too long. By their numbers; in the arena. */
int job_words(struct cli *cli, const json_t *jobs, char ***ret_words, size_t *ret_count);

/* ---- job_expand.c ---- */

/* The words of a command line, one for each job: elements of arrays are named one by one. In the
 * arena. */
int job_expand(struct cli *cli, char *const *words, size_t count, char ***ret_words,
	       size_t *ret_count);
/* Is it the number of an array? False of what is not there, too. */
bool job_is_array(struct cli *cli, const char *word, int64_t *ret_array);
/* Words to look at: an array alone is shown as one thing by show_array, but in JSON, all else
 * job by job. */
int job_each_or_array(struct cli *cli, char *const *words, size_t count,
		      int (*show_array)(struct cli *cli, int64_t array), job_action *get,
		      job_printer *print);
/* Calls back for each element that there is, the last first. */
typedef int job_sink(void *context, const json_t *job);
int job_array_walk(struct cli *cli, int64_t array, job_sink *sink, void *context);

/* ---- follow.c ---- */

struct follow {
	char **words; /* one job each: "17", "35_2" */
	size_t count;
	int64_t interval_ns;
	bool talk; /* what happens is said on stderr, not printed */
};
/* Until all of them have ended. ret_exit: of the first that did not end well, else 0. */
int follow_jobs(struct cli *cli, const struct follow *follow, int *ret_exit);
void follow_sleep(int64_t ns);

/* ---- screen.c ---- */

struct screen {
	int64_t interval_ns;
	int64_t times; /* how often it is drawn; 0: until the program is stopped */
	bool keys;     /* on a terminal q ends it, and any other key draws it at once … */
	/* … once this has been told of it, which then says what ends it: bytes as they came from
	 * the terminal. NULL: q and ctrl-C do */
	bool (*key)(void *context, const char *bytes, size_t count);
	/* Draws once; cli->rows is how much room there is (0: any). */
	int (*draw)(struct cli *cli, void *context);
	void *context;
};
/* Draws on a cleared terminal; elsewhere what is drawn is printed. Survives a server that is away
 * for a while. */
int screen_run(struct cli *cli, const struct screen *screen);

#endif
