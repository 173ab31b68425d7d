/* The process of webhook_process.h and its thread. */
#include "server/webhook_process.h"

#include "server/inbox.h"
#include "server/os_user.h"
#include "core/env_log.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	AT_A_TIME = 16,
	IDLE_MS = 30000,
	SILENT_MS = 60000, /* of one that has messages: far more than it gives any of them */
	PATIENCE_MS = 1000, /* so often a write that waits looks whether it is the end */
	ANSWER_BYTES = 1 << 16,
};

extern char **environ;

struct message {
	struct message *next;
	char *line;
	char id[];
};

struct webhook_process {
	char *program, *addresses;
	struct inbox *inbox;
	pthread_t thread;
	int wake_fd;          /* eventfd: there is a message, or the end */
	pthread_mutex_t lock; /* of what follows */
	struct message *first, *last;
	struct webhook_result *done;
	bool ends;
	/* the thread's own */
	struct message *sent; /* that nothing was heard of yet */
	size_t sent_count;
	pid_t pid;             /* 0: it does not run */
	int to_fd, from_fd;    /* its standard input and output */
	char *answer;          /* what has come of the next line; ANSWER_BYTES */
	size_t answer_length;
};

static void message_free(struct message *message)
{
	free(message->line);
	free(message);
}

void webhook_result_free(struct webhook_result *result)
{
	free(result->error);
	free(result);
}

/* ---- what became of messages ---- */

/* Without memory nobody hears of it: the message is sent again after a restart. */
static void report(struct webhook_process *process, const char *id, int status, const char *error)
{
	size_t length = strlen(id) + 1;
	struct webhook_result *result = calloc(1, sizeof(*result) + length);

	if (!result)
		return;
	memcpy(result->id, id, length);
	result->status = status;
	result->error = error ? strdup(error) : NULL;
	if (error && !result->error) { /* else it would seem to have arrived */
		free(result);
		return;
	}
	pthread_mutex_lock(&process->lock);
	result->next = process->done;
	process->done = result;
	pthread_mutex_unlock(&process->lock);
	inbox_wake(process->inbox);
}

static bool forget_sent(struct webhook_process *process, const char *id)
{
	for (struct message **at = &process->sent; *at; at = &(*at)->next) {
		struct message *message = *at;

		if (strcmp(message->id, id) != 0)
			continue;
		*at = message->next;
		process->sent_count--;
		message_free(message);
		return true;
	}
	return false;
}

static void take_answer(struct webhook_process *process, const char *line, size_t length)
{
	json_t *json = json_loadb(line, length, 0, NULL);
	const char *id = json_string_value(json_object_get(json, "id"));

	if (id && forget_sent(process, id))
		report(process, id, (int)json_integer_value(json_object_get(json, "status")),
		       json_string_value(json_object_get(json, "error")));
	json_decref(json);
}

/* ---- the process ---- */

static void end_process(struct webhook_process *process)
{
	int status;

	if (!process->pid)
		return;
	kill(process->pid, SIGKILL);
	close(process->to_fd);
	close(process->from_fd);
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	process->answer_length = 0;
	while (process->sent) {
		struct message *message = process->sent;

		process->sent = message->next;
		process->sent_count--;
		report(process, message->id, 0, "the process that sends messages ended");
		message_free(message);
	}
}

static int spawn(struct webhook_process *process, int in_fd, int out_fd)
{
	struct os_user user = { 0 };
	char uid[16], gid[16];
	char *argv[] = { process->program, uid, gid, process->addresses, NULL };
	posix_spawn_file_actions_t actions;

	if (geteuid() == 0 && !os_user_by_name("nobody", &user))
		return ENOENT;
	snprintf(uid, sizeof(uid), "%u", (unsigned)user.uid);
	snprintf(gid, sizeof(gid), "%u", (unsigned)user.gid);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	int code = posix_spawn(&process->pid, process->program, &actions, NULL, argv, environ);

	posix_spawn_file_actions_destroy(&actions);
	if (code)
		process->pid = 0;
	return code;
}

static int start_process(struct webhook_process *process)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC))
		return errno;
	if (pipe2(from, O_CLOEXEC)) {
		int code = errno;

		close(to[0]);
		close(to[1]);
		return code;
	}
	int code = spawn(process, to[0], from[1]);

	close(to[0]);
	close(from[1]);
	process->to_fd = to[1];
	fcntl(process->to_fd, F_SETFL, O_NONBLOCK); /* its own end, which the process has not */
	process->from_fd = from[0];
	if (code) {
		close(to[1]);
		close(from[0]);
	}
	return code;
}

static void read_answers(struct webhook_process *process)
{
	ssize_t count = read(process->from_fd, process->answer + process->answer_length,
			     ANSWER_BYTES - process->answer_length);
	char *end;

	if (count < 0 && errno == EINTR)
		return;
	if (count <= 0 || process->answer_length + (size_t)count == ANSWER_BYTES) {
		log_warning("webhooks", "the process that sends messages ended; another is started");
		end_process(process);
		return;
	}
	process->answer_length += (size_t)count;
	while ((end = memchr(process->answer, '\n', process->answer_length))) {
		size_t length = (size_t)(end - process->answer) + 1;

		take_answer(process, process->answer, length - 1);
		memmove(process->answer, end + 1, process->answer_length - length);
		process->answer_length -= length;
	}
}

/* ---- the thread ---- */

static struct message *next_message(struct webhook_process *process)
{
	pthread_mutex_lock(&process->lock);
	struct message *message = process->sent_count < AT_A_TIME ? process->first : NULL;

