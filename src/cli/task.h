/* What the commands about generation tasks share: words for tasks, tasks in words, their pictures
 * (task_text.c), waiting for one (task_follow.c). */
#ifndef CLI_TASK_H
#define CLI_TASK_H

#include "cli/service.h"

/* Is it a word for a task and not for a job? "T17" */
bool task_is_word(const char *word);
/* The number of a task as text, of "T17" or "17"; in the arena. */
int task_id(struct cli *cli, const char *word, const char **ret_id);
/* Starts the path of what a word means; rest may be NULL. */
int task_path(struct cli *cli, struct buf *path, const char *word, const char *rest);

bool task_ended(const json_t *task);
/* "task T17 is pending: number 3 in line, starts ≈ 14:05" */
void task_sentence(const json_t *task, int64_t now_ns, struct buf *buf);
enum cli_style task_style(const char *status);
extern const struct grid_column task_columns[];
extern const size_t task_column_count;

/* A cell: the pairs of an object that say something, one after the other. */
void task_pairs(const struct grid_cell *cell);

/* Gets a task's picture number `number` into a file. */
int task_picture(struct cli *cli, const char *id, size_t number, const char *path);
/* The file for picture `number` of `count`: out.png, or out-1.png, out-2.png …; in the arena. */
const char *task_file(struct cli *cli, const char *path, size_t number, size_t count);
/* All pictures of a finished task into files; their names are said, and with --json printed with
 * the task. */
int task_save(struct cli *cli, const json_t *task, const char *path);

/* task_follow.c: until it has ended, with a bar where there is a terminal, and a look at it
 * above the bar where preview is not NULL; the task as it is then (a new reference). ^C ends the
 * waiting, not the task: the exit code of that, with what to type next said. */
struct task_preview;
int task_follow(struct cli *cli, const char *id, struct task_preview *preview, json_t **ret_task);

/* task_preview.c, in the full program: a look at the task above the bar, by its previews; `mode` is
 * an enum engine_preview_mode. The small program becomes the full one when it opens one. */
int task_preview_open(struct cli *cli, int mode, struct task_preview **ret_preview);
/* The picture that GET /api/v1/tasks/ID/REST gives; where that fails, there is none. */
void task_preview_show(struct task_preview *preview, const char *id, const char *rest);
void task_preview_close(struct task_preview *preview); /* NULL is nothing */

/* WIDTHxHEIGHT, for flag --size; NULL leaves both as they are. */
int task_size(struct cli *cli, const char *text, uint32_t *width, uint32_t *height);

#endif
