/* The record of recorder.h. */
#include "server/recorder.h"

#include "core/env_trust.h"
#include "formats/recording.h"
#include "core/env_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The whole state is compared every so often: it costs a look at every job. */
enum { DIGEST_EVERY = 1000 };

struct recorder {
	struct decider *decider;
	int fd; /* -1: it could not be written any more */
	int64_t bytes;
	uint64_t passes;
	struct buf lines;
};

static void give_up(struct recorder *recorder, const char *why)
{
	log_error("recorder", "the record %s ends here: %s", recorder->decider->conf->record, why);
	close(recorder->fd);
	recorder->fd = -1;
}

static void note(void *context, const struct strata_event *event)
{
	struct recorder *recorder = context;
	struct recording_line line = { .event = *event };

	if (recorder->fd < 0)
		return;
	if (event->kind == STRATA_EVENT_PASS && recorder->passes++ % DIGEST_EVERY == 0)
		line.digest = strata_cluster_digest(recorder->decider->cluster);
	recording_add(&recorder->lines, &line);
	if (recorder->lines.failed)
		give_up(recorder, "not enough memory");
}

static void note_pool(void *context, const struct strata_pool_event *event)
{
	struct recorder_pool *record = context;
	struct recorder *recorder = record->decider->recorder;
	struct recording_line line = { .pool = record->name, .pool_event = *event };

	if (!recorder || recorder->fd < 0)
		return;
	if (event->kind == STRATA_POOL_EVENT_PICK && record->picks++ % DIGEST_EVERY == 0)
		line.digest = strata_pool_digest(*record->pool);
	recording_add(&recorder->lines, &line);
	if (recorder->lines.failed)
		give_up(recorder, "not enough memory");
}

/* Appends to what earlier runs wrote. A line that was cut off when one was killed is ended, a file
 * that is full put aside. */
static int open_file(struct recorder *recorder, struct strata_error *err)
{
	const struct server_conf *conf = recorder->decider->conf;
	char aside[STRATA_PATH_BYTES_MAX + 8], last = '\n';
	struct stat about;

	snprintf(aside, sizeof(aside), "%s.old", conf->record);
	int rc = env_trust_check(conf->record, ENV_TRUST_FILE, "the record", err);

	if (rc)
		return rc;
	if (stat(conf->record, &about) == 0 && about.st_size >= conf->record_bytes_max &&
	    rename(conf->record, aside))
		return strata_fail(err, -errno, "cannot rename %s: %s", conf->record,
				   strerror(errno));
	recorder->fd = open(conf->record, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (recorder->fd < 0 || fstat(recorder->fd, &about))
		return strata_fail(err, -errno, "cannot write the record %s: %s", conf->record,
				   strerror(errno));
	recorder->bytes = about.st_size;
	if (about.st_size && pread(recorder->fd, &last, 1, about.st_size - 1) != 1)
		return strata_fail(err, -EIO, "cannot read the record %s", conf->record);
	if (last != '\n')
		buf_add_char(&recorder->lines, '\n');
	return 0;
}

static void begin(struct recorder *recorder)
{
	const struct server_conf *conf = recorder->decider->conf;
	struct recording_line line = {
		.begins = true,
		.begin = { .order = conf->order,
			   .placement = conf->placement,
			   .backfill = conf->backfill,
			   .prediction = conf->predict,
			   .victims = strcmp(conf->preempt, "none") == 0 ? NULL : conf->preempt,
			   .half_life_ns = conf->half_life_ns,
			   .checkpoint_bytes_max = conf->checkpoint_bytes_max },
	};

	recording_add(&recorder->lines, &line);
}

int recorder_open(struct decider *decider, struct strata_cluster_conf *cluster,
		  struct strata_error *err)
{
	if (!decider->conf->record)
		return 0;
	struct recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return strata_fail_memory(err);
	recorder->decider = decider;
	recorder->fd = -1;
	buf_init(&recorder->lines, &decider->memory, 0);
	decider->recorder = recorder;
	int rc = open_file(recorder, err);

	if (rc)
		return rc;
	begin(recorder);
	cluster->told = note;
	cluster->told_context = recorder;
	return 0;
}

void recorder_pool(struct decider *decider, struct recorder_pool *record,
		   struct strata_pool *const *pool, const char *name, const char *policy,
		   struct strata_pool_conf *conf)
{
	struct recording_line line = { .begins = true,
				       .pool = name,
				       .pool_begin = { .policy = policy, .conf = *conf } };

	if (!decider->recorder || decider->recorder->fd < 0)
		return;
	recording_add(&decider->recorder->lines, &line);
	*record = (struct recorder_pool){ .decider = decider, .pool = pool, .name = name };
	conf->told = note_pool;
	conf->told_context = record;
}

void recorder_write(struct decider *decider)
{
	struct recorder *recorder = decider->recorder;
	size_t done = 0;

	if (!recorder)
		return;
	while (recorder->fd >= 0 && done < recorder->lines.length) {
		ssize_t count = write(recorder->fd, recorder->lines.text + done,
				      recorder->lines.length - done);

		if (count > 0)
			done += (size_t)count;
		else if (count == 0 || errno != EINTR)
			give_up(recorder, strerror(count ? errno : ENOSPC));
	}
	recorder->bytes += (int64_t)done;
	if (recorder->fd >= 0 && recorder->bytes >= decider->conf->record_bytes_max)
		give_up(recorder,
			"it is as large as record_max allows; the next start begins another");
	buf_reset(&recorder->lines);
}

void recorder_close(struct decider *decider)
{
	struct recorder *recorder = decider->recorder;

	if (!recorder)
		return;
	recorder_write(decider);
	if (recorder->fd >= 0)
		close(recorder->fd);
	buf_fini(&recorder->lines);
	free(recorder);
	decider->recorder = NULL;
}
