/*
 * The host of a console, in the job: one loop between the program, its views and its signals.
 *
 * Nobody waits for anybody: what a view cannot take yet is not read from the program, as a pipe
 * would have it, and that is all. Which view that is about is the owner, else the first: it sets
 * the pace. A guest who reads more slowly than that is let go, so that a terminal somebody forgot
 * holds up no job. The end is sent behind the last byte of output.
 *
 * SIGTERM is not for us: the supervisor sends it to all processes of a job, the program has its
 * own, and what it says on its way out must still reach the views. SIGUSR1 and SIGUSR2, which a job
 * may have sent to its first process before its time is up, are passed on.
 */
#include "console/console_program.h"

#include <strata/text.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define WANTED_NS (30 * STRATA_SECOND_NS) /* for the owner to come, once the job has started */
#define QUIET_NS (100 * STRATA_MS_NS)     /* of what the program left behind, before it is left */
#define LAST_NS (5 * STRATA_SECOND_NS)    /* for guests to hear the last of it */
#define LOOK_NS STRATA_SECOND_NS

enum {
	INPUT_BYTES = STRATA_CONSOLE_VIEWS_MAX * CONSOLE_WINDOW,
	READ_BYTES = 32 << 10,
	/* shells' codes for a program that cannot be run */
	CODE_NOT_FOUND = 127,
	CODE_NOT_RUN = 126,
};

struct seat {
	struct console_wire wire; /* fd −1: free */
	bool greeted, welcomed, owner;
	uint32_t owed; /* bytes of its input that have not reached the program */
	struct console_size size;
};

struct host {
	const struct env *env;
	const struct console_order *order;
	struct strata_memory *memory;
	struct console_program program;
	struct console_end end;
	struct seat seats[STRATA_CONSOLE_VIEWS_MAX];
	int listening, signals;
	struct console_stop stop;
	int64_t begun_ns, quiet_ns; /* since when nothing came from the program */
	bool started, ended;
	bool input_over; /* the owner has no more */
	char *input;     /* for the program; owned, as are the others */
	char *recall;    /* its latest output, a ring */
	char *part;      /* one read */
	size_t input_at, input_used, recall_at, recall_used;
};

static int64_t now_ns(const struct host *host)
{
	return env_now_ns(host->env, ENV_MONOTONIC);
}

/* ---- views ---- */

static struct seat *pace(struct host *host)
{
	struct seat *first = NULL;

	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++) {
		struct seat *seat = &host->seats[i];

		if (seat->wire.fd < 0 || !seat->greeted)
			continue;
		if (seat->owner)
			return seat;
		first = first ? first : seat;
	}
	return first;
}

static void begin_stop(struct host *host)
{
	if (!host->stop.since_ns)
		host->stop.since_ns = now_ns(host);
}

/* A view is gone; `detached`: it said that it would. */
static void leave(struct host *host, struct seat *seat, bool detached)
{
	bool owner = seat->owner;

	console_wire_close(&seat->wire);
	*seat = (struct seat){ .wire = { .fd = -1 } };
	if (owner && !detached && !host->ended)
		begin_stop(host);
	struct seat *next = pace(host);

	if (next && next->size.rows && host->started && !host->ended)
		console_program_resize(&host->program, next->size);
}

static void send_all(struct host *host, enum console_type type, const char *bytes, size_t count)
{
	struct seat *first = pace(host);

	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++) {
		struct seat *seat = &host->seats[i];

		if (seat->wire.fd < 0 || !seat->greeted ||
		    console_wire_send(&seat->wire, type, bytes, count))
			continue;
		if (seat != first) /* too slow; its terminal would be wrong from here on */
			leave(host, seat, false);
	}
}

static void remember(struct host *host, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		host->recall[host->recall_at] = bytes[i];
		host->recall_at = (host->recall_at + 1) % CONSOLE_RECALL;
	}
	host->recall_used += count;
	if (host->recall_used > CONSOLE_RECALL)
		host->recall_used = CONSOLE_RECALL;
}

static void show_recall(const struct host *host, struct seat *seat)
{
	size_t from = (host->recall_at + CONSOLE_RECALL - host->recall_used) % CONSOLE_RECALL;
	size_t first = CONSOLE_RECALL - from;

	first = first < host->recall_used ? first : host->recall_used;
	console_wire_send(&seat->wire, CONSOLE_OUTPUT, host->recall + from, first);
	console_wire_send(&seat->wire, CONSOLE_OUTPUT, host->recall, host->recall_used - first);
}

