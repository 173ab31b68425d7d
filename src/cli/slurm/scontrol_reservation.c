/*
 * scontrol's words for reservations: create, update, delete and show. Each is an advance
 * reservation of the service (`strata reservations`); flags of Slurm that have no meaning here are
 * left out with a warning.
 */
#include "cli/slurm/scontrol.h"

#include "cli/slurm/jobs.h"
#include "cli/slurm/slurm_batch.h"
#include "slurm/slurm_text.h"

#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* ---- reading ---- */

static bool is_key(const char *word, size_t length, const char *name)
{
	return length >= 3 && length <= strlen(name) && strncasecmp(word, name, length) == 0;
}

static json_t *split(const char *text)
{
	json_t *list = json_array();

	while (*text) {
		size_t span = strcspn(text, ",");

		if (span)
			json_array_append_new(list, json_stringn(text, span));
		text += span + (text[span] != '\0');
	}
	return list;
}

static bool set_time(struct cli *cli, json_t *body, const char *key, const char *value)
{
	char printed[STRATA_FORM_BYTES];
	int64_t ns, now_ns = when_now_ns();

	if (strata_begin_parse(value, STRATA_TEXT_NUL, now_ns, when_zone(now_ns), &ns, NULL)) {
		slurm_say(cli, "Invalid time specification (pos=0): %s", value);
		return false;
	}
	json_object_set_new(body, key, json_string(strata_time_print(ns, printed)));
	return true;
}

static bool set_duration(struct cli *cli, json_t *body, const char *value)
{
	int64_t ns;

	if (strata_slurm_time_parse(value, STRATA_TEXT_NUL, &ns, NULL) || ns <= 0 ||
	    ns == STRATA_DURATION_UNLIMITED) {
		slurm_say(cli, "Error, invalid duration, %s", value);
		return false;
	}
	json_object_set_new(body, "duration", json_real((double)ns / STRATA_SECOND_NS));
	json_object_del(body, "to");
	return true;
}

/* MAINT and IGNORE_JOBS are how it is here; what else there is has no effect. */
static void set_flags(struct cli *cli, json_t *body, const char *value)
{
	json_t *list = split(value), *flag;
	size_t i;

	json_array_foreach(list, i, flag)
	{
		const char *word = json_string_value(flag);

		if (strncasecmp(word, "daily", 5) == 0 || strncasecmp(word, "weekly", 6) == 0)
			json_object_set_new(body, "repeat",
					    json_string(strncasecmp(word, "daily", 5) == 0
								? "daily"
								: "weekly"));
		else if (strncasecmp(word, "maint", 5) != 0 &&
			 strncasecmp(word, "ignore_jobs", 11) != 0 &&
			 strncasecmp(word, "spec_nodes", 10) != 0)
			slurm_say(cli, "warning: flag %s has no effect", word);
	}
	json_decref(list);
}

/* One NAME=VALUE. */
static bool read_word(struct cli *cli, json_t *body, const char *word)
{
	size_t length = strcspn(word, "=");
	const char *value = word[length] ? word + length + 1 : "";

	if (is_key(word, length, "ReservationName"))
		return true;
	if (is_key(word, length, "StartTime"))
		return set_time(cli, body, "from", value);
	if (is_key(word, length, "EndTime")) {
		json_object_del(body, "duration");
		return set_time(cli, body, "to", value);
	}
	if (is_key(word, length, "Duration"))
		return set_duration(cli, body, value);
	if (is_key(word, length, "Nodes")) {
		json_object_set_new(
			body, "nodes",
			json_pack("[s]", strcasecmp(value, "all") == 0 ? "all" : value));
	} else if (is_key(word, length, "Users")) {
		json_object_set_new(body, "users", split(value));
	} else if (is_key(word, length, "Accounts")) {
		json_object_set_new(body, "accounts", split(value));
	} else if (is_key(word, length, "Comment")) {
		json_object_set_new(body, "reason", json_string(value));
	} else if (is_key(word, length, "Flags")) {
		set_flags(cli, body, value);
	} else {
		slurm_say(cli, "Unknown parameter %s.  Try 'scontrol help'", word);
		return false;
	}
	return true;
}