	if (message)
		process->first = message->next;
	if (!process->first)
		process->last = NULL;
	pthread_mutex_unlock(&process->lock);
	return message;
}

static bool is_ending(struct webhook_process *process)
{
	pthread_mutex_lock(&process->lock);
	bool ends = process->ends;

	pthread_mutex_unlock(&process->lock);
	return ends;
}

/* Whether it takes more; false: the end is near, or it does not go on. */
static bool wait_for_room(struct webhook_process *process)
{
	for (int ms = 0; ms < SILENT_MS && !is_ending(process); ms += PATIENCE_MS) {
		struct pollfd fd = { .fd = process->to_fd, .events = POLLOUT };

		if (poll(&fd, 1, PATIENCE_MS) > 0)
			return true;
	}
	return false;
}

/* So few are under way at a time that its answers fit into the pipe: neither waits for the
 * other. */
static bool hand_over(struct webhook_process *process, const struct message *message)
{
	size_t length = strlen(message->line);
	const char *at = message->line;

	while (length > 0) {
		ssize_t count = write(process->to_fd, at, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN && wait_for_room(process))
			continue;
		if (count < 0)
			return false;
		at += count;
		length -= (size_t)count;
	}
	return true;
}

static void send_messages(struct webhook_process *process)
{
	struct message *message;

	while ((message = next_message(process))) {
		int code = process->pid ? 0 : start_process(process);

		message->next = process->sent;
		process->sent = message;
		process->sent_count++;
		if (code) {
			log_warning("webhooks", "%s cannot be started: %s", process->program,
				    strerror(code));
			report(process, message->id, 0, "the program strata-webhooks cannot be started");
			forget_sent(process, message->id);
		} else if (!hand_over(process, message)) {
			end_process(process);
		}
	}
}

static void *run(void *context)
{
	struct webhook_process *process = context;
	sigset_t all;
	uint64_t ignored;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* those of the service are for others */
	while (!is_ending(process)) {
		struct pollfd fds[] = { { .fd = process->wake_fd, .events = POLLIN },
					{ .fd = process->pid ? process->from_fd : -1,
					  .events = POLLIN } };
		int count = poll(fds, 2, !process->pid ? -1 : process->sent ? SILENT_MS : IDLE_MS);

		if (count == 0 && process->sent)
			log_warning("webhooks",
				    "the process that sends messages does not answer; another is "
				    "started");
		if (count == 0)
			end_process(process); /* it has nothing, or hangs */
		if (count > 0 && (fds[0].revents & POLLIN) &&
		    read(process->wake_fd, &ignored, sizeof(ignored)) < 0)
			continue;
		if (count > 0 && fds[1].revents && process->pid)
			read_answers(process);
		send_messages(process);
	}
	end_process(process);
	return NULL;
}

/* ---- the outside ---- */

static void process_free(struct webhook_process *process)
{
	struct message *message;
	struct webhook_result *result;

	while ((message = process->first)) {
		process->first = message->next;
		message_free(message);
	}
	while ((result = process->done)) {
		process->done = result->next;
		webhook_result_free(result);
	}
	if (process->wake_fd >= 0)
		close(process->wake_fd);
	pthread_mutex_destroy(&process->lock);
	free(process->program);
	free(process->addresses);
	free(process->answer);
	free(process);
}

int webhook_process_start(const struct webhook_process_conf *conf,
			  struct webhook_process **ret_process, struct strata_error *err)
{
	struct webhook_process *process = calloc(1, sizeof(*process));

	if (!process)
		return strata_fail_memory(err);
	process->inbox = conf->inbox;
	process->program = strdup(conf->program);
	process->addresses = strdup(conf->addresses ? conf->addresses : "");
	process->answer = malloc(ANSWER_BYTES);
	process->wake_fd = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&process->lock, NULL);
	int code = process->wake_fd < 0 ? errno
		   : !process->program || !process->addresses || !process->answer
			   ? ENOMEM
			   : pthread_create(&process->thread, NULL, run, process);

	if (code) {
		process_free(process);
		return strata_fail(err, -code, "messages to webhooks cannot be sent: %s",
				   strerror(code));
	}
	*ret_process = process;
	return 0;
}

static void wake(struct webhook_process *process)
{
	uint64_t one = 1;

	while (write(process->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void webhook_process_stop(struct webhook_process *process)
{
	if (!process)
		return;
	pthread_mutex_lock(&process->lock);
	process->ends = true;
	pthread_mutex_unlock(&process->lock);
	wake(process);
	pthread_join(process->thread, NULL);
	process_free(process);
}

bool webhook_process_put(struct webhook_process *process, const char *id, char *line)
{
	size_t length = strlen(id) + 1, line_length = strlen(line);
	struct message *message = malloc(sizeof(*message) + length);
	char *whole = realloc(line, line_length + 2);

	if (!message || !whole) {
		free(message);
		free(whole ? whole : line);
		return false;
	}
	memcpy(whole + line_length, "\n", 2);
	*message = (struct message){ .line = whole };
	memcpy(message->id, id, length);
	pthread_mutex_lock(&process->lock);
	*(process->last ? &process->last->next : &process->first) = message;
	process->last = message;
	pthread_mutex_unlock(&process->lock);
	wake(process);
	return true;
}

struct webhook_result *webhook_process_take(struct webhook_process *process)
{
	pthread_mutex_lock(&process->lock);
	struct webhook_result *done = process->done;

	process->done = NULL;
	pthread_mutex_unlock(&process->lock);
	return done;
}
