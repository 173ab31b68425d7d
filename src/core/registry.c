/*
 * The classes of one kind: built in and loaded from shared objects, found by name, alias or spec. Loading a plug-in is
 * the one thing in core that touches the outside world; everything else here only reads constant tables.
 */
#include <strata/class.h>

#include "core/class.h"
#include "core/env_trust.h"
#include "core/option.h"
#include "core/text.h"

#include <strata/limits.h>

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct plugin {
	struct plugin *next; /* in the order of loading */
	void *handle;        /* of dlopen */
	const struct strata_plugin *plugin;
};

struct strata_registry {
	const struct strata_kind *kind;
	struct strata_memory *memory;
	struct plugin *plugins;
};

int strata_registry_new(const struct strata_kind *kind, struct strata_memory *memory,
			struct strata_registry **ret_registry, struct strata_error *err)
{
	struct strata_registry *registry = strata_memory_get(memory, sizeof(*registry));

	if (!registry)
		return strata_fail_memory(err);
	registry->kind = kind;
	registry->memory = memory;
	*ret_registry = registry;
	return 0;
}

void strata_registry_free(struct strata_registry *registry)
{
	if (!registry)
		return;
	while (registry->plugins) {
		struct plugin *plugin = registry->plugins;

		registry->plugins = plugin->next;
		dlclose(plugin->handle);
		strata_memory_put(registry->memory, plugin, sizeof(*plugin));
	}
	strata_memory_put(registry->memory, registry, sizeof(*registry));
}

const struct strata_kind *strata_registry_kind(const struct strata_registry *registry)
{
	return registry->kind;
}

const struct strata_class *strata_registry_at(const struct strata_registry *registry, size_t index)
{
	const struct strata_class *const *at = registry->kind->classes;
	const struct plugin *plugin = registry->plugins;

	for (;;) {
		for (; *at; at++)
			if (index-- == 0)
				return *at;
		if (!plugin)
			return NULL;
		at = plugin->plugin->classes;
		plugin = plugin->next;
	}
}

static const struct strata_class *find(const struct strata_registry *registry, const char *name,
				       size_t length)
{
	const struct strata_class *cls;

	for (size_t i = 0; (cls = strata_registry_at(registry, i)); i++)
		if (class_is_called(cls, name, length))
			return cls;
	return NULL;
}

static int not_found(const struct strata_registry *registry, const char *name, size_t length,
		     struct strata_error *err)
{
	struct text_closest closest;
	const struct strata_class *cls;
	const char *kind = registry->kind->name;
	int shown = length > 60 ? 60 : (int)length;

	text_closest_init(&closest, name, length);
	for (size_t i = 0; (cls = strata_registry_at(registry, i)); i++) {
		const char *at = cls->aliases, *alias;
		size_t alias_length;

		text_closest_offer(&closest, cls->name);
		while (class_next_alias(&at, &alias, &alias_length))
			text_closest_offer_as(&closest, alias, alias_length, cls->name);
	}
	if (closest.best)
		return strata_fail(err, -ENOENT, "there is no %s '%.*s'; did you mean '%s'?", kind,
				   shown, name, closest.best);
	return strata_fail(err, -ENOENT, "there is no %s '%.*s'; `strata classes %s` lists them",
			   kind, shown, name, kind);
}

int strata_registry_find(const struct strata_registry *registry, const char *name, size_t length,
			 const struct strata_class **ret_class, struct strata_error *err)
{
	const struct strata_class *cls = find(registry, name, length);

	if (!cls)
		return not_found(registry, name, length, err);
	*ret_class = cls;
	return 0;
}

static int check_abi(const struct strata_plugin *plugin, const char *path, struct strata_error *err)
{
	if (plugin->abi == STRATA_ABI)
		return 0;
	return strata_fail(err, -ENOTSUP,
			   "%s was built for plug-in interface %u; this is %u: build it again",
			   path, plugin->abi, STRATA_ABI);
}

