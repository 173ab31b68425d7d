"""A worker of the generation service that draws with a diffusers pipeline.

    python -m strata.worker --model NAME

The service starts it by itself, as a job, for a model that was added with `--worker python`. It speaks the same protocol as `strata worker`
(docs/api.md, "Workers"): it leases a batch of tasks, brings each forward by some steps, hands over what is finished and asks again. Only
strata.worker.pipeline needs torch and diffusers.
"""
