/* Reading solver cases. Every list is bounded by the document's own size, every index by what it points into. */
#include "formats/golden.h"

#include "core/option.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* What one reading carries along. */
struct reader {
	struct strata_arena *arena;
	struct strata_error *err;
};

static int no_number(struct reader *reader, const char *key)
{
	return strata_fail_at(reader->err, -EINVAL, key, "%s is not a list of finite numbers", key);
}

/* A number of the object; `missing` when it has none. */
static int read_real(struct reader *reader, const json_t *object, const char *key, double missing,
		     double *ret_value)
{
	const json_t *value = json_object_get(object, key);

	if (value && !json_is_null(value) && !json_is_number(value))
		return strata_fail_at(reader->err, -EINVAL, key, "%s is not a number", key);
	*ret_value = json_is_number(value) ? json_number_value(value) : missing;
	return 0;
}

/* A whole number of the object from 0 to most. */
static int read_count(struct reader *reader, const json_t *object, const char *key, double most,
		      size_t *ret_count)
{
	double value = 0;
	int rc = read_real(reader, object, key, 0, &value);

	if (rc == 0 && !(value >= 0 && value <= most && value == floor(value)))
		return strata_fail_at(reader->err, -EINVAL, key,
				      "%s is %g; expected a whole number from 0 to %g", key, value,
				      most);
	if (rc == 0)
		*ret_count = (size_t)value;
	return rc;
}

/* A list, or one number for a list of one; null items become -1, and so does what is not there become no items. An item
 * that is itself a list counts by its only number. */
static int read_numbers(struct reader *reader, const json_t *value, const char *key,
			struct golden_numbers *ret_numbers)
{
	size_t count = json_is_array(value) ? json_array_size(value) : json_is_number(value);
	struct golden_numbers numbers = { .count = count };

	if (value && !json_is_null(value) && !json_is_array(value) && !json_is_number(value))
		return no_number(reader, key);
	numbers.values = strata_arena_array(reader->arena, count, sizeof(double));
	if (!numbers.values)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;

		if (json_is_array(item) && json_array_size(item) == 1)
			item = json_array_get(item, 0);
		if (!json_is_number(item) && !json_is_null(item))
			return no_number(reader, key);
		numbers.values[i] = json_is_null(item) ? -1 : json_number_value(item);
		if (!isfinite(numbers.values[i]))
			return no_number(reader, key);
	}
	*ret_numbers = numbers;
	return 0;
}

static int read_key(struct reader *reader, const json_t *object, const char *key,
		    struct golden_numbers *ret_numbers)
{
	return read_numbers(reader, json_object_get(object, key), key, ret_numbers);
}

/* The same, of an exact length. */
static int read_tensor(struct reader *reader, const json_t *value, const char *key, size_t count,
		       struct golden_numbers *ret_numbers)
{
	struct golden_numbers numbers;
	int rc = read_numbers(reader, value, key, &numbers);

	if (rc == 0 && numbers.count != count)
		return strata_fail_at(reader->err, -EINVAL, key,
				      "%s has %zu numbers; expected %zu, as the bank's shape has",
				      key, numbers.count, count);
	if (rc == 0)
		*ret_numbers = numbers;
	return rc;
}

static int read_tensors(struct reader *reader, const json_t *list, const char *key, size_t count,
			struct golden_numbers **ret_tensors, size_t *ret_count)
{
	size_t tensor_count = json_array_size(list);
	struct golden_numbers *tensors =
		strata_arena_array(reader->arena, tensor_count, sizeof(*tensors));
	int rc = tensors ? 0 : strata_fail_memory(reader->err);

	for (size_t i = 0; i < tensor_count && rc == 0; i++)
		rc = read_tensor(reader, json_array_get(list, i), key, count, &tensors[i]);
	*ret_tensors = tensors;
	*ret_count = tensor_count;
	return rc;
}

static int read_shape(struct reader *reader, const json_t *object, struct golden_bank *bank)
{
	struct golden_numbers shape;
	int rc = read_key(reader, object, "shape", &shape);
	double product = 1;

	for (size_t i = 0; rc == 0 && i < shape.count; i++) {
		product *= shape.values[i];
		if (!(shape.values[i] >= 1 && product <= 1 << 20 &&
		      shape.values[i] == floor(shape.values[i])))
			return strata_fail_at(reader->err, -EINVAL, "shape",
					      "shape has %g; expected whole numbers whose product "
					      "is at most %d",
					      shape.values[i], 1 << 20);
	}
	if (rc == 0 && shape.count == 0)
		return strata_fail_at(
			reader->err, -EINVAL, "shape",
			"the bank has no shape; expected a list such as [2, 3, 1, 7]");
	bank->batch = rc ? 0 : (size_t)shape.values[0];
	bank->element_count = (size_t)product;
	return rc;
}

