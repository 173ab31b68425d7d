/*
 * How an attempt ended, from what was seen of its pods. The pod that failed first speaks for all;
 * what ends because it was asked to end, ended for that reason, whatever it exits with.
 */
#include "exec/exec_kubernetes.h"

#include <errno.h>
#include <string.h>

enum { SIGNAL_BASE = 128, SIGNAL_MAX = 64 };

bool kube_part_over(const struct kube_part *part)
{
	return part->gone || (part->pod && kube_pod_ended(part->pod));
}

bool kube_part_failed(const struct kube_part *part)
{
	return kube_part_over(part) &&
	       (!part->pod || !part->pod->terminated || part->pod->exit_code || part->pod->signal);
}

/* It was told to end while it ran. */
static bool was_told(const struct kube_part *part)
{
	return part->asked_ns || (part->pod && part->pod->deleting);
}

/* Did it end by itself where the other was told to, or else before it? Times have whole seconds;
 * those that are not known come last. */
static bool is_before(const struct kube_part *part, const struct kube_part *other)
{
	int64_t end_ns = part->pod ? part->pod->ended_ns : 0;
	int64_t other_ns = other->pod ? other->pod->ended_ns : 0;

	if (was_told(part) != was_told(other))
		return was_told(other);
	return end_ns && (!other_ns || end_ns < other_ns);
}

static const struct kube_part *find_decisive(const struct kube_part *parts, size_t count)
{
	const struct kube_part *first = NULL;

	for (size_t i = 0; i < count; i++)
		if (kube_part_failed(&parts[i]) && (!first || is_before(&parts[i], first)))
			first = &parts[i];
	return first ? first : &parts[0];
}

/* It was refused by its node, evicted, or has vanished: a sentence. */
static const char *why_lost(const struct kube_part *part)
{
	if (!part->pod || part->gone)
		return "its pod is gone, and how it ended is not known";
	if (*part->pod->message)
		return part->pod->message;
	return *part->pod->reason ? part->pod->reason : "its pod failed";
}

static int how_of(const struct kube_part *part, int why)
{
	const struct kube_pod *pod = part->pod;

	if (pod && pod->terminated && pod->out_of_memory)
		return EXEC_MEMORY;
	/* it ended before it was told to */
	if (pod && pod->terminated && !was_told(part) && why != EXEC_NOT_STARTED)
		return EXEC_EXITED;
	if (why >= 0)
		return why;
	return pod && pod->terminated ? EXEC_SHUT_DOWN : EXEC_LOST;
}

static void fill_times(const struct kube_part *parts, size_t count, struct exec_status *status)
{
	for (size_t i = 0; i < count; i++) {
		const struct kube_pod *pod = parts[i].pod;

		if (!pod)
			continue;
		if (pod->started_ns &&
		    (!status->started_ns || pod->started_ns < status->started_ns))
			status->started_ns = pod->started_ns;
		if (pod->ended_ns > status->ended_ns)
			status->ended_ns = pod->ended_ns;
	}
	if (status->started_ns && status->ended_ns > status->started_ns)
		status->ran_ns = status->ended_ns - status->started_ns;
}

void kube_status(const struct kube_part *parts, size_t count, int why, const char *why_text,
		 struct exec_status *ret_status)
{
	const struct kube_part *part = find_decisive(parts, count);
	struct exec_status status = { .how = how_of(part, why) };
	int64_t code = part->pod && part->pod->terminated ? part->pod->exit_code : 0;

	fill_times(parts, count, &status);
	if (part->pod && part->pod->signal)
		status.signal = part->pod->signal;
	else if (code > SIGNAL_BASE && code <= SIGNAL_BASE + SIGNAL_MAX)
		status.signal = code - SIGNAL_BASE; /* as runtimes write it */
	else
		status.exit_code = code & 255;
	if (status.how == EXEC_LOST)
		status.error = *why_text ? why_text : why_lost(part);
	if (status.how == EXEC_NOT_STARTED) {
		status.error = *why_text ? why_text : why_lost(part);
		status.error_code = EREMOTEIO;
		status.started_ns = status.ran_ns = 0;
	}
	*ret_status = status;
}
