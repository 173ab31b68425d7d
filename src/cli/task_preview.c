/* A look at a task while it is drawn, in the full program: its previews, asked for by a client of
 * their own (the other one has the stream of events), drawn as `strata engine image` does. */
#include "cli/engine_preview.h"
#include "cli/task.h"

#include "engine/png.h"

#include <strata/limits.h>
#include <strata/pipeline.h>

#include <string.h>

struct task_preview {
	struct cli *cli;
	struct client *client;
	struct engine_preview preview;
};

int task_preview_open(struct cli *cli, int mode, struct task_preview **ret_preview)
{
	struct task_preview *it = strata_arena_get(&cli->arena, sizeof(*it));
	struct client_place place;
	int rc = it ? service_find(cli, &place) : strata_fail_memory(&cli->err);

	if (rc)
		return rc;
	it->cli = cli;
	place.web = cli_web();
	rc = client_open(&place, &cli->memory, &it->client, &cli->err);
	if (rc)
		return rc;
	engine_preview_start(&it->preview, cli, mode, 1);
	*ret_preview = it;
	return 0;
}

static int take(void *context, const char *bytes, size_t count, struct strata_error *err)
{
	struct buf *all = context;

	buf_add_bytes(all, bytes, count);
	return buf_check(all, err);
}

void task_preview_show(struct task_preview *it, const char *id, const char *rest)
{
	struct strata_error why;
	struct engine_picture file;
	struct strata_arena arena;
	struct buf path, bytes;

	if (!it || it->preview.mode == ENGINE_PREVIEW_NONE)
		return;
	service_path(it->cli, &path, "tasks", id, rest);
	buf_init(&bytes, &it->cli->memory, STRATA_RESULT_BYTES_MAX);
	strata_arena_init(&arena, &it->cli->memory, 0);
	if (buf_check(&path, &why) == 0 &&
	    client_stream(it->client, path.text, take, &bytes, &why) == 0 &&
	    engine_png_read(bytes.text, bytes.length, &arena, &file, &why) == 0) {
		const struct strata_picture picture = { file.width, file.height, file.rgb };

		engine_preview_show(&it->preview, &picture, &arena);
	}
	strata_arena_fini(&arena);
	buf_fini(&bytes);
	buf_fini(&path);
}

void task_preview_close(struct task_preview *it)
{
	if (!it)
		return;
	engine_preview_end(&it->preview);
	client_close(it->client);
}
