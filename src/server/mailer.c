/* The thread of mailer.h, and the text of a letter. */
#include "server/mailer.h"

#include "core/env.h"
#include "server/inbox.h"
#include "server/os_user.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000, LOOK_MS = 50, GROUPS_MAX = 256 };

struct letter {
	struct letter *next;
	char *user, *text;
	char id[];
};

struct mailer {
	char *program;
	struct inbox *inbox;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t news;
	struct letter *first, *last;
	struct webhook_result *done;
	bool ends;
};

/* ---- addresses and letters ---- */

static const char scheme[] = "mailto:";

bool mailer_is_address(const char *url)
{
	return strncmp(url, scheme, sizeof(scheme) - 1) == 0;
}

int mailer_address_check(const char *address, struct strata_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.!#$%&'*+/=?^_`{|}~-@";
	const char *at = strchr(address, '@');
	size_t length = strlen(address);

	if (length == 0 || length > 254 || strspn(address, allowed) != length ||
	    address[0] == '-' || address[0] == '@' ||
	    (at && (!at[1] || strchr(at + 1, '@') || at[1] == '-')))
		return strata_fail(err, -EINVAL,
				   "'%.80s' is no mail address; expected name@host, or the name of "
				   "a user of this machine",
				   address);
	return 0;
}

