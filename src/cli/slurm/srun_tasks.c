/*
 * The tasks of a step as processes: all started, their lines passed on with or without a number in
 * front, their ends told in Slurm's words. A signal to end is passed on, and after half a minute
 * made good.
 */
#include "cli/slurm/srun.h"

#include "core/env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define KILL_AFTER_NS (30 * STRATA_SECOND_NS)
#define LOOK_MS 1000 /* should a child's end be missed */

/* One of two streams of a task, when its lines are to stay whole. */
struct stream {
	int fd; /* −1: ended */
	int to;
	int64_t rank;
	struct buf line; /* not ended yet */
};

struct task {
	struct env_process process; /* pid 0: not started, or ended */
	struct env_exit end;
	bool refused; /* could not be started: said already */
};

struct srun_tasks {
	const struct srun *srun;
	const struct srun_task *about;
	struct task *tasks;
	size_t count, running;
	struct stream *streams;
	size_t stream_count;
	int signals, width;
	int64_t step, kill_at_ns; /* 0: not to be killed */
	int64_t first_end_ns;     /* of a task; 0: none has ended */
	bool failed;
};

static void write_all(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t done = write(fd, bytes, count);

		if (done < 0 && errno != EINTR)
			return;
		bytes += done > 0 ? done : 0;
		count -= done > 0 ? (size_t)done : 0;
	}
}

/* A progress bar draws its line again and again, and is to be seen while it does. */
static const char *line_end(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\n' || text[i] == '\r')
			return text + i;
	return NULL;
}

/* Whole lines, in one call, so that those of others do not get between; with its number when that
 * is wished for. */
static void pass_on(const struct srun_tasks *all, struct stream *stream, bool end)
{
	struct buf out;
	size_t at = 0;

	buf_init(&out, &all->srun->cli->memory, 0);
	while (at < stream->line.length) {
		const char *start = stream->line.text + at;
		const char *newline = line_end(start, stream->line.length - at);

		if (!newline && !end)
			break;
		size_t length = newline ? (size_t)(newline - start) + 1 : stream->line.length - at;

		if (all->srun->batch.job.label)
			buf_printf(&out, "%*" PRId64 ": ", all->width, stream->rank);
		buf_add_bytes(&out, start, length);
		at += length;
	}
	write_all(stream->to, out.text, out.length);
	buf_fini(&out);
	if (at) {
		struct buf rest;

		buf_init(&rest, &all->srun->cli->memory, 0);
		buf_add_bytes(&rest, stream->line.text + at, stream->line.length - at);
		buf_fini(&stream->line);
		stream->line = rest;
	}
}

static void read_stream(const struct srun_tasks *all, struct stream *stream)
{
	char part[65536];
	ssize_t got = read(stream->fd, part, sizeof(part));

	if (got > 0)
		buf_add_bytes(&stream->line, part, (size_t)got);
	else if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	pass_on(all, stream, got <= 0);
	if (got <= 0) {
		close(stream->fd);
		stream->fd = -1;
	}
}

/* ---- starting ---- */

/* A pipe in place of our own output, whose other end we read. */
static bool add_stream(struct srun_tasks *all, int64_t rank, int to, int *ret_fd)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	struct stream *stream = &all->streams[all->stream_count++];

	*stream = (struct stream){ .fd = ends[0], .to = to, .rank = rank };
	buf_init(&stream->line, &all->srun->cli->memory, 0);
	*ret_fd = ends[1];
	return true;
}

