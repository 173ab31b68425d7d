/*
 * The file of an attempt; journal.h says what is in it. It begins with a line of fixed length: a
 * checksum and the sizes of the environment and of the script, whose bytes follow as they are; then
 * comes the order as a line of JSON. The checksum is for the one case in which an order that nobody
 * claimed outlasts a power failure in part.
 */
#include "exec/journal.h"

#include <strata/limits.h>

#include "core/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_FORMAT "strata-attempt %016" PRIx64 " %010zu %010zu\n"
#define HEAD_SCAN "strata-attempt %16" SCNx64 " %10zu %10zu"
enum { HEAD_BYTES = 15 + 16 + 1 + 10 + 1 + 10 + 1 };

static int fail(struct strata_error *err, const char *what)
{
	int code = errno;

	return strata_fail(err, -code, "cannot %s the file of an attempt: %s", what,
			   strerror(code));
}

/* ---- reading ---- */

static int read_at(int fd, char *bytes, size_t count, int64_t at, size_t *ret_count,
		   struct strata_error *err)
{
	size_t done = 0;

	while (done < count) {
		ssize_t got = pread(fd, bytes + done, count - done, at + (int64_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(err, "read");
		if (got == 0)
			break;
		done += (size_t)got;
	}
	*ret_count = done;
	return 0;
}

/* All from `at` to the end, with a NUL behind it. */
static int read_rest(int fd, int64_t at, struct strata_arena *arena, char **ret_text,
		     size_t *ret_length, struct strata_error *err)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return fail(err, "look at");
	if (info.st_size - at > 3 * (int64_t)RECORD_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the file of an attempt has %jd bytes",
				   (intmax_t)info.st_size);
	size_t room = info.st_size > at ? (size_t)(info.st_size - at) : 0;
	char *text = strata_arena_get(arena, room + 1);

	if (!text)
		return strata_fail_memory(err);
	int rc = read_at(fd, text, room, at, ret_length, err);

	if (rc)
		return rc;
	text[*ret_length] = '\0';
	*ret_text = text;
	return 0;
}

struct head {
	uint64_t sum;
	size_t environ_bytes, script_bytes;
};

static bool read_head(int fd, struct head *ret_head)
{
	char text[HEAD_BYTES + 1];
	size_t got = 0;

	if (read_at(fd, text, HEAD_BYTES, 0, &got, NULL) || got < HEAD_BYTES)
		return false;
	text[HEAD_BYTES] = '\0';
	return text[HEAD_BYTES - 1] == '\n' &&
	       sscanf(text, HEAD_SCAN, &ret_head->sum, &ret_head->environ_bytes,
		      &ret_head->script_bytes) == 3 &&
	       ret_head->environ_bytes <= RECORD_BYTES_MAX &&
	       ret_head->script_bytes <= RECORD_BYTES_MAX;
}

static int parse(const struct strata_schema *schema, const char *json, size_t length,
		 struct strata_arena *arena, void *ret_conf)
{
	void *conf = strata_arena_get(arena, schema->conf_size);
	int rc = conf ? strata_schema_defaults(schema, arena, conf, NULL) : -ENOMEM;

	if (rc == 0)
		rc = strata_schema_read_json(schema, json, length, arena, conf, NULL);
	if (rc == 0)
		memcpy(ret_conf, conf, schema->conf_size);
	return rc;
}

/* One line into what is known. What cannot be read was cut short, and is as if it were not
 * there. */
static int take_line(const char *line, size_t length, struct strata_arena *arena,
		     struct journal *journal)
{
	struct record_claim claim;
	struct record_leader leader;
	const struct {
		const char *word;
		const struct strata_schema *schema;
		void *to;
		bool *flag;
	} kinds[] = {
		{ JOURNAL_LEADER, &record_leader_schema, &leader, NULL },
		{ JOURNAL_CONTROL, &record_control_schema, &journal->control, NULL },
		{ JOURNAL_CLAIMED, &record_claim_schema, &claim, &journal->claimed },
		{ JOURNAL_GIVEN, &record_given_schema, &journal->given, NULL },
		{ JOURNAL_STARTED, &record_start_schema, &journal->start, &journal->started },
		{ JOURNAL_CHECKPOINT, &record_checkpoint_schema, &journal->checkpoint, NULL },
		{ JOURNAL_ENDED, &record_status_schema, &journal->status, &journal->ended },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t word = strlen(kinds[i].word);

		if (length <= word || strncmp(line, kinds[i].word, word) != 0 || line[word] != ' ')
			continue;
		int rc = parse(kinds[i].schema, line + word + 1, length - word - 1, arena,
			       kinds[i].to);

		if (rc == 0 && kinds[i].flag)
			*kinds[i].flag = true;
		if (rc == 0 && kinds[i].to == &leader) {
			journal->epoch = leader.epoch;
			journal->cgroup = leader.cgroup;
		}
		return rc == -ENOMEM ? rc : 0;
	}
	return 0;
}

static int take_lines(const char *text, size_t length, struct strata_arena *arena,
		      struct journal *journal, struct strata_error *err)
{
	const char *end;

