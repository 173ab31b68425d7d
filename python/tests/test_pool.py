"""strata.pool without torch: the C pool decides, whatever the caller does with statuses."""
import package

package.enter()
import strata  # noqa: E402
from strata.pool import DiffusionScheduler, DiffusionTask, DiffusionTaskPool, DiffusionUserParams, TaskStatus  # noqa: E402


def add(task_id, **words):
    task = DiffusionTask.from_user_request(DiffusionUserParams(prompt=task_id, **{"num_inference_steps": 2, **words}), task_id=task_id)
    DiffusionTaskPool.add(task)
    return task


class Generator:
    """Counts steps as a real one does, and nothing else."""

    def __init__(self):
        self.seen = []

    def generate_step(self, task):
        self.seen.append(task.task_id)
        if task.status is TaskStatus.PENDING:
            task.status = TaskStatus.ENCODING
        elif task.current_step < task.total_steps:
            task.status = TaskStatus.DENOISING
            task.current_step += 1
        else:
            task.status = TaskStatus.FINISHED
        task.used_ns += 1_000_000


def drain(scheduler, generator, most=1000):
    for _ in range(most):
        if DiffusionTaskPool.all_finished():
            break
        task_id = scheduler.schedule()
        if task_id is not None:
            generator.generate_step(DiffusionTaskPool.get(task_id))
    assert DiffusionTaskPool.all_finished(), DiffusionTaskPool.get_statistics()
    order = list(dict.fromkeys(generator.seen))
    DiffusionTaskPool.clear()
    return order


def fifo_goes_by_arrival_one_after_the_other():
    scheduler, generator = DiffusionScheduler(), Generator()
    for name in "abc":
        add(name)
    assert scheduler.get_pending_count() == 3 and DiffusionTaskPool.get_pending_tasks() == ["a", "b", "c"]
    assert drain(scheduler, generator) == ["a", "b", "c"]
    assert generator.seen == list("aaaabbbbcccc")
    assert scheduler.schedule() is None and scheduler.get_pending_count() == 0


def tasks_from_before_the_scheduler_count():
    add("early")
    assert drain(DiffusionScheduler(policy="fifo"), Generator()) == ["early"]


def priority_goes_first():
    scheduler = DiffusionScheduler(policy="priority")
    for name, priority in (("low", 1), ("high", 10), ("middle", 5)):
        add(name, priority=priority)
    assert drain(scheduler, Generator()) == ["high", "middle", "low"]


def fair_shares_between_users():
    scheduler = DiffusionScheduler(policy="fair", users=["alice", "bob"])
    for k in range(3):
        add(f"a{k}", user="alice")
    add("b0", user="bob")
    order = drain(scheduler, Generator())
    assert order.index("b0") == 1, order
    try:
        add("e0", user="eve")
    except strata.Error as wrong:
        assert isinstance(wrong, PermissionError) and "eve" in str(wrong), wrong
    else:
        raise AssertionError("a stranger was taken")
    assert "e0" not in DiffusionTaskPool.pool


def weights_of_users_count():
    scheduler = DiffusionScheduler(policy="fair", users={"alice": 3.0, "bob": 1.0})
    for k in range(12):
        add(f"a{k}", user="alice")
        add(f"b{k}", user="bob")
    first = drain(scheduler, Generator())[:8]
    assert 5 <= sum(name[0] == "a" for name in first) <= 7, first


def the_shortest_goes_first():
    scheduler = DiffusionScheduler(policy="shortest")
    add("film", num_frames=80)
    add("picture", num_frames=1)
    assert drain(scheduler, Generator()) == ["picture", "film"]


def memory_bounds_what_runs_together():
    scheduler = DiffusionScheduler(max_vram_gb=10, batch_size=4)
    add("a", vram_gb=6)
    add("b", vram_gb=6)
    add("c", vram_gb=4)
    assert sorted(scheduler.schedule_batch()) == ["a", "c"]
    try:
        add("d", vram_gb=11)
    except strata.Error as wrong:
        assert "11 GB" in str(wrong), wrong
    else:
        raise AssertionError("it was taken")
    DiffusionTaskPool.clear()


def a_batch_holds_what_is_alike():
    scheduler = DiffusionScheduler(batch_size=3)
    for name, height in (("a", 512), ("b", 768), ("c", 512), ("d", 512), ("e", 512)):
        add(name, height=height)
    assert scheduler.schedule_batch() == ["a", "c", "d"]
    assert scheduler.get_metrics()["batched"] == 2
    assert set(drain(scheduler, Generator())) == set("abcde")
    scheduler = DiffusionScheduler(batch_size=2)
    add("x"), add("y")
    assert [scheduler.schedule(), scheduler.schedule()] == ["x", "y"]
    DiffusionTaskPool.clear()


