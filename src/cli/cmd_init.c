/*
 * strata init: job files and settings for common workloads, to start from. They are written as they
 * stand in templates/, and never over a file that is there: before the first is written all names
 * are looked at.
 */
#include "cli/cli.h"
#include "cli/templates.h"

#include "core/env.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int list(struct cli *cli)
{
	static const struct cli_column columns[] = {
		{ .title = "TEMPLATE", .style = CLI_BOLD },
		{ .title = "WHAT IT IS", .flexible = true },
		{ .title = "FILES" },
	};
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	for (const struct template *one = templates; one->name; one++) {
		struct buf names;

		cli_table_add(table, "%s", one->name);
		cli_table_add(table, "%s", one->summary);
		buf_init(&names, &cli->memory, 0);
		for (const struct template_file *file = one->files; file->name; file++)
			buf_printf(&names, "%s%s", names.length ? " " : "", file->name);
		cli_table_add_buf(table, &names, "-");
	}
	return cli_table_print(table);
}

static json_t *names_json(const struct template *one)
{
	json_t *names = json_array();

	for (const struct template_file *file = one->files; names && file->name; file++)
		json_array_append_new(names, json_string(file->name));
	return names;
}

static json_t *list_json(void)
{
	json_t *rows = json_array();

	for (const struct template *one = templates; rows && one->name; one++)
		json_array_append_new(rows,
				      json_pack("{s:s, s:s, s:o}", "name", one->name, "summary",
						one->summary, "files", names_json(one)));
	return json_pack("{s:o}", "templates", rows);
}

static const struct template *find(const char *name)
{
	for (const struct template *one = templates; one->name; one++)
		if (strcmp(one->name, name) == 0)
			return one;
	return NULL;
}

static int fail_unknown(struct cli *cli, const char *name)
{
	struct text_closest closest;

	text_closest_init(&closest, name, strlen(name));
	for (const struct template *one = templates; one->name; one++)
		text_closest_offer(&closest, one->name);
	if (closest.best)
		return strata_fail(&cli->err, -ENOENT,
				   "there is no template '%.60s'; did you mean '%s'? `strata init` "
				   "lists them",
				   name, closest.best);
	return strata_fail(&cli->err, -ENOENT,
			   "there is no template '%.60s'; `strata init` lists them", name);
}

/* Directories on the way are made, as mkdir -p does. */
static int make_dirs(struct cli *cli, const char *path)
{
	char part[PATH_MAX];

	if (strlen(path) >= sizeof(part))
		return strata_fail(&cli->err, -ENAMETOOLONG,
				   "the path of the directory is too long");
	for (size_t i = 1; i <= strlen(path); i++) {
		struct stat status;

		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (stat(part, &status) == 0 && S_ISDIR(status.st_mode))
			continue;
		if (mkdir(part, 0777) && errno != EEXIST)
			return strata_fail(&cli->err, -errno,
					   "cannot make the directory %.200s: %s", part,
					   strerror(errno));
	}
	return 0;
}

static int refuse_what_is_there(struct cli *cli, const struct template *one, int dir,
				const char *path)
{
	for (const struct template_file *file = one->files; file->name; file++) {
		struct stat status;

		if (fstatat(dir, file->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			return strata_fail(
				&cli->err, -EEXIST,
				"%.200s/%s is there already, and nothing was written; name "
				"another directory: strata init %s DIR",
				path, file->name, one->name);
	}
	return 0;
}

static int write_files(struct cli *cli, const struct template *one, const char *path)
{
	int rc = make_dirs(cli, path);

	if (rc)
		return rc;
	int dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	if (dir < 0)
		return strata_fail(&cli->err, -errno, "cannot open the directory %.200s: %s", path,
				   strerror(errno));
	rc = refuse_what_is_there(cli, one, dir, path);
	for (const struct template_file *file = one->files; rc == 0 && file->name; file++) {
		mode_t mode = file->program ? cli_file_mode() | (0111 & cli_file_mode() >> 2)
					    : cli_file_mode();

		rc = env_claim_file(env_system(), dir, file->name, file->text, strlen(file->text),
				    mode, &cli->err);
	}
	close(dir);
	return rc;
}

/* What to type next, with the directory in it. */
static void say_next(struct cli *cli, const struct template *one, const char *path)
{
	for (const struct template_file *file = one->files; file->name; file++)
		cli_printf(cli, "%s/%s\n", path, file->name);
	for (const char *at = one->next; *at;) {
		const char *mark = strstr(at, "@DIR@");

		buf_add_bytes(&cli->out, at, mark ? (size_t)(mark - at) : strlen(at));
		cli_print(cli, mark ? path : "");
		at = mark ? mark + strlen("@DIR@") : at + strlen(at);
	}
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	if (operand_count == 0)
		return cli->globals.json ? cli_print_json(cli, list_json()) : list(cli);
	const struct template *one = find(operands[0]);
	const char *path = operand_count > 1 ? operands[1] : operands[0];

	if (!one)
		return fail_unknown(cli, operands[0]);
	if (!*path)
		return strata_fail(&cli->err, -EINVAL, "DIR is empty; expected a directory");
	int rc = write_files(cli, one, path);

	if (rc == 0 && cli->globals.json)
		return cli_print_json(
			cli, json_pack("{s:s, s:o}", "directory", path, "files", names_json(one)));
	if (rc == 0)
		say_next(cli, one, path);
	return rc;
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	(void)cli;
	for (const struct template *one = templates; operand_index == 0 && one->name; one++)
		buf_printf(ret_lines, "%s\t%s\n", one->name, one->summary);
}

const struct cli_command cli_init = {
	.name = "init",
	.operands = "[TEMPLATE [DIR]]",
	.summary = "write job files or settings for a common workload, to start from",
	.about =
		"Without a word it lists the templates. The files go into DIR, which is made, or a "
		"directory of the template's\nname; files that are there are never written over. "
		"Job files have #SBATCH lines: strata submit and sbatch\ntake them alike.",
	.examples = "  strata init\n"
		    "  strata init train ~/work/first",
	.operands_max = 2,
	.run = run,
	.complete = complete,
};