static bool too_few(struct cli *cli, int count, const char *verb)
{
	if (count < 2)
		slurm_say(cli, "too few arguments for %s keyword", verb);
	return count < 2;
}

static const char *name_in(int count, char **words)
{
	for (int i = 0; i < count; i++) {
		size_t length = strcspn(words[i], "=");

		if (words[i][length] && is_key(words[i], length, "ReservationName"))
			return words[i] + length + 1;
	}
	return NULL;
}

/* ---- asking ---- */

static int ask(struct cli *cli, const char *method, const char *name, json_t *body,
	       const char *deed)
{
	json_t *answer = NULL;
	struct buf path;

	service_path(cli, &path, "reservations", name, NULL);
	int rc = service_ask(cli, method, &path, body, &answer);

	json_decref(answer);
	if (rc == 0)
		return 0;
	slurm_say(cli, "Error %s the reservation: %s", deed,
		  rc == -ENOENT   ? "Requested reservation is invalid"
		  : rc == -EPERM  ? "Access/permission denied"
		  : rc == -EACCES ? "Access/permission denied"
				  : "Requested node configuration is not available");
	slurm_say(cli, "strata: %s", cli->err.text);
	return 1;
}

/* The one of that name as a body of PUT; NULL: there is none, or it cannot be known. */
static json_t *find(struct cli *cli, const char *name)
{
	static const char *const keys[] = { "from",   "to",    "repeat",   "nodes",
					    "reason", "users", "accounts", "gpus" };
	json_t *json = NULL, *found = NULL, *row;
	size_t i;

	if (service_list(cli, "reservations", &json))
		return NULL;
	json_array_foreach(json_object_get(json, "reservations"), i,
			   row) if (!found &&
				    strcmp(grid_or(json_object_get(row, "name"), ""), name) == 0)
	{
		found = json_object();
		for (size_t key = 0; key < sizeof(keys) / sizeof(keys[0]); key++) {
			json_t *value = json_object_get(row, keys[key]);

			if (value && !json_is_null(value))
				json_object_set(found, keys[key], value);
		}
	}
	json_decref(json);
	return found;
}

static int put(struct cli *cli, const char *name, json_t *body, int count, char **words,
	       const char *deed)
{
	for (int i = 0; i < count; i++)
		if (!read_word(cli, body, words[i])) {
			json_decref(body);
			return 1;
		}
	return ask(cli, "PUT", name, body, deed);
}

int scontrol_create(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	bool named = count > 1 && strncasecmp(words[1], "reservation", strlen(words[1])) == 0;
	const char *name = name_in(count, words);

	if (too_few(cli, count, "create"))
		return 1;
	if (!named && !name) {
		slurm_say(cli, "Invalid creation option %s", words[1]);
		return 1;
	}
	if (!name) {
		slurm_say(cli, "ReservationName must be given.  No reservation created.");
		return 1;
	}
	int first = named ? 2 : 1;

	if (put(cli, name, json_object(), count - first, words + first, "creating"))
		return 1;
	cli_printf(cli, "Reservation created: %s\n", name);
	return 0;
}

int scontrol_update_reservation(struct cli *cli, int count, char **words)
{
	const char *name = name_in(count, words);
	json_t *body = name ? find(cli, name) : NULL;

	if (!body) {
		slurm_say(cli, "Error updating the reservation: Requested reservation is invalid");
		return 1;
	}
	if (put(cli, name, body, count, words, "updating"))
		return 1;
	cli_print(cli, "Reservation updated.\n");
	return 0;
}

int scontrol_delete(struct scontrol *scontrol, int count, char **words)
{
	struct cli *cli = scontrol->cli;
	const char *name = name_in(count, words);

	if (too_few(cli, count, "delete"))
		return 1;
	if (!name && count == 3 && strncasecmp(words[1], "reservation", strlen(words[1])) == 0)
		name = words[2];
	if (!name) {
		slurm_say(cli, "No valid entity in delete command");
		return 1;
	}
	return ask(cli, "DELETE", name, NULL, "deleting");
}

