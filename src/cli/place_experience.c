/* strata place experience, in the full program: a file of experience as two tables. */
#include "cli/engine_options.h"

#include "engine/experience.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A factor that the file has as a logarithm; "?" where the file has nonsense. */
static void add_factor(struct cli_table *table, const json_t *pair, const char *key)
{
	const json_t *logarithm = json_object_get(pair, key);

	if (json_is_number(logarithm) && fabs(json_number_value(logarithm)) < 64)
		cli_table_add(table, "%.2f", exp2(json_number_value(logarithm)));
	else
		cli_table_add(table, "?");
}

static int print_devices(struct cli *cli, const json_t *object)
{
	static const struct cli_column columns[] = { { "DEVICE" },
						     { "OPERATOR", .flexible = true },
						     { "TAKES", .right = true },
						     { "LATELY", .right = true },
						     { "SEEN", .right = true } };
	json_t *kinds, *pair, *devices = json_object_get(object, "devices");
	const char *device, *kind;
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table);

	if (rc)
		return rc;
	json_object_foreach(devices, device, kinds)
		json_object_foreach(kinds, kind, pair)
		{
			cli_table_add(table, "%s", device);
			cli_table_add(table, "%s", kind);
			add_factor(table, pair, "slow");
			add_factor(table, pair, "fast");
			cli_table_add(table, "%lld",
				      (long long)json_integer_value(json_object_get(pair, "count")));
		}
	return cli_table_print(table);
}

/* How much longer plans took with a feature than without it, as a part of what the best single
 * device takes. */
static void add_change(struct cli_table *table, const json_t *with, const json_t *without)
{
	long long seen = json_integer_value(json_array_get(with, 0));

	if (seen && json_integer_value(json_array_get(without, 0)))
		cli_table_add(table, "%+.1f%%",
			      100 * (exp2(json_number_value(json_array_get(with, 1)) -
					  json_number_value(json_array_get(without, 1))) -
				     1));
	else
		cli_table_add(table, "-");
	cli_table_add(table, "%lld", seen);
}

static int print_features(struct cli *cli, const json_t *object)
{
	static const struct cli_column columns[] = { { "FEATURE", .flexible = true },
						     { "STATE" },
						     { "CHANGES TIMES BY", .right = true },
						     { "PLANS", .right = true } };
	json_t *one, *features = json_object_get(object, "features");
	const json_t *schedules = json_object_get(object, "schedules");
	struct cli_table *table;
	const char *name;
	int rc = json_object_size(features)
			 ? cli_table_new(cli, columns, sizeof(columns) / sizeof(columns[0]), &table)
			 : -ENOENT;

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	cli_print(cli, "\n");
	json_object_foreach(features, name, one)
	{
		cli_table_add(table, "%s", name);
		cli_table_add(table, "%s",
			      json_is_true(json_object_get(one, "on"))          ? "enabled"
			      : json_is_true(json_object_get(one, "withdrawn")) ? "withdrawn"
										: "by workload");
		add_change(table, json_object_get(one, "with"), json_object_get(one, "without"));
	}
	rc = cli_table_print(table);
	cli_printf(cli, "\n%lld plans, %lld failed; %lld features enabled by experience, %lld withdrawn\n",
		  (long long)json_integer_value(json_object_get(schedules, "all")),
		  (long long)json_integer_value(json_object_get(schedules, "failures")),
		  (long long)json_integer_value(json_object_get(schedules, "enabled")),
		  (long long)json_integer_value(json_object_get(schedules, "withdrawn")));
	return rc;
}

int place_experience_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const char *path = operand_count ? operands[0] : NULL;
	json_t *object;
	int rc = engine_experience_path(cli, path, &path);

	(void)conf;
	if (rc == 0 && !path)
		rc = strata_fail(&cli->err, -EINVAL,
				 "there is no home directory that experience is kept in; name a file");
	if (rc == 0)
		rc = engine_experience_read(path, &object, &cli->err);
	if (rc == -ENOENT && !operand_count)
		return strata_fail(&cli->err, rc,
				   "nothing was learned yet: no model has run (%s is not there)", path);
	if (rc)
		return rc;
	if (cli->globals.json)
		return cli_print_json(cli, object);
	rc = print_devices(cli, object);
	if (rc == 0)
		rc = print_features(cli, object);
	json_decref(object);
	return rc;
}
