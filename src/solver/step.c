/*
 * Trajectories that apply their own rows: see strata/trajectory.h. The walk says which row is next; rows that call no model are applied as
 * soon as they come, so that between two calls the sample is always what the model wants to see.
 */
#include <strata/trajectory.h>

#include "solver/row.h"

#include <errno.h>
#include <string.h>

struct strata_trajectory {
	struct strata_memory *memory;
	struct strata_arena arena;       /* all that lives as long as this */
	struct strata_solver_table *own; /* NULL: the table is the caller's */
	const struct strata_solver_table *table;
	struct strata_solver_how how;
	size_t element_count, member_count, member_bytes;
	struct strata_solver_walk walk;
	const struct strata_solver_row *row; /* of the next model call; NULL: none */
	struct strata_solver_noise draws;
	uint64_t tensor; /* the next one that a row draws */
	float *noise;
	struct strata_solver_item *items; /* one for each member */
	void **slots;                     /* slot_count for each member */
	double *timesteps;
	size_t timestep_count;
};

static size_t slots_of(const struct strata_trajectory *it)
{
	return it->table->slot_count;
}

/* The slots of all members, each in a block of its own. */
static int make_slots(struct strata_trajectory *it)
{
	size_t bytes = strata_solver_slots_bytes(it->table->slot_count, it->element_count,
						 it->how.element);

	it->slots =
		strata_arena_array(&it->arena, it->member_count * slots_of(it), sizeof(*it->slots));
	if (!it->slots)
		return -ENOMEM;
	for (size_t k = 0; k < it->member_count && slots_of(it); k++) {
		void *block = strata_arena_get(&it->arena, bytes);

		if (!block)
			return -ENOMEM;
		strata_solver_slots_init(block, it->table->slot_count, it->element_count,
					 it->how.element, it->slots + k * slots_of(it));
	}
	return 0;
}

static int make_timesteps(struct strata_trajectory *it)
{
	it->timesteps =
		strata_arena_array(&it->arena, it->table->row_count, sizeof(*it->timesteps));
	if (!it->timesteps)
		return -ENOMEM;
	for (size_t i = 0; i < it->table->row_count; i++)
		if (!(it->table->rows[i].flags & STRATA_ROW_NO_MODEL))
			it->timesteps[it->timestep_count++] = it->table->rows[i].timestep;
	return 0;
}

static int make(struct strata_trajectory *it, const struct strata_trajectory_conf *conf,
		struct strata_error *err)
{
	int rc = conf->table ? 0
			     : strata_solver_build_for(conf->solver, &conf->request, it->memory,
						       &it->own, err);

	if (rc)
		return rc;
	it->table = conf->table ? conf->table : it->own;
	it->noise = strata_arena_array(&it->arena, it->member_count * it->element_count,
				       sizeof(*it->noise));
	it->items = strata_arena_array(&it->arena, it->member_count, sizeof(*it->items));
	if (!it->noise || !it->items || make_slots(it) || make_timesteps(it))
		return strata_fail_memory(err);
	return strata_solver_noise_build(conf->noise, conf->seed, it->member_count,
					 it->element_count, &it->arena, &it->draws, err);
}

int strata_trajectory_new(const struct strata_trajectory_conf *conf, struct strata_memory *memory,
			  struct strata_trajectory **ret_trajectory, struct strata_error *err)
{
	size_t members = conf->member_count ? conf->member_count : 1;
	size_t element_bytes = conf->element == STRATA_F32 ? sizeof(float) : sizeof(uint16_t);

	if (conf->element_count == 0 || conf->element_count > SIZE_MAX / sizeof(float) / members)
		return strata_fail_at(err, -EINVAL, "element_count",
				      "a sample has %zu elements; expected 1 or more, and as many "
				      "as memory can hold",
				      conf->element_count);
	if (!conf->noise || (!conf->table && !conf->solver))
		return strata_fail_at(err, -EINVAL, conf->noise ? "solver" : "noise",
				      "the trajectory has no %s; expected a name, such as \"%s\"",
				      conf->noise ? "solver" : "noise",
				      conf->noise ? "ddim" : "torch");
	struct strata_trajectory *it = strata_memory_get(memory, sizeof(*it));

	if (!it)
		return strata_fail_memory(err);
	it->memory = memory;
	it->element_count = conf->element_count;
	it->member_count = members;
	it->member_bytes = conf->element_count * element_bytes;
	it->how = (struct strata_solver_how){ conf->element, conf->isa, conf->workers };
	strata_arena_init(&it->arena, memory, 0);
	int rc = make(it, conf, err);

	if (rc) {
		strata_trajectory_free(it);
		return rc;
	}
	*ret_trajectory = it;
	return 0;
}

void strata_trajectory_free(struct strata_trajectory *trajectory)
{
	if (!trajectory)
		return;
	strata_arena_fini(&trajectory->arena);
	strata_solver_table_free(trajectory->own, trajectory->memory);
	strata_memory_put(trajectory->memory, trajectory, sizeof(*trajectory));
}

