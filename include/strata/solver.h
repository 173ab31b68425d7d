/*
 * Solvers: the next point of a denoising trajectory. A solver does not step; it compiles. From a configuration and a
 * number of steps it fills an immutable table with one row per model call, and one function applies a row:
 *
 *	y  = limit(p·x + q·m)                              the clean sample that the model predicts
 *	x' = a·x + e·m + b·y + Σ c[k]·slot[k] + d·noise    the next sample
 *
 * where x is the sample, m the model's output for (input_scale·x, timestep), and slots hold earlier sums of the same
 * form, written by rows as they are applied. The whole of a generation is
 *
 *	strata_solver_begin: sample = table->init_noise_sigma · noise
 *	for each row of the table:
 *		output = model(row->input_scale · sample, row->timestep)
 *		strata_solver_apply: sample, slots ← row, sample, output, slots, noise
 *
 * A table is constant once compiled: any number of threads may share it, and the members of one batch may stand at
 * different rows. Sample, slots and noise belong to the caller.
 */
#ifndef STRATA_SOLVER_H
#define STRATA_SOLVER_H

#include <strata/class.h>
#include <strata/limits.h>
#include <strata/noise.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What a row adds up: a·x + e·m + b·y + Σ c[k]·slot[k] + d·noise. A coefficient of 0 leaves its operand unread. */
struct strata_solver_sum {
	double a; /* of the sample x */
	double e; /* of the model's output m */
	double b; /* of the predicted clean sample y */
	double c[STRATA_SOLVER_SLOTS_MAX];
	double d; /* of the noise */
};

enum strata_solver_flag {
	/* y is held within ±limit */
	STRATA_ROW_CLIP = 1 << 0,
	/* y is held within ±s and divided by s, where s is the quantile threshold_ratio of |y| over one batch member, at
	 * least 1 and at most limit */
	STRATA_ROW_THRESHOLD = 1 << 1,
	/* one tensor of standard normals is drawn for this row, even where d is 0: a seed's numbers keep their places */
	STRATA_ROW_NOISE = 1 << 2,
	/* no model call: the output is not read (noise added between two calls) */
	STRATA_ROW_NO_MODEL = 1 << 3,
	/* of an adaptive solver: once applied, strata_solver_measure says how good the step was, with the tolerances
	 * limit (absolute) and threshold_ratio (relative) */
	STRATA_ROW_MEASURE = 1 << 4,
	/* of a solver that goes by the guided and by the unguided prediction (CFG++): the caller puts the model's output for the
	 * empty prompt into slot STRATA_SLOT_UNGUIDED before the row is applied, and the guided one is the output */
	STRATA_ROW_UNGUIDED = 1 << 5,
	/* the model call may take what an earlier one has computed in the inner part of the model; who cannot, makes all of it */
	STRATA_ROW_FEATURES = 1 << 6,
};

/* Slots that an adaptive solver's measured row compares the new sample with. */
enum { STRATA_SLOT_ROUGH = 0, STRATA_SLOT_BEFORE = 1 };
/* The slot that the caller fills for a row with STRATA_ROW_UNGUIDED. */
enum { STRATA_SLOT_UNGUIDED = 0 };

struct strata_solver_write {
	uint32_t slot; /* which slot; no two writes of a row name the same one */
	struct strata_solver_sum sum;
};

/* One model call. All operands of a row are read before anything is written. */
struct strata_solver_row {
	double timestep;    /* what the model is told */
	double input_scale; /* what the sample is multiplied with on its way to the model */
	double alpha;       /* where the sample stands: x = alpha·clean + sigma·noise. */
	double sigma;       /* So add_noise at this row is these two */
	double p, q;        /* y = p·x + q·m */
	double limit;       /* see the flags */
	double threshold_ratio;
	struct strata_solver_sum next; /* x' */
	struct strata_solver_write writes[STRATA_SOLVER_WRITES_MAX];
	uint32_t write_count;
	uint32_t flags; /* enum strata_solver_flag */
	/* The stretch of a Brownian path that the noise of an SDE's row is, by noise levels; both 0: it is of no path. */
	double noise_from, noise_to;
	uint32_t step;   /* which of the solver's steps this call belongs to, from 0 */
	uint32_t unused; /* 0: tables of the same settings have the same bytes */
};

struct strata_solver_class;

