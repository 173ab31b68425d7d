"""strata.solver on torch: the C kernel in place on the CPU, and the torch operations that other devices get."""
import package

package.enter_torch()
import numpy as np  # noqa: E402
import torch  # noqa: E402
from strata.solver import Noise, Run, Solver, names  # noqa: E402

torch.set_num_threads(1)
SHAPE = (2, 3, 4, 5)


def model(x, t):
    return (torch.tanh(x.float()) * 0.9 + t / 5000).to(x.dtype)


def walked(solver, **words):
    """A run from the same noise; words are those of Run."""
    dtype = words.pop("dtype", torch.float32)
    source = Noise("torch", seed=3, shape=SHAPE)
    run = Run(solver, (torch.from_numpy(source.tensor(0)) * solver.init_noise_sigma).to(dtype), source, **words)
    for row in run:
        given = run.input()
        run.step(model(given, row.timestep), unguided=model(given, row.timestep + 1))
    return run.sample


def a_tensor_has_the_bits_of_an_array():
    for name in names():
        solver = Solver(name, steps=5)
        run = solver.start(SHAPE, seed=3)
        for row in run:
            given = torch.from_numpy(run.input())
            run.step(model(given, row.timestep).numpy(), unguided=model(given, row.timestep + 1).numpy())
        assert np.array_equal(run.sample, walked(solver).numpy()), name


def operations_of_torch_compute_what_the_kernel_computes():
    worst = 0.0
    for name in names():
        solver = Solver(name, steps=5)
        kernel, torchs = walked(solver), walked(solver, operations=True)
        far = float((kernel - torchs).abs().max() / max(1.0, float(kernel.abs().max())))
        assert far < (1e-3 if name == "dpm_adaptive" else 1e-4), (name, far)
        worst = max(worst, far if name != "dpm_adaptive" else 0.0)
    for options in ({"thresholding": True}, {"clip_sample": True}):
        solver = Solver("ddim", steps=5, **options)
        assert torch.allclose(walked(solver), walked(solver, operations=True), atol=1e-5), options
    return f"{len(names())} solvers, largest difference {worst:.1e} of the largest value"


def operations_are_compiled_once_for_rows_that_look_alike():
    from strata import _apply
    before = _apply.operation.cache_info().currsize
    solver = Solver("ddim", steps=20)
    compiled = walked(solver, operations=True, compiled=True)
    assert torch.allclose(walked(solver), compiled, atol=1e-5)
    made = _apply.operation.cache_info().currsize - before
    assert 1 <= made <= 2, made


def double_precision_goes_by_torch():
    solver = Solver("unipc", steps=5)
    exact = walked(solver, dtype=torch.float64)
    assert exact.dtype == torch.float64 and torch.allclose(exact.float(), walked(solver), atol=1e-4)


def half_precision_stays_half():
    for dtype in (torch.float16, torch.bfloat16):
        assert walked(Solver("dpmpp_2m", steps=5), dtype=dtype).dtype == dtype


def a_sample_is_stepped_in_place_without_a_copy():
    sample = torch.ones(SHAPE)
    at = sample.data_ptr()
    run = Solver("ddim", steps=2).run(sample)
    run.step(torch.zeros(SHAPE))
    assert run.sample.data_ptr() == at and not torch.equal(sample, torch.ones(SHAPE))
    run = Solver("ddim", steps=2).start(SHAPE, seed=1, device="cpu", dtype=torch.bfloat16)
    assert isinstance(run.sample, torch.Tensor) and run.sample.dtype == torch.bfloat16


def the_noise_is_that_of_torch():
    for shape in ((1, 4, 8, 8), (2, 3), (1, 4, 64, 64)):
        generator, source = torch.Generator().manual_seed(11), Noise("torch", seed=11, shape=shape)
        for number in range(3):
            assert torch.equal(torch.randn(shape, generator=generator), torch.from_numpy(source.tensor(number))), (shape, number)


def tensors_that_do_not_fit_are_refused():
    x = torch.ones(3, 3)
    for make, kind, sentence in (
            (lambda: Solver("Euler", steps=3).run(x.clone()).step(x.to("meta")), ValueError, "the output is torch.strided on meta; expected torch.strided on cpu"),
            (lambda: Solver("Euler", steps=3).run(x.clone()).step(x.to_sparse()), ValueError, "the output is torch.sparse_coo"),
            (lambda: Solver("Euler", steps=3).run(x.double()).step(x.double()[:1]), ValueError, "the output has the shape (1, 3)"),
            (lambda: Solver("Euler", steps=3).run(x.double()).step(None), TypeError, "the output is a NoneType"),
            (lambda: Solver("Euler a", steps=3).run(x.clone(), noise=lambda _: x[:1]).step(x), ValueError, "the noise has the shape (1, 3)"),
            (lambda: Solver("Euler", steps=3).run(x.to_sparse()), TypeError, "the sample is sparse"),
            (lambda: Solver("Euler", steps=3).run(x.int()), TypeError, "the sample is torch.int32")):
        try:
            make()
        except kind as wrong:
            assert sentence in str(wrong), wrong
        else:
            raise AssertionError(sentence)


package.run(a_tensor_has_the_bits_of_an_array, operations_of_torch_compute_what_the_kernel_computes,
            operations_are_compiled_once_for_rows_that_look_alike, double_precision_goes_by_torch, half_precision_stays_half,
            a_sample_is_stepped_in_place_without_a_copy, tensors_that_do_not_fit_are_refused, the_noise_is_that_of_torch)