	for (; (end = memchr(text, '\n', length));
	     length -= (size_t)(end + 1 - text), text = end + 1)
		if (take_line(text, (size_t)(end - text), arena, journal))
			return strata_fail_memory(err);
	return 0;
}

/* Where the order's line ends, and whose it is; 0: it is not there in full. */
static int find_lines(int fd, struct strata_arena *arena, struct journal *journal,
		      struct strata_error *err)
{
	struct head head;
	char *text = NULL;
	size_t length = 0;

	if (!read_head(fd, &head))
		return 0;
	int64_t at = HEAD_BYTES + (int64_t)head.environ_bytes + (int64_t)head.script_bytes;
	int rc = read_rest(fd, at, arena, &text, &length, err);
	const char *end = rc || !text ? NULL : memchr(text, '\n', length);
	struct exec_order order;

	if (!end)
		return rc;
	rc = parse(&record_order_schema, text, (size_t)(end - text), arena, &order);
	if (rc)
		return rc == -ENOMEM ? strata_fail_memory(err) : 0;
	journal->epoch = order.epoch;
	journal->lines_at = at + (end + 1 - text);
	return 0;
}

int journal_read(int fd, struct strata_arena *arena, struct journal *journal,
		 struct strata_error *err)
{
	struct journal now = { .lines_at = journal->lines_at, .epoch = journal->epoch };
	char *text = NULL;
	size_t length = 0;
	int rc = now.lines_at ? 0 : find_lines(fd, arena, &now, err);

	if (rc == 0 && now.lines_at) {
		rc = read_rest(fd, now.lines_at, arena, &text, &length, err);
		if (rc == 0 && text)
			rc = take_lines(text, length, arena, &now, err);
	}
	if (rc == 0)
		*journal = now;
	return rc;
}

/* FNV-1a. It finds blocks that are not there, and is not meant against anybody. */
static uint64_t checksum(const char *bytes, size_t count)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

/* "A=1\0B=2\0" as a NULL-terminated list. */
static const char *const *split(const char *bytes, size_t length, struct strata_arena *arena)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += bytes[i] == '\0';
	const char **list = strata_arena_array(arena, count + 1, sizeof(*list));

	for (size_t i = 0; list && i < count; i++, bytes += strlen(bytes) + 1)
		list[i] = bytes;
	return list;
}

int journal_read_order(int fd, struct strata_arena *arena, struct exec_order *ret_order,
		       struct strata_error *err)
{
	struct exec_order order;
	struct head head;
	char *text = NULL;
	size_t length = 0;

	if (!read_head(fd, &head))
		return strata_fail(err, -EBADMSG, "the order is not there in full");
	int rc = read_rest(fd, HEAD_BYTES, arena, &text, &length, err);

	if (rc)
		return rc;
	size_t at = head.environ_bytes + head.script_bytes;
	const char *end = at < length ? memchr(text + at, '\n', length - at) : NULL;

	if (!end || checksum(text, (size_t)(end - text)) != head.sum)
		return strata_fail(err, -EBADMSG, "the order is not as it was written");
	rc = parse(&record_order_schema, text + at, (size_t)(end - text) - at, arena, &order);
	if (rc)
		return rc == -ENOMEM ? strata_fail_memory(err)
				     : strata_fail(err, -EBADMSG, "the order cannot be read");
	order.environment = split(text, head.environ_bytes, arena);
	order.script = order.program ? NULL : text + head.environ_bytes;
	order.script_bytes = head.script_bytes;
	if (!order.environment)
		return strata_fail_memory(err);
	*ret_order = order;
	return 0;
}

/* ---- writing ---- */

static int write_all(const struct env *env, int fd, const char *bytes, size_t count,
		     struct strata_error *err)
{
	while (count) {
		ssize_t done = env->write(env->context, fd, bytes, count);

		if (done == -EINTR)
			continue;
		if (done <= 0)
			return strata_fail(err, done < 0 ? (int)done : -EIO,
					   "cannot write the file of an attempt: %s",
					   strerror(done < 0 ? (int)-done : EIO));
		bytes += done;
		count -= (size_t)done;
	}
	return 0;
}

static int check_size(const char *what, size_t bytes, struct strata_error *err)
{
	return bytes > RECORD_BYTES_MAX
		       ? strata_fail(err, -E2BIG, "the %s has %zu bytes; expected at most %d", what,
				     bytes, RECORD_BYTES_MAX)
		       : 0;
}

