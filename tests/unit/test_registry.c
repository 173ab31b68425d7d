#include "test.h"

#include <strata/limits.h>
#include <strata/noise.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct apple_conf {
	int64_t weight;
	const char *sort;
};
static const struct strata_option apple_options[] = {
	{ "weight", STRATA_INT, offsetof(struct apple_conf, weight), .integer = { 100, 1, 999 } },
	{ "sort", STRATA_TEXT, offsetof(struct apple_conf, sort) },
	{ 0 }
};
static const struct strata_option fig_options[] = {
	{ "size", STRATA_INT, 0, .flags = STRATA_REQUIRED }, { 0 }
};
static const struct strata_class apple = { "apple", "Golden Delicious, malus", "a fruit",
					   sizeof(struct apple_conf), apple_options };
static const struct strata_class fig = { "fig", NULL, "needs a size", sizeof(int64_t),
					 fig_options };
static const struct strata_class pear = { "pear", NULL, "plain", 0, NULL };
static const struct strata_class *const fruits[] = { &apple, &fig, &pear, NULL };
static const struct strata_kind fruit_kind = { "fruit", "what to eat", fruits };

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_registry *registry;
static struct strata_error err;

static void open_registry(const struct strata_kind *kind)
{
	strata_registry_free(registry);
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_registry_new(kind, &memory, &registry, &err));
}

static int read_spec(const char *text, struct strata_spec *ret_spec)
{
	return strata_spec_read(registry, text, strlen(text), &arena, ret_spec, &err);
}

TEST(classes_are_found_by_any_of_their_names)
{
	const struct strata_class *found;

	open_registry(&fruit_kind);
	CHECK_OK(strata_registry_find(registry, "apple", 5, &found, &err));
	CHECK(found == &apple);
	CHECK_OK(strata_registry_find(registry, "golden-delicious", 16, &found, &err));
	CHECK(found == &apple);
	CHECK_ERROR(strata_registry_find(registry, "aple", 4, &found, &err), -ENOENT,
		    "there is no fruit 'aple'; did you mean 'apple'?");
	CHECK_ERROR(strata_registry_find(registry, "maluss", 6, &found, &err), -ENOENT,
		    "did you mean 'apple'?");
	CHECK_ERROR(strata_registry_find(registry, "tractor", 7, &found, &err), -ENOENT,
		    "`strata classes fruit`");
	CHECK(strata_registry_at(registry, 2) == &pear);
	CHECK(!strata_registry_at(registry, 3));
}

TEST(specs_carry_options)
{
	struct strata_spec spec;
	const char *text;

	open_registry(&fruit_kind);
	CHECK_OK(read_spec("apple", &spec));
	CHECK_INT(((struct apple_conf *)spec.conf)->weight, 100);
	CHECK_OK(read_spec("Malus:weight=5:sort='a,b:c'", &spec));
	CHECK_INT(((struct apple_conf *)spec.conf)->weight, 5);
	CHECK_TEXT(((struct apple_conf *)spec.conf)->sort, "a,b:c");
	CHECK_OK(strata_spec_print(&spec, &arena, &text, &err));
	CHECK_TEXT(text, "apple:weight=5:sort='a,b:c'");
	CHECK_OK(read_spec("pear", &spec));
	CHECK(!spec.conf);
	CHECK_OK(strata_spec_print(&spec, &arena, &text, &err));
	CHECK_TEXT(text, "pear");
}

TEST(bad_specs_are_refused)
{
	struct strata_spec spec = { 0 };

	open_registry(&fruit_kind);
	CHECK_ERROR(read_spec("", &spec), -EINVAL, "the name of the fruit is missing");
	CHECK_ERROR(read_spec(":weight=1", &spec), -EINVAL, "name of the fruit is missing");
	CHECK_ERROR(read_spec("apple:wieght=1", &spec), -EINVAL, "did you mean 'weight'?");
	CHECK_ERROR(read_spec("apple:weight=0", &spec), -ERANGE, "expected 1 to 999");
	CHECK_ERROR(read_spec("pear:x=1", &spec), -EINVAL, "pear has no option 'x'");
	CHECK_ERROR(read_spec("fig", &spec), -EINVAL, "size is missing");
	CHECK(!spec.cls);
}

