/* Pipelines from inside: what classes fill in, what a run is made of. */
#ifndef ENGINE_PIPELINE_H
#define ENGINE_PIPELINE_H

#include <strata/pipeline.h>
#include <strata/solver.h>
#include <strata/tokenizer.h>

#include <jansson.h>

enum {
	PIPELINE_CONDITIONS_MAX = 6,
	PIPELINE_RANK_MAX = 4,
	PIPELINE_TEXTS_MAX = 3,       /* text encoders of a folder */
	PIPELINE_OUTPUTS_MAX = 2,     /* outputs that are taken of one */
	PIPELINE_TOKENS_MAX = 1024,   /* of a prompt */
	PIPELINE_WIDTH_MAX = 1 << 16, /* of an embedding */
};

/* What the latents of one picture are. */
struct pipeline_geometry {
	uint32_t width, height;          /* of the picture */
	int64_t channels, rows, columns; /* of the latents, unpacked */
	uint32_t rank;                   /* of the model's input without the batch */
	int64_t dims[PIPELINE_RANK_MAX];
	size_t element_count;
};

/* What the denoiser is told beside sample and timestep. */
struct pipeline_condition {
	int input;                              /* of the denoiser */
	bool shared;                            /* no dimension of the batch: the same for all */
	struct strata_array positive, negative; /* float32 or int64; a row for each picture */
};

struct pipeline_class {
	struct strata_class base; /* aliases: names in model_index.json */
	const char *denoiser;     /* the folder it is in: "unet" */
	const char *sample;       /* its input for latents */
	double guidance;          /* default */
	int64_t steps;            /* default */
	bool guided; /* classifier-free guidance: a second, negative row for each picture */
	bool has_vae;
	bool packed; /* latents in patches of 2 x 2 */
	double timestep_scale;
	/* Called once the folder is open: what is particular about it. May be NULL. */
	int (*open)(struct strata_pipeline *pipeline, struct strata_error *err);
	/* Fills run->conditions from the request. */
	int (*encode)(struct strata_pipeline *pipeline,
		      const struct strata_pipeline_request *request,
		      struct strata_pipeline_run *run, struct strata_error *err);
	/* May give the solver noise levels and a shift of its own. Memory from the arena. May be NULL. */
	int (*solve)(const struct strata_pipeline *pipeline, const struct strata_pipeline_run *run,
		     const json_t *scheduler, struct strata_arena *arena,
		     struct strata_solver_request *request, struct strata_error *err);
};

/* A text encoder and what makes its tokens; each is there once it was needed. */
struct pipeline_text {
	struct strata_tokenizer *tokenizer;
	struct strata_engine_model *encoder;
	json_t *config;
};

/* A straight map from channels to colours: see pipeline_preview.c. */
struct pipeline_colours {
	bool made;
	float values[3][65]; /* of each channel, then a constant */
};

struct strata_pipeline {
	const struct pipeline_class *cls;
	struct strata_engine *engine;
	struct strata_memory *memory;
	struct strata_arena arena;
	const char *folder, *over, *noise;
	int64_t budget_bytes;
	double budget_share;
	json_t *denoiser_config, *vae_config;
	char *scheduler_json;
	size_t scheduler_length;
	struct pipeline_text texts[PIPELINE_TEXTS_MAX];
	struct strata_engine_model *denoiser, *vae_decoder, *vae_encoder;
	struct strata_engine_model
		*outer; /* of the denoiser: pipeline_features.c; NULL: not asked for */
	struct strata_registry *solvers, *schedules;
	int sample_input, timestep_input;
	double scaling_factor, shift_factor;
	int64_t latent_channels, latent_scale; /* pixels for each latent, each way */
	uint32_t default_side;
	int64_t default_steps; /* the class's, unless the denoiser's config.json says otherwise */
	double default_guidance;
	struct pipeline_colours colours;
	struct strata_trace_lane *lane; /* NULL: nothing is traced */
	uint64_t trace_count;           /* of what was traced: each has a flow of its own */
};

