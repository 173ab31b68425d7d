/* Contexts as files: see context.h. A file is written whole and read by an option table, so that
 * what somebody edits by hand is refused in words. */
#include "client/context.h"

#include "core/env.h"

#include <strata/limits.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".json"
enum { FILE_BYTES_MAX = 1 << 16, TOKEN_BYTES_MAX = 4096, URL_BYTES_MAX = 2048 };

static const struct strata_option context_options[] = {
	{ "server", STRATA_TEXT, offsetof(struct client_context, server),
	  .text = { NULL, URL_BYTES_MAX }, .flags = STRATA_REQUIRED, .help = "its address" },
	{ "token", STRATA_TEXT, offsetof(struct client_context, token),
	  .text = { NULL, TOKEN_BYTES_MAX }, .flags = STRATA_REQUIRED,
	  .help = "what one shows there" },
	{ "fingerprint", STRATA_TEXT, offsetof(struct client_context, fingerprint),
	  .text = { NULL, 64 }, .help = "the pin of its key" },
	{ 0 }
};
static const struct strata_schema context_schema = { "context", "a server one is signed in to",
						     sizeof(struct client_context),
						     context_options };

/* ---- what may be in one ---- */

bool context_is_pin(const char *text)
{
	static const char prefix[] = "sha256//";
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	enum { HASH_TEXT_BYTES = 44 };

	return strncmp(text, prefix, sizeof(prefix) - 1) == 0 &&
	       strspn(text + sizeof(prefix) - 1, digits) == HASH_TEXT_BYTES - 1 &&
	       strcmp(text + sizeof(prefix) - 1 + HASH_TEXT_BYTES - 1, "=") == 0;
}

int context_check_name(const char *name, struct strata_error *err)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789";
	size_t length = strlen(name), span = 0;

	while (name[span] && (strchr(letters, name[span]) || (span && strchr("._-", name[span]))))
		span++;
	if (length && span == length && length <= CONTEXT_NAME_BYTES_MAX)
		return 0;
	return strata_fail_at(err, -EINVAL, "name",
			      "'%.100s' is no name of a context; expected 1 to %d letters, digits, "
			      "'.', '_' and '-', the first a letter or digit",
			      name, CONTEXT_NAME_BYTES_MAX);
}

static bool is_loopback(const char *host)
{
	static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };
	size_t length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strlen(own[i]) == length && strncmp(host, own[i], length) == 0)
			return true;
	return false;
}

int context_check_server(const char *url, struct strata_error *err)
{
	static const char secure[] = "https://", plain[] = "http://";
	bool is_secure = strncmp(url, secure, sizeof(secure) - 1) == 0;
	bool is_plain = strncmp(url, plain, sizeof(plain) - 1) == 0;
	const char *host = url + (is_secure ? sizeof(secure) : sizeof(plain)) - 1;

	if ((!is_secure && !is_plain) || !*host || strpbrk(host, "/?#@ "))
		return strata_fail_at(err, -EINVAL, "server",
				      "the server's address is '%.100s'; expected "
				      "https://HOST:PORT",
				      url);
	if (is_plain && !is_loopback(host))
		return strata_fail_at(err, -EINVAL, "server",
				      "%.100s is not encrypted, and the token would be seen on its "
				      "way; expected https://…",
				      url);
	return 0;
}

/* ---- files ---- */

int context_dir(const struct client_hints *hints, struct strata_arena *arena, const char **ret_dir,
		struct strata_error *err)
{
	const char *config = hints->get ? hints->get(hints->get_context, "XDG_CONFIG_HOME") : NULL;
	const char *home = hints->get ? hints->get(hints->get_context, "HOME") : NULL;

	if (config && *config)
		*ret_dir = strata_arena_printf(arena, "%s/strata", config);
	else if (home && *home)
		*ret_dir = strata_arena_printf(arena, "%s/.config/strata", home);
	else
		return strata_fail(err, -ENOENT, "there is no home directory to keep contexts in");
	return *ret_dir ? 0 : strata_fail_memory(err);
}

