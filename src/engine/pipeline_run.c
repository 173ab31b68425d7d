/*
 * Where a run stands: the solver's table, its row, the tensors that rows keep, the noise. A step is one call of the denoiser for each group of runs that fit
 * together, then each run's own row. What is saved is what the next row reads; noise is drawn again by its number.
 */
#include "engine/pipeline.h"

#include "formats/python_json.h"

#include <errno.h>
#include <string.h>

/* ---- making ---- */

/* Where the folder's scheduler is one of flow matching, "euler" means that one. */
static const char *flow_name(const struct strata_pipeline *it, const char *name, const char *json,
			     size_t length, struct strata_arena *arena)
{
	size_t bytes = strcspn(name, ":");
	struct strata_solver_name found;

	if (!json || !memmem(json, length, "\"FlowMatch", 10) ||
	    strata_solver_find(it->solvers, NULL, name, bytes, &found, NULL))
		return name;
	char *flow = strata_arena_printf(arena, "flow_%s", found.cls->name);

	if (!flow || strata_solver_find(it->solvers, NULL, flow, strlen(flow), &found, NULL))
		return name;
	return strata_arena_printf(arena, "%s%s", flow, name + bytes);
}

static int read_solver(struct strata_pipeline_run *run,
		       const struct strata_pipeline_request *request, const char *json,
		       size_t length, struct strata_arena *arena,
		       struct strata_solver_setup *ret_setup, struct strata_error *err)
{
	const struct strata_pipeline *it = run->pipeline;
	const char *name = request->solver;

	if (name && json)
		name = flow_name(it, name, json, length, arena);
	if (!name && !json)
		return strata_fail(err, -EINVAL,
				   "%.200s has no scheduler/scheduler_config.json; name a solver",
				   it->folder);
	return json ? strata_solver_read_over(it->solvers, it->schedules, name, json, length, arena,
					      ret_setup, err)
		    : strata_solver_read(it->solvers, it->schedules, name, strlen(name), arena,
					 ret_setup, err);
}

static int compile(struct strata_pipeline_run *run, const struct strata_pipeline_request *request,
		   struct strata_error *err)
{
	const struct strata_pipeline *it = run->pipeline;
	const char *json = request->scheduler_config ? request->scheduler_config
						     : it->scheduler_json;
	size_t length = request->scheduler_config ? strlen(request->scheduler_config)
						  : it->scheduler_length;
	struct strata_solver_request asked = {
		.steps = request->steps ? request->steps : it->default_steps,
		.has_strength = request->init != NULL,
		.strength = request->strength,
	};
	struct strata_solver_setup setup;
	struct strata_spec reuse;
	struct strata_arena arena;
	json_t *config = NULL;

	strata_arena_init(&arena, run->memory, 0);
	int rc = json ? python_json_load(json, length, &arena, &config, err) : 0;

	if (rc == 0) {
		struct strata_error why = { 0 };

		rc = read_solver(run, request, json, length, &arena, &setup, &why);
		if (rc && json == it->scheduler_json && !request->solver)
			strata_fail(err, rc, "%.200s/scheduler/scheduler_config.json: %s",
				    it->folder, why.text);
		else if (rc && err)
			*err = why;
	}
	if (rc == 0 && it->cls->solve)
		rc = it->cls->solve(it, run, config, &arena, &asked, err);
	if (rc == 0 && request->quality) {
		rc = strata_reuse_build(request->quality, &arena, &reuse, err);
		asked.reuse = &reuse;
	}
	if (rc == 0) {
		asked.schedule = setup.schedule.cls ? &setup.schedule : NULL;
		asked.drop_penultimate = setup.drop_penultimate;
		rc = strata_solver_compile((const struct strata_solver_class *)setup.solver.cls,
					   setup.solver.conf, &asked, run->memory, &run->table,
					   err);
	}
	json_decref(config);
	strata_arena_fini(&arena);
	return rc;
}