/* Immutable; one allocation. */
struct strata_solver_table {
	const struct strata_solver_class *cls;
	const void *conf; /* the class's, a copy of all of it */
	const struct strata_solver_row *rows;
	size_t row_count;
	/* Tensors of the sample's size, the caller's; what they hold at the start is not read. */
	uint32_t slot_count;
	uint32_t step_count; /* steps asked for; with a strength, those that are left */
	/* The first sample is init_noise_sigma·noise, plus init_clean·clean with a strength (image to image). */
	double init_noise_sigma, init_clean;
	/* What that path runs between; both 0: there is none. */
	double path_low, path_high;
	/* Of an adaptive solver, whose rows are made later: the training's. */
	const double *train_sigmas;
	size_t train_count;
	size_t size_bytes; /* of the allocation */
};

/* What is asked of a class beside its configuration. Zeroed but for steps it is text to image. */
struct strata_solver_request {
	int64_t steps; /* 1 to STRATA_SOLVER_STEPS_MAX; 0 where sigmas or timesteps are given */
	/* Own noise levels, falling, in place of the schedule's; borrowed for the call. A last 0 may be left out. */
	const double *sigmas;
	size_t sigma_count;
	bool sigmas_end; /* the last of them, whatever it is, is where the last step ends (Euler and LTX in diffusers) */
	/* Own timesteps, falling, in place of the schedule's; borrowed for the call. */
	const double *timesteps;
	size_t timestep_count;
	/* Where the noise levels lie, in place of what the configuration says; NULL: as it says. Borrowed for the call. */
	const struct strata_spec *schedule;
	bool drop_penultimate; /* that schedule has one more level, and the last above 0 is left out */
	bool has_strength;     /* image to image: only the last part of the schedule */
	double strength;       /* 0 to 1: how much of it */
	bool has_mu;           /* dynamic shifting (FLUX, SD3.5): */
	double mu;             /* what the picture's size asks for */
	/* Of kind reuse: which model calls are left out, and what stands in for their outputs. NULL: none
	 * is left out. Borrowed for the call. -ENOTSUP for a solver whose rows look at the output itself:
	 * those that limit y, ask for the unguided output too, or are adaptive. */
	const struct strata_spec *reuse;
};

/* Reuse: fewer model calls by taking earlier outputs for those that are left out. */

enum { STRATA_REUSE_OUTPUTS_MAX = 3 };

/* What stands in for one output: a sum of the last `count` that were made, the newest first. */
struct strata_reuse_use {
	uint32_t count; /* 0: the model is called */
	double weights[STRATA_REUSE_OUTPUTS_MAX];
	bool features; /* with count 0: the call may take features of the one before */
};

struct strata_reuse_class {
	struct strata_class base;
	/* Fills one use for each row that calls the model, in their order. The first is a call, and
	 * each count is at most that of the calls before it. */
	void (*plan)(const void *conf, const struct strata_solver_row *const *calls, size_t count,
		     struct strata_reuse_use *ret_uses);
};

extern const struct strata_kind strata_reuse_kind;

/* A way to reuse by its spec, or one of the words that people choose by: exact (every call is
 * made), normal, draft. */
int strata_reuse_build(const char *text, struct strata_arena *arena, struct strata_spec *ret_spec,
		       struct strata_error *err);
/* These words, sorted from the least calls to all of them; NULL past the end. */
const char *strata_quality_name(size_t index);

/* Schedules: where the noise levels of a trajectory lie, for any solver that works on sigmas. */

struct strata_schedule_range {
	/* What the levels run between, as noise ÷ signal (or of 1, for flows). */
	double sigma_min, sigma_max;
	const double *train_sigmas; /* of each timestep of the training, rising */
	size_t train_count;
};

struct strata_schedule_class {
	struct strata_class base;
	/* count levels, falling, the first at sigma_max or near; the final 0 is not among them. */
	int (*fill)(const void *conf, const struct strata_schedule_range *range, size_t count,
		    double *ret_sigmas, struct strata_error *err);
};

extern const struct strata_kind strata_schedule_kind;

/* What a class writes its rows into. */
struct strata_solver_draft {
	struct strata_arena *arena;
	struct strata_solver_row *rows; /* in the arena */
	size_t row_count;
	size_t row_capacity;
	uint32_t step_count;
	double init_noise_sigma;
	double init_clean;
	double path_low, path_high; /* of the Brownian path that rows name stretches of */
	bool own_start; /* with a strength these two are the class's, not where the first row stands */
	uint32_t slot_count;        /* slots of rows that are made later; 0: those of the rows */
	const double *train_sigmas; /* to be kept in the table; NULL: none */
	size_t train_count;
};

