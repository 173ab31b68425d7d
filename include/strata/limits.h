/*
 * Every limit of the library and the service, in one place. Each is tested at its value and one past it.
 * A limit is there so that bad input costs nothing; none is meant to be met in ordinary use.
 */
#ifndef STRATA_LIMITS_H
#define STRATA_LIMITS_H

#include <stdint.h>

enum {
	/* text */
	STRATA_NAME_BYTES_MAX = 128,     /* a class, option, user, job … name */
	STRATA_TEXT_BYTES_MAX = 1 << 20, /* one text value of an option */
	STRATA_SPEC_BYTES_MAX = 1 << 16, /* name:key=value,… */
	STRATA_SPEC_COUNT_MAX = 256,     /* classes in one comma-separated list */
	STRATA_NUMBER_BYTES_MAX = 1024,  /* a real number as text */

	/* documents */
	STRATA_JSON_BYTES_MAX = 64 << 20, /* a JSON document read into memory */
	STRATA_JSON_DEPTH_MAX = 64,       /* nesting of a JSON document */
	STRATA_INI_BYTES_MAX = 1 << 20,   /* a configuration file */
	STRATA_LIST_COUNT_MAX = 1 << 20,  /* items of one list or map option */
	STRATA_OPTION_DEPTH_MAX = 8,      /* tables in tables */

	/* logs and tables */
	STRATA_SWF_LINE_BYTES_MAX = 1 << 16,  /* one line of a log of jobs */
	STRATA_SWF_NOTES_MAX = 1 << 16,       /* comments of a log of jobs */
	STRATA_SWF_JOBS_MAX = 1 << 22,        /* jobs of a log */
	STRATA_CSV_COLUMNS_MAX = 256,         /* columns of a table of comma-separated values */
	STRATA_CSV_FIELD_BYTES_MAX = 1 << 16, /* one of its values */
	STRATA_CSV_ROWS_MAX = 1 << 24,        /* its rows */
	STRATA_INPUT_BYTES_MAX = 1 << 30,     /* a file of the simulator, unpacked */

	/* interactive jobs */
	STRATA_CONSOLE_FRAME_BYTES_MAX = 1 << 16, /* that a console and a view pass on in one go */
	STRATA_CONSOLE_VIEWS_MAX = 8,             /* that look at one job at a time */

	/* weights of models */
	STRATA_SAFETENSORS_HEADER_BYTES_MAX = 100000000, /* as the format has it */
	STRATA_SAFETENSORS_METADATA_BYTES_MAX = 16
						<< 20, /* of the header, what is about the model */
	STRATA_SAFETENSORS_TENSORS_MAX = 1 << 18,      /* tensors of a model */
	STRATA_SAFETENSORS_RANK_MAX = 64,              /* dimensions of a tensor */
	STRATA_SAFETENSORS_NAME_BYTES_MAX = 4096,      /* its name, as JSON */
	STRATA_SAFETENSORS_FILES_MAX = 4096,           /* files of one model */

	/* tokenizers */
	STRATA_TOKENIZER_TEXT_BYTES_MAX = 1 << 20,   /* a text to take apart */
	STRATA_TOKENIZER_NORMAL_BYTES_MAX = 1 << 24, /* the same as a map of characters makes it */
	STRATA_TOKENIZER_TOKENS_MAX = 1 << 21,       /* tokens of a vocabulary */
	STRATA_TOKENIZER_TOKEN_BYTES_MAX = 4096,     /* a pair of tokens that are merged */
	STRATA_TOKENIZER_MERGES_MAX = 1 << 21,       /* such pairs */
	STRATA_TOKENIZER_SPECIALS_MAX = 4096,        /* special tokens */

	/* studies: what the service works out for people, in processes of their own */
	STRATA_STUDIES_MAX = 8,            /* that wait or run, of all users */
	STRATA_STUDIES_KEPT = 32,          /* that have ended and can still be read */
	STRATA_STUDY_JOBS_MAX = 20000,     /* of the history in one replay */
	STRATA_STUDY_SECONDS_MAX = 60,     /* CPU time of one */
	STRATA_STUDY_MEMORY_MAX = 1 << 30, /* bytes of memory of one */
	STRATA_STUDY_RESULT_BYTES_MAX = 4 << 20,
	STRATA_STUDY_FILE_BYTES_MAX = 64 << 20, /* of a model that is looked at */