/* Everything about a plug-in's table that could do harm later is refused now. */
static int check_plugin(const struct strata_registry *registry, const struct strata_plugin *plugin,
			const char *path, struct strata_error *err)
{
	int rc = check_abi(plugin, path, err);

	if (rc)
		return rc;
	if (!plugin->kind || strcmp(plugin->kind, registry->kind->name) != 0)
		return strata_fail(err, -EINVAL, "%s holds classes of kind '%.60s'; expected '%s'",
				   path, plugin->kind ? plugin->kind : "(none)",
				   registry->kind->name);
	if (!plugin->classes || !*plugin->classes)
		return strata_fail(err, -EINVAL, "%s holds no classes", path);
	for (const struct strata_class *const *at = plugin->classes; *at; at++) {
		struct strata_error why;
		const struct strata_class *cls = *at, *taken;

		if (strata_class_check(cls, &why))
			return strata_fail(err, -EINVAL, "%s: %s", path, why.text);
		taken = find(registry, cls->name, strlen(cls->name));
		if (taken)
			return strata_fail(err, -EEXIST, "%s: there is a %s called '%s' already",
					   path, registry->kind->name, cls->name);
	}
	return 0;
}

static int open_plugin(const char *path, int flags, void **ret_handle,
		       const struct strata_plugin **ret_plugin, struct strata_error *err)
{
	char here[4096];

	/* dlopen would search the system's directories for a bare name. */
	if (snprintf(here, sizeof(here), "%s%s", strchr(path, '/') ? "" : "./", path) >=
	    (int)sizeof(here))
		return strata_fail(err, -EINVAL, "the path of the plug-in is longer than %zu bytes",
				   sizeof(here) - 1);
	/* what is missing dlopen says */
	if (env_trust_check(here, ENV_TRUST_FILE, "the plug-in", err) == -EPERM)
		return -EPERM;
	void *handle = dlopen(here, RTLD_NOW | RTLD_LOCAL | flags);

	if (!handle)
		return strata_fail(err, -ENOENT, "cannot load plug-in: %s", dlerror());
	const struct strata_plugin *plugin = dlsym(handle, "strata_plugin");

	if (!plugin) {
		dlclose(handle);
		return strata_fail(err, -EINVAL,
				   "%s is not a Strata plug-in: it has no symbol 'strata_plugin'",
				   path);
	}
	*ret_handle = handle;
	*ret_plugin = plugin;
	return 0;
}

int strata_registry_load(struct strata_registry *registry, const char *path,
			 struct strata_error *err)
{
	struct plugin *entry = strata_memory_get(registry->memory, sizeof(*entry)), **last;

	if (!entry)
		return strata_fail_memory(err);
	/* It stays loaded, so that a spec of its classes may outlive this registry. */
	int rc = open_plugin(path, RTLD_NODELETE, &entry->handle, &entry->plugin, err);

	if (rc == 0) {
		rc = check_plugin(registry, entry->plugin, path, err);
		if (rc)
			dlclose(entry->handle);
	}
	if (rc) {
		strata_memory_put(registry->memory, entry, sizeof(*entry));
		return rc;
	}
	for (last = &registry->plugins; *last; last = &(*last)->next)
		continue;
	*last = entry;
	return 0;
}

int strata_plugin_kind(const char *path, struct strata_arena *arena, const char **ret_kind,
		       struct strata_error *err)
{
	const struct strata_plugin *plugin;
	void *handle;
	int rc = open_plugin(path, 0, &handle, &plugin, err);

	if (rc)
		return rc;
	rc = check_abi(plugin, path, err);
	const char *kind = plugin->kind ? plugin->kind : "";

	if (rc == 0)
		kind = strata_arena_text(arena, kind, strlen(kind));
	dlclose(handle);
	if (rc == 0 && !kind)
		rc = strata_fail_memory(err);
	if (rc == 0)
		*ret_kind = kind;
	return rc;
}