const struct strata_solver_table *strata_trajectory_table(
	const struct strata_trajectory *trajectory)
{
	return trajectory->table;
}

const double *strata_trajectory_timesteps(const struct strata_trajectory *trajectory,
					  size_t *ret_count)
{
	*ret_count = trajectory->timestep_count;
	return trajectory->timesteps;
}

const struct strata_solver_row *strata_trajectory_row(const struct strata_trajectory *trajectory)
{
	return trajectory->row;
}

/* One row on every member. An adaptive solver hears of the worst of them. */
static void apply(struct strata_trajectory *it, const struct strata_solver_row *row,
		  const void *output, void *sample)
{
	if (row->flags & STRATA_ROW_NOISE)
		strata_solver_noise_row(&it->draws, it->table, row, it->tensor++, it->noise);
	for (size_t k = 0; k < it->member_count; k++) {
		size_t at = k * it->member_bytes;

		it->items[k] = (struct strata_solver_item){
			.row = row,
			.sample = (char *)sample + at,
			.output = output ? (const char *)output + at : NULL,
			.next = (char *)sample + at,
			.slots = it->slots + k * slots_of(it),
			.noise = it->noise + k * it->element_count,
		};
	}
	strata_solver_apply(it->items, it->member_count, it->element_count, &it->how);
	if (!(row->flags & STRATA_ROW_MEASURE))
		return;
	it->walk.error = 0;
	for (size_t k = 0; k < it->member_count; k++) {
		double error =
			strata_solver_measure(&it->items[k], it->element_count, it->how.element);

		if (!(error <= it->walk.error))
			it->walk.error = error;
	}
}

/* On to the next row that calls the model. */
static void advance(struct strata_trajectory *it, void *sample)
{
	while ((it->row = strata_solver_next(&it->walk)) && it->row->flags & STRATA_ROW_NO_MODEL)
		apply(it, it->row, NULL, sample);
}

void strata_trajectory_begin(struct strata_trajectory *trajectory, const void *clean, void *sample)
{
	struct strata_trajectory *it = trajectory;

	it->walk = (struct strata_solver_walk){ .table = it->table };
	it->tensor = 1;
	strata_solver_noise_fill(&it->draws, 0, it->noise);
	strata_solver_begin(it->table, clean, it->noise, it->member_count * it->element_count,
			    it->how.element, sample);
	advance(it, sample);
}

void strata_trajectory_scale(const struct strata_trajectory *trajectory, const void *sample,
			     void *ret_input)
{
	float scale = (float)trajectory->row->input_scale;
	enum strata_element element = trajectory->how.element;

	for (size_t i = 0; i < trajectory->member_count * trajectory->element_count; i++)
		row_store(ret_input, element, i, scale * row_load(sample, element, i));
}

static int check_step(const struct strata_trajectory *it, double timestep, const void *unguided,
		      struct strata_error *err)
{
	if (!it->row)
		return strata_fail_at(err, -EINVAL, "timestep",
				      "the trajectory has no model call left; begin it again");
	if (timestep != it->row->timestep)
		return strata_fail_at(err, -EINVAL, "timestep",
				      "timestep %.17g is not the next one; expected %.17g",
				      timestep, it->row->timestep);
	if (it->row->flags & STRATA_ROW_UNGUIDED && !unguided)
		return strata_fail_at(err, -EINVAL, "unguided",
				      "%s goes by the unguided output too; expected "
				      "strata_trajectory_step_unguided",
				      it->table->cls->base.name);
	return 0;
}

int strata_trajectory_step(struct strata_trajectory *trajectory, const void *output,
			   double timestep, void *sample, struct strata_error *err)
{
	return strata_trajectory_step_unguided(trajectory, output, NULL, timestep, sample, err);
}

int strata_trajectory_step_unguided(struct strata_trajectory *trajectory, const void *output,
				    const void *unguided, double timestep, void *sample,
				    struct strata_error *err)
{
	struct strata_trajectory *it = trajectory;
	int rc = check_step(it, timestep, unguided, err);

	if (rc)
		return rc;
	for (size_t k = 0; it->row->flags & STRATA_ROW_UNGUIDED && k < it->member_count; k++)
		memcpy(it->slots[k * slots_of(it) + STRATA_SLOT_UNGUIDED],
		       (const char *)unguided + k * it->member_bytes, it->member_bytes);
	apply(it, it->row, output, sample);
	advance(it, sample);
	return 0;
}

void strata_trajectory_add_noise(const struct strata_trajectory *trajectory, double timestep,
				 const void *clean, const float *noise, void *ret_sample)
{
	const struct strata_solver_table *table = trajectory->table;

	strata_solver_add_noise(&table->rows[strata_solver_row_near(table, timestep)], clean, noise,
				trajectory->member_count * trajectory->element_count,
				trajectory->how.element, ret_sample);
}
