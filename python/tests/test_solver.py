"""strata.solver on numpy: the bits are those of the C trajectory, whatever the solver; what it says is true."""
import package

package.enter("numpy")
import numpy as np  # noqa: E402
import strata  # noqa: E402
from strata._call import call, ffi, lib, memory  # noqa: E402
from strata import _table  # noqa: E402
from strata.solver import Noise, Solver, names, schedules  # noqa: E402

SHAPE = (2, 3, 4, 5)


def model(x, t):
    """Any function will do, as long as both get the same numbers."""
    return (np.tanh(x.astype(np.float32)) * np.float32(0.9) + np.float32(t / 5000)).astype(x.dtype)


def by_the_trajectory(name, steps, seed, dtype):
    """The same by <strata/trajectory.h>."""
    element = {np.float32: lib.STRATA_F32, np.float16: lib.STRATA_F16}[dtype]
    solver, noise = ffi.new("char[]", name.encode()), ffi.new("char[]", b"torch")
    conf = ffi.new("struct strata_trajectory_conf *", {
        "solver": solver, "request": {"steps": steps}, "element_count": 60, "member_count": 2, "element": element,
        "isa": lib.strata_isa_best(), "noise": noise, "seed": seed})
    owner, out = memory(), ffi.new("struct strata_trajectory **")
    call(lib.strata_trajectory_new, conf, owner, out)
    sample, scaled = np.empty(SHAPE, dtype), np.empty(SHAPE, dtype)
    at = lambda array: ffi.cast("void *", array.ctypes.data)  # noqa: E731
    lib.strata_trajectory_begin(out[0], ffi.NULL, at(sample))
    while (row := lib.strata_trajectory_row(out[0])) != ffi.NULL:
        lib.strata_trajectory_scale(out[0], at(sample), at(scaled))
        output = model(scaled, row.timestep)
        unguided = model(scaled, row.timestep + 1)
        call(lib.strata_trajectory_step_unguided, out[0], at(output), at(unguided), row.timestep, at(sample))
    lib.strata_trajectory_free(out[0])
    return sample


def every_solver_has_the_bits_of_the_trajectory():
    found = 0
    for name in names():
        for dtype in (np.float32, np.float16):
            if name == "dpm_adaptive" and dtype is np.float16:
                continue
            solver = Solver(name, steps=6)
            run = solver.start(SHAPE, seed=3, dtype=dtype)
            for row in run:
                given = run.input()
                run.step(model(given, row.timestep), unguided=model(given, row.timestep + 1))
            assert np.array_equal(run.sample, by_the_trajectory(name, 6, 3, dtype), equal_nan=True), (name, dtype)
            assert np.isfinite(run.sample).all() or dtype is np.float16, name
            found += 1
    assert found > 60, found
    return f"{found} trajectories"


def a_table_is_what_was_asked_for():
    ddim = Solver("ddim", steps=4)
    assert ddim.timesteps.tolist() == [751, 501, 251, 1] and ddim.init_noise_sigma == 1 and ddim.name == "ddim"
    assert Solver("ddim", steps=4, timestep_spacing="trailing").timesteps.tolist() == [999, 749, 499, 249]
    assert Solver(config={"_class_name": "DDIMScheduler", "timestep_spacing": "trailing"}, steps=2).timesteps.tolist() == [999, 499]
    assert Solver("euler", timesteps=[900, 500, 100]).timesteps.tolist() == [900, 500, 100]
    assert len(Solver("flow_euler", sigmas=[1.0, 0.6, 0.2]).rows) == 3
    assert "karras" in schedules() and Solver("euler", 5, schedule="karras").sigmas[1] == Solver("Euler Karras", 5).sigmas[1]


def what_is_wrong_is_refused():
    for words, options, sentence in (
            (("ddim", 0), {}, "steps"), (("ddim", 5), {"eta": -1}, "eta"), (("ddim", 5), {"nothing": 1}, "nothing"),
            (("eular", 5), {}, "did you mean 'euler'"), ((), {}, "neither"), (("ddim", 5), {"strength": 2.0}, "strength")):
        try:
            Solver(*words, **options)
        except strata.Error as wrong:
            assert sentence in str(wrong), (words, options, wrong)
        else:
            raise AssertionError((words, options))
    run = Solver("ddim", steps=2).start(SHAPE)
    for output, kind in ((np.zeros((2, 3), np.float32), ValueError), (np.zeros(SHAPE), TypeError),
                         (np.zeros(SHAPE[::-1], np.float32).T, ValueError)):
        try:
            run.step(output)
        except kind:
            continue
        raise AssertionError(f"an output of {output.dtype} and {output.shape} was taken")
    try:
        Solver("euler_a", steps=2).run(np.zeros(SHAPE, np.float32)).step(np.zeros(SHAPE, np.float32))
    except ValueError as wrong:
        assert "noise" in str(wrong)
    else:
        raise AssertionError("noise came from nowhere")