static void start(struct srun_tasks *all, size_t index)
{
	const struct srun_task *about = &all->about[index];
	const struct srun *srun = all->srun;
	struct task *task = &all->tasks[index];
	int fds[3] = { about->fds[0], about->fds[1], about->fds[2] };
	bool own[3] = { false };
	struct strata_error err = { 0 };

	bool lines = !about->terminal &&
		     (srun->batch.job.label || (all->count > 1 && !srun->batch.job.unbuffered));

	for (int i = 1; lines && i <= 2; i++)
		if (fds[i] == STDOUT_FILENO || fds[i] == STDERR_FILENO)
			own[i] = add_stream(all, about->rank, fds[i], &fds[i]);
	const struct env_command command = {
		.program = about->program,
		.argv = about->argv,
		.envp = about->environment,
		.cwd = srun->batch.job.chdir,
		.fds = { fds[0], fds[1], fds[2] },
	};
	cpu_set_t before;
	bool bound = srun_bind_begin(srun, about, &before);
	int rc = env_spawn(env_system(), &command, &task->process, &err);

	if (bound)
		srun_bind_end(&before);
	for (int i = 1; i <= 2; i++)
		if (own[i])
			close(fds[i]);
	if (rc == 0) {
		all->running++;
		return;
	}
	task->process.pid = 0;
	task->refused = true;
	task->end = (struct env_exit){ .state = ENV_EXITED, .code = 2 };
	all->failed = true;
	dprintf(STDERR_FILENO, "slurmstepd: error: execve(): %s: %s\n", about->argv[0],
		strerror(-rc));
}

/* ---- ending ---- */

static void signal_all(const struct srun_tasks *all, int number)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->tasks[i].process.pid)
			env_signal(env_system(), &all->tasks[i].process, number, false, NULL);
}

static int64_t now_ns(void)
{
	return env_now_ns(env_system(), ENV_MONOTONIC);
}

static void end_all(struct srun_tasks *all)
{
	if (all->kill_at_ns || !all->running)
		return;
	all->kill_at_ns = now_ns() + KILL_AFTER_NS;
	signal_all(all, SIGCONT);
	signal_all(all, SIGTERM);
}

static void reap(struct srun_tasks *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct task *task = &all->tasks[i];

		if (!task->process.pid ||
		    env_wait(env_system(), &task->process, false, &task->end, NULL) ||
		    task->end.state == ENV_RUNNING)
			continue;
		env_process_close(env_system(), &task->process);
		task->process.pid = 0;
		all->running--;
		srun_task_epilog(all->srun, &all->about[i]);
		if (!all->first_end_ns)
			all->first_end_ns = now_ns();
		all->failed |= task->end.state != ENV_EXITED || task->end.code;
	}
	if (all->failed && all->srun->batch.job.kill_on_bad_exit && !all->kill_at_ns &&
	    all->running) {
		dprintf(STDERR_FILENO, "srun: Terminating StepId=%s.%" PRId64 "\n",
			all->srun->job_id, all->step);
		end_all(all);
	}
}

/* --wait: the others do not outlive the first for long. */
static void look_at_wait(struct srun_tasks *all)
{
	int64_t wait_s = all->srun->batch.job.wait_s;

	if (!wait_s || !all->first_end_ns || !all->running || all->kill_at_ns ||
	    now_ns() < all->first_end_ns + wait_s * STRATA_SECOND_NS)
		return;
	dprintf(STDERR_FILENO, "srun: First task exited %" PRId64 "s ago\n", wait_s);
	dprintf(STDERR_FILENO, "srun: Terminating StepId=%s.%" PRId64 "\n", all->srun->job_id,
		all->step);
	end_all(all);
}