struct strata_pipeline_run {
	struct strata_pipeline *pipeline;
	struct strata_memory *memory;
	struct strata_arena arena; /* all that lives as long as this */
	size_t image_count;
	struct pipeline_geometry geometry;
	struct pipeline_condition conditions[PIPELINE_CONDITIONS_MAX];
	size_t condition_count;
	struct strata_array tokens[2], embeds[2]; /* positive, negative */
	bool guided;
	float guidance;
	struct strata_solver_table *table;
	struct strata_solver_walk walk;
	const struct strata_solver_row *row; /* of the next model call; NULL: none */
	struct strata_solver_noise *draws;   /* one for each seed */
	size_t draw_count;
	uint64_t tensor; /* the next one that a row draws */
	float *latents, *outputs, *unguided, *noise;
	void **slots; /* slot_count for each picture */
	bool wants_features;
	struct strata_array
		features; /* of the last call in full, a row for each of its rows; NONE: none */
	struct strata_solver_item *items;
	size_t calls_done;
	uint64_t flow; /* in a trace; 0: none */
};

/* pipeline_trace.c: around what is done for runs; nothing where nothing is traced. */
void pipeline_trace_begin(struct strata_pipeline *pipeline, const char *name,
			  struct strata_pipeline_run *const *runs, size_t count);
void pipeline_trace_end(struct strata_pipeline *pipeline);
/* The solver's row of one run, inside of a step. */
void pipeline_trace_row(const struct strata_pipeline_run *run, int64_t begin_ns);
int64_t pipeline_trace_now(const struct strata_pipeline *pipeline); /* 0: nothing is traced */

/* pipeline_folder.c */
int pipeline_folder_open(struct strata_pipeline *pipeline, struct strata_error *err);
/* model_index.json's class, or the one named. */
int pipeline_find_class(const char *folder, const char *name, struct strata_arena *arena,
			const struct pipeline_class **ret_class, struct strata_error *err);
/* The denoiser once more, for features that go from call to call. */
enum pipeline_features { PIPELINE_GIVES_FEATURES, PIPELINE_TAKES_FEATURES };
int pipeline_denoiser(struct strata_pipeline *pipeline, enum pipeline_features which,
		      struct strata_engine_model **ret_model, struct strata_error *err);
/* A model of the folder, opened when it is first needed. -ENOTSUP says that the folder lacks it. */
int pipeline_model(struct strata_pipeline *pipeline, const char *part,
		   struct strata_engine_model **model, struct strata_error *err);
/* strata_engine_open with a budget that is a share of the model's weights, if there is one. */
int pipeline_open_share(struct strata_engine *engine, const char *path, double share,
			const struct strata_engine_model_conf *conf,
			struct strata_engine_model **ret_model, struct strata_error *err);
/* A budget of bytes as a share of the weights of all these models, of which some may be absent; 0: they fit. */
int pipeline_share_budget(struct strata_engine *engine, const char *const *paths, size_t count,
			  int64_t budget_bytes, double *ret_share, struct strata_error *err);
/* A number of a configuration, else the default. */
double pipeline_number(const json_t *config, const char *key, double otherwise);
/* The same, cut to a whole number; -1 for one that is too large to be meant. */
int64_t pipeline_whole(const json_t *config, const char *key, int64_t otherwise);
/* An .npy file of the folder as an array. -ENOENT where it is absent. */
int pipeline_read_array(struct strata_pipeline *pipeline, const char *path,
			struct strata_array *ret_array, struct strata_error *err);

/* Whether the folder has a file. */
bool pipeline_has_file(const struct strata_pipeline *pipeline, const char *name);
/* A file of the folder that is a JSON object; NULL where it may be absent and is. */
int pipeline_read_json(const struct strata_pipeline *pipeline, const char *name, bool optional,
		       json_t **ret_json, struct strata_error *err);
/* The tokenizer in a part of the folder. -ENOTSUP says that the folder lacks it. */
int pipeline_tokenizer(struct strata_pipeline *pipeline, const char *part,
		       struct strata_tokenizer **ret_tokenizer, struct strata_error *err);

/* pipeline_text.c: whether the folder has the model of an encoder; opening one of them; the tokens that it usually takes. */
bool pipeline_has_text(const struct strata_pipeline *pipeline, size_t which);
int pipeline_text_open(struct strata_pipeline *pipeline, size_t which, struct strata_error *err);
int64_t pipeline_text_room(const struct strata_pipeline *pipeline, size_t which);
/* Tokens of the prompts (NULL: of empty ones), int64 [count, room]. */
int pipeline_text_tokens(struct strata_pipeline *pipeline, size_t which, const char *const *prompts,
			 size_t count, int64_t room, struct strata_array *ret_ids,
			 struct strata_error *err);