	/* problems */
	STRATA_PROBLEMS_MAX = 50, /* in one answer */

	/* what jobs used */
	STRATA_SAMPLES_MAX = 120, /* points that are kept of one attempt; even */
	/* jobs of which one answer tells what they use now */
	STRATA_QUEUE_USED_MAX = 200,

	/* arrays and pictures */
	STRATA_NPY_HEADER_BYTES_MAX = 1 << 16, /* the header of a .npy file */
	STRATA_IMAGE_SIDE_MAX = 8192,          /* width and height of a picture */
	STRATA_PNG_BYTES_MAX = 256 << 20,      /* a PNG file */
	STRATA_PNG_TEXT_BYTES_MAX = 1 << 20,   /* one text of it */

	/* batch scripts */
	STRATA_JOB_MEMORY_BYTES_MIN = 1
				      << 16, /* that a job may ask for; less is a unit forgotten */
	STRATA_SCRIPT_BYTES_MAX = 4 << 20,   /* a script */
	STRATA_SCRIPT_WORDS_MAX = 4096,      /* words of its #SBATCH lines, or of a command line */
	STRATA_SLURM_VALUE_BYTES_MAX = 1 << 16, /* one value of an option */
	STRATA_SLURM_NOTE_BYTES_MAX = 1024,     /* one that is kept with a job to be shown … */
	STRATA_SLURM_NOTE_COUNT_MAX = 64,       /* … and how many */
	STRATA_ARRAY_INDEX_MAX = 100000,        /* the largest task number of an array */
	STRATA_ARRAY_NAMED_MAX = 400000,        /* tasks that an array names, repetitions counted */
	STRATA_JOB_STEPS_MAX = 40000,           /* steps of one job, as Slurm has it */
	STRATA_HOSTLIST_COUNT_MAX = 1 << 16,    /* names of a list of hosts */
	STRATA_HOSTLIST_BRACKETS_MAX = 8,       /* brackets of one name */
	STRATA_SLURM_SETUP_GROUPS_MAX = 64,     /* groups of hosts of a cluster that is set up */
	STRATA_SLURM_SETUP_HOSTS_MAX = 1024,    /* its hosts */
	STRATA_SLURM_SETUP_NAME_BYTES_MAX = 63, /* the name of one, and of the cluster */
	STRATA_OUTPUT_PATH_BYTES_MAX = 4096,    /* a file name with its pattern filled in */

	/* ONNX */
	STRATA_ONNX_DEPTH_MAX = 16, /* graphs in graphs, types in types, functions in functions */
	STRATA_ONNX_NAME_BYTES_MAX = 4096, /* name of a node, a tensor, an operator … */
	STRATA_ONNX_NODES_MAX =
		1 << 22, /* nodes of a model, those of its subgraphs and functions included */
	STRATA_ONNX_FOLD_MAX = 4096, /* elements of a constant that is computed with */
	STRATA_ONNX_STEPS_MAX =
		1 << 18, /* nodes of functions and inner graphs, once for each call and round */

	/* containers */
	STRATA_SLAB_COUNT_MAX = 1 << 30, /* objects of one slab */
	STRATA_SHARE_DEPTH_MAX = 32,     /* accounts in accounts */

