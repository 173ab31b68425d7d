"""The programs of python/README.md that need torch run as they are printed; what they take as given is made here: a pipeline, a model, its batches."""
import contextlib
import copy
import io
import os
import tempfile

import package

package.enter_torch()
import diffusers  # noqa: E402
import torch  # noqa: E402

diffusers.utils.logging.set_verbosity(50)
import place_models  # noqa: E402
import readme  # noqa: E402
import strata  # noqa: E402
import tiny_pipeline  # noqa: E402

torch.set_num_threads(1)


def run(words, instead=("", ""), **names):
    """Runs the program with these words; its names afterwards, and what it printed. One thing may be another than on the page."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(readme.with_words(words).replace(*instead), "python/README.md", "exec"), names)
    return names, said.getvalue()


def alone(test):
    """In a folder of its own, with its own experience."""
    def instead():
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_STATE_HOME"] = folder
            os.chdir(folder)
            try:
                return test()
            finally:
                os.chdir(here)
    instead.__name__ = test.__name__
    return instead


@alone
def a_pipeline_draws_the_same_with_the_scheduler():
    pipe = tiny_pipeline.stable_diffusion()
    pipe.set_progress_bar_config(disable=True)

    def draw():
        return pipe("a fox", num_inference_steps=4, output_type="np", height=32, width=32, generator=torch.Generator().manual_seed(0)).images
    before = draw()
    run("pipe.scheduler = strata.diffusers", pipe=pipe)
    assert type(pipe.scheduler).__name__ != "EulerDiscreteScheduler" and abs(before - draw()).max() < 1e-5


@alone
def tasks_are_drawn():
    tiny_pipeline.stable_diffusion().save_pretrained("path/of/a/pipeline")
    names, _ = run("DiffusionTaskPool.all_finished()", ("512", "32"))  # a small picture
    task, = names["DiffusionTaskPool"].pool.values()
    assert task.status == strata.pool.TaskStatus.FINISHED, task


@alone
def a_model_runs_within_its_budget():
    model, inputs = place_models.make("GPT-2")
    x = inputs["input_ids"]
    with torch.no_grad():
        expected = model(x).logits
        names, said = run("h.trace(", model=model, x=x)
    assert torch.equal(names["y"].logits, expected) and "memory_bytes" in said and os.path.getsize("trace.json") > 100, said


@alone
def a_model_is_trained_within_its_budget():
    for words in ("h.save()", "keep_gradients=True"):
        models = [place_models.make("GPT-2")[0].train() for _ in range(2)]
        models[1].load_state_dict(models[0].state_dict())
        batches = [torch.arange(2, 18).reshape(2, 8) + shift for shift in range(3)]
        given = {"torch": torch, "strata": strata, "batches": batches, "loss": lambda out: out.logits.logsumexp(-1).mean()}
        opt = torch.optim.AdamW(models[0].parameters())
        for batch in batches:
            torch.manual_seed(0)  # for dropout
            given["loss"](models[0](batch)).backward()
            if words != "h.save()":
                torch.nn.utils.clip_grad_norm_(models[0].parameters(), 1.0)
            opt.step()
            opt.zero_grad()
        models[1].register_forward_pre_hook(lambda *_: torch.manual_seed(0) and None)
        run(words, model=models[1], opt=torch.optim.AdamW(models[1].parameters()), **given)
        assert all(torch.equal(one, two) for one, two in zip(models[0].parameters(), models[1].parameters())), words
        os.remove("weights.safetensors")


@alone
def a_model_is_placed():
    model, _ = place_models.make("GPT-2")
    ids = torch.arange(2, 10).reshape(1, 8)
    model.generation_config.max_new_tokens, model.generation_config.do_sample = 4, False
    with torch.no_grad():
        expected, tokens = model(ids).logits, model.generate(ids)
        names, _ = run("execute_model(model, inputs)", model=model, inputs=ids, ids=ids)
    assert torch.allclose(names["result"].logits, expected, atol=1e-5) and torch.equal(names["tokens"], tokens)


def a_model_is_dispatched():
    model, inputs = place_models.make("GPT-2")
    with torch.no_grad():
        expected = model(**inputs).logits
        names, _ = run("dispatch_model", ('0: "10GiB", 1: "10GiB", ', ""), model=copy.deepcopy(model), strata=strata)  # there is no GPU here
        assert torch.equal(names["model"](**inputs).logits, expected)


package.run(a_pipeline_draws_the_same_with_the_scheduler, tasks_are_drawn, a_model_runs_within_its_budget, a_model_is_trained_within_its_budget,
            a_model_is_placed, a_model_is_dispatched)
