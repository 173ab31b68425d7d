/* A file system for SQLite that loses power. See fault_vfs.h. */
#include "fault_vfs.h"

#include "random.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILES_MAX = 16,
	NAME_BYTES = 512,
	SECTOR_BYTES = 512,
	REGIONS_MAX = 16,
	LOCKS = SQLITE_SHM_NLOCK
};

struct fault_vfs fault_vfs;

struct bytes {
	unsigned char *at;
	int64_t size;
};

/* A write or, with bytes NULL, a truncation that no sync followed. */
struct pending {
	struct pending *next;
	unsigned char *bytes;
	int64_t offset, size;
};

struct node {
	char name[NAME_BYTES];
	bool there;        /* has its name */
	bool there_surely; /* after a crash, too */
	struct bytes now, durable;
	struct pending *first, **last;
	int shared, reserved, pending, exclusive; /* locks held, by how many */
	unsigned char *regions[REGIONS_MAX];      /* shared memory */
	int shm_shared[LOCKS], shm_exclusive[LOCKS];
};

struct handle {
	sqlite3_file base;
	struct node *node;
	bool temporary;                               /* gone when it is closed */
	int level;                                    /* of its lock */
	bool shm_shared[LOCKS], shm_exclusive[LOCKS]; /* held by it */
};

static struct node nodes[FILES_MAX];
static uint64_t coin;
static bool stopped; /* between crash_at and fault_vfs_crash */
static sqlite3_vfs vfs;
static sqlite3_vfs *real;

/* ---- contents ---- */

static void resize(struct bytes *bytes, int64_t size)
{
	if (size > bytes->size) {
		bytes->at = realloc(bytes->at, (size_t)size);
		assert(bytes->at);
		memset(bytes->at + bytes->size, 0, (size_t)(size - bytes->size));
	}
	bytes->size = size;
}

static void put(struct bytes *bytes, const unsigned char *from, int64_t size, int64_t offset)
{
	if (offset + size > bytes->size)
		resize(bytes, offset + size);
	if (size > 0)
		memcpy(bytes->at + offset, from, (size_t)size);
}

static void remember(struct node *node, const void *bytes, int64_t size, int64_t offset)
{
	struct pending *entry = calloc(1, sizeof(*entry));

	assert(entry);
	entry->offset = offset;
	entry->size = size;
	if (bytes) {
		entry->bytes = malloc((size_t)size);
		assert(entry->bytes);
		memcpy(entry->bytes, bytes, (size_t)size);
	}
	*node->last = entry;
	node->last = &entry->next;
}

static void forget_pending(struct node *node)
{
	for (struct pending *entry = node->first, *next; entry; entry = next) {
		next = entry->next;
		free(entry->bytes);
		free(entry);
	}
	node->first = NULL;
	node->last = &node->first;
}

/* One change: may it happen? What is temporary does not count. */
static int change(const struct handle *handle)
{
	if (handle && handle->temporary)
		return stopped ? SQLITE_IOERR : SQLITE_OK;
	fault_vfs.changes++;
	if (fault_vfs.crash_at && fault_vfs.changes >= fault_vfs.crash_at)
		stopped = true;
	if (stopped)
		return SQLITE_IOERR;
	if (fault_vfs.read_only)
		return SQLITE_READONLY;
	if (fault_vfs.fail_at == fault_vfs.changes)
		return SQLITE_IOERR;
	return SQLITE_OK;
}

/* ---- files ---- */

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
	struct node *node = ((struct handle *)file)->node;
	int64_t got = node->now.size - offset;

	if (got >= size) {
		memcpy(bytes, node->now.at + offset, (size_t)size);
		return SQLITE_OK;
	}
	memset(bytes, 0, (size_t)size);
	if (got > 0)
		memcpy(bytes, node->now.at + offset, (size_t)got);
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
	struct node *node = ((struct handle *)file)->node;
	int rc = change((const struct handle *)file);

	if (rc != SQLITE_OK)
		return rc == SQLITE_IOERR ? SQLITE_IOERR_WRITE : rc;
	if (fault_vfs.full_at && fault_vfs.changes >= fault_vfs.full_at)
		return SQLITE_FULL;
	put(&node->now, bytes, size, offset);
	remember(node, bytes, size, offset);
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct node *node = ((struct handle *)file)->node;

	if (change((const struct handle *)file) != SQLITE_OK)
		return SQLITE_IOERR_TRUNCATE;
	resize(&node->now, size);
	remember(node, NULL, size, 0);
	return SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
	struct node *node = ((struct handle *)file)->node;

	(void)flags;
	if (change((const struct handle *)file) != SQLITE_OK)
		return SQLITE_IOERR_FSYNC;
	resize(&node->durable, 0);
	put(&node->durable, node->now.at, node->now.size, 0);
	forget_pending(node);
	if (node->there && !node->there_surely) /* SQLite syncs the directory of a new file */
		for (int i = 0; i < FILES_MAX; i++)
			nodes[i].there_surely = nodes[i].there;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	*size = ((struct handle *)file)->node->now.size;
	return SQLITE_OK;
}