/* ---- showing ---- */

static void add_names(struct buf *buf, const json_t *list, const char *otherwise)
{
	const json_t *name;
	size_t i;

	json_array_foreach(list, i, name)
		buf_printf(buf, "%s%s", i ? "," : "", json_string_value(name));
	if (json_array_size(list) == 0)
		buf_add(buf, otherwise);
}

/* Nodes in the short form of Slurm's lists. */
static const char *nodes_text(struct cli *cli, const json_t *row)
{
	const json_t *list = json_object_get(row, "nodes"), *gpus = json_object_get(row, "gpus");
	size_t count = json_array_size(list) + json_array_size(gpus), at = 0, i;
	const char **names = strata_arena_array(&cli->arena, count + 1, sizeof(*names));
	const char *text = NULL;
	const json_t *item;

	if (!names)
		return "";
	json_array_foreach(list, i, item) names[at++] = json_string_value(item);
	json_array_foreach(gpus, i, item) names[at++] = grid_string(item, "node");
	return strata_hostlist_compress(names, at, &cli->arena, &text, NULL) == 0 ? text : "";
}

static void show_one(struct scontrol *scontrol, const json_t *row)
{
	struct cli *cli = scontrol->cli;
	const char *gap = scontrol_gap(scontrol), *repeat = grid_string(row, "repeat");
	bool daily = repeat && strcmp(repeat, "daily") == 0;
	bool weekly = repeat && strcmp(repeat, "weekly") == 0;
	int64_t from_ns = when_json(row, "from"), to_ns = when_json(row, "to");
	size_t nodes = json_array_size(json_object_get(row, "nodes")) +
		       json_array_size(json_object_get(row, "gpus"));
	bool open = json_array_size(json_object_get(row, "users")) +
		    json_array_size(json_object_get(row, "accounts"));
	struct buf *out = &cli->out;

	buf_printf(out, "ReservationName=%s StartTime=", grid_string(row, "name"));
	slurm_date(out, from_ns, "Unknown");
	buf_add(out, " EndTime=");
	slurm_date(out, to_ns, "Unknown");
	buf_add(out, " Duration=");
	slurm_clock(out, (to_ns - from_ns) / STRATA_SECOND_NS);
	buf_printf(out,
		   "%sNodes=%s NodeCnt=%zu CoreCnt=0 Features=(null) PartitionName=(null) "
		   "Flags=%s%s%sSPEC_NODES%sTRES=(null)%sUsers=",
		   gap, nodes_text(cli, row), nodes, open ? "" : "MAINT,", daily ? "DAILY," : "",
		   weekly ? "WEEKLY," : "", gap, gap);
	add_names(out, json_object_get(row, "users"), "(null)");
	buf_add(out, " Groups=(null) Accounts=");
	add_names(out, json_object_get(row, "accounts"), "(null)");
	buf_printf(out,
		   " Licenses=(null) State=%s BurstBuffer=(null) Watts=n/a%sMaxStartDelay=(null)",
		   json_is_true(json_object_get(row, "active")) ? "ACTIVE" : "INACTIVE", gap);
	if (grid_string(row, "reason"))
		buf_printf(out, "%sComment=%s", gap, grid_string(row, "reason"));
	buf_add(out, scontrol->oneline ? "\n" : "\n\n");
}

int scontrol_show_reservations(struct scontrol *scontrol, const char *name)
{
	struct cli *cli = scontrol->cli;
	size_t shown = 0, i;
	json_t *json = NULL, *row;

	if (service_list(cli, "reservations", &json))
		return slurm_unreachable(cli, "slurm_load_reservations");
	json_array_foreach(json_object_get(json, "reservations"), i, row)
	{
		const char *own = grid_string(row, "name"); /* others' works have none */

		if (!own || (name && strcmp(own, name) != 0))
			continue;
		show_one(scontrol, row);
		shown++;
	}
	json_decref(json);
	if (shown)
		return 0;
	if (name)
		cli_printf(cli, "Reservation %s not found\n", name);
	else
		cli_print(cli, "No reservations in the system\n");
	return name ? 1 : 0;
}