static int make_draws(struct strata_pipeline_run *run,
		      const struct strata_pipeline_request *request, struct strata_error *err)
{
	bool own = request->seed_count > 1 || run->image_count == 1;
	int rc = 0;

	run->draw_count = own ? run->image_count : 1;
	run->draws = strata_arena_array(&run->arena, run->draw_count, sizeof(*run->draws));
	if (!run->draws)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < run->draw_count; i++)
		rc = strata_solver_noise_build(
			run->pipeline->noise, request->seed_count ? request->seeds[i] : 0,
			run->image_count / run->draw_count, run->geometry.element_count,
			&run->arena, &run->draws[i], err);
	return rc;
}

static int make_room(struct strata_pipeline_run *run, struct strata_error *err)
{
	size_t elements = run->geometry.element_count, all = run->image_count * elements;
	uint32_t slots = run->table->slot_count;
	size_t slot_bytes = strata_solver_slots_bytes(slots, elements, STRATA_F32);

	run->latents = strata_arena_array(&run->arena, all, sizeof(float));
	run->outputs = strata_arena_array(&run->arena, all, sizeof(float));
	run->unguided = strata_arena_array(&run->arena, run->guided ? all : 0, sizeof(float));
	run->noise = strata_arena_array(&run->arena, all, sizeof(float));
	run->items = strata_arena_array(&run->arena, run->image_count, sizeof(*run->items));
	run->slots = strata_arena_array(&run->arena, run->image_count * slots, sizeof(void *));
	if (!run->latents || !run->outputs || !run->unguided || !run->noise || !run->items ||
	    !run->slots)
		return strata_fail_memory(err);
	for (size_t k = 0; slots && k < run->image_count; k++) {
		void *block = strata_arena_get(&run->arena, slot_bytes);

		if (!block)
			return strata_fail_memory(err);
		strata_solver_slots_init(block, slots, elements, STRATA_F32,
					 run->slots + k * slots);
	}
	return 0;
}

int pipeline_run_prepare(struct strata_pipeline_run *run,
			 const struct strata_pipeline_request *request, struct strata_error *err)
{
	bool unguided = false;
	int rc = compile(run, request, err);

	for (size_t i = 0; rc == 0 && i < run->table->row_count; i++)
		unguided = unguided || run->table->rows[i].flags & STRATA_ROW_UNGUIDED;
	if (rc == 0 && unguided && !run->pipeline->cls->guided)
		rc = strata_fail(err, -ENOTSUP,
				 "%s goes by the unguided prediction too, which a %s pipeline does "
				 "not have",
				 run->table->cls->base.name, run->pipeline->cls->base.name);
	run->guided = run->pipeline->cls->guided && (unguided || run->guidance > 1);
	run->wants_features = rc == 0 && pipeline_features_wanted(run->table);
	if (run->wants_features)
		rc = pipeline_features_open(run->pipeline, err);
	if (rc == 0)
		rc = make_draws(run, request, err);
	return rc ? rc : make_room(run, err);
}

/* ---- rows ---- */

void pipeline_run_draw(struct strata_pipeline_run *run, uint64_t tensor, float *ret_values)
{
	size_t each = run->image_count / run->draw_count * run->geometry.element_count;

	for (size_t i = 0; i < run->draw_count; i++)
		strata_solver_noise_fill(&run->draws[i], tensor, ret_values + i * each);
}

/* What a row draws, for all pictures. */
static void draw_row(struct strata_pipeline_run *run, const struct strata_solver_row *row)
{
	size_t each = run->image_count / run->draw_count * run->geometry.element_count;

	for (size_t i = 0; i < run->draw_count; i++)
		strata_solver_noise_row(&run->draws[i], run->table, row, run->tensor,
					run->noise + i * each);
	run->tensor++;
}