/* One more row, zeroed but for input_scale 1 and alpha 1; valid until the next call. */
int strata_solver_draft_row(struct strata_solver_draft *draft, struct strata_solver_row **ret_row,
			    struct strata_error *err);

/* Where a trajectory stands. Plain memory: a copy is a saved state. */
struct strata_solver_walk {
	const struct strata_solver_table *table; /* borrowed */
	size_t index;                            /* rows given out so far */
	double error; /* for the caller to set: strata_solver_measure of the last row that asked for it */
	double state[STRATA_SOLVER_STATE_MAX]; /* an adaptive solver's own */
	struct strata_solver_row row;          /* an adaptive solver's next one */
};

struct strata_solver_class {
	struct strata_class base;
	/* Options that differ from the table's defaults where a configuration file was read: the defaults that diffusers
	 * gives to keys the file lacks, as key=value:key=value. NULL: none. */
	const char *file_defaults;
	/* Called once per table. Adds rows to the draft, which is empty. Pure: same input, same rows. */
	int (*compile)(const void *conf, const struct strata_solver_request *request,
		       struct strata_solver_draft *draft, struct strata_error *err);
	/* Only of a solver whose steps depend on the error of the last one. Called when the rows of the table have been
	 * given out, with walk->state zeroed at the start: fills walk->row and returns true, or false at the end. NULL: the
	 * table is all there is. */
	bool (*next_row)(const void *conf, struct strata_solver_walk *walk);
};

extern const struct strata_kind strata_solver_kind;

/* A name that users know, resolved. */
struct strata_solver_name {
	const struct strata_class *cls; /* borrowed from the registry */
	const char *options; /* key=value:… that the name stands for; NULL: none. Static */
	const struct strata_class *schedule; /* that the name ends in; NULL: none */
	bool drop_penultimate; /* for strata_solver_request, when a schedule is asked for */
};

/* Finds a solver by any name that diffusers, A1111, ComfyUI, k-diffusion or stable-diffusion.cpp have for it, in any
 * spelling of case, spaces, '_' and '-', perhaps with a schedule behind it ("DPM++ 2M Karras") when `schedules` is not
 * NULL. Where no solver has the name, it may be that of a family of models ("sdxl"). -ENOENT with the nearest choice. */
int strata_solver_find(const struct strata_registry *solvers,
		       const struct strata_registry *schedules, const char *name, size_t length,
		       struct strata_solver_name *ret_name, struct strata_error *err);

/* The names beside those of the classes and their aliases, for lists; NULL past the end. */
const char *strata_solver_other_name(size_t index);

/* A solver, set, and the schedule that was asked for with it. */
struct strata_solver_setup {
	struct strata_spec solver;
	struct strata_spec schedule; /* cls NULL: none */
	bool drop_penultimate;
};

/* Reads NAME[:key=value…], NAME as above: "ddim", "dpmpp_2m:solver_order=3", "DPM++ 2M SDE Karras:eta=0.5". */
int strata_solver_read(const struct strata_registry *solvers,
		       const struct strata_registry *schedules, const char *text, size_t length,
		       struct strata_arena *arena, struct strata_solver_setup *ret_setup,
		       struct strata_error *err);

/* Reads a diffusers scheduler_config.json as it is: the class that was named, or the file's _class_name when `named` is
 * NULL. Keys that the class lacks are passed over; keys that the file lacks get diffusers' defaults; what the name stands
 * for comes last. */
int strata_solver_read_config(const struct strata_registry *solvers, const char *json,
			      size_t length, const struct strata_solver_name *named,
			      struct strata_arena *arena, struct strata_spec *ret_spec,
			      struct strata_error *err);

/* A configuration file under a name: strata_solver_read of NAME[:key=value…] with the file's settings in place of the class's defaults. NULL:
 * the class that the file names, as it is. */
int strata_solver_read_over(const struct strata_registry *solvers,
			    const struct strata_registry *schedules, const char *name,
			    const char *json, size_t length, struct strata_arena *arena,
			    struct strata_solver_setup *ret_setup, struct strata_error *err);

/* The other way: a solver's settings as a scheduler_config.json, indented, in the arena. Read back it gives the same table. A schedule that
 * was asked for beside them becomes its key (use_karras_sigmas …): the noise levels stay, but where diffusers rounds the timesteps of that
 * key to whole ones, so does the table. -ENOTSUP for a solver that diffusers has no class for, and for a
 * schedule that its configurations have no key for. */
int strata_solver_write_config(const struct strata_solver_setup *setup, struct strata_arena *arena,
			       const char **ret_json, size_t *ret_length, struct strata_error *err);