static void welcome(struct host *host, struct seat *seat)
{
	const char terminal = (char)host->program.terminal;

	seat->welcomed = true;
	console_wire_send(&seat->wire, CONSOLE_WELCOME, &terminal, 1);
	if (seat->owner)
		return;
	show_recall(host, seat);
	if (seat->size.rows)
		console_program_resize(&host->program, seat->size);
}

/* ---- starting ---- */

static void start(struct host *host, const struct console_hello *hello)
{
	struct strata_error why = { 0 };
	int rc = console_program_start(&host->program, host->env, host->order, hello, &why);

	host->started = true;
	host->quiet_ns = now_ns(host);
	if (rc == 0)
		return;
	host->ended = true;
	host->end.code = rc == -ENOENT ? CODE_NOT_FOUND : CODE_NOT_RUN;
	fprintf(stderr, "%s\n", why.text);
	send_all(host, CONSOLE_NOTE, why.text, strlen(why.text));
}

static void greet(struct host *host, struct seat *seat, const struct console_frame *frame)
{
	struct console_hello hello;

	if (seat->greeted || !console_hello_read(frame, &hello) ||
	    hello.version != CONSOLE_VERSION || (hello.owner && host->started)) {
		leave(host, seat, true);
		return;
	}
	seat->greeted = true;
	seat->owner = hello.owner;
	seat->size = hello.size;
	if (hello.owner)
		start(host, &hello);
	for (size_t i = 0; host->started && i < STRATA_CONSOLE_VIEWS_MAX; i++)
		if (host->seats[i].greeted && !host->seats[i].welcomed)
			welcome(host, &host->seats[i]);
}

/* ---- from views ---- */

static bool may_type(const struct host *host, const struct seat *seat)
{
	return seat->owner || host->program.terminal;
}

static void take_input(struct host *host, struct seat *seat, const struct console_frame *frame)
{
	if (seat->owed + frame->count > CONSOLE_WINDOW) {
		leave(host, seat, false); /* it does not keep to what was agreed */
		return;
	}
	seat->owed += (uint32_t)frame->count;
	if (!may_type(host, seat) || host->program.in < 0)
		return; /* taken, and dropped */
	if (host->input_at) {
		host->input_used -= host->input_at;
		memmove(host->input, host->input + host->input_at, host->input_used);
		host->input_at = 0;
	}
	memcpy(host->input + host->input_used, frame->bytes, frame->count);
	host->input_used += frame->count;
}

static void take_end_of_input(struct host *host, const struct seat *seat)
{
	if (seat->owner)
		host->input_over = true;
}

static void take_frame(struct host *host, struct seat *seat, const struct console_frame *frame)
{
	if (!seat->greeted && frame->type != CONSOLE_HELLO) {
		leave(host, seat, true);
		return;
	}
	switch (frame->type) {
	case CONSOLE_HELLO:
		greet(host, seat, frame);
		break;
	case CONSOLE_INPUT:
		take_input(host, seat, frame);
		break;
	case CONSOLE_INPUT_END:
		take_end_of_input(host, seat);
		break;
	case CONSOLE_RESIZE:
		if (console_size_read(frame, &seat->size) && host->started && !host->ended)
			console_program_resize(&host->program, seat->size);
		break;
	case CONSOLE_SIGNAL:
		if (frame->count == 1 && may_type(host, seat) && !host->ended)
			console_program_signal(&host->program, frame->bytes[0]);
		break;
	case CONSOLE_DETACH:
		leave(host, seat, true);
		break;
	default:
		leave(host, seat, false);
	}
}

static void read_view(struct host *host, struct seat *seat)
{
	struct console_frame frame;
	int rc = 0;

	if (!console_wire_fill(&seat->wire)) {
		leave(host, seat, false);
		return;
	}
	while (seat->wire.fd >= 0 && (rc = console_wire_next(&seat->wire, &frame, NULL)) > 0)
		take_frame(host, seat, &frame);
	if (rc < 0 && seat->wire.fd >= 0)
		leave(host, seat, false);
}

static void admit(struct host *host)
{
	int fd = console_place_accept(host->listening);

	if (fd < 0)
		return;
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++) {
		struct seat *seat = &host->seats[i];

		if (seat->wire.fd >= 0)
			continue;
		*seat = (struct seat){ 0 };
		console_wire_open(&seat->wire, fd, host->memory, NULL);
		return;
	}
	close(fd);
}

/* ---- to the program ---- */

/* What has reached it was taken off every view's account. */
static void pay(struct host *host)
{
	char bytes[4];

	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++) {
		struct seat *seat = &host->seats[i];

		if (seat->wire.fd < 0 || !seat->owed)
			continue;
		console_count_write(seat->owed, bytes);
		if (console_wire_send(&seat->wire, CONSOLE_TAKEN, bytes, sizeof(bytes)))
			seat->owed = 0;
	}
}