	/* cluster */
	STRATA_MIX_COUNT_MAX = 512,                 /* typical needs of a mix */
	STRATA_DEPENDENCY_COUNT_MAX = 4096,         /* what one job waits for */
	STRATA_GANG_SIZE_MAX = 256,                 /* jobs that start together */
	STRATA_SERVER_QUEUE_MAX = 16384,            /* requests that wait to be decided */
	STRATA_SERVER_BODY_BYTES_MAX = 64 << 20,    /* the body of a request */
	STRATA_SERVER_BODY_VALUES_MAX = 1 << 21,    /* values in it, as JSON */
	STRATA_ENVIRONMENT_COUNT_MAX = 1 << 16,     /* variables of one job */
	STRATA_SERVER_BODY_SMALL_BYTES = 1 << 18,   /* a body up to this is always taken … */
	STRATA_SERVER_BODIES_BYTES_MAX = 512 << 20, /* … larger ones up to so much in all */
	STRATA_SERVER_CONNECTIONS_MAX = 12000, /* connections by the socket, and as many by TCP */
	STRATA_SERVER_CONNECTIONS_EACH_MAX = 1000, /* of one user, or an address without token */
	STRATA_WEBHOOK_URL_BYTES_MAX = 2048,       /* the address of a webhook */
	STRATA_WEBHOOK_ALLOWED_MAX = 64,           /* ranges of addresses that an operator allows */
	STRATA_WEBHOOK_LINE_BYTES_MAX = 1 << 20,   /* a message to one, as it is handed over */
	STRATA_WEBHOOK_USER_MAX = 1000,            /* messages of one user that have not arrived */
	STRATA_SERVER_PLACED_MAX = 1 << 20,        /* jobs that have a place at a time */
	STRATA_TASK_CPU_MILLI_MIN = 10,            /* of a core, that a task takes at least */
	STRATA_ADVANCES_MAX = 256,                 /* advance reservations */
	STRATA_BULK_COUNT_MAX = 10000,             /* entries of one submission */
	STRATA_TRIALS_MAX = 8,                     /* jobs of one trial */
	STRATA_SERIES_JOBS_MAX = 20000,            /* jobs that a day of load is worked out from */
	STRATA_SUBMISSION_JOBS_MAX = 1 << 17, /* jobs of one submission, with arrays' elements */
	STRATA_ROUND_CHANGES_MAX = 1 << 16,   /* a round with so many takes no more requests */
	STRATA_USER_TOKENS_MAX = 64,          /* tokens of one user */
	STRATA_TOKENS_MAX = 4096,             /* tokens of all users */
	STRATA_ALLOWED_NAMES_MAX = 4096,      /* names of one list of who or what is allowed */
	STRATA_PATH_BYTES_MAX = 4096,         /* the name of a file */
	STRATA_TLS_FILE_BYTES_MAX = 1 << 20,  /* a file of certificates, or of a key */
	STRATA_TLS_CHAIN_MAX = 16,            /* certificates of one chain */
	STRATA_S3_XML_DEPTH_MAX = 16,         /* elements in elements of what S3 answers */
	STRATA_S3_XML_TEXT_BYTES_MAX = 4096,  /* a text of it */
	STRATA_S3_ANSWER_BYTES_MAX = 4 << 20, /* all of it */
	STRATA_S3_ERROR_BYTES_MAX = 1 << 16,  /* and of one that says what went wrong */
	STRATA_S3_PARTS_MAX = 10000,          /* parts of one object, as S3 has it */
	STRATA_COPY_FILES_MAX = 1 << 16,      /* files of one checkpoint that is copied */
	STRATA_COPY_DEPTH_MAX = 16,           /* directories in directories of it */
	STRATA_CONTEXTS_MAX = 64,             /* servers that one user is signed in to */

	/* pods of a Kubernetes cluster */
	STRATA_POD_NAME_BYTES_MAX = 253,  /* the name of a pod, a namespace or a node */
	STRATA_POD_BYTES_MAX = 1 << 20,   /* what is kept of one */
	STRATA_POD_CONTAINERS_MAX = 1000, /* containers of one */
	STRATA_POD_RESOURCES_MAX = 64,    /* kinds of resources of one container, or of a node */
	STRATA_PODS_MAX = 1 << 18,        /* pods that are looked at */
	STRATA_PODS_USERS_MAX = 4096,     /* service accounts whose usage is kept */
	STRATA_PODS_USAGE_BYTES_MAX = 900 << 10, /* and as text; a ConfigMap holds 1 MiB */
	/* Kubernetes */
	STRATA_KUBE_CONFIG_BYTES_MAX = 1 << 20,  /* a kubeconfig file … */
	STRATA_KUBE_YAML_DEPTH_MAX = 32,         /* … mappings in mappings of it … */
	STRATA_KUBE_YAML_VALUES_MAX = 1 << 16,   /* … and its values */
	STRATA_KUBE_TOKEN_BYTES_MAX = 1 << 16,   /* a file with a token */
	STRATA_KUBE_ANSWER_BYTES_MAX = 64 << 20, /* an answer of the API server, a page of a list */
	STRATA_KUBE_LINE_BYTES_MAX = 8 << 20,    /* one event of a watch */