/* ---- locks: shared, reserved, pending, exclusive ---- */

static int *count_of(struct node *node, int level)
{
	return level == SQLITE_LOCK_SHARED     ? &node->shared
	       : level == SQLITE_LOCK_RESERVED ? &node->reserved
	       : level == SQLITE_LOCK_PENDING  ? &node->pending
					       : &node->exclusive;
}

static int file_unlock(sqlite3_file *file, int level)
{
	struct handle *handle = (struct handle *)file;

	for (int held = handle->level; held > level; held--)
		if (held != SQLITE_LOCK_PENDING)
			--*count_of(handle->node, held);
	if (handle->level > level)
		handle->level = level;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
	struct handle *handle = (struct handle *)file;
	struct node *node = handle->node;

	for (int next = handle->level + 1; next <= level; next++) {
		if (next == SQLITE_LOCK_PENDING) {
			handle->level = next;
			continue;
		}
		bool free_ = next == SQLITE_LOCK_SHARED     ? node->exclusive == 0
			     : next == SQLITE_LOCK_RESERVED ? node->reserved == 0
							    : node->shared == 1;

		if (!free_)
			return SQLITE_BUSY;
		++*count_of(node, next);
		handle->level = next;
	}
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *file, int *ret)
{
	*ret = ((struct handle *)file)->node->reserved > 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
	(void)file, (void)op, (void)argument;
	return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file)
{
	(void)file;
	return SECTOR_BYTES;
}

static int characteristics(sqlite3_file *file)
{
	(void)file;
	return 0; /* promises nothing */
}

/* ---- shared memory ---- */

static int shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
	struct node *node = ((struct handle *)file)->node;

	assert(region < REGIONS_MAX);
	if (!node->regions[region] && extend)
		node->regions[region] = calloc(1, (size_t)size);
	*ret = node->regions[region];
	return SQLITE_OK;
}

static void shm_release(struct handle *handle, int i)
{
	if (handle->shm_shared[i])
		handle->node->shm_shared[i]--;
	if (handle->shm_exclusive[i])
		handle->node->shm_exclusive[i]--;
	handle->shm_shared[i] = handle->shm_exclusive[i] = false;
}

static int shm_lock(sqlite3_file *file, int from, int count, int flags)
{
	struct handle *handle = (struct handle *)file;
	struct node *node = handle->node;
	bool exclusive = flags & SQLITE_SHM_EXCLUSIVE;

	for (int i = from; i < from + count && flags & SQLITE_SHM_UNLOCK; i++)
		shm_release(handle, i);
	if (flags & SQLITE_SHM_UNLOCK)
		return SQLITE_OK;
	for (int i = from; i < from + count; i++)
		if (node->shm_exclusive[i] > handle->shm_exclusive[i] ||
		    (exclusive && node->shm_shared[i] > handle->shm_shared[i]))
			return SQLITE_BUSY;
	for (int i = from; i < from + count; i++) {
		bool *held = exclusive ? &handle->shm_exclusive[i] : &handle->shm_shared[i];

		if (!*held)
			++*(exclusive ? &node->shm_exclusive[i] : &node->shm_shared[i]);
		*held = true;
	}
	return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *file)
{
	(void)file;
}

static void free_regions(struct node *node)
{
	for (int i = 0; i < REGIONS_MAX; i++) {
		free(node->regions[i]);
		node->regions[i] = NULL;
	}
}

static int shm_unmap(sqlite3_file *file, int remove)
{
	struct handle *handle = (struct handle *)file;

	for (int i = 0; i < LOCKS; i++)
		shm_release(handle, i);
	if (remove)
		free_regions(handle->node);
	return SQLITE_OK;
}

static void free_node(struct node *node)
{
	forget_pending(node);
	free(node->now.at);
	free(node->durable.at);
	free_regions(node);
	memset(node, 0, sizeof(*node));
}

static int file_close(sqlite3_file *file)
{
	struct handle *handle = (struct handle *)file;

	file_unlock(file, SQLITE_LOCK_NONE);
	shm_unmap(file, 0);
	if (handle->temporary)
		free_node(handle->node);
	return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = sector_size,
	.xDeviceCharacteristics = characteristics,
	.xShmMap = shm_map,
	.xShmLock = shm_lock,
	.xShmBarrier = shm_barrier,
	.xShmUnmap = shm_unmap,
};

/* ---- names ---- */

static struct node *find(const char *name)
{
	for (int i = 0; i < FILES_MAX; i++)
		if (nodes[i].name[0] && strcmp(nodes[i].name, name) == 0)
			return &nodes[i];
	return NULL;
}

static struct node *create(const char *name)
{
	struct node *node = nodes;

	while (node->name[0])
		node++;
	assert(node < nodes + FILES_MAX);
	snprintf(node->name, sizeof(node->name), "%s", name);
	node->last = &node->first;
	return node;
}