static int read_bank(struct reader *reader, const json_t *object, struct golden_bank *bank)
{
	int rc = read_shape(reader, object, bank);

	if (rc == 0)
		rc = read_tensor(reader, json_object_get(object, "init"), "init",
				 bank->element_count, &bank->init);
	if (rc == 0)
		rc = read_tensor(reader, json_object_get(object, "x0"), "x0", bank->element_count,
				 &bank->clean);
	if (rc == 0)
		rc = read_tensor(reader, json_object_get(object, "add"), "add", bank->element_count,
				 &bank->add);
	if (rc == 0)
		rc = read_tensors(reader, json_object_get(object, "noise"), "noise",
				  bank->element_count, &bank->noise, &bank->noise_count);
	return rc;
}

int golden_read_bank(const char *json, size_t length, struct strata_arena *arena,
		     struct golden_bank *ret_bank, struct strata_error *err)
{
	struct reader reader = { arena, err };
	struct golden_bank bank = { 0 };
	json_t *object;
	int rc = option_load_json(json, length, &object, err);

	if (rc)
		return rc;
	rc = read_bank(&reader, object, &bank);
	json_decref(object);
	if (rc == 0)
		*ret_bank = bank;
	return rc;
}

static int keep_text(struct reader *reader, const char *text, const char **ret_text)
{
	*ret_text = text ? strata_arena_text(reader->arena, text, strlen(text)) : NULL;
	return text && !*ret_text ? strata_fail_memory(reader->err) : 0;
}

/* Takes the reference. */
static int keep_config(struct reader *reader, json_t *config, struct golden_case *one)
{
	char *text = config ? json_dumps(config, JSON_COMPACT) : NULL;
	int rc = text ? keep_text(reader, text, &one->config) : strata_fail_memory(reader->err);
	json_free_t release;

	json_get_alloc_funcs(NULL, &release);
	if (text)
		release(text);
	json_decref(config);
	return rc;
}

/* Samples with the calls after which they were kept, and how near one must come. */
static int read_wanted(struct reader *reader, const json_t *object, const struct golden_bank *bank,
		       struct golden_case *one)
{
	double dev64 = 0, jitter = 0;
	size_t sample_count = 0;
	int rc = read_key(reader, object, "at", &one->at);

	if (rc == 0)
		rc = read_tensors(reader, json_object_get(object, "samples"), "samples",
				  bank->element_count, &one->samples, &sample_count);
	if (rc == 0 && (sample_count != one->at.count || sample_count == 0))
		return strata_fail_at(reader->err, -EINVAL, "samples",
				      "%zu samples for %zu calls; expected one for each of `at`",
				      sample_count, one->at.count);
	if (rc == 0)
		rc = read_real(reader, object, "dev64", 0, &dev64);
	if (rc == 0)
		rc = read_real(reader, object, "jitter", 0, &jitter);
	one->tolerance = 2e-6 + 4 * fmax(dev64, jitter);
	return rc;
}

/* config with set_timesteps and step_args over it, which options of the solver cover too. */
static int read_settings(struct reader *reader, const json_t *object, struct golden_case *one)
{
	json_t *config = json_deep_copy(json_object_get(object, "config"));
	const json_t *set = json_object_get(object, "set_timesteps");
	const json_t *step = json_object_get(object, "step_args");
	struct golden_numbers sigmas, timesteps;
	int rc = 0;

	if (!json_is_object(config)) {
		json_decref(config);
		return strata_fail_at(reader->err, -EINVAL, "config", "a case has no config");
	}
	if ((json_is_object(set) && json_object_update(config, (json_t *)set)) ||
	    (json_is_object(step) && json_object_update(config, (json_t *)step))) {
		json_decref(config);
		return strata_fail_memory(reader->err);
	}
	rc = keep_config(reader, config, one);
	if (rc == 0)
		rc = read_key(reader, set, "sigmas", &sigmas);
	if (rc == 0)
		rc = read_key(reader, set, "timesteps", &timesteps);
	if (rc == 0) {
		one->request.timesteps = timesteps.values;
		one->request.timestep_count = timesteps.count;
		one->request.sigmas = sigmas.values;
		one->request.sigma_count = sigmas.count;
		one->request.has_mu = json_is_number(json_object_get(set, "mu"));
		rc = read_real(reader, set, "mu", 0, &one->request.mu);
	}
	return rc;
}