TEST(lists_of_specs_are_split_at_commas_outside_quotes)
{
	struct strata_spec *specs;
	size_t count;
	const char *text = "pear,apple:sort='x,y':weight=7,apple:sort=p\\,q";

	open_registry(&fruit_kind);
	CHECK_OK(strata_spec_read_list(registry, text, strlen(text), &arena, &specs, &count, &err));
	CHECK_INT(count, 3);
	CHECK(specs[0].cls == &pear);
	CHECK_TEXT(((struct apple_conf *)specs[1].conf)->sort, "x,y");
	CHECK_TEXT(((struct apple_conf *)specs[2].conf)->sort, "p,q");
	CHECK_ERROR(strata_spec_read_list(registry, "pear,", 5, &arena, &specs, &count, &err),
		    -EINVAL, "missing");
	CHECK_ERROR(strata_spec_read_list(registry, "", 0, &arena, &specs, &count, &err), -EINVAL,
		    "missing");
}

TEST(the_number_and_the_length_of_specs_are_limited)
{
	char *text = malloc(STRATA_SPEC_BYTES_MAX + 1);
	struct strata_spec *specs, spec;
	size_t count;

	open_registry(&fruit_kind);
	for (int i = 0; i <= STRATA_SPEC_COUNT_MAX; i++)
		memcpy(text + i * 5, "pear,", 5);
	CHECK_OK(strata_spec_read_list(registry, text, STRATA_SPEC_COUNT_MAX * 5 - 1, &arena,
				       &specs, &count, &err));
	CHECK_INT(count, STRATA_SPEC_COUNT_MAX);
	CHECK_ERROR(strata_spec_read_list(registry, text, STRATA_SPEC_COUNT_MAX * 5 + 4, &arena,
					  &specs, &count, &err),
		    -E2BIG, "257 specs; expected at most 256");
	CHECK_ERROR(strata_spec_read_list(registry, text, STRATA_SPEC_BYTES_MAX + 1, &arena, &specs,
					  &count, &err),
		    -E2BIG, "bytes long");
	CHECK_ERROR(
		strata_spec_read(registry, text, STRATA_SPEC_BYTES_MAX + 1, &arena, &spec, &err),
		-E2BIG, "bytes long");
	free(text);
}

static const char *plugin(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/tests/%s.so", getenv("STRATA_BUILD"), name);
	return path;
}

TEST(a_plugin_adds_its_classes)
{
	const struct strata_noise_class *flat;
	struct strata_spec spec;
	const char *kind;
	float values[3];
	float state[4];

	open_registry(&strata_noise_kind);
	CHECK_OK(strata_plugin_kind(plugin("plugin_flat"), &arena, &kind, &err));
	CHECK_TEXT(kind, "noise");
	CHECK_ERROR(read_spec("flat", &spec), -ENOENT, "there is no noise 'flat'");
	CHECK_OK(strata_registry_load(registry, plugin("plugin_flat"), &err));
	CHECK_OK(read_spec("flat:value=0.25", &spec));
	flat = (const struct strata_noise_class *)spec.cls;
	CHECK(flat->state_size <= sizeof(state));
	flat->start(spec.conf, 1, state);
	flat->normal(state, values, 3);
	CHECK_NEAR(values[2], 0.25, 0);
	CHECK_ERROR(strata_registry_load(registry, plugin("plugin_flat"), &err), -EEXIST,
		    "there is a noise called 'flat' already");
	strata_registry_free(registry);
	registry = NULL;
	flat->start(spec.conf, 1, state); /* a spec outlives the registry that it was read with */
	flat->normal(state, values, 3);
	CHECK_NEAR(values[1], 0.25, 0);
}

TEST(built_in_classes_need_no_registry)
{
	struct strata_spec spec = { 0 }, *specs;
	struct strata_arena own;
	size_t count;

	strata_arena_init(&own, &memory, 0);
	CHECK_OK(strata_spec_build(&fruit_kind, "golden delicious", &own, &spec, &err));
	CHECK_TEXT(spec.cls->name, "apple");
	CHECK_ERROR(strata_spec_build(&fruit_kind, "aple", &own, &spec, &err), -ENOENT,
		    "did you mean 'apple'");
	CHECK_TEXT(spec.cls->name, "apple");
	CHECK_OK(strata_spec_build_list(&fruit_kind, "pear,apple", &own, &specs, &count, &err));
	CHECK_INT(count, 2);
	CHECK_TEXT(specs[0].cls->name, "pear");
	strata_arena_fini(&own);
}