/* Only what is this user's, and nobody else can read, is believed. */
static int check_file(const char *path, const char *name, struct strata_error *err)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return errno == ENOENT
			       ? strata_fail_at(err, -ENOENT, "name",
						"you are not signed in to %s; `strata context "
						"list` shows where you are, `strata login URL` "
						"signs in",
						name)
			       : strata_fail(err, -errno, "cannot read %s: %s", path,
					     strerror(errno));
	if (info.st_uid != geteuid())
		return strata_fail(err, -EACCES,
				   "%s is another user's (uid %u) and is not believed; say which "
				   "server with --server or --socket",
				   path, (unsigned)info.st_uid);
	if (info.st_mode & 077)
		return strata_fail(err, -EACCES,
				   "others can read the token in %s; `chmod 600 %s` mends it, and a "
				   "new token is safer",
				   path, path);
	return 0;
}

int context_read(const char *dir, const char *name, struct strata_arena *arena,
		 struct client_context *ret_context, struct strata_error *err)
{
	struct client_context context = { 0 };
	char *text;
	size_t length;
	int rc = context_check_name(name, err);
	const char *path = strata_arena_printf(arena, "%s/contexts/%s" SUFFIX, dir, name);

	if (rc == 0 && !path)
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = check_file(path, name, err);
	if (rc == 0)
		rc = env_read_file(env_system(), AT_FDCWD, path, FILE_BYTES_MAX, arena, &text,
				   &length, err);
	if (rc)
		return rc;
	struct strata_error why = { 0 };

	rc = strata_schema_defaults(&context_schema, arena, &context, &why);
	if (rc == 0)
		rc = strata_schema_read_json(&context_schema, text, length, arena, &context, &why);
	if (rc == 0)
		rc = context_check_server(context.server, &why);
	if (rc == 0 && context.fingerprint && !context_is_pin(context.fingerprint))
		rc = strata_fail_at(&why, -EINVAL, "fingerprint", "it is no fingerprint");
	if (rc == 0 && context.fingerprint && strncmp(context.server, "https:", 6) != 0)
		rc = strata_fail_at(&why, -EINVAL, "server",
				    "there is a fingerprint, and no TLS that would show the key");
	if (rc)
		return strata_fail(err, rc, "%s: %s%s%s; `strata login` writes it anew", path,
				   why.field, *why.field ? ": " : "", why.text);
	context.name = strata_arena_text(arena, name, strlen(name));
	if (!context.name)
		return strata_fail_memory(err);
	*ret_context = context;
	return 0;
}

int context_write(const char *dir, const struct client_context *context, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	const char **names;
	size_t count;
	int rc = context_check_name(context->name, err);

	strata_arena_init(&arena, &memory, 0);
	const char *contexts = strata_arena_printf(&arena, "%s/contexts", dir);
	const char *path = contexts ? strata_arena_printf(&arena, "%s/%s" SUFFIX, contexts,
							  context->name)
				    : NULL;
	json_t *json = json_pack("{s:s,s:s,s:s*}", "server", context->server, "token",
				 context->token, "fingerprint", context->fingerprint);
	char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;

	if (rc == 0 && (!path || !text))
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = context_list(dir, &arena, &names, &count, err);
	if (rc == 0 && count >= STRATA_CONTEXTS_MAX && access(path, F_OK) < 0)
		rc = strata_fail(err, -EDQUOT,
				 "you are signed in to %zu servers; expected at most %d: `strata "
				 "logout NAME` forgets one",
				 count, STRATA_CONTEXTS_MAX);
	if (rc == 0)
		rc = env_make_dir(env_system(), AT_FDCWD, contexts, 0700, err);
	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, text, strlen(text), 0600, err);
	if (text)
		memset(text, 0, strlen(text));
	free(text);
	json_decref(json);
	strata_arena_fini(&arena);
	return rc;
}

/* ---- which is in use ---- */

static int read_used(const char *dir, struct strata_arena *arena, const char **ret_name,
		     struct strata_error *err)
{
	const char *path = strata_arena_printf(arena, "%s/context", dir);
	char *text;
	size_t length;

	if (!path)
		return strata_fail_memory(err);
	if (access(path, F_OK) < 0)
		return 0;
	int rc = env_read_file(env_system(), AT_FDCWD, path, CONTEXT_NAME_BYTES_MAX + 2, arena,
			       &text, &length, err);

