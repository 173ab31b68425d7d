/* What is fetched, computed and released at each hook of a training loop, with memory for two of its three layers.
 *	cc hooks.c $(pkg-config --cflags --libs strata) && ./a.out best */
#include <strata/stage.h>

#include <err.h>
#include <stdio.h>

enum { LAYERS = 3, MB = 1 << 20 };
static const char *const names[] = { "L1", "L2", "L3" };
static struct strata_stage_run *run;
static struct strata_error why;

static void must(int rc)
{
	if (rc)
		errx(1, "%s", why.text);
}

/* Where a real loop would read, wait and give back memory. */
static void hook(enum strata_stage_hook which, uint32_t layer)
{
	struct strata_stage_due due;

	must(strata_stage_run_hook(run, which, layer, &due, &why));
	printf("%s\n", strata_stage_hook_name(which));
	for (size_t i = 0; i < due.count; i++)
		printf("    %s %s\n", strata_stage_kind_name(due.entries[i].kind),
		       names[due.entries[i].layer]);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "best";
	struct strata_stage_layer layers[LAYERS];
	const uint32_t order[] = { 0, 1, 2, 2, 1, 0 }; /* there and back */
	const struct strata_stage_model model = { layers, LAYERS, order, 2 * LAYERS, LAYERS };
	struct strata_stage_run_conf conf = { &model, { MB, 8 * MB, 1000000000 } };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	for (int i = 0; i < LAYERS; i++)
		layers[i] = (struct strata_stage_layer){ names[i], 4 * MB, 1000 };
	strata_arena_init(&arena, &memory, 0);
	must(strata_spec_build(&strata_planner_kind, name, &arena, &conf.planner, &why));
	must(strata_stage_run_new(&conf, &memory, &run, &why));
	for (int step = 0; step < 2; step++) {
		hook(STRATA_STAGE_STEP_START, 0);
		for (const uint32_t *at = order; at < order + 2 * LAYERS; at++) {
			bool back = at >= order + LAYERS;

			hook(back ? STRATA_STAGE_PRE_BACKWARD : STRATA_STAGE_PRE_FORWARD, *at);
			hook(back ? STRATA_STAGE_POST_BACKWARD : STRATA_STAGE_POST_FORWARD, *at);
		}
		hook(STRATA_STAGE_STEP_END, 0);
	}
	strata_stage_run_free(run);
	strata_arena_fini(&arena);
	return 0;
}