TEST(a_plugin_that_others_could_exchange_is_refused)
{
	const char *kind;
	char dir[300], path[320], command[5000];

	open_registry(&strata_noise_kind);
	snprintf(dir, sizeof(dir), "%s/dir", test_temp_dir());
	snprintf(path, sizeof(path), "%s/flat.so", dir);
	CHECK_INT(mkdir(dir, 0755), 0);
	snprintf(command, sizeof(command), "cp '%s' '%s'", plugin("plugin_flat"), path);
	CHECK_INT(system(command), 0);
	CHECK_INT(chmod(path, 0666), 0);
	CHECK_ERROR(strata_registry_load(registry, path, &err), -EPERM,
		    "may be written to by others (mode 0666); `chmod go-w");
	CHECK_ERROR(strata_plugin_kind(path, &arena, &kind, &err), -EPERM, "the plug-in /");
	CHECK_INT(chmod(path, 0644) | chmod(dir, 0777), 0);
	CHECK_ERROR(strata_registry_load(registry, path, &err), -EPERM, "/dir may be written to");
	CHECK_INT(chmod(dir, 0755), 0);
	CHECK(strata_registry_load(registry, path, &err) !=
	      -EPERM); /* it may not find its library from there */
	strata_registry_free(registry);
	registry = NULL;
}

TEST(the_path_of_a_plugin_has_a_most)
{
	struct strata_registry *noises;
	char longest[4098];

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_OK(strata_registry_new(&strata_noise_kind, &memory, &noises, &err));
	CHECK_ERROR(strata_registry_load(noises, longest, &err), -EINVAL,
		    "the path of the plug-in is longer than 4095 bytes");
	strata_registry_free(noises);
}

TEST(a_plugin_that_does_not_fit_is_refused)
{
	size_t count = 0;

	open_registry(&strata_noise_kind);
	CHECK_ERROR(strata_registry_load(registry, plugin("plugin_abi"), &err), -ENOTSUP,
		    "was built for plug-in interface 5; this is 4");
	CHECK_ERROR(strata_plugin_kind(plugin("plugin_abi"), &arena, &(const char *){ 0 }, &err),
		    -ENOTSUP, "interface 5");
	CHECK_ERROR(strata_registry_load(registry, plugin("plugin_kind"), &err), -EINVAL,
		    "classes of kind 'tractor'; expected 'noise'");
	CHECK_ERROR(strata_registry_load(registry, plugin("plugin_name"), &err), -EEXIST,
		    "a noise called 'torch' already");
	CHECK_ERROR(strata_registry_load(registry, plugin("plugin_default"), &err), -EINVAL,
		    "value is 7; expected -1 to 1");
	CHECK_ERROR(strata_registry_load(registry, plugin("plugin_symbol"), &err), -EINVAL,
		    "no symbol 'strata_plugin'");
	CHECK_ERROR(strata_registry_load(registry, "libc.so.6", &err), -ENOENT,
		    "cannot load plug-in: ./libc.so.6");
	CHECK_ERROR(strata_registry_load(registry, "/dev/null", &err), -ENOENT,
		    "cannot load plug-in");
	while (strata_registry_at(registry, count))
		count++;
	CHECK_INT(count, 4);
	strata_registry_free(registry);
	registry = NULL;
}

static int use(struct strata_memory *given, void *context, struct strata_error *error)
{
	struct strata_registry *own = NULL;
	struct strata_spec *specs;
	struct strata_arena scratch;
	size_t count;
	const char *text;

	(void)context;
	strata_arena_init(&scratch, given, 0);
	int rc = strata_registry_new(&fruit_kind, given, &own, error);

	if (rc == 0)
		rc = strata_spec_read_list(own, "apple:weight=5,pear", 19, &scratch, &specs, &count,
					   error);
	if (rc == 0)
		rc = strata_spec_print(&specs[0], &scratch, &text, error);
	strata_registry_free(own);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(specs_survive_lack_of_memory)
{
	CHECK(test_every_allocation(use, NULL) > 5);
}