/* What a family of models is usually sampled with. */
struct strata_model_family {
	const char *name;    /* "sdxl" */
	const char *aliases; /* "SD XL, Stable Diffusion XL", and what pipelines of it are called */
	const char *solver;  /* for strata_solver_read */
	uint32_t steps;      /* 0: its authors say nothing, here and below */
	uint32_t side;       /* width and height of its pictures, in pixels */
	double guidance_scale; /* below 0: its authors say nothing */
};

/* Sorted by name; NULL past the end. */
const struct strata_model_family *strata_model_family_at(size_t index);
int strata_model_family_find(const char *name, size_t length,
			     const struct strata_model_family **ret_family,
			     struct strata_error *err);

/* Compiles a table. conf is the class's struct, filled; it is copied, and so is what it points to. Refuses what would give an infinite coefficient, with the nearest choice that does not. */
int strata_solver_compile(const struct strata_solver_class *cls, const void *conf,
			  const struct strata_solver_request *request, struct strata_memory *memory,
			  struct strata_solver_table **ret_table, struct strata_error *err);

/* From a name to a table in one call: text to image with so many steps, by a built-in solver.
 *
 *	strata_solver_build("DPM++ 2M Karras", 20, &memory, &table, &err)
 *	strata_solver_build("ddim:beta_start=0.001", 50, &memory, &table, &err)
 *	strata_solver_build("sdxl", 30, &memory, &table, &err)
 *
 * text is what strata_solver_read takes. -ENOENT when there is no such solver, -EINVAL or -ERANGE for options that it does not take,
 * -ENOMEM. */
int strata_solver_build(const char *text, int64_t steps, struct strata_memory *memory,
			struct strata_solver_table **ret_table, struct strata_error *err);

/* The same for a request: noise levels of one's own, image to image … Its schedule comes before one that the name ends in. */
int strata_solver_build_for(const char *text, const struct strata_solver_request *request,
			    struct strata_memory *memory, struct strata_solver_table **ret_table,
			    struct strata_error *err);

/* NULL is nothing. */
void strata_solver_table_free(struct strata_solver_table *table, struct strata_memory *memory);

/* The row at an index, or NULL past the end. */
const struct strata_solver_row *strata_solver_row_at(const struct strata_solver_table *table,
						     size_t index);

/* The first row whose timestep is nearest to this one, by index. */
size_t strata_solver_row_near(const struct strata_solver_table *table, double timestep);

/* The rows one after the other, of a table and of an adaptive solver alike:
 *
 *	struct strata_solver_walk walk = { .table = table };
 *	while ((row = strata_solver_next(&walk)))
 *		… call the model, apply the row, set walk.error if the row has STRATA_ROW_MEASURE
 *
 * NULL at the end. The row is valid until the next call. */
const struct strata_solver_row *strata_solver_next(struct strata_solver_walk *walk);

/* Applying rows. */

enum strata_element { STRATA_F32, STRATA_F16, STRATA_BF16 };

/* Arithmetic is float32 whatever the element, and the same for each instruction set, to the bit (but for which NaN comes of
 * two). AVX2 stands for AVX2 with FMA and F16C. */
enum strata_isa { STRATA_ISA_SCALAR, STRATA_ISA_AVX2, STRATA_ISA_AVX512 };

/* Does this machine have it; and which is the best that it has? */
bool strata_isa_works(enum strata_isa isa);
enum strata_isa strata_isa_best(void);

/* The caller's threads: run calls work(arg, 0 … count − 1), each once, in any order, and returns when all are done. */
struct strata_workers {
	void (*run)(void *context, void (*work)(void *arg, size_t index), void *arg, size_t count);
	void *context;
	size_t count; /* threads */
};

/* One member of a batch. Everything is the caller's; buffers overlap only where said. */
struct strata_solver_item {
	const struct strata_solver_row *row;
	const void *sample;
	const void *output; /* of the model; not read for a row without a model call */
	void *next;         /* the new sample; may be `sample` itself */
	void *const *slots; /* slot_count buffers */
	const float *noise; /* read only when the row has d other than 0; always float32 */
};

struct strata_solver_how {
	enum strata_element element; /* of sample, output, next and slots */
	enum strata_isa isa;
	const struct strata_workers *workers; /* NULL: in the calling thread */
};

/*
 * Slots in one block of memory. Buffers that all begin at the same place of a page compete for the same lines of the cache; so
 * each begins at another one, at a cache line's boundary if the block does. The contents are left alone.
 *
 *	memory = aligned_alloc(64, strata_solver_slots_bytes(table->slot_count, n, element));
 *	strata_solver_slots_init(memory, table->slot_count, n, element, slots);
 */