/* The whole beginning of the file. */
static int print_order(const struct exec_order *order, struct strata_arena *arena, struct buf *buf,
		       struct strata_error *err)
{
	char head[HEAD_BYTES + 1];
	const char *json;
	int rc = strata_schema_write_json(&record_order_schema, order, arena, &json, err);

	if (rc)
		return rc;
	buf_add_repeat(buf, ' ', HEAD_BYTES);
	for (size_t i = 0; order->environment && order->environment[i]; i++)
		buf_add_bytes(buf, order->environment[i], strlen(order->environment[i]) + 1);
	size_t environ_bytes = buf->length - HEAD_BYTES;
	size_t script_bytes = order->script ? order->script_bytes : 0;

	rc = buf_check(buf, err);
	if (rc == 0)
		rc = check_size("environment", environ_bytes, err);
	if (rc == 0)
		rc = check_size("script", script_bytes, err);
	if (rc)
		return rc;
	if (order->script)
		buf_add_bytes(buf, order->script, script_bytes);
	buf_add(buf, json);
	rc = buf_check(buf, err);
	if (rc)
		return rc;
	snprintf(head, sizeof(head), HEAD_FORMAT,
		 checksum(buf->text + HEAD_BYTES, buf->length - HEAD_BYTES), environ_bytes,
		 script_bytes);
	memcpy(buf->text, head, HEAD_BYTES);
	buf_add_char(buf, '\n');
	return buf_check(buf, err);
}

int journal_create(const struct env *env, int jobs, const char *name,
		   const struct exec_order *order, struct strata_memory *memory,
		   struct strata_error *err)
{
	struct strata_arena arena;
	struct buf buf;
	int fd = -1;

	strata_arena_init(&arena, memory, 0);
	buf_init(&buf, memory, 0);
	int rc = print_order(order, &arena, &buf, err);

	if (rc == 0) {
		fd = env->open(env->context, jobs, name,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			rc = fd == -EEXIST
				     ? strata_fail(err, fd, "attempt %s was ordered before", name)
				     : strata_fail(err, fd,
						   "cannot create the file of attempt %s: %s", name,
						   strerror(-fd));
	}
	if (rc == 0)
		rc = write_all(env, fd, buf.text, buf.length, err);
	if (fd >= 0)
		env->close(env->context, fd);
	if (rc && fd >= 0)
		env->unlink(env->context, jobs, name);
	buf_fini(&buf);
	strata_arena_fini(&arena);
	return rc;
}

/* What is in it is done with our rights, so nobody else may have written it. */
static int check_owner(const struct env *env, int fd, const char *name, struct strata_error *err)
{
	struct stat info;

	if (fstat(fd, &info) == 0 && info.st_uid == geteuid())
		return fd;
	env->close(env->context, fd);
	return strata_fail(err, -EPERM, "the file of attempt %s is another user's", name);
}

int journal_open(const struct env *env, int jobs, const char *name, struct strata_error *err)
{
	int fd = env->open(env->context, jobs, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0);

	if (fd >= 0)
		return check_owner(env, fd, name, err);
	return fd == -ENOENT ? strata_fail(err, fd, "there is no attempt %s", name)
			     : strata_fail(err, fd, "cannot open the file of attempt %s: %s", name,
					   strerror(-fd));
}

/* Did somebody who was killed leave a line without its end? */
static bool is_open_ended(int fd)
{
	struct stat info;
	char last;

	return fstat(fd, &info) == 0 && info.st_size > 0 &&
	       pread(fd, &last, 1, info.st_size - 1) == 1 && last != '\n';
}

int journal_add(const struct env *env, int fd, const char *word, const struct strata_schema *schema,
		const void *conf, bool sync, struct strata_memory *memory, struct strata_error *err)
{
	struct strata_arena arena;
	const char *json;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_schema_write_json(schema, conf, &arena, &json, err);
	const char *line = rc ? NULL
			      : strata_arena_printf(&arena, "%s%s %s\n",
						    is_open_ended(fd) ? "\n" : "", word, json);

	if (rc == 0)
		rc = line ? write_all(env, fd, line, strlen(line), err) : strata_fail_memory(err);
	if (rc == 0 && sync) {
		int code = env->sync(env->context, fd, false);

		if (code)
			rc = strata_fail(err, code,
					 "cannot make the file of an attempt durable: %s",
					 strerror(-code));
	}
	strata_arena_fini(&arena);
	return rc;
}

/* ---- the lock ---- */

/* A record lock: it ends with the process, is not passed on to children, and says who holds it. */
int journal_lock(int fd, struct strata_error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_SETLK, &lock) == 0)
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		return strata_fail(err, -EBUSY, "another supervisor has the lock");
	return fail(err, "lock");
}

int journal_lock_holder(int fd, pid_t *ret_pid, struct strata_error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_GETLK, &lock) < 0)
		return fail(err, "look at the lock of");
	*ret_pid = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
	return 0;
}
