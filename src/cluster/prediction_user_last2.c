/*
 * user_last2: the mean of the user's last two run times, never more than the job asked for. Users
 * run the same thing again and again, and two runs know more than any request (Tsafrir, Etsion and
 * Feitelson, 2007). A job that runs longer than predicted is from then on believed to need all it
 * asked for, or, as an option, a little more each time.
 */
#include <strata/cluster.h>

#define SECOND_NS INT64_C(1000000000)

enum { CORRECT_REQUESTED, CORRECT_STEPS, CORRECT_DOUBLE };

struct user_last2_conf {
	int correct;
};

static const struct strata_choice corrections_choices[] = {
	{ "requested", CORRECT_REQUESTED, "all that was asked for" },
	{ "steps", CORRECT_STEPS, "1, 5, 15, 30 minutes more, 1, 2, 5, 10 hours more …" },
	{ "double", CORRECT_DOUBLE, "twice as long as it has run" },
	{ 0 }
};

static const struct strata_option user_last2_options[] = {
	{ "correct", STRATA_ENUM, offsetof(struct user_last2_conf, correct),
	  .choice = { corrections_choices, CORRECT_REQUESTED },
	  .help = "what is believed of a job that runs longer than predicted" },
	{ 0 }
};

struct history {
	int64_t last_ns[2]; /* the last, and the one before */
	uint64_t count;
};

struct user_last2_state {
	struct strata_memory *memory;
	struct history *users; /* by number */
	size_t user_room;
};

static int user_last2_open(const void *conf, struct strata_memory *memory, void **ret_state,
			   struct strata_error *err)
{
	struct user_last2_state *state = strata_memory_get(memory, sizeof(*state));

	(void)conf;
	if (!state)
		return strata_fail_memory(err);
	state->memory = memory;
	*ret_state = state;
	return 0;
}

static void user_last2_close(void *state_any)
{
	struct user_last2_state *state = state_any;

	if (!state)
		return;
	strata_memory_put(state->memory, state->users, state->user_room * sizeof(*state->users));
	strata_memory_put(state->memory, state, sizeof(*state));
}

static int64_t user_last2_predict(const void *conf, const void *state_any,
				  const struct strata_run *run)
{
	const struct user_last2_state *state = state_any;
	const struct history *history = run->user < state->user_room ? &state->users[run->user]
								     : NULL;

	(void)conf;
	if (!history || history->count < 2)
		return run->requested_ns;
	int64_t mean_ns = history->last_ns[0] / 2 + history->last_ns[1] / 2;

	/* whole seconds: finer ones are not known, and would make ends of their own that nobody
	 * sees */
	return (mean_ns + SECOND_NS - 1) / SECOND_NS * SECOND_NS;
}

static int64_t user_last2_correct(const void *conf_any, const void *state,
				  const struct strata_run *run, int64_t elapsed_ns,
				  uint32_t corrections)
{
	/* how much longer, in seconds, after the first, the second … time */
	static const int64_t more_s[] = { 60,    300,   900,   1800,   3600,  7200,
					  18000, 36000, 72000, 180000, 360000 };
	const size_t last = sizeof(more_s) / sizeof(more_s[0]) - 1;
	const struct user_last2_conf *conf = conf_any;

	(void)state;
	switch (conf->correct) {
	case CORRECT_STEPS:
		return elapsed_ns + more_s[corrections < last ? corrections : last] * SECOND_NS;
	case CORRECT_DOUBLE:
		return elapsed_ns < run->requested_ns / 2 ? 2 * elapsed_ns + SECOND_NS
							  : run->requested_ns;
	default:
		return run->requested_ns;
	}
}

static void user_last2_learn(const void *conf, void *state_any, const struct strata_run *run,
			     int64_t ran_ns)
{
	struct user_last2_state *state = state_any;

	(void)conf;
	if (run->user >= state->user_room) {
		size_t room = state->user_room ? state->user_room : 64;

		while (room <= run->user)
			room *= 2;
		struct history *users = strata_memory_resize(state->memory, state->users,
							     state->user_room * sizeof(*users),
							     room * sizeof(*users));

		if (!users)
			return;
		state->users = users;
		state->user_room = room;
	}
	struct history *history = &state->users[run->user];

	history->last_ns[1] = history->last_ns[0];
	history->last_ns[0] = ran_ns;
	history->count++;
}

const struct strata_prediction_class strata_prediction_user_last2 = {
	.base = {
		.name = "user_last2",
		.aliases = "tsafrir",
		.summary = "the mean of the user's last two run times",
		.conf_size = sizeof(struct user_last2_conf),
		.options = user_last2_options,
	},
	.open = user_last2_open,
	.close = user_last2_close,
	.predict = user_last2_predict,
	.correct = user_last2_correct,
	.learn = user_last2_learn,
};