	if (rc)
		return rc;
	text[strcspn(text, "\r\n")] = '\0';
	if (context_check_name(text, NULL))
		return strata_fail(err, -EINVAL,
				   "%s names no context; `strata context use NAME` writes it anew",
				   path);
	*ret_name = text;
	return 0;
}

int context_used(const struct client_hints *hints, struct strata_arena *arena,
		 const char **ret_name, struct strata_error *err)
{
	const char *dir, *name = NULL;
	struct strata_error none;
	int rc = context_dir(hints, arena, &dir, &none);

	if (rc == 0)
		rc = read_used(dir, arena, &name, err);
	else
		rc = rc == -ENOENT ? 0 : strata_fail_memory(err);
	if (rc == 0)
		*ret_name = name;
	return rc;
}

int context_use(const char *dir, const char *name, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct client_context context;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	const char *path = strata_arena_printf(&arena, "%s/context", dir);
	const char *text = strata_arena_printf(&arena, "%s\n", name);
	int rc = path && text ? context_read(dir, name, &arena, &context, err)
			      : strata_fail_memory(err);

	if (rc == 0)
		rc = env_write_file(env_system(), AT_FDCWD, path, text, strlen(text), 0600, err);
	strata_arena_fini(&arena);
	return rc;
}

int context_remove(const char *dir, const char *name, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	const char *used = NULL;
	struct strata_arena arena;
	int rc = context_check_name(name, err);

	strata_arena_init(&arena, &memory, 0);
	const char *path = strata_arena_printf(&arena, "%s/contexts/%s" SUFFIX, dir, name);
	const char *mark = strata_arena_printf(&arena, "%s/context", dir);

	if (rc == 0 && (!path || !mark))
		rc = strata_fail_memory(err);
	if (rc == 0 && access(path, F_OK) < 0)
		rc = strata_fail_at(err, -ENOENT, "name",
				    "you are not signed in to %s; `strata context list` shows "
				    "where you are",
				    name);
	/* one that cannot be read names none */
	if (rc == 0 && (read_used(dir, &arena, &used, NULL) || (used && strcmp(used, name) == 0)) &&
	    unlink(mark) < 0 && errno != ENOENT)
		rc = strata_fail(err, -errno, "cannot remove %s: %s", mark, strerror(errno));
	if (rc == 0 && unlink(path) < 0)
		rc = strata_fail(err, -errno, "cannot remove %s: %s", path, strerror(errno));
	strata_arena_fini(&arena);
	return rc;
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_file_of_one(const char *file, char ret_name[CONTEXT_NAME_BYTES_MAX + 1])
{
	size_t length = strlen(file), end = sizeof(SUFFIX) - 1;

	if (length <= end || length - end > CONTEXT_NAME_BYTES_MAX ||
	    strcmp(file + length - end, SUFFIX) != 0)
		return false;
	memcpy(ret_name, file, length - end);
	ret_name[length - end] = '\0';
	return context_check_name(ret_name, NULL) == 0;
}

int context_list(const char *dir, struct strata_arena *arena, const char ***ret_names,
		 size_t *ret_count, struct strata_error *err)
{
	const char *path = strata_arena_printf(arena, "%s/contexts", dir);
	const char **names = strata_arena_array(arena, STRATA_CONTEXTS_MAX, sizeof(*names));
	char name[CONTEXT_NAME_BYTES_MAX + 1];
	size_t count = 0;
	int rc = path && names ? 0 : strata_fail_memory(err);
	DIR *list = rc ? NULL : opendir(path);

	if (rc == 0 && !list && errno != ENOENT)
		return strata_fail(err, -errno, "cannot list %s: %s", path, strerror(errno));
	for (struct dirent *entry; rc == 0 && list && count < STRATA_CONTEXTS_MAX &&
				   (entry = readdir(list));) {
		if (!is_file_of_one(entry->d_name, name))
			continue;
		names[count] = strata_arena_text(arena, name, strlen(name));
		rc = names[count++] ? 0 : strata_fail_memory(err);
	}
	if (list)
		closedir(list);
	if (rc)
		return rc;
	qsort(names, count, sizeof(*names), by_name);
	*ret_names = names;
	*ret_count = count;
	return 0;
}