/* One call; `count` of its outputs by their names, as float32. */
int pipeline_text_run(struct strata_pipeline *pipeline, size_t which,
		      const struct strata_array *ids, const char *const *names, size_t count,
		      struct strata_array *ret_arrays, struct strata_error *err);
/* The last hidden states but one and what is pooled, under the name that it has. */
int pipeline_text_clip(struct strata_pipeline *pipeline, size_t which,
		       const struct strata_array *ids, const char *pooled,
		       struct strata_array *ret_hidden, struct strata_array *ret_pooled,
		       struct strata_error *err);
/* T5's last hidden states of the prompts: [count, room, width]. Opens the encoder. */
int pipeline_text_t5(struct strata_pipeline *pipeline, size_t which, const char *const *prompts,
		     size_t count, int64_t room, struct strata_array *ret_hidden,
		     struct strata_error *err);

/* pipeline_encode.c: one more condition; takes over the arrays, also on failure. */
int pipeline_add_condition(struct strata_pipeline_run *run, const char *input, bool shared,
			   struct strata_array positive, struct strata_array negative,
			   struct strata_error *err);
/* Embeddings from the request, or from prompts/NAME_embeds.npy of the folder. */
int pipeline_encode_files(struct strata_pipeline *pipeline,
			  const struct strata_pipeline_request *request,
			  struct strata_pipeline_run *run, struct strata_error *err);
/* The shift of noise levels by a picture's size, as schedulers with dynamic shifting want it. */
double pipeline_shift(const json_t *scheduler, double tokens);

/* pipeline_run.c: compiles the solver and makes room; then the first sample, from noise or from a clean one. */
int pipeline_run_prepare(struct strata_pipeline_run *run,
			 const struct strata_pipeline_request *request, struct strata_error *err);
void pipeline_run_begin(struct strata_pipeline_run *run, const float *clean);
/* One tensor of normals for all pictures. */
void pipeline_run_draw(struct strata_pipeline_run *run, uint64_t tensor, float *ret_values);
/* Packs or unpacks all latents of a run: 2 x 2 patches as channels. */
void pipeline_pack(const struct pipeline_geometry *geometry, size_t image_count, const float *from,
		   float *to, bool unpack);

/* pipeline_call.c: one call of the denoiser for runs that fit together; results are in run->outputs (and ->unguided). */
int pipeline_call(struct strata_pipeline *pipeline, struct strata_pipeline_run *const *runs,
		  size_t count, struct strata_error *err);
bool pipeline_fits(const struct strata_pipeline_run *a, const struct strata_pipeline_run *b);

/* Rows of the batch that a run is: its pictures, twice where it is guided. */
size_t pipeline_rows(const struct strata_pipeline_run *run);

/* pipeline_features.c: whether a table has calls that may use features of an earlier one; opens what gives and takes them, once. */
bool pipeline_features_wanted(const struct strata_solver_table *table);
int pipeline_features_open(struct strata_pipeline *pipeline, struct strata_error *err);
/* Whether the next call uses them; whether two runs can share that call; the input of those that do; and what a call in full has left. */
bool pipeline_features_used(const struct strata_pipeline_run *run);
bool pipeline_features_fit(const struct strata_pipeline_run *a,
			   const struct strata_pipeline_run *b);
int pipeline_features_gather(struct strata_pipeline *pipeline,
			     struct strata_pipeline_run *const *runs, size_t count,
			     struct strata_array *ret_features, struct strata_error *err);
int pipeline_features_keep(struct strata_pipeline *pipeline,
			   struct strata_pipeline_run *const *runs, size_t count, size_t row_count,
			   const struct strata_array *features, struct strata_error *err);

/* pipeline_vae.c: the decoder's float picture [1, 3, H, W] of one image; the encoder's latents of a picture. */
int pipeline_vae_decode(struct strata_pipeline *pipeline, const struct pipeline_geometry *geometry,
			const float *latents, struct strata_array *ret_image,
			struct strata_error *err);
int pipeline_vae_encode(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			const struct strata_picture *picture, float *ret_latents,
			struct strata_error *err);

#endif
