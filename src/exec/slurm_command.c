/*
 * Running one of Slurm's commands: no shell, an environment of its own, what it prints, and an end
 * by the clock. It does not know what the commands mean, but for the few sentences by which all of
 * them say that nobody answered.
 */
#include "exec/exec_slurm.h"

#include "core/buf.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One of its outputs. */
struct stream {
	int fd; /* -1: it has ended */
	struct buf text;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Takes what there is. */
static int take(struct stream *stream, struct strata_error *err)
{
	char bytes[16384];
	ssize_t got = read(stream->fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (got <= 0)
		close_fd(&stream->fd);
	else
		buf_add_bytes(&stream->text, bytes, (size_t)got);
	return buf_check(&stream->text, err);
}

static int take_all(struct stream streams[2], const struct env *env, int64_t deadline_ns,
		    struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && (streams[0].fd >= 0 || streams[1].fd >= 0)) {
		struct pollfd fds[2] = { { streams[0].fd, POLLIN, 0 },
					 { streams[1].fd, POLLIN, 0 } };
		int64_t left_ns = deadline_ns - env_now_ns(env, ENV_MONOTONIC);

		if (left_ns <= 0)
			return strata_fail(err, -ETIMEDOUT, "it did not answer in time");
		if (poll(fds, 2, (int)(left_ns / 1000000) + 1) < 0 && errno != EINTR)
			return strata_fail(err, -errno, "poll: %s", strerror(errno));
		for (int i = 0; rc == 0 && i < 2; i++)
			if (streams[i].fd >= 0 && fds[i].revents)
				rc = take(&streams[i], err);
	}
	return rc;
}

static int start(const struct slurm_conf *conf, const struct env *env, const char *const *words,
		 const int fds[2], struct strata_arena *arena, struct env_process *ret_process,
		 struct strata_error *err)
{
	const char *file = conf->conf_file ? conf->conf_file : getenv("SLURM_CONF");
	const char *program = strata_arena_printf(arena, "%s/%s", conf->bin, words[0]);
	const char *variable = file ? strata_arena_printf(arena, "SLURM_CONF=%s", file) : NULL;
	const char *const variables[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", "SLURM_TIME_FORMAT=%s",
					  variable, NULL };
	struct env_command command = { .program = program,
				       .argv = words,
				       .envp = variables,
				       .fds = { -1, fds[0], fds[1] },
				       .new_group = true,
				       .die_with_parent = true };

	if (!program || (file && !variable))
		return strata_fail_memory(err);
	return env_spawn(env, &command, ret_process, err);
}

static int finish(const struct env *env, struct env_process *process, bool cut, const char *name,
		  int *ret_code, struct strata_error *err)
{
	struct env_exit ended = { 0 };

	if (cut)
		env_signal(env, process, SIGKILL, true, NULL);
	int rc = env_wait(env, process, true, &ended, err);

	env_process_close(env, process);
	if (rc == 0 && !cut && ended.state != ENV_EXITED)
		rc = strata_fail(err, -EIO, "%s was ended by signal %d", name, ended.signal);
	if (rc == 0)
		*ret_code = ended.code;
	return rc;
}

static const char *keep(struct strata_arena *arena, const struct buf *buf, bool line)
{
	size_t length = buf->length;

	while (line && length && buf->text[length - 1] == '\n')
		length--;
	return strata_arena_text(arena, buf->text, length);
}

int slurm_run(const struct slurm_conf *conf, const struct env *env, const char *const *words,
	      int64_t limit_ns, struct strata_arena *arena, struct slurm_answer *ret_answer,
	      struct strata_error *err)
{
	int out[2] = { -1, -1 }, wrong[2] = { -1, -1 };
	struct strata_memory memory = { 0 };
	struct stream streams[2] = { 0 };
	struct slurm_answer answer = { 0 };
	struct env_process process;
	int rc = 0;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(wrong, O_CLOEXEC) < 0)
		rc = strata_fail(err, -errno, "no pipe: %s", strerror(errno));
	buf_init(&streams[0].text, &memory, SLURM_ANSWER_BYTES_MAX);
	buf_init(&streams[1].text, &memory, SLURM_ANSWER_BYTES_MAX);
	if (rc == 0)
		rc = start(conf, env, words, (int[2]){ out[1], wrong[1] }, arena, &process, err);
	close_fd(&out[1]);
	close_fd(&wrong[1]);
	streams[0].fd = out[0];
	streams[1].fd = wrong[0];
	if (rc == 0) {
		int cut = take_all(streams, env, env_now_ns(env, ENV_MONOTONIC) + limit_ns, err);

		rc = finish(env, &process, cut != 0, words[0], &answer.code, cut ? NULL : err);
		if (cut)
			rc = strata_fail(err, cut, "%s: %s", words[0], err ? err->text : "");
	}
	close_fd(&streams[0].fd);
	close_fd(&streams[1].fd);
	answer.text = keep(arena, &streams[0].text, false);
	answer.trouble = keep(arena, &streams[1].text, true);
	buf_fini(&streams[0].text);
	buf_fini(&streams[1].text);
	if (rc == 0 && (!answer.text || !answer.trouble))
		rc = strata_fail_memory(err);
	if (rc == 0)
		*ret_answer = answer;
	return rc;
}

bool slurm_is_away(const struct slurm_answer *answer)
{
	static const char *const sentences[] = {
		"Unable to contact slurm controller",
		"Socket timed out",
		"Unexpected message received",
		"Zero Bytes were transmitted",
		"Connection refused",
		"temporarily unable",
		"controller in standby",
		"Message connection failure",
		"Message send failure",
		"Message receive failure",
		"Invalid authentication credential",
		"Unable to establish controller machine",
		"Protocol authentication error",
		"configuration source",
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (answer->code && strstr(answer->trouble, sentences[i]))
			return true;
	return false;
}