def the_caller_sets_statuses():
    scheduler = DiffusionScheduler()
    a, b, c = add("a"), add("b"), add("c")
    assert scheduler.schedule() == "a"
    a.status = TaskStatus.DENOISING
    assert scheduler.schedule() == "a"                      # it goes on
    b.status = TaskStatus.CANCELLED                         # in line: gone from it
    assert scheduler.get_pending_count() == 1
    a.status = TaskStatus.FINISHED
    assert scheduler.schedule() == "c"
    c.cancel()                                              # picked: ended at once
    assert scheduler.schedule() is None and DiffusionTaskPool.all_finished()
    assert DiffusionTaskPool.get_statistics() == {"pending": 0, "encoding": 0, "denoising": 0, "decoding": 0, "finished": 1, "failed": 0,
                                                  "cancelled": 2, "total": 3}
    try:
        a.status = TaskStatus.PENDING
    except strata.Error as wrong:
        assert "task a is finished" in str(wrong)
    else:
        raise AssertionError("it rose again")
    DiffusionTaskPool.clear()


def what_another_began_is_not_picked_until_it_waits_again():
    scheduler = DiffusionScheduler()
    a, b = add("a"), add("b")
    a.status = TaskStatus.DENOISING
    assert scheduler.schedule() == "b"
    b.status = TaskStatus.FINISHED
    assert scheduler.schedule() is None
    a.status = TaskStatus.PENDING
    assert scheduler.schedule() == "a"
    assert DiffusionTaskPool.remove("a") is a and a.status is TaskStatus.CANCELLED
    assert scheduler.schedule() is None and len(DiffusionTaskPool.pool) == 1
    DiffusionTaskPool.clear()


def several_steps_at_once_count():
    scheduler, generator = DiffusionScheduler(), Generator()
    add("a", num_inference_steps=25), add("b", num_inference_steps=3)
    while not DiffusionTaskPool.all_finished():
        task = DiffusionTaskPool.get(scheduler.schedule())
        for _ in range(10):
            generator.generate_step(task)
            if task.is_finished():
                break
    assert list(dict.fromkeys(generator.seen)) == ["a", "b"]
    DiffusionTaskPool.clear()


def a_subclass_has_its_own_order():
    class Shortest(DiffusionScheduler):
        def schedule(self):
            pending = DiffusionTaskPool.get_pending_tasks()
            return min(pending, key=lambda tid: DiffusionTaskPool.get(tid).user_params.num_frames) if pending else None
    scheduler = Shortest()
    add("long", num_frames=80), add("short", num_frames=8)
    assert drain(scheduler, Generator()) == ["short", "long"]
    assert DiffusionScheduler().schedule() is None


def preemption_is_at_a_step():
    scheduler, generator = DiffusionScheduler(policy="priority", preempt=True), Generator()
    add("slow", priority=1, num_inference_steps=50)
    for _ in range(3):
        generator.generate_step(DiffusionTaskPool.get(scheduler.schedule()))
    add("urgent", priority=10)
    assert scheduler.schedule() == "urgent" and DiffusionTaskPool.get("slow").status is TaskStatus.DENOISING
    assert scheduler.why("slow") != ""
    drain(scheduler, generator)
    assert scheduler.get_metrics()["preemptions"] == 1, scheduler.get_metrics()


def what_is_wrong_is_refused():
    for make, sentence in ((lambda: DiffusionScheduler(policy="none"), "none"), (lambda: DiffusionScheduler(users=["a"]), "policy fair"),
                           (lambda: DiffusionScheduler(batch_size=0), "batch_size"), (lambda: DiffusionScheduler(max_vram_gb=-1), "max_vram_gb"),
                           (lambda: DiffusionUserParams(height=0), "height"), (lambda: DiffusionTaskPool.get("x"), "there is no task x")):
        try:
            make()
        except strata.Error as wrong:
            assert sentence in str(wrong), wrong
        else:
            raise AssertionError(sentence)
    add("twice")
    scheduler = DiffusionScheduler()
    try:
        add("twice")
    except strata.Error as wrong:
        assert "already" in str(wrong)
    else:
        raise AssertionError("it was taken twice")
    assert scheduler.get_pending_count() == 1
    DiffusionTaskPool.clear()


def statuses_have_the_names_of_the_library():
    from strata._call import lib, text
    assert [status.value for status in TaskStatus] == [text(lib.strata_task_status_name(k)) for k in range(lib.STRATA_TASK_STATUS_COUNT)]


def the_examples_of_the_documents_run():
    import doctest
    import strata.pool
    from strata.pool import scheduler, task
    for module in (strata.pool, scheduler, task):
        result = doctest.testmod(module)
        assert result.failed == 0 and result.attempted, module


package.run(fifo_goes_by_arrival_one_after_the_other, tasks_from_before_the_scheduler_count, priority_goes_first, fair_shares_between_users,
            weights_of_users_count, the_shortest_goes_first, memory_bounds_what_runs_together, a_batch_holds_what_is_alike,
            the_caller_sets_statuses, what_another_began_is_not_picked_until_it_waits_again, several_steps_at_once_count,
            a_subclass_has_its_own_order, preemption_is_at_a_step, what_is_wrong_is_refused, statuses_have_the_names_of_the_library,
            the_examples_of_the_documents_run)