static void apply(struct strata_pipeline_run *run, const struct strata_solver_row *row)
{
	const struct strata_solver_how how = { STRATA_F32, strata_isa_best(), NULL };
	size_t elements = run->geometry.element_count, slots = run->table->slot_count;

	if (row->flags & STRATA_ROW_NOISE)
		draw_row(run, row);
	for (size_t k = 0; k < run->image_count; k++) {
		run->items[k] = (struct strata_solver_item){
			.row = row,
			.sample = run->latents + k * elements,
			.output = run->outputs + k * elements,
			.next = run->latents + k * elements,
			.slots = run->slots + k * slots,
			.noise = run->noise + k * elements,
		};
		if (row->flags & STRATA_ROW_UNGUIDED)
			memcpy(run->slots[k * slots + STRATA_SLOT_UNGUIDED],
			       run->unguided + k * elements, elements * sizeof(float));
	}
	strata_solver_apply(run->items, run->image_count, elements, &how);
	if (!(row->flags & STRATA_ROW_MEASURE))
		return;
	run->walk.error = 0;
	for (size_t k = 0; k < run->image_count; k++) {
		double error = strata_solver_measure(&run->items[k], elements, STRATA_F32);

		if (!(error <= run->walk.error))
			run->walk.error = error;
	}
}

/* On to the next row that calls the model. */
static void advance(struct strata_pipeline_run *run)
{
	while ((run->row = strata_solver_next(&run->walk)) && run->row->flags & STRATA_ROW_NO_MODEL)
		apply(run, run->row);
}

void pipeline_pack(const struct pipeline_geometry *geometry, size_t image_count, const float *from,
		   float *to, bool unpack)
{
	size_t channels = (size_t)geometry->channels, rows = (size_t)geometry->rows;
	size_t columns = (size_t)geometry->columns, at = 0;

	for (size_t k = 0; k < image_count; k++)
		for (size_t y = 0; y < rows; y += 2)
			for (size_t x = 0; x < columns; x += 2)
				for (size_t c = 0; c < channels; c++)
					for (size_t i = 0; i < 4; i++, at++) {
						size_t plain =
							((k * channels + c) * rows + y + i / 2) *
								columns +
							x + i % 2;

						to[unpack ? plain : at] = from[unpack ? at : plain];
					}
}

void pipeline_run_begin(struct strata_pipeline_run *run, const float *clean)
{
	size_t all = run->image_count * run->geometry.element_count;

	run->walk = (struct strata_solver_walk){ .table = run->table };
	pipeline_run_draw(run, run->tensor++, run->noise);
	strata_solver_begin(run->table, clean, run->noise, all, STRATA_F32, run->latents);
	if (run->pipeline->cls->packed) {
		memcpy(run->noise, run->latents, all * sizeof(float));
		pipeline_pack(&run->geometry, run->image_count, run->noise, run->latents, false);
	}
	advance(run);
}

/* ---- steps ---- */

int strata_pipeline_step(struct strata_pipeline *pipeline, struct strata_pipeline_run *const *runs,
			 size_t count, struct strata_error *err)
{
	struct strata_arena arena;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		if (!runs[i]->row)
			return strata_fail(err, -EINVAL, "run %zu of the batch has no call left",
					   i);
	pipeline_trace_begin(pipeline, "step", runs, count);
	strata_arena_init(&arena, pipeline->memory, 0);
	struct strata_pipeline_run **group = strata_arena_array(&arena, count, sizeof(*group));
	bool *done = strata_arena_array(&arena, count, sizeof(*done));

	if (!group || !done)
		rc = strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		size_t members = 0;

		for (size_t k = i; !done[i] && k < count; k++)
			if (!done[k] && (k == i || pipeline_fits(runs[i], runs[k]))) {
				group[members++] = runs[k];
				done[k] = k != i;
			}
		if (members)
			rc = pipeline_call(pipeline, group, members, err);
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		int64_t begin_ns = pipeline_trace_now(pipeline);

		apply(runs[i], runs[i]->row);
		pipeline_trace_row(runs[i], begin_ns);
		runs[i]->calls_done++;
		advance(runs[i]);
	}
	strata_arena_fini(&arena);
	pipeline_trace_end(pipeline);
	return rc;
}