static int vfs_open(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags,
		    int *ret_flags)
{
	struct handle *handle = (struct handle *)file;
	char made_up[32];

	(void)self;
	file->pMethods = NULL;
	bool temporary = !name;

	if (temporary) {
		snprintf(made_up, sizeof(made_up), "temp-%llu",
			 (unsigned long long)random_next(&coin));
		name = made_up;
	}
	struct node *node = find(name);

	if (!node || !node->there) {
		if (!(flags & SQLITE_OPEN_CREATE) || (!temporary && change(NULL) != SQLITE_OK))
			return SQLITE_CANTOPEN;
		node = node ? node : create(name);
		resize(&node->now, 0);
		resize(&node->durable, 0); /* a new file; the old one of this name stays deleted */
		forget_pending(node);
		node->there_surely = false;
		node->there = true;
	}
	memset(handle, 0, sizeof(*handle));
	handle->base.pMethods = &methods;
	handle->node = node;
	handle->temporary = temporary;
	if (ret_flags)
		*ret_flags = fault_vfs.read_only ? SQLITE_OPEN_READONLY : flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *self, const char *name, int sync)
{
	struct node *node = find(name);

	(void)self;
	if (!node || !node->there)
		return SQLITE_IOERR_DELETE_NOENT;
	if (change(NULL) != SQLITE_OK)
		return SQLITE_IOERR_DELETE;
	node->there = false;
	if (sync)
		node->there_surely = false;
	return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *self, const char *name, int flags, int *ret)
{
	struct node *node = find(name);

	(void)self, (void)flags;
	*ret = node && node->there && (flags != SQLITE_ACCESS_EXISTS || node->now.size > 0);
	return SQLITE_OK;
}

static int vfs_path(sqlite3_vfs *self, const char *name, int room, char *ret_path)
{
	(void)self;
	snprintf(ret_path, (size_t)room, "%s", name);
	return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *self, int count, char *bytes)
{
	(void)self;
	for (int i = 0; i < count; i++)
		bytes[i] = (char)random_next(&coin);
	return count;
}

static int vfs_sleep(sqlite3_vfs *self, int us)
{
	(void)self;
	return us; /* whoever is waited for is this thread: waiting changes nothing */
}

static int vfs_now(sqlite3_vfs *self, double *ret_days)
{
	return real->xCurrentTime(self, ret_days);
}

static int vfs_error(sqlite3_vfs *self, int room, char *text)
{
	(void)self, (void)room, (void)text;
	return 0;
}

/* ---- power ---- */

void fault_vfs_start(uint64_t seed)
{
	fault_vfs_stop(); /* a test that failed may have left it */
	fault_vfs = (struct fault_vfs){ 0 };
	coin = seed;
	stopped = false;
	real = sqlite3_vfs_find("unix");
	vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct handle),
		.mxPathname = NAME_BYTES,
		.zName = "fault",
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_path,
		.xRandomness = vfs_random,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_now,
		.xGetLastError = vfs_error,
	};
	sqlite3_vfs_register(&vfs, 1);
}

/* What is left of one write: all, nothing, or some of its sectors and a part of one. */
static void keep_some(struct node *node, const struct pending *entry)
{
	uint64_t fate = random_below(&coin, 3);

	if (fate == 0)
		return;
	if (!entry->bytes) {
		resize(&node->durable, entry->size);
		return;
	}
	for (int64_t at = 0; at < entry->size; at += SECTOR_BYTES) {
		int64_t size = entry->size - at < SECTOR_BYTES ? entry->size - at : SECTOR_BYTES;

		if (fate == 2 && random_below(&coin, 2))
			continue;
		if (fate == 2 && random_below(&coin, 4) == 0)
			size = (int64_t)random_below(&coin, (uint64_t)size + 1);
		put(&node->durable, entry->bytes + at, size, entry->offset + at);
	}
}

void fault_vfs_crash(void)
{
	for (int i = 0; i < FILES_MAX; i++) {
		struct node *node = &nodes[i];

		if (!node->name[0])
			continue;
		for (const struct pending *entry = node->first; entry; entry = entry->next)
			keep_some(node, entry);
		forget_pending(node);
		resize(&node->now, 0);
		put(&node->now, node->durable.at, node->durable.size, 0);
		if (node->there != node->there_surely)
			node->there = node->there_surely = random_below(&coin, 2);
		node->shared = node->reserved = node->pending = node->exclusive = 0;
		memset(node->shm_shared, 0, sizeof(node->shm_shared));
		memset(node->shm_exclusive, 0, sizeof(node->shm_exclusive));
		free_regions(node);
	}
	stopped = false;
	fault_vfs = (struct fault_vfs){ 0 };
}

void fault_vfs_stop(void)
{
	for (int i = 0; i < FILES_MAX; i++)
		if (nodes[i].name[0])
			free_node(&nodes[i]);
	if (real)
		sqlite3_vfs_unregister(&vfs);
	real = NULL;
}