/* Where the spec that starts at `at` ends: the next comma that is not quoted. */
static const char *spec_end(const char *at, const char *end)
{
	for (bool quoted = false; at < end; at++) {
		if (*at == '\\' && at + 1 < end)
			at++;
		else if (*at == '\'')
			quoted = !quoted;
		else if (*at == ',' && !quoted)
			break;
	}
	return at;
}

int strata_spec_read(const struct strata_registry *registry, const char *text, size_t length,
		     struct strata_arena *arena, struct strata_spec *ret_spec,
		     struct strata_error *err)
{
	const char *colon = memchr(text, ':', length);
	size_t name_length = colon ? (size_t)(colon - text) : length;
	struct strata_spec spec = { 0 };
	int rc;

	if (length > STRATA_SPEC_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the spec is %zu bytes long; expected at most %d",
				   length, STRATA_SPEC_BYTES_MAX);
	if (name_length == 0)
		return strata_fail(
			err, -EINVAL,
			"the name of the %s is missing; expected NAME or NAME:key=value:…",
			registry->kind->name);
	rc = strata_registry_find(registry, text, name_length, &spec.cls, err);
	if (rc)
		return rc;
	struct strata_schema schema = class_schema(spec.cls);

	if (schema.conf_size) {
		spec.conf = strata_arena_get(arena, schema.conf_size);
		rc = spec.conf ? strata_schema_defaults(&schema, arena, spec.conf, err)
			       : strata_fail_memory(err);
	}
	if (rc == 0 && colon)
		rc = strata_schema_read_text(&schema, colon + 1, length - name_length - 1, arena,
					     spec.conf, err);
	else if (rc == 0 && schema.conf_size) /* so that required options are asked for */
		rc = strata_schema_read_text(&schema, "", 0, arena, spec.conf, err);
	if (rc == 0)
		*ret_spec = spec;
	return rc;
}

int strata_spec_read_list(const struct strata_registry *registry, const char *text, size_t length,
			  struct strata_arena *arena, struct strata_spec **ret_specs,
			  size_t *ret_count, struct strata_error *err)
{
	const char *at = text, *end = text + length;
	size_t count = 1, index = 0;

	if (length > STRATA_SPEC_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the specs are %zu bytes long; expected at most %d",
				   length, STRATA_SPEC_BYTES_MAX);
	for (const char *comma = spec_end(at, end); comma < end; comma = spec_end(comma + 1, end))
		count++;
	if (count > STRATA_SPEC_COUNT_MAX)
		return strata_fail(err, -E2BIG, "%zu specs; expected at most %d", count,
				   STRATA_SPEC_COUNT_MAX);
	struct strata_spec *specs = strata_arena_array(arena, count, sizeof(*specs));

	if (!specs)
		return strata_fail_memory(err);
	for (; index < count; index++) {
		const char *stop = spec_end(at, end);
		int rc = strata_spec_read(registry, at, (size_t)(stop - at), arena, &specs[index],
					  err);

		if (rc)
			return rc;
		at = stop + 1;
	}
	*ret_specs = specs;
	*ret_count = count;
	return 0;
}

int strata_spec_build(const struct strata_kind *kind, const char *text, struct strata_arena *arena,
		      struct strata_spec *ret_spec, struct strata_error *err)
{
	const struct strata_registry built_in = { .kind = kind };

	return strata_spec_read(&built_in, text, strlen(text), arena, ret_spec, err);
}

int strata_spec_build_list(const struct strata_kind *kind, const char *text,
			   struct strata_arena *arena, struct strata_spec **ret_specs,
			   size_t *ret_count, struct strata_error *err)
{
	const struct strata_registry built_in = { .kind = kind };

	return strata_spec_read_list(&built_in, text, strlen(text), arena, ret_specs, ret_count,
				     err);
}
