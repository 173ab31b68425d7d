/*
 * What a step of a job takes for itself while it runs, so that steps side by side do not get the
 * same CPUs and GPUs: bytes of the job's token file, one for each CPU and GPU, locked by srun. The
 * kernel lets go of them when srun ends, however it ends, so nothing has to be tidied up and a step
 * that was killed blocks nobody.
 *
 * As in Slurm a step takes all CPUs of its nodes unless --exact, --exclusive or -c says which are
 * enough, and the GPUs it asks for; --overlap takes nothing. A step that asks for no GPUs sees all
 * of the job's and shares them.
 */
#include "cli/slurm/srun.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the file: the first is held by whoever is choosing, then those of each node of the
 * job. */
enum { NODE_BYTES = 1 << 16, GPU_BYTES = 1 << 15 };

struct want {
	int64_t cpus;
	int64_t gpus; /* −1: none of its own */
};

int srun_claim_open(void)
{
	const char *path = getenv("STRATA_TOKEN_FILE");

	return path ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

static bool lock(int fd, short type, off_t at, off_t count, bool wait)
{
	struct flock range = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = count
	};

	return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range) == 0;
}

static struct want want_of(const struct srun *srun, const struct srun_layout *layout, size_t index)
{
	const struct strata_sbatch *job = &srun->batch.job;
	const struct srun_node *node = &layout->nodes[index];
	bool exact = srun->batch.job.exact || job->share == STRATA_SBATCH_EXCLUSIVE ||
		     job->cpus_per_task_given;
	int64_t left = job->gpus.count, nodes = (int64_t)layout->node_count;
	struct want want = { .cpus = exact ? node->tasks * job->cpus_per_task : node->cpus,
			     .gpus = -1 };

	if (job->overcommit && exact)
		want.cpus = 1;
	if (job->gpus_per_task.text)
		want.gpus = node->tasks * job->gpus_per_task.count;
	else if (job->gpus_per_node.text)
		want.gpus = job->gpus_per_node.count;
	else if (job->gpus.text) /* the first nodes have one more */
		want.gpus = left / nodes + ((int64_t)index < left % nodes);
	return want;
}

bool srun_claim_possible(const struct srun *srun, const struct srun_layout *layout)
{
	for (size_t i = 0; i < layout->node_count; i++) {
		const struct srun_node *node = &layout->nodes[i];
		struct want want = want_of(srun, layout, i);

		if ((node->cpus && want.cpus > node->cpus) || want.gpus > (int64_t)node->gpu_count)
			return false;
	}
	return true;
}

/* Takes `wanted` of `count` bytes, the first that are free; which they are. */
static bool take(int fd, off_t first, int64_t count, int64_t wanted, int64_t *ret_taken)
{
	int64_t taken = 0;

	for (int64_t i = 0; i < count && taken < wanted; i++)
		if (lock(fd, F_WRLCK, first + i, 1, false))
			ret_taken[taken++] = i;
	return taken == wanted;
}

static bool take_node(int fd, const struct want *want, struct srun_node *node,
		      struct strata_arena *arena)
{
	off_t first = 1 + (off_t)node->place * NODE_BYTES;
	int64_t room = node->cpus > (int64_t)node->gpu_count ? node->cpus
							     : (int64_t)node->gpu_count;
	int64_t *taken = strata_arena_array(arena, (size_t)room + 1, sizeof(*taken));
	int64_t *gpus = strata_arena_array(arena, node->gpu_count + 1, sizeof(*gpus));

	if (!taken || !gpus || !take(fd, first, node->cpus, want->cpus, taken))
		return false;
	if (want->gpus < 0)
		return true;
	if (!take(fd, first + GPU_BYTES, (int64_t)node->gpu_count, want->gpus, taken))
		return false;
	for (int64_t i = 0; i < want->gpus; i++)
		gpus[i] = node->gpus[taken[i]];
	node->gpus = gpus;
	node->gpu_count = (size_t)want->gpus;
	return true;
}

/* Who shares takes the first ones that there are, locked or not. */
static void share(const struct srun *srun, struct srun_layout *layout)
{
	for (size_t i = 0; i < layout->node_count; i++) {
		struct want want = want_of(srun, layout, i);

		if (want.gpus >= 0 && (size_t)want.gpus < layout->nodes[i].gpu_count)
			layout->nodes[i].gpu_count = (size_t)want.gpus;
	}
}

bool srun_claim_try(int fd, const struct srun *srun, struct srun_layout *layout)
{
	bool taken = true;

	if (fd < 0 || srun->batch.job.overlap) {
		share(srun, layout);
		return true;
	}
	lock(fd, F_WRLCK, 0, 1, true);
	for (size_t i = 0; i < layout->node_count && taken; i++) {
		struct want want = want_of(srun, layout, i);

		taken = take_node(fd, &want, &layout->nodes[i], &srun->cli->arena);
	}
	lock(fd, F_UNLCK, 0, taken ? 1 : 0, true); /* 0: all of the file */
	return taken;
}