size_t strata_solver_slots_bytes(uint32_t slot_count, size_t element_count,
				 enum strata_element element);
void strata_solver_slots_init(void *block, uint32_t slot_count, size_t element_count,
			      enum strata_element element, void **ret_slots);

/* Applies each item's own row to element_count elements. One pass over memory reads each operand once and writes each
 * result once; a row with STRATA_ROW_THRESHOLD reads sample and output several times more, for the quantile. Allocates
 * nothing; any number of threads may call it, each with its own buffers. The instruction set must be one that works. */
void strata_solver_apply(const struct strata_solver_item *items, size_t item_count,
			 size_t element_count, const struct strata_solver_how *how);

/* The first sample: init_noise_sigma·noise, plus init_clean·clean where there is a clean sample (image to image, with a
 * strength in the request). clean and ret_sample may be the same buffer. */
void strata_solver_begin(const struct strata_solver_table *table, const void *clean,
			 const float *noise, size_t element_count, enum strata_element element,
			 void *ret_sample);

/* A clean sample, noised to where a row stands (add_noise of diffusers): alpha·clean + sigma·noise. */
void strata_solver_add_noise(const struct strata_solver_row *row, const void *clean,
			     const float *noise, size_t element_count, enum strata_element element,
			     void *ret_sample);

/* How far the new sample of a row with STRATA_ROW_MEASURE is from the rough one, in units of the tolerance (at most
 * about 1: good). Called right after the row was applied. */
double strata_solver_measure(const struct strata_solver_item *item, size_t element_count,
			     enum strata_element element);

/*
 * Noise, from a source of kind noise that the user chose ("torch", "cuda:threads=0", "philox"). A trajectory draws tensor 0
 * for its first sample and then one for each row with STRATA_ROW_NOISE, in order. What a tensor holds depends on the source,
 * the seed, the sizes and its number alone, in whatever order tensors are asked for.
 *
 *	strata_solver_noise_init(&noise, &spec, seed, 2, n, &arena, &err);
 *	strata_solver_noise_fill(&noise, 0, values);
 *	strata_solver_begin(table, NULL, values, …)
 *	… for a row that draws: strata_solver_noise_fill(&noise, strata_solver_tensor_of(table, r), values);
 *	  items[k].noise = values + k·n
 *
 * torch and cuda draw a batch as those programs do, member_count·element_count numbers in one call: the pictures of a seed
 * depend on the size of their batch. For one generator per picture (A1111; a list of generators in diffusers) give each
 * picture a noise of its own, of one member. philox draws member k as it is drawn alone with the seed + k.
 */
struct strata_solver_noise {
	const struct strata_noise_class *cls; /* borrowed, as conf */
	const void *conf;
	uint64_t seed;
	size_t member_count;  /* of the batch */
	size_t element_count; /* of one member */
	uint64_t next;        /* the tensor before which the state stands */
	void *scratch;        /* of a source with a tree; else NULL */
	void *state;          /* the source's, in the arena */
};

/* The spec's class must be of kind noise. The result belongs to one thread at a time. */
int strata_solver_noise_init(struct strata_solver_noise *noise, const struct strata_spec *spec,
			     uint64_t seed, size_t member_count, size_t element_count,
			     struct strata_arena *arena, struct strata_error *err);

/* The same of a built-in source by its name: "torch", "cuda:threads=1024", "philox". */
int strata_solver_noise_build(const char *source, uint64_t seed, size_t member_count,
			      size_t element_count, struct strata_arena *arena,
			      struct strata_solver_noise *ret_noise, struct strata_error *err);

/* Fills member_count·element_count numbers, member by member. One after the other costs what drawing costs; a jump is free
 * for a source that can seek (cuda, philox) and else costs drawing the tensors between, from the start if it is backwards. */
void strata_solver_noise_fill(struct strata_solver_noise *noise, uint64_t tensor,
			      float *ret_values);

/* What a row draws that is number `tensor` of those that do: that tensor, or from a source with a tree the row's stretch of the path. */
void strata_solver_noise_row(struct strata_solver_noise *noise,
			     const struct strata_solver_table *table,
			     const struct strata_solver_row *row, uint64_t tensor,
			     float *ret_values);

/* Which tensor a row draws: one more than the rows before it that draw. Of an adaptive solver, whose rows come from
 * strata_solver_next, the caller counts those that draw. */
uint64_t strata_solver_tensor_of(const struct strata_solver_table *table, size_t row_index);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
