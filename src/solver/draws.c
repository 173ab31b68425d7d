/*
 * The noise of a trajectory: which tensor of a source a row draws, and that tensor, whatever was asked for before. The source's state is only
 * a place from which the next tensor is cheap; it is never needed for what a tensor holds.
 */
#include <strata/brownian.h>
#include <strata/solver.h>

int strata_solver_noise_init(struct strata_solver_noise *noise, const struct strata_spec *spec,
			     uint64_t seed, size_t member_count, size_t element_count,
			     struct strata_arena *arena, struct strata_error *err)
{
	const struct strata_noise_class *cls = (const struct strata_noise_class *)spec->cls;
	void *state = strata_arena_get(arena, cls->state_size);

	void *scratch = NULL;

	if (cls->tree)
		scratch = strata_arena_get(arena,
					   strata_brownian_scratch(member_count * element_count));
	if (!state || (cls->tree && !scratch))
		return strata_fail_memory(err);
	*noise = (struct strata_solver_noise){
		.cls = cls,
		.conf = spec->conf,
		.seed = seed,
		.member_count = member_count,
		.element_count = element_count,
		.state = state,
		.scratch = scratch,
	};
	cls->start(noise->conf, seed, state);
	return 0;
}

int strata_solver_noise_build(const char *source, uint64_t seed, size_t member_count,
			      size_t element_count, struct strata_arena *arena,
			      struct strata_solver_noise *ret_noise, struct strata_error *err)
{
	struct strata_spec spec;
	int rc = strata_spec_build(&strata_noise_kind, source, arena, &spec, err);

	return rc ? rc
		  : strata_solver_noise_init(ret_noise, &spec, seed, member_count, element_count,
					     arena, err);
}

/* Goes forwards to a tensor. What has to be drawn on the way is overwritten by it. */
static void go_to(struct strata_solver_noise *noise, uint64_t tensor, size_t count, float *scratch)
{
	if (noise->cls->seek)
		noise->cls->seek(noise->state, tensor, count);
	else
		for (uint64_t k = noise->next; k < tensor; k++)
			noise->cls->normal(noise->state, scratch, count);
}

static void start(struct strata_solver_noise *noise, uint64_t seed)
{
	noise->cls->start(noise->conf, seed, noise->state);
	noise->next = 0;
}

void strata_solver_noise_fill(struct strata_solver_noise *noise, uint64_t tensor, float *ret_values)
{
	size_t parts = noise->cls->independent ? noise->member_count : 1;
	size_t count = noise->element_count * (noise->member_count / parts);

	for (size_t k = 0; k < parts; k++) {
		float *values = ret_values + k * count;

		if (noise->cls->independent || tensor < noise->next)
			start(noise, noise->seed + k);
		go_to(noise, tensor, count, values);
		noise->cls->normal(noise->state, values, count);
		noise->next = tensor + 1;
	}
}

void strata_solver_noise_row(struct strata_solver_noise *noise,
			     const struct strata_solver_table *table,
			     const struct strata_solver_row *row, uint64_t tensor,
			     float *ret_values)
{
	struct strata_brownian tree = { noise->seed, table->path_low, table->path_high };

	if (noise->cls->tree && row->noise_from > 0)
		strata_brownian_normal(&tree, row->noise_from, row->noise_to,
				       noise->member_count * noise->element_count, noise->scratch,
				       ret_values);
	else
		strata_solver_noise_fill(noise, tensor, ret_values);
}

uint64_t strata_solver_tensor_of(const struct strata_solver_table *table, size_t row_index)
{
	uint64_t tensor = 1;

	for (size_t i = 0; i < row_index && i < table->row_count; i++)
		tensor += (table->rows[i].flags & STRATA_ROW_NOISE) != 0;
	return tensor;
}