	/* generation */
	STRATA_PROMPT_BYTES_MAX = 1 << 14, /* a prompt */
	STRATA_GENERATE_STEPS_MAX = 1000,  /* steps of a picture */
	STRATA_GENERATE_BODY_BYTES_MAX = 32
					 << 20, /* a request for some, with what they start from */
	STRATA_GENERATE_REQUESTS_MAX = 256,   /* pictures that one request asks for, each its own */
	STRATA_INIT_BYTES_MAX = 16 << 20,     /* a picture to start from, as a file … */
	STRATA_INIT_PIXELS_MAX = 1 << 24,     /* … and its pixels */
	STRATA_TASK_PRIORITY_MAX = 10,        /* of a task, from 0 on */
	STRATA_RESULT_BYTES_MAX = 64 << 20,   /* a picture, as a file */
	STRATA_PREVIEW_BYTES_MAX = 256 << 10, /* a preview */
	STRATA_LATENTS_BYTES_MAX = 64 << 20,  /* where a task stands, as a file */
	STRATA_TASK_TRACE_BYTES_MAX = 8 << 20, /* the timeline of a task, as a file … */
	STRATA_TASK_TRACES_MAX = 256,          /* … of which so many are kept */
	STRATA_TASKS_MAX = 100000,             /* tasks that have not ended */
	STRATA_MODELS_MAX = 1000,              /* models that a service knows */
	STRATA_MODEL_WORKERS_MAX = 256,        /* workers of one model */

	/* pool */
	STRATA_BATCH_MAX = 32,            /* tasks of one batch */
	STRATA_WORKER_MODELS_MAX = 64,    /* models that a worker says it has loaded */
	STRATA_POOL_SHAPES_MAX = 1 << 20, /* pairs of model and shape that a pool has seen */
	STRATA_TASK_STEPS_MAX = 1 << 20,  /* steps of one task */
	STRATA_POOL_PAGE_MAX = 10000,     /* tasks of a page of the line */
	STRATA_POOL_LOOK_MAX = 4096,      /* tasks looked at for one that fits, or for a batch */

	/* store */
	STRATA_STORE_CHANGES_MAX = 1 << 18,    /* changes of one transaction */
	STRATA_STORE_TEXT_BYTES_MAX = 4 << 20, /* one text of a row */
	STRATA_STORE_BLOB_BYTES_MAX = 64 << 20,
	STRATA_STORE_PAGE_MAX = 10000, /* rows of a page, jobs forgotten at a time */
	STRATA_STORE_STATES_MAX = 16,  /* states in one question */
	STRATA_STORE_READERS_MAX = 256,
	STRATA_FIGURES_MAX = 256, /* key figures that the service keeps days of */

	/* machine */
	STRATA_INVENTORY_NODES_MAX = 1 << 16, /* nodes that a configuration declares */

	/* pipelines and language models */
	STRATA_PIPELINE_IMAGES_MAX = 64,            /* pictures of one request */
	STRATA_PIPELINE_CONFIG_BYTES_MAX = 1 << 20, /* one configuration file of a folder */
	STRATA_PIPELINE_STATE_BYTES_MAX = 1 << 30,  /* a request that was put aside */
	STRATA_LANGUAGE_LAYERS_MAX = 1024,          /* layers of a language model */
	STRATA_LANGUAGE_TOKENS_MAX = 1 << 20,       /* prompt and answer */

	/* stage */
	STRATA_STAGE_VISITS_MAX = 1 << 22, /* visits of a step, layers of a model */
	STRATA_STAGE_PAGES_MAX = 1 << 30,  /* pages of a model */

