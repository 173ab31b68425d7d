/* Names and sizes of what a graph's tensors and ops can be. */
#include <strata/place.h>

static const struct {
	const char *name;
	int64_t bytes;
} dtypes[STRATA_DTYPE_COUNT] = {
	[STRATA_DTYPE_NONE] = { "none", 0 }, [STRATA_DTYPE_F64] = { "f64", 8 },
	[STRATA_DTYPE_F32] = { "f32", 4 },   [STRATA_DTYPE_F16] = { "f16", 2 },
	[STRATA_DTYPE_BF16] = { "bf16", 2 }, [STRATA_DTYPE_F8] = { "f8", 1 },
	[STRATA_DTYPE_I64] = { "i64", 8 },   [STRATA_DTYPE_I32] = { "i32", 4 },
	[STRATA_DTYPE_I16] = { "i16", 2 },   [STRATA_DTYPE_I8] = { "i8", 1 },
	[STRATA_DTYPE_U64] = { "u64", 8 },   [STRATA_DTYPE_U32] = { "u32", 4 },
	[STRATA_DTYPE_U16] = { "u16", 2 },   [STRATA_DTYPE_U8] = { "u8", 1 },
	[STRATA_DTYPE_BOOL] = { "bool", 1 }, [STRATA_DTYPE_TEXT] = { "text", 0 },
	[STRATA_DTYPE_C64] = { "c64", 8 },   [STRATA_DTYPE_C128] = { "c128", 16 },
};

const char *strata_dtype_name(enum strata_dtype dtype)
{
	return (unsigned)dtype < STRATA_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

int64_t strata_dtype_bytes(enum strata_dtype dtype)
{
	return (unsigned)dtype < STRATA_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

const char *strata_role_name(enum strata_role role)
{
	static const char *const names[STRATA_ROLE_COUNT] = {
		[STRATA_ROLE_ACTIVATION] = "activation",
		[STRATA_ROLE_INPUT] = "input",
		[STRATA_ROLE_OUTPUT] = "output",
		[STRATA_ROLE_WEIGHT] = "weight",
		[STRATA_ROLE_KV] = "kv",
	};

	return (unsigned)role < STRATA_ROLE_COUNT ? names[role] : "unknown";
}

const char *strata_phase_name(enum strata_phase phase)
{
	static const char *const names[STRATA_PHASE_COUNT] = {
		[STRATA_PHASE_FORWARD] = "forward",   [STRATA_PHASE_PREFILL] = "prefill",
		[STRATA_PHASE_DECODE] = "decode",     [STRATA_PHASE_ENCODE] = "encode",
		[STRATA_PHASE_DENOISE] = "denoise",   [STRATA_PHASE_DECODE_IMAGE] = "decode_image",
		[STRATA_PHASE_BACKWARD] = "backward",
	};

	return (unsigned)phase < STRATA_PHASE_COUNT ? names[phase] : "unknown";
}

const char *strata_modality_name(enum strata_modality modality)
{
	static const char *const names[STRATA_MODALITY_COUNT] = {
		[STRATA_MODALITY_NONE] = "none",   [STRATA_MODALITY_TEXT] = "text",
		[STRATA_MODALITY_IMAGE] = "image", [STRATA_MODALITY_AUDIO] = "audio",
		[STRATA_MODALITY_MIXED] = "mixed",
	};

	return (unsigned)modality < STRATA_MODALITY_COUNT ? names[modality] : "unknown";
}
