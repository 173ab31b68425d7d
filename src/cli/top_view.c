/* The keys and lists of top_view.h. */
#include "cli/top_view.h"

#include "cli/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CTRL_C = 3, CTRL_D = 4, BACKSPACE = 8, ENTER = 13, ESCAPE = 27, DELETE = 127, PAGE = 10 };

static const char *const sort_names[TOP_SORT_COUNT] = { "queue", "user", "GPUs", "name" };

const char *top_sort_name(enum top_sort sort)
{
	return sort_names[sort];
}

/* ---- keys ---- */

static void move(struct top_view *view, long by)
{
	long at = (long)view->at + by, last = view->count ? (long)view->count - 1 : 0;

	view->at = (size_t)(at < 0 ? 0 : at > last ? last : at);
	view->selected[0] = '\0'; /* the job that is there when it is drawn */
}

/* "\033[A" and its like: 'A' up, 'B' down, '5' page up, '6' page down, 'H' and 'F'. 0: none. */
static char arrow(const char *bytes, size_t count)
{
	return count >= 3 && bytes[0] == ESCAPE && (bytes[1] == '[' || bytes[1] == 'O') ? bytes[2]
											: 0;
}

static void type(struct top_view *view, char key)
{
	size_t length = strlen(view->filter);

	if (key == ESCAPE)
		view->filter[0] = '\0';
	if (key == ENTER || key == '\n' || key == ESCAPE)
		view->typing = false;
	else if ((key == BACKSPACE || key == DELETE) && length)
		view->filter[length - 1] = '\0';
	else if (key >= ' ' && key <= '~' && length + 1 < sizeof(view->filter)) {
		view->filter[length] = key;
		view->filter[length + 1] = '\0';
	}
}

static void open_page(struct top_view *view, enum top_page page)
{
	if (page == TOP_HELP || view->selected[0])
		view->page = page;
	else
		snprintf(view->note, sizeof(view->note), "there is no job to look at");
}

static void press(struct top_view *view, char key)
{
	switch (key) {
	case 'k':
		move(view, -1);
		break;
	case 'j':
		move(view, 1);
		break;
	case ' ':
		move(view, PAGE);
		break;
	case 'g':
		move(view, -(long)view->count);
		break;
	case 'G':
		move(view, (long)view->count);
		break;
	case 's':
		view->sort = (enum top_sort)((view->sort + 1) % TOP_SORT_COUNT);
		break;
	case '/':
		view->typing = true;
		view->filter[0] = '\0';
		break;
	case ESCAPE:
		view->filter[0] = '\0';
		break;
	case 'l':
	case ENTER:
	case '\n':
		open_page(view, TOP_LOG);
		break;
	case 'w':
		open_page(view, TOP_WHY);
		break;
	case '?':
	case 'h':
		open_page(view, TOP_HELP);
		break;
	case 'c':
		view->asks = view->selected[0] != '\0';
		break;
	default:
		break;
	}
}

static void press_arrow(struct top_view *view, char key)
{
	long by = key == 'A'   ? -1
		  : key == 'B' ? 1
		  : key == '5' ? -PAGE
		  : key == '6' ? PAGE
		  : key == 'H' ? -(long)view->count
		  : key == 'F' ? (long)view->count
			       : 0;

	if (by)
		move(view, by);
}

/* One key; `special` is an arrow's, or 0. */
static bool take_key(struct top_view *view, char key, char special)
{
	view->note[0] = '\0';
	if (key == CTRL_C || key == CTRL_D)
		return true;
	if (view->typing) {
		if (!special)
			type(view, key);
		return false;
	}
	if (view->asks) {
		view->asks = false;
		view->cancels = key == 'y' || key == 'Y';
		return false;
	}
	if (view->page != TOP_JOBS) { /* any key leads back */
		view->page = TOP_JOBS;
		return false;
	}
	if (special)
		press_arrow(view, special);
	else if (key == 'q' || key == 'Q')
		return true;
	else
		press(view, key);
	return false;
}

bool top_view_key(struct top_view *view, const char *bytes, size_t count)
{
	char special = arrow(bytes, count);

	if (special)
		return take_key(view, bytes[0], special);
	for (size_t i = 0; i < count; i++) /* who types fast has several keys in one */
		if (take_key(view, bytes[i], 0))
			return true;
	return false;
}

/* ---- lists ---- */

static int64_t number(const json_t *job, const char *key)
{
	return json_integer_value(json_object_get(job, key));
}

static const char *text(const json_t *job, const char *key)
{
	const char *value = json_string_value(json_object_get(job, key));

	return value ? value : "";
}

void top_view_word(const json_t *job, char *word, size_t size)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	job_add_id(job, &buf);
	snprintf(word, size, "%s", buf.text ? buf.text : "");
	buf_fini(&buf);
}

static bool passes(const struct top_view *view, const json_t *job)
{
	static const char *const keys[] = { "name", "user", "account", "partition", "state" };
	char word[64];

	if (!view->filter[0])
		return true;
	top_view_word(job, word, sizeof(word));
	if (strstr(word, view->filter))
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcasestr(text(job, keys[i]), view->filter))
			return true;
	return false;
}

static int compare_texts(const json_t *a, const json_t *b, const char *key)
{
	return strcasecmp(text(a, key), text(b, key));
}

static bool is_before(enum top_sort sort, const json_t *a, const json_t *b)
{
	switch (sort) {
	case TOP_BY_USER:
		return compare_texts(a, b, "user") < 0;
	case TOP_BY_NAME:
		return compare_texts(a, b, "name") < 0;
	case TOP_BY_GPUS:
		return number(a, "gpus") > number(b, "gpus");
	default:
		return false;
	}
}

json_t *top_view_choose(const struct top_view *view, const json_t *jobs)
{
	json_t *list = json_array(), *job;
	size_t i;

	json_array_foreach(jobs, i, job)
	{
		size_t at = json_array_size(list);

		if (!passes(view, job))
			continue;
		while (at && is_before(view->sort, job, json_array_get(list, at - 1)))
			at--; /* equal ones stay in the order of the queue */
		if (json_array_insert(list, at, job)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

void top_view_settle(struct top_view *view, json_t *const *lists, size_t list_count)
{
	size_t rows = 0, found = SIZE_MAX, i;
	char word[64];
	json_t *job;

	for (size_t list = 0; list < list_count; list++)
		json_array_foreach(lists[list], i, job)
		{
			top_view_word(job, word, sizeof(word));
			if (view->selected[0] && strcmp(word, view->selected) == 0)
				found = rows;
			rows++;
		}
	view->count = rows;
	view->at = found != SIZE_MAX ? found : view->at < rows ? view->at : rows ? rows - 1 : 0;
	view->selected[0] = '\0';
	rows = 0;
	for (size_t list = 0; list < list_count; list++)
		json_array_foreach(lists[list], i, job) if (rows++ == view->at)
		{
			top_view_word(job, view->selected, sizeof(view->selected));
			json_object_set_new(job, "selected", json_true());
		}
}

size_t top_view_first(const struct top_view *view, size_t before, size_t count, size_t room)
{
	if (!view->keys || room == 0 || count <= room || view->at < before ||
	    view->at >= before + count)
		return 0;
	size_t at = view->at - before;

	return at < room ? 0 : at - room + 1;
}