/* In a header there is nothing but printable ASCII. */
static void make_plain(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* "has completed", "has started", "was cancelled". */
static const char *words_of(const char *event, const json_t *job, char *text, size_t size)
{
	const char *state = text_of(job, "state");

	if (strcmp(event, "job.started") == 0)
		return "has started";
	if (strcmp(event, "job.requeued") == 0)
		return "is back in the queue";
	snprintf(text, size, "%s %s", strcmp(state, "cancelled") == 0 ? "was" : "has", state);
	return text;
}

char *mailer_letter(const char *url, const char *body)
{
	json_t *json = json_loads(body, 0, NULL);
	const json_t *job = json_object_get(json, "job");
	json_int_t id = json_integer_value(json_object_get(job, "id"));
	const char *name = text_of(job, "name"), *error = text_of(job, "error");
	bool over = strcmp(text_of(json, "event"), "job.ended") == 0;
	char state[64], subject[256], code[64] = "", *text = NULL;
	const char *words = words_of(text_of(json, "event"), job, state, sizeof(state));

	snprintf(subject, sizeof(subject), "Strata: job %" JSON_INTEGER_FORMAT "%s%.128s%s %s", id,
		 *name ? " (" : "", name, *name ? ")" : "", words);
	make_plain(subject);
	if (over)
		snprintf(code, sizeof(code), "Exit status: %" JSON_INTEGER_FORMAT "\n",
			 json_integer_value(json_object_get(job, "exit_code")));
	if (asprintf(&text,
		     "To: %s\nSubject: %s\nAuto-Submitted: auto-generated\n"
		     "Content-Type: text/plain; charset=utf-8\n\n"
		     "Job %" JSON_INTEGER_FORMAT "%s%s%s of %s %s.\n%s%s%s%sStarted: %s\n%s%s%s\n"
		     "`strata show %" JSON_INTEGER_FORMAT "` says more.\n",
		     url + sizeof(scheme) - 1, subject, id, *name ? " (" : "", name,
		     *name ? ")" : "", text_of(job, "user"), words, *error ? "Reason: " : "", error,
		     *error ? "\n" : "", code,
		     *text_of(job, "started_at") ? text_of(job, "started_at") : "never",
		     over ? "Ended: " : "", over ? text_of(job, "ended_at") : "", over ? "\n" : "",
		     id) < 0)
		text = NULL;
	json_decref(json);
	return text;
}

/* ---- one letter ---- */

static void letter_free(struct letter *letter)
{
	free(letter->user);
	free(letter->text);
	free(letter);
}

static bool is_ending(struct mailer *mailer)
{
	pthread_mutex_lock(&mailer->lock);
	bool ends = mailer->ends;

	pthread_mutex_unlock(&mailer->lock);
	return ends;
}

/* Its text into a pipe that holds all of it: letters are short. */
static int pipe_text(const char *text, int *ret_fd, struct strata_error *err)
{
	size_t length = strlen(text);
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return strata_fail(err, -errno, "no pipe: %s", strerror(errno));
	ssize_t written = write(fds[1], text, length);

	close(fds[1]);
	fcntl(fds[0], F_SETFL, 0); /* sendmail is to wait for nothing, and sees the end */
	if (written != (ssize_t)length) {
		close(fds[0]);
		return strata_fail(err, -E2BIG, "the letter has %zu bytes, more than a pipe holds",
				   length);
	}
	*ret_fd = fds[0];
	return 0;
}

static int spawn(const struct mailer *mailer, const struct letter *letter, int fd,
		 struct env_process *ret_process, struct strata_error *err)
{
	const char *const argv[] = { mailer->program, "-i", "-t", NULL };
	const char *const envp[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	struct env_command command = { .program = mailer->program,
				       .argv = argv,
				       .envp = envp,
				       .cwd = "/",
				       .fds = { fd, -1, -1 },
				       .new_session = true };
	gid_t groups[GROUPS_MAX];
	int group_count = GROUPS_MAX;
	struct os_user user;

	if (!os_user_by_name(letter->user, &user))
		return strata_fail(err, -ENOENT, "the machine has no user %.60s", letter->user);
	if (getgrouplist(user.name, user.gid, groups, &group_count) < 0)
		group_count = 0;
	struct env_identity identity = { user.uid, user.gid, groups, (size_t)group_count };

	if (geteuid() == 0)
		command.identity = &identity;
	return env_spawn(env_system(), &command, ret_process, err);
}

/* 0, or why it did not go. */
static int send_letter(struct mailer *mailer, const struct letter *letter, struct strata_error *err)
{
	struct env_process process;
	struct env_exit ended = { .state = ENV_RUNNING };
	int fd = -1, rc = pipe_text(letter->text, &fd, err);

	if (rc)
		return rc;
	rc = spawn(mailer, letter, fd, &process, err);
	close(fd);
	if (rc)
		return rc;
	for (int ms = 0; ended.state == ENV_RUNNING && ms < PATIENCE_MS && !is_ending(mailer);
	     ms += LOOK_MS) {
		struct pollfd look = { .fd = process.pidfd, .events = POLLIN };

		poll(&look, process.pidfd >= 0, LOOK_MS);
		env_wait(env_system(), &process, false, &ended, NULL);
	}
	if (ended.state == ENV_RUNNING) {
		env_signal(env_system(), &process, SIGKILL, true, NULL);
		env_wait(env_system(), &process, true, &ended, NULL);
		rc = strata_fail(err, -ETIMEDOUT, "%s took longer than %d s", mailer->program,
				 PATIENCE_MS / 1000);
	} else if (ended.state != ENV_EXITED || ended.code != 0) {
		rc = strata_fail(err, -EIO, "%s ended with status %d", mailer->program,
				 ended.state == ENV_EXITED ? ended.code : 128 + ended.signal);
	}
	env_process_close(env_system(), &process);
	return rc;
}

/* ---- the thread ---- */

/* Without memory nobody hears of it: the letter is sent again after a restart. */
static void report(struct mailer *mailer, const char *id, const char *error)
{
	size_t length = strlen(id) + 1;
	struct webhook_result *result = calloc(1, sizeof(*result) + length);

	if (!result)
		return;
	memcpy(result->id, id, length);
	result->error = error ? strdup(error) : NULL;
	if (error && !result->error) { /* else it would seem to have arrived */
		free(result);
		return;
	}
	pthread_mutex_lock(&mailer->lock);
	result->next = mailer->done;
	mailer->done = result;
	pthread_mutex_unlock(&mailer->lock);
	inbox_wake(mailer->inbox);
}

static struct letter *next_letter(struct mailer *mailer)
{
	struct letter *letter = NULL;

	pthread_mutex_lock(&mailer->lock);
	while (!mailer->ends && !mailer->first)
		pthread_cond_wait(&mailer->news, &mailer->lock);
	if (!mailer->ends) {
		letter = mailer->first;
		mailer->first = letter->next;
		if (!mailer->first)
			mailer->last = NULL;
	}
	pthread_mutex_unlock(&mailer->lock);
	return letter;
}

static void *work(void *context)
{
	struct mailer *mailer = context;
	struct letter *letter;

	while ((letter = next_letter(mailer))) {
		struct strata_error err = { 0 };
		int rc = send_letter(mailer, letter, &err);

		if (!is_ending(mailer) || rc == 0)
			report(mailer, letter->id, rc ? err.text : NULL);
		letter_free(letter);
	}
	return NULL;
}

/* ---- the other side ---- */

int mailer_start(const struct mailer_conf *conf, struct mailer **ret_mailer,
		 struct strata_error *err)
{
	struct mailer *mailer = calloc(1, sizeof(*mailer));

	if (!mailer || !(mailer->program = strdup(conf->program))) {
		free(mailer);
		return strata_fail_memory(err);
	}
	mailer->inbox = conf->inbox;
	pthread_mutex_init(&mailer->lock, NULL);
	pthread_cond_init(&mailer->news, NULL);
	int rc = pthread_create(&mailer->thread, NULL, work, mailer);

	if (rc) {
		free(mailer->program);
		free(mailer);
		return strata_fail(err, -rc, "no thread: %s", strerror(rc));
	}
	*ret_mailer = mailer;
	return 0;
}

void mailer_stop(struct mailer *mailer)
{
	if (!mailer)
		return;
	pthread_mutex_lock(&mailer->lock);
	mailer->ends = true;
	pthread_cond_signal(&mailer->news);
	pthread_mutex_unlock(&mailer->lock);
	pthread_join(mailer->thread, NULL);
	while (mailer->first) {
		struct letter *letter = mailer->first;

		mailer->first = letter->next;
		letter_free(letter);
	}
	while (mailer->done) {
		struct webhook_result *result = mailer->done;

		mailer->done = result->next;
		webhook_result_free(result);
	}
	pthread_cond_destroy(&mailer->news);
	pthread_mutex_destroy(&mailer->lock);
	free(mailer->program);
	free(mailer);
}

bool mailer_put(struct mailer *mailer, const char *id, const char *user, char *text)
{
	size_t length = strlen(id) + 1;
	struct letter *letter = calloc(1, sizeof(*letter) + length);

	if (letter)
		letter->user = strdup(user);
	if (!letter || !letter->user) {
		free(letter);
		free(text);
		return false;
	}
	memcpy(letter->id, id, length);
	letter->text = text;
	pthread_mutex_lock(&mailer->lock);
	*(mailer->last ? &mailer->last->next : &mailer->first) = letter;
	mailer->last = letter;
	pthread_cond_signal(&mailer->news);
	pthread_mutex_unlock(&mailer->lock);
	return true;
}

struct webhook_result *mailer_take(struct mailer *mailer)
{
	pthread_mutex_lock(&mailer->lock);
	struct webhook_result *done = mailer->done;

	mailer->done = NULL;
	pthread_mutex_unlock(&mailer->lock);
	return done;
}