static void close_input(struct host *host)
{
	if (host->program.in >= 0)
		close(host->program.in);
	host->program.in = -1;
	host->input_at = host->input_used = 0;
}

static void write_input(struct host *host)
{
	static const char end_of_file = 4; /* what the key for it would send */

	while (host->program.in >= 0 && host->input_at < host->input_used) {
		ssize_t done = write(host->program.in, host->input + host->input_at,
				     host->input_used - host->input_at);

		if (done < 0 && errno == EAGAIN)
			return;
		if (done < 0 && errno != EINTR)
			close_input(host); /* it does not read any more */
		host->input_at += done > 0 ? (size_t)done : 0;
	}
	host->input_at = host->input_used = 0;
	if (host->input_over && host->program.in >= 0) {
		host->input_over = false;
		if (!host->program.terminal)
			close_input(host);
		else if (write(host->program.in, &end_of_file, 1) < 0)
			close_input(host);
	}
}

/* ---- from the program ---- */

static size_t output_room(struct host *host)
{
	struct seat *first = pace(host);
	size_t room = first ? console_wire_room(&first->wire) : READ_BYTES;

	return room < READ_BYTES ? room : READ_BYTES;
}

static void read_output(struct host *host, int *fd, enum console_type type)
{
	size_t room = output_room(host);
	ssize_t got = room ? read(*fd, host->part, room) : -1;

	if (got > 0) {
		remember(host, host->part, (size_t)got);
		send_all(host, type, host->part, (size_t)got);
		host->quiet_ns = now_ns(host);
	} else if (room && (got == 0 || (errno != EAGAIN && errno != EINTR))) {
		close(*fd); /* EIO of a terminal: nobody has its other end */
		*fd = -1;
	}
}

static void reap(struct host *host)
{
	struct env_exit exit;

	if (!host->started || host->ended ||
	    env_wait(host->env, &host->program.process, false, &exit, NULL) ||
	    exit.state == ENV_RUNNING)
		return;
	host->ended = true;
	host->quiet_ns = now_ns(host);
	host->end = (struct console_end){
		.code = exit.state == ENV_EXITED ? (uint8_t)exit.code : 0,
		.signal = exit.state == ENV_KILLED ? (uint8_t)exit.signal : 0,
	};
}

static void take_signals(struct host *host)
{
	struct signalfd_siginfo info;

	while (read(host->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if ((info.ssi_signo == SIGUSR1 || info.ssi_signo == SIGUSR2) && host->started &&
		    !host->ended)
			console_program_signal(&host->program, (int)info.ssi_signo);
	reap(host);
}

/* ---- the loop ---- */

static bool unfinished(const struct host *host)
{
	return !host->ended || host->program.out >= 0 || host->program.err >= 0;
}

/* Is there still somebody to start it for? */
static bool abandoned(const struct host *host)
{
	if (host->started)
		return false;
	return !console_place_held(host->order->dir) || now_ns(host) - host->begun_ns > WANTED_NS;
}

static int64_t keep_deadlines(struct host *host)
{
	int64_t wait_ns = LOOK_NS, next_ns, now = now_ns(host);
	int number;

	while (host->started && !host->ended &&
	       (number = console_stop_due(&host->stop, now, &next_ns))) {
		console_program_signal(&host->program, number);
		wait_ns = 0;
	}
	if (host->stop.since_ns && !host->ended && wait_ns && next_ns >= 0)
		wait_ns = next_ns < wait_ns ? next_ns : wait_ns;
	if (!host->ended)
		return wait_ns;
	if (output_room(host) == 0)
		host->quiet_ns = now;
	int64_t left_ns = host->quiet_ns + QUIET_NS - now;

	if (left_ns <= 0) { /* whoever has the other end now is none of the program's */
		console_program_close(&host->program);
		return 0;
	}
	return left_ns < wait_ns ? left_ns : wait_ns;
}

enum { LISTENING, SIGNALS, IN, OUT, ERR, SEATS, POLLS = SEATS + STRATA_CONSOLE_VIEWS_MAX };

static void fill_polls(struct host *host, struct pollfd *polls)
{
	bool room = output_room(host) > 0;

	polls[LISTENING] = (struct pollfd){ host->listening, POLLIN, 0 };
	polls[SIGNALS] = (struct pollfd){ host->signals, POLLIN, 0 };
	polls[IN] = (struct pollfd){ host->input_at < host->input_used ? host->program.in : -1,
				     POLLOUT, 0 };
	polls[OUT] = (struct pollfd){ room ? host->program.out : -1, POLLIN, 0 };
	polls[ERR] = (struct pollfd){ room ? host->program.err : -1, POLLIN, 0 };
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++) {
		const struct console_wire *wire = &host->seats[i].wire;
		short events = console_wire_waits(wire) ? POLLIN | POLLOUT : POLLIN;

		polls[SEATS + i] = (struct pollfd){ wire->fd, events, 0 };
	}
}

static void flush_views(struct host *host)
{
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++)
		if (host->seats[i].wire.fd >= 0 && !console_wire_flush(&host->seats[i].wire))
			leave(host, &host->seats[i], false);
}

