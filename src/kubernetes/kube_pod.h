/* Pods, as far as somebody who places or runs them needs to know. Pure. */
#ifndef KUBERNETES_KUBE_POD_H
#define KUBERNETES_KUBE_POD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define KUBE_GPU "nvidia.com/gpu" /* the usual name of GPUs among a node's resources */

enum kube_phase {
	KUBE_PENDING, /* also what is not known */
	KUBE_RUNNING,
	KUBE_SUCCEEDED,
	KUBE_FAILED,
};

/* What something takes, or has. */
struct kube_room {
	int64_t cpu_milli, memory_bytes, gpus;
};

struct kube_pod {
	const char *space, *name, *uid; /* never NULL, like all texts here */
	const char *node;               /* ""; it has none yet */
	enum kube_phase phase;
	bool deleting; /* it is to go */
	struct kube_room
		room; /* what it takes of its node: all containers, as the kubelet counts */
	/* of the first container */
	bool started;       /* it runs, or ran */
	bool terminated;    /* it has ended: the next four */
	bool out_of_memory; /* OOMKilled */
	int64_t exit_code, signal;
	int64_t ended_ns;    /* since 1970; 0: not known */
	int64_t started_ns;  /* 0: not known */
	const char *reason;  /* why it waits, ended or was refused: "ImagePullBackOff" … */
	const char *message; /* … in words */
};

/* Texts are borrowed from the object. `gpu` is the resource that counts as GPUs. */
void kube_pod_read(const json_t *object, const char *gpu, struct kube_pod *ret_pod);
/* In one block, texts included; free it. NULL: out of memory. */
struct kube_pod *kube_pod_copy(const struct kube_pod *pod);
/* It takes nothing of its node any more. */
bool kube_pod_ended(const struct kube_pod *pod);

/* "2026-01-31T12:00:00Z" in ns since 1970; 0: it is none. */
int64_t kube_time(const char *text);

/* ---- nodes ---- */

struct kube_node {
	const char *name;
	bool ready;            /* its kubelet says so */
	bool unschedulable;    /* cordoned */
	const char *message;   /* why it is not ready; "" */
	struct kube_room room; /* allocatable */
	const char *gpu_type;  /* "a100-sxm4-80gb"; "": not known */
	const json_t *labels;  /* borrowed; NULL: none */
	char gpu_type_text[64];
};

/* Texts are borrowed from the object, and gpu_type from the struct. */
void kube_node_read(const json_t *object, const char *gpu, struct kube_node *ret_node);

#endif