static void take_signals(struct srun_tasks *all)
{
	struct signalfd_siginfo info;

	while (read(all->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		/* keys of the terminal: it tells the task by itself */
		if (all->about[0].terminal &&
		    (info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT))
			continue;
		if (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM) {
			signal_all(all, (int)info.ssi_signo);
			continue;
		}
		if (!all->kill_at_ns)
			dprintf(STDERR_FILENO,
				"srun: Job step aborted: Waiting up to 32 seconds for job step to "
				"finish.\n");
		end_all(all);
	}
}

/* ---- the loop ---- */

static bool streams_open(const struct srun_tasks *all)
{
	for (size_t i = 0; i < all->stream_count; i++)
		if (all->streams[i].fd >= 0)
			return true;
	return false;
}

static void watch(struct srun_tasks *all, struct pollfd *polls)
{
	while (all->running || streams_open(all)) {
		polls[0] = (struct pollfd){ all->signals, POLLIN, 0 };
		for (size_t i = 0; i < all->stream_count; i++)
			polls[i + 1] = (struct pollfd){ all->streams[i].fd, POLLIN, 0 };
		/* what a task left in the background may hold its pipe for ever */
		int ready = poll(polls, all->stream_count + 1, all->running ? LOOK_MS : 100);

		if (ready <= 0 && !all->running)
			break;
		take_signals(all);
		for (size_t i = 0; i < all->stream_count; i++)
			if (all->streams[i].fd >= 0 && polls[i + 1].revents)
				read_stream(all, &all->streams[i]);
		reap(all);
		look_at_wait(all);
		if (all->kill_at_ns && now_ns() >= all->kill_at_ns)
			signal_all(all, SIGKILL);
	}
	for (size_t i = 0; i < all->stream_count; i++) {
		if (all->streams[i].fd >= 0)
			read_stream(all, &all->streams[i]);
		pass_on(all, &all->streams[i], true);
		buf_fini(&all->streams[i].line);
	}
}

/* ---- what is said at the end ---- */

static bool same_end(const struct srun_tasks *all, size_t a, size_t b)
{
	const struct env_exit *one = &all->tasks[a].end, *other = &all->tasks[b].end;

	return strcmp(all->about[a].node, all->about[b].node) == 0 && one->state == other->state &&
	       one->code == other->code && one->signal == other->signal;
}

/* "srun: error: n001: tasks 0-1: Exited with exit code 1": those of a node that ended alike
 * together. */
static void tell_ends(const struct srun_tasks *all)
{
	struct strata_arena *arena = &all->srun->cli->arena;
	int64_t *ranks = strata_arena_array(arena, all->count, sizeof(*ranks));

	for (size_t i = 0; ranks && i < all->count; i++) {
		const struct env_exit *end = &all->tasks[i].end;
		bool told = false;
		size_t count = 0;

		for (size_t k = 0; k < i; k++)
			told |= same_end(all, k, i);
		if (told || (end->state == ENV_EXITED && end->code == 0))
			continue;
		for (size_t k = i; k < all->count; k++)
			if (same_end(all, k, i))
				ranks[count++] = all->about[k].rank;
		dprintf(STDERR_FILENO, "srun: error: %s: task%s %s: ", all->about[i].node,
			count > 1 ? "s" : "", srun_ranks(ranks, count, arena));
		if (end->state == ENV_KILLED)
			dprintf(STDERR_FILENO, "%s%s\n", strsignal(end->signal),
				end->dumped ? " (core dumped)" : "");
		else
			dprintf(STDERR_FILENO, "Exited with exit code %d\n", end->code);
	}
}

static int highest(const struct srun_tasks *all, int *ret_signal)
{
	bool failed = false;
	int code = 0;

	*ret_signal = 0;
	for (size_t i = 0; i < all->count; i++)
		failed |= all->tasks[i].end.state == ENV_EXITED && all->tasks[i].end.code;
	for (size_t i = 0; i < all->count; i++) {
		const struct env_exit *end = &all->tasks[i].end;
		int own = end->state == ENV_KILLED ? 128 + end->signal : end->code;

		/* those that we ended because of another do not count */
		if (failed && all->kill_at_ns && end->state == ENV_KILLED)
			continue;
		if (own > code) {
			code = own;
			*ret_signal = end->state == ENV_KILLED ? end->signal : 0;
		}
	}
	return code;
}

static int open_signals(void)
{
	static const int numbers[] = { SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
				       SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int srun_run(const struct srun *srun, const struct srun_task *tasks, size_t count, int64_t step,
	     int *ret_signal)
{
	struct strata_arena *arena = &srun->cli->arena;
	struct srun_tasks all = {
		.srun = srun,
		.about = tasks,
		.count = count,
		.tasks = strata_arena_array(arena, count, sizeof(*all.tasks)),
		.streams = strata_arena_array(arena, 2 * count, sizeof(*all.streams)),
		.signals = open_signals(),
		.step = step,
		.width = snprintf(NULL, 0, "%zu", count - 1),
	};
	struct pollfd *polls = strata_arena_array(arena, 2 * count + 1, sizeof(*polls));

	if (!all.tasks || !all.streams || !polls || all.signals < 0) {
		slurm_error(srun->cli, "srun", "out of memory or descriptors");
		return 1;
	}
	for (size_t i = 0; i < count; i++)
		start(&all, i);
	watch(&all, polls);
	close(all.signals);
	tell_ends(&all);
	return highest(&all, ret_signal);
}