	/* place */
	STRATA_ENGINE_INPUT_BYTES_MAX = 1 << 30, /* of a file with an input of a model */
	STRATA_EXPERIENCE_BYTES_MAX = 1 << 20,   /* of what an engine has learned, in its file */
	STRATA_TENSOR_RANK_MAX = 16,             /* dimensions of a tensor */
	STRATA_GRAPH_TENSORS_MAX = 1 << 23,      /* tensors of a graph */
	STRATA_GRAPH_OPS_MAX = 1 << 22,          /* its operators */
	STRATA_GRAPH_EDGES_MAX = 1 << 24,        /* and what goes between them */
	STRATA_GRAPH_FILES_MAX = 1 << 16,        /* files that its weights are in */
	STRATA_PLACE_DEVICES_MAX = 64,           /* devices of a machine */
	STRATA_PLACE_KINDS_MAX = 1 << 16,        /* kinds of ops whose times are learned */
	STRATA_ADAPTIVE_EVENTS_MAX =
		256, /* steps of its record that the adaptive scheduler keeps */

	/* solver */
	STRATA_SOLVER_SLOTS_MAX = 8,       /* tensors that a solver keeps between two rows */
	STRATA_SOLVER_WRITES_MAX = 4,      /* of them, written by one row */
	STRATA_SOLVER_STATE_MAX = 12,      /* numbers that an adaptive solver keeps */
	STRATA_SOLVER_STEPS_MAX = 10000,   /* steps of one table */
	STRATA_SOLVER_ROWS_MAX = 1 << 17,  /* rows of one table */
	STRATA_TRAIN_STEPS_MAX = 1 << 16,  /* timesteps a model was trained with */
	STRATA_GOLDEN_CASES_MAX = 1 << 16, /* cases of one file to go through again */

	/* trace */
	STRATA_TRACE_EVENT_BYTES_MAX = 1 << 16, /* one event of a trace file, as text */
	STRATA_TRACE_TEXT_BYTES_MAX = 120,  /* a copied name or text argument; cut, not refused */
	STRATA_TRACE_ARG_COUNT_MAX = 8,     /* arguments of one event */
	STRATA_TRACE_LANE_COUNT_MAX = 4096, /* lanes of one trace in memory */
	STRATA_TRACE_LANE_EVENTS_MAX = 1 << 24, /* events one lane keeps */
	STRATA_SERVICE_TRACE_EVENTS = 1 << 14,  /* that the service keeps of each of its lanes */
	STRATA_TRACE_FILE_COUNT_MAX = 4096,     /* files of one merge */
	STRATA_TRACE_OTHER_BYTES_MAX = 1
				       << 20, /* what a merge keeps of one file beside its events */
	STRATA_TRACE_PROCESS_COUNT_MAX = 1 << 16, /* processes of one merge */
	STRATA_TRACE_FLOW_COUNT_MAX = 1 << 20,    /* flows whose first file a merge remembers */
};

/* a time that there is not (yet): 0 is a time, at which simulations begin */
#define STRATA_TIME_NONE INT64_MIN

/* fair shares: wide enough for every unit, narrow enough that nothing overflows */
#define STRATA_SHARE_WEIGHT_MIN 1e-6
#define STRATA_SHARE_WEIGHT_MAX 1e9
#define STRATA_SHARE_AMOUNT_MAX 1e30 /* of one charge */
/* tasks: what one may cost, and need */
#define STRATA_TASK_COST_NS_MAX (INT64_C(366) * 86400 * 1000000000) /* a year */
#define STRATA_TASK_MEMORY_BYTES_MAX (INT64_C(1) << 50)
#define STRATA_PRIORITY_MIN (-1000)
#define STRATA_PRIORITY_MAX 1000
/* time, in nanoseconds */
#define STRATA_DURATION_NS_MAX (INT64_C(36525) * 86400 * 1000000000) /* 100 years */
#define STRATA_TIME_NS_MAX (INT64_C(9214646400) * 1000000000 - 1)    /* the end of 2261, UTC */

#endif