def a_run_that_is_not_stepped_does_not_hang():
    try:
        for _ in Solver("ddim", steps=2).start(SHAPE):
            pass
    except ValueError as wrong:
        assert "was not stepped" in str(wrong)
    else:
        raise AssertionError("it went on")


def a_sample_is_stepped_in_place():
    sample = np.ones(SHAPE, np.float32)
    run = Solver("ddim", steps=1).run(sample)
    run.step(np.zeros_like(sample))
    assert run.sample is sample and run.row is None and not np.array_equal(sample, np.ones(SHAPE))


def refused(make, kind, sentence):
    try:
        make()
    except kind as wrong:
        assert sentence in str(wrong), wrong
    else:
        raise AssertionError(sentence)


def buffers_that_do_not_fit_are_refused():
    """The kernel goes by addresses: what is smaller than the sample would be read beyond its end."""
    ones = np.ones(SHAPE, np.float32)
    solver, drawing = Solver("Euler", steps=3), Solver("Euler a", steps=3)
    for noise in (lambda _: ones[:1], lambda _: [1.0], Noise("torch", shape=(1,))):
        refused(lambda: drawing.run(ones.copy(), noise=noise).step(ones), ValueError, "the noise has the shape")
    for other, kind in ((ones[:1], ValueError), (ones.astype(np.float64), TypeError), (np.asfortranarray(ones), ValueError)):
        run = solver.run(ones.copy())
        run.sample = other
        refused(lambda: run.step(ones), kind, "the new sample")
    for other in ([1.0], None, ones.astype(">f4"), ones.astype(int)):
        refused(lambda: solver.run(other), TypeError, "the sample is a")
    run = solver.run(ones.copy())
    run.sample = run.sample * 0.5  # one that fits is stepped
    run.step(ones)
    assert not np.array_equal(run.sample, ones * 0.5)


def what_may_not_be_written_to_is_copied():
    kept = np.ones(SHAPE, np.float32)
    kept.setflags(write=False)
    run = Solver("Euler", steps=3).run(kept)
    run.step(kept)
    assert (kept == 1).all() and not (run.sample == 1).any()


def a_batch_of_none_goes_through():
    for name in ("Euler a", "ddim:thresholding", "dpm_adaptive"):
        run = Solver(name, steps=3).start((0, 4, 8, 8))
        for _ in run:
            run.step(run.input())
        assert run.sample.shape == (0, 4, 8, 8), name


def image_to_image_starts_from_the_picture():
    solver = Solver("euler", steps=10, strength=0.3)
    clean = np.full(SHAPE, 0.5, np.float32)
    run = solver.start(SHAPE, seed=5, clean=clean)
    noise = Noise("torch", seed=5, shape=SHAPE).tensor(0)
    row = solver.rows[0]
    assert len(solver.rows) == 3
    assert np.allclose(run.sample, row.alpha * clean + row.sigma * noise, rtol=1e-6)
    assert np.allclose(run.sample, solver.add_noise(clean, noise, 0), rtol=1e-6)


def families_have_the_tables_of_what_was_published():
    """DeepFloyd IF by diffusers' script that makes it, Playground v2.5 by its loader, Kandinsky 2.1 by its authors' code; learned variances left out."""
    published = {
        "DeepFloyd IF": {"_class_name": "DDPMScheduler", "beta_schedule": "squaredcos_cap_v2", "thresholding": True, "dynamic_thresholding_ratio": 0.95,
                         "sample_max_value": 1.5, "clip_sample": False},
        "Playground v2.5": {"_class_name": "EDMDPMSolverMultistepScheduler", "algorithm_type": "dpmsolver++", "final_sigmas_type": "zero", "rho": 7.0,
                            "sigma_data": 0.5, "sigma_max": 80.0, "sigma_min": 0.002, "solver_order": 2, "solver_type": "midpoint"},
        "Kandinsky 2.2": {"_class_name": "DDPMScheduler", "beta_schedule": "linear", "beta_start": 0.00085, "beta_end": 0.012, "clip_sample": False}}
    for name, config in published.items():
        ours, theirs = Solver(name, steps=20), Solver(config=config, steps=20)
        assert ours.rows == theirs.rows and len(ours.rows) == 20, name
        assert [_table.arithmetic(row) for row in ours.table.raw_rows] == [_table.arithmetic(row) for row in theirs.table.raw_rows], name


def the_examples_of_the_documents_run():
    import doctest
    from strata import _call, errors, solver
    for module in (_call, errors, solver):
        result = doctest.testmod(module)
        assert result.failed == 0 and result.attempted, module


package.run(every_solver_has_the_bits_of_the_trajectory, a_table_is_what_was_asked_for, what_is_wrong_is_refused,
            a_run_that_is_not_stepped_does_not_hang, a_sample_is_stepped_in_place, buffers_that_do_not_fit_are_refused,
            what_may_not_be_written_to_is_copied, a_batch_of_none_goes_through, image_to_image_starts_from_the_picture,
            families_have_the_tables_of_what_was_published, the_examples_of_the_documents_run)