static int read_strength(struct reader *reader, const json_t *object, struct golden_case *one)
{
	const json_t *set = json_object_get(object, "set_timesteps");
	const json_t *from = json_object_get(object, "strength") ? object : set;

	one->request.has_strength = json_is_number(json_object_get(from, "strength"));
	return read_real(reader, from, "strength", 0, &one->request.strength);
}

static int check_noise(struct reader *reader, const struct golden_bank *bank,
		       const struct golden_numbers *noise)
{
	for (size_t i = 0; i < noise->count; i++)
		if (!(noise->values[i] >= -1 && noise->values[i] < (double)bank->noise_count &&
		      noise->values[i] == floor(noise->values[i])))
			return strata_fail_at(reader->err, -EINVAL, "noise",
					      "noise %g is not in the bank, which has %zu",
					      noise->values[i], bank->noise_count);
	return 0;
}

static int read_case(struct reader *reader, const json_t *object, const struct golden_bank *bank,
		     struct golden_case *one)
{
	size_t steps = 0;
	int rc = keep_text(reader, json_string_value(json_object_get(object, "id")), &one->name);

	if (rc == 0)
		rc = read_settings(reader, object, one);
	if (rc == 0)
		rc = read_strength(reader, object, one);
	if (rc == 0)
		rc = read_count(reader, object, "num_inference_steps", 1 << 20, &steps);
	if (rc == 0)
		rc = read_count(reader, object, "start_index", 1 << 20, &one->start_index);
	if (rc == 0)
		rc = read_real(reader, object, "init_noise_sigma", NAN, &one->init_noise_sigma);
	if (rc == 0)
		rc = read_key(reader, object, "timesteps", &one->timesteps);
	if (rc == 0)
		rc = read_key(reader, object, "sigmas", &one->sigmas);
	if (rc == 0)
		rc = read_key(reader, object, "scale", &one->scale);
	if (rc == 0)
		rc = read_key(reader, object, "noise", &one->noise);
	if (rc == 0)
		rc = check_noise(reader, bank, &one->noise);
	if (rc == 0)
		rc = read_key(reader, object, "x0_first", &one->x0_first);
	/* with churn it is the clean sample of a noised sample, which no row has */
	if (json_object_get(json_object_get(object, "step_args"), "s_churn"))
		one->x0_first.count = 0;
	if (rc == 0 && json_object_get(object, "sample0"))
		rc = read_tensor(reader, json_object_get(object, "sample0"), "sample0",
				 bank->element_count, &one->sample0);
	if (one->request.sigma_count == 0 && one->request.timestep_count == 0)
		one->request.steps = (int64_t)steps;
	return rc ? rc : read_wanted(reader, object, bank, one);
}

/* k-diffusion's samplers work on clean + sigma·noise and are given the clean sample by the model. */
static int read_sampler(struct reader *reader, const json_t *object, const struct golden_bank *bank,
			struct golden_case *one)
{
	const json_t *args = json_object_get(object, "args");
	const char *sampler = json_string_value(json_object_get(object, "sampler"));
	struct golden_numbers sigmas;
	double sigma_min, sigma_max;
	size_t steps = 0;
	int rc = read_real(reader, object, "sigma_min", 0, &sigma_min);

	if (!sampler)
		return strata_fail_at(reader->err, -EINVAL, "sampler", "a case has no sampler");
	if (rc == 0)
		rc = read_real(reader, object, "sigma_max", 0, &sigma_max);
	if (rc == 0)
		rc = read_count(reader, object, "n", 1 << 20, &steps);
	if (rc == 0)
		rc = read_key(reader, object, "sigmas", &sigmas);
	if (rc == 0 && sigmas.count < 2)
		return strata_fail_at(reader->err, -EINVAL, "sigmas",
				      "a case has %zu sigmas; expected at least two", sigmas.count);
	if (rc)
		return rc;
	json_t *config = json_pack("{s:s,s:b,s:f,s:f}", "prediction_type", "sample", "k_diffusion",
				   1, "sigma_min", sigma_min, "sigma_max", sigma_max);

	if (config && json_is_object(args) && json_object_update(config, (json_t *)args)) {
		json_decref(config);
		config = NULL;
	}
	rc = keep_config(reader, config, one);
	if (rc == 0)
		rc = keep_text(reader, sampler, &one->solver);
	one->name = one->solver;
	one->denoiser = true;
	one->init_noise_sigma = sigmas.values[0];
	one->request.steps = (int64_t)steps;
	one->request.sigmas = sigmas.values;
	one->request.sigma_count = sigmas.count;
	return rc ? rc : read_wanted(reader, object, bank, one);
}