static void go_round(struct host *host, int64_t wait_ns)
{
	struct pollfd polls[POLLS];

	fill_polls(host, polls);
	if (poll(polls, POLLS, (int)((wait_ns + STRATA_MS_NS - 1) / STRATA_MS_NS)) > 0) {
		for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++)
			if (polls[SEATS + i].revents & (POLLIN | POLLHUP | POLLERR) &&
			    host->seats[i].wire.fd == polls[SEATS + i].fd)
				read_view(host, &host->seats[i]);
		if (polls[LISTENING].revents)
			admit(host);
		if (polls[OUT].revents && host->program.out >= 0)
			read_output(host, &host->program.out, CONSOLE_OUTPUT);
		if (polls[ERR].revents && host->program.err >= 0)
			read_output(host, &host->program.err, CONSOLE_ERROR);
	}
	take_signals(host);
	if (host->started)
		write_input(host);
	if (host->input_at == host->input_used)
		pay(host);
	flush_views(host);
}

/* Are there views that have not heard everything? The owner is waited for, guests not for long. */
static bool anybody_waits(struct host *host, int64_t since_ns)
{
	bool late = now_ns(host) - since_ns > LAST_NS, waits = false;

	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++) {
		const struct seat *seat = &host->seats[i];

		waits |= seat->wire.fd >= 0 && console_wire_waits(&seat->wire) &&
			 (seat->owner || !late);
	}
	return waits;
}

/* The last word, and until everybody has it. */
static void say_end(struct host *host)
{
	const char end[2] = { (char)host->end.code, (char)host->end.signal };
	int64_t since_ns = now_ns(host);

	send_all(host, CONSOLE_ENDED, end, sizeof(end));
	close(host->listening);
	host->listening = -1;
	for (flush_views(host); anybody_waits(host, since_ns);)
		go_round(host, LOOK_NS);
}

static int serve(struct host *host, struct strata_error *err)
{
	while (unfinished(host)) {
		if (abandoned(host))
			return strata_fail(err, -ECANCELED, "nobody waits for this job any more");
		go_round(host, keep_deadlines(host));
	}
	say_end(host);
	return 0;
}

/* ---- beginning and end ---- */

static int open_signals(int *ret_fd, struct strata_error *err)
{
	static const int numbers[] = {
		SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2
	};
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? strata_fail(err, -errno, "no signalfd: %s", strerror(errno)) : 0;
}

static int prepare(struct host *host, struct strata_error *err)
{
	host->input = strata_memory_get(host->memory, INPUT_BYTES);
	host->recall = strata_memory_get(host->memory, CONSOLE_RECALL);
	host->part = strata_memory_get(host->memory, READ_BYTES);
	if (!host->input || !host->recall || !host->part)
		return strata_fail_memory(err);
	int rc = open_signals(&host->signals, err);

	return rc ? rc : console_place_listen(host->order->dir, &host->listening, err);
}

static void put(struct host *host, char *block, size_t bytes)
{
	if (block)
		strata_memory_put(host->memory, block, bytes);
}

int console_host_run(const struct env *env, const struct console_order *order,
		     struct strata_memory *memory, struct console_end *ret_end,
		     struct strata_error *err)
{
	struct host host = { .env = env,
			     .order = order,
			     .memory = memory,
			     .program = { .in = -1, .out = -1, .err = -1 },
			     .end = { .code = STRATA_EXIT_FAILED },
			     .listening = -1,
			     .signals = -1 };

	host.begun_ns = now_ns(&host);
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++)
		host.seats[i].wire.fd = -1;
	int rc = prepare(&host, err);

	if (rc == 0)
		rc = serve(&host, err);
	console_program_close(&host.program);
	for (size_t i = 0; i < STRATA_CONSOLE_VIEWS_MAX; i++)
		console_wire_close(&host.seats[i].wire);
	const int fds[] = { host.listening, host.signals };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	put(&host, host.input, INPUT_BYTES);
	put(&host, host.recall, CONSOLE_RECALL);
	put(&host, host.part, READ_BYTES);
	*ret_end = host.end;
	return rc;
}