/* ---- saving ---- */

struct saved {
	char magic[8];
	uint64_t image_count, element_count, slot_count, row_count, table_hash;
	uint64_t index, tensor, calls_done, row_index;
	double error, state[STRATA_SOLVER_STATE_MAX];
	struct strata_solver_row row; /* of an adaptive solver */
	uint64_t feature_rank;        /* 0: there are none */
	int64_t feature_dims[STRATA_TENSOR_RANK_MAX];
};

static const char saved_magic[8] = "strata2";

static uint64_t hash_rows(const struct strata_solver_table *table)
{
	const unsigned char *bytes = (const unsigned char *)table->rows;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < table->row_count * sizeof(*table->rows); i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Which row comes: its number in the table, one past it for an adaptive solver's own, SIZE_MAX for none. */
static uint64_t row_index(const struct strata_pipeline_run *run)
{
	if (!run->row)
		return UINT64_MAX;
	return run->row == &run->walk.row ? run->table->row_count
					  : (uint64_t)(run->row - run->table->rows);
}

static void describe(const struct strata_pipeline_run *run, struct saved *saved)
{
	memset(saved, 0, sizeof(*saved)); /* padding, too: the same state has the same bytes */
	memcpy(saved->magic, saved_magic, sizeof(saved->magic));
	saved->image_count = run->image_count;
	saved->element_count = run->geometry.element_count;
	saved->slot_count = run->table->slot_count;
	saved->row_count = run->table->row_count;
	saved->table_hash = hash_rows(run->table);
}

int strata_pipeline_save(const struct strata_pipeline_run *run, struct strata_arena *arena,
			 void **ret_bytes, size_t *ret_count, struct strata_error *err)
{
	size_t tensor_bytes = run->geometry.element_count * sizeof(float);
	size_t tensors = run->image_count * (1 + run->table->slot_count);
	size_t feature_bytes = strata_array_bytes(&run->features);
	size_t count = sizeof(struct saved) + tensors * tensor_bytes + feature_bytes;
	struct saved *saved = strata_arena_get(arena, count);

	if (!saved)
		return strata_fail_memory(err);
	describe(run, saved);
	saved->index = run->walk.index;
	saved->tensor = run->tensor;
	saved->calls_done = run->calls_done;
	saved->row_index = row_index(run);
	saved->error = run->walk.error;
	memcpy(saved->state, run->walk.state, sizeof(saved->state));
	saved->row = run->walk.row;
	char *at = (char *)(saved + 1);

	memcpy(at, run->latents, run->image_count * tensor_bytes);
	at += run->image_count * tensor_bytes;
	for (size_t i = 0; i < run->image_count * run->table->slot_count; i++, at += tensor_bytes)
		memcpy(at, run->slots[i], tensor_bytes);
	if (run->features.dtype != STRATA_DTYPE_NONE) {
		saved->feature_rank = run->features.rank;
		memcpy(saved->feature_dims, run->features.dims, sizeof(saved->feature_dims));
		memcpy(at, run->features.data, feature_bytes);
	}
	*ret_bytes = saved;
	*ret_count = count;
	return 0;
}

/* A row of an adaptive solver reads and writes slots that there are. */
static bool row_is_sound(const struct strata_solver_row *row, uint32_t slots)
{
	bool sound = row->write_count <= STRATA_SOLVER_WRITES_MAX &&
		     !(row->flags & (STRATA_ROW_UNGUIDED | STRATA_ROW_NO_MODEL));

	for (uint32_t k = slots; k < STRATA_SOLVER_SLOTS_MAX; k++)
		sound = sound && row->next.c[k] == 0;
	for (uint32_t i = 0; sound && i < row->write_count; i++) {
		sound = row->writes[i].slot < slots;
		for (uint32_t k = slots; k < STRATA_SOLVER_SLOTS_MAX; k++)
			sound = sound && row->writes[i].sum.c[k] == 0;
	}
	return sound && (!(row->flags & STRATA_ROW_MEASURE) || slots >= 2);
}

/* Features as they were saved, from the bytes that are left; NONE where there were none. */
static int restore_features(const struct strata_pipeline_run *run, const struct saved *saved,
			    const char *bytes, size_t count, struct strata_array *ret_features,
			    struct strata_error *err)
{
	const size_t most = STRATA_PIPELINE_STATE_BYTES_MAX / sizeof(float);
	size_t elements = 1;

	*ret_features = (struct strata_array){ 0 };
	if (saved->feature_rank == 0 && count == 0)
		return 0;
	if (saved->feature_rank < 1 || saved->feature_rank > STRATA_TENSOR_RANK_MAX ||
	    saved->feature_dims[0] != (int64_t)pipeline_rows(run) || !run->wants_features)
		return strata_fail(err, -EBADMSG, "the saved run is damaged");
	for (size_t i = 0; i < saved->feature_rank; i++) {
		int64_t dim = saved->feature_dims[i];

		if (dim < 1 || (uint64_t)dim > most / elements)
			return strata_fail(err, -EBADMSG, "the saved run is damaged");
		elements *= (size_t)dim;
	}
	if (elements * sizeof(float) != count)
		return strata_fail(err, -EBADMSG, "the saved run is damaged");
	int rc = strata_array_make(run->pipeline->engine, STRATA_DTYPE_F32, saved->feature_rank,
				   saved->feature_dims, ret_features, err);

	if (rc == 0)
		memcpy(ret_features->data, bytes, count);
	return rc;
}

int strata_pipeline_restore(struct strata_pipeline_run *run, const void *bytes, size_t count,
			    struct strata_error *err)
{
	size_t tensor_bytes = run->geometry.element_count * sizeof(float);
	size_t tensors = run->image_count * (1 + run->table->slot_count);
	struct saved saved, own;
	struct strata_array features;
	int rc;

	describe(run, &own);
	if (count > STRATA_PIPELINE_STATE_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the saved run has %zu bytes; at most %d", count,
				   STRATA_PIPELINE_STATE_BYTES_MAX);
	if (count < sizeof(saved) || memcmp(bytes, &own, offsetof(struct saved, index)) != 0 ||
	    count < sizeof(saved) + tensors * tensor_bytes)
		return strata_fail(
			err, -EBADMSG,
			"the saved run is not one of this request: another size, solver, "
			"number of steps or pictures");
	memcpy(&saved, bytes, sizeof(saved));
	if ((saved.row_index != UINT64_MAX && saved.row_index > run->table->row_count) ||
	    (saved.row_index == run->table->row_count &&
	     (!run->table->cls->next_row || !row_is_sound(&saved.row, run->table->slot_count))) ||
	    saved.index > (uint64_t)STRATA_SOLVER_ROWS_MAX || saved.tensor > UINT32_MAX)
		return strata_fail(err, -EBADMSG, "the saved run is damaged");
	const char *at = (const char *)bytes + sizeof(saved);

	rc = restore_features(run, &saved, at + tensors * tensor_bytes,
			      count - sizeof(saved) - tensors * tensor_bytes, &features, err);
	if (rc)
		return rc;
	strata_array_drop(&run->features);
	run->features = features;

	run->walk.index = saved.index;
	run->walk.error = saved.error;
	memcpy(run->walk.state, saved.state, sizeof(saved.state));
	run->walk.row = saved.row;
	run->tensor = saved.tensor;
	run->calls_done = saved.calls_done;
	run->row = saved.row_index == UINT64_MAX              ? NULL
		   : saved.row_index == run->table->row_count ? &run->walk.row
							      : &run->table->rows[saved.row_index];
	memcpy(run->latents, at, run->image_count * tensor_bytes);
	at += run->image_count * tensor_bytes;
	for (size_t i = 0; i < run->image_count * run->table->slot_count; i++, at += tensor_bytes)
		memcpy(run->slots[i], at, tensor_bytes);
	return 0;
}