/* A list turned round. */
static void reverse(struct golden_numbers *numbers)
{
	for (size_t i = 0; i < numbers->count / 2; i++) {
		double first = numbers->values[i];

		numbers->values[i] = numbers->values[numbers->count - 1 - i];
		numbers->values[numbers->count - 1 - i] = first;
	}
}

/* Any solver on whole timesteps will do; one whose model predicts the clean sample stands pure noise. */
static int read_betas(struct reader *reader, const json_t *object, const struct golden_bank *bank,
		      struct golden_case *one)
{
	json_t *config = json_deep_copy(json_object_get(object, "config"));
	struct golden_numbers index;
	int rc = 0;

	(void)bank;
	if (!json_is_object(config)) {
		json_decref(config);
		return strata_fail_at(reader->err, -EINVAL, "config", "a case has no config");
	}
	if (json_object_set_new(config, "prediction_type", json_string("sample"))) {
		json_decref(config);
		return strata_fail_memory(reader->err);
	}
	rc = keep_config(reader, config, one);
	if (rc == 0)
		rc = keep_text(reader, json_string_value(json_object_get(object, "id")),
			       &one->name);
	if (rc == 0)
		rc = read_key(reader, object, "index", &index);
	if (rc == 0)
		rc = read_key(reader, object, "alphas_cumprod_f32", &one->alphas);
	if (rc == 0)
		rc = read_key(reader, object, "alphas_cumprod_f64", &one->alphas_exact);
	if (rc)
		return rc;
	if (index.count == 0 || index.count != one->alphas.count ||
	    index.count != one->alphas_exact.count)
		return strata_fail_at(
			reader->err, -EINVAL, "index",
			"%zu timesteps for %zu and %zu alphas; expected as many of each",
			index.count, one->alphas.count, one->alphas_exact.count);
	reverse(&index);
	reverse(&one->alphas);
	reverse(&one->alphas_exact);
	one->solver = "ddpm";
	one->request.timesteps = index.values;
	one->request.timestep_count = index.count;
	return 0;
}

typedef int read_one(struct reader *reader, const json_t *object, const struct golden_bank *bank,
		     struct golden_case *one);

/* How a case of the format is read; NULL: not known. */
static read_one *reader_of(const char *format)
{
	static const struct {
		const char *format;
		read_one *read;
	} formats[] = {
		{ "solver-golden-1", read_case },
		{ "kdiffusion-golden-1", read_sampler },
		{ "betas-golden-1", read_betas },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(format, formats[i].format) == 0)
			return formats[i].read;
	return NULL;
}

static int read_cases(struct reader *reader, const json_t *object, const struct golden_bank *bank,
		      struct golden_file *file)
{
	const char *format = json_string_value(json_object_get(object, "format"));
	const json_t *list = json_object_get(object, "cases");
	read_one *read = format ? reader_of(format) : NULL;
	int rc = 0;

	if (!format && json_object_get(object, "shape") && json_object_get(object, "noise"))
		return 0; /* a bank */
	if (!read)
		return strata_fail_at(reader->err, -EINVAL, "format",
				      "format is '%.80s'; expected solver-golden-1, "
				      "kdiffusion-golden-1 or betas-golden-1",
				      format ? format : "");
	file->case_count = json_array_size(list);
	if (!json_is_array(list) || file->case_count > STRATA_GOLDEN_CASES_MAX)
		return strata_fail_at(reader->err, -EINVAL, "cases",
				      "cases is not a list of at most %d", STRATA_GOLDEN_CASES_MAX);
	file->cases = strata_arena_array(reader->arena, file->case_count, sizeof(*file->cases));
	if (!file->cases)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < file->case_count && rc == 0; i++) {
		rc = read(reader, json_array_get(list, i), bank, &file->cases[i]);
		if (rc)
			strata_fail_under(reader->err, rc, "cases[%zu]", i);
	}
	return rc;
}

int golden_read(const char *json, size_t length, const struct golden_bank *bank,
		struct strata_arena *arena, struct golden_file *ret_file, struct strata_error *err)
{
	struct reader reader = { arena, err };
	struct golden_file file = { 0 };
	json_t *object;
	int rc = option_load_json(json, length, &object, err);

	if (rc)
		return rc;
	rc = read_cases(&reader, object, bank, &file);
	json_decref(object);
	if (rc == 0)
		*ret_file = file;
	return rc;
}
