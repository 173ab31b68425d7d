"""What others do on a cluster that is not ours alone."""

from fake_slurm import OnFake
from service import equal, run_with
from test_slurm_watch import OTHER, until


def names(service):
    return str(service.api("GET", "/reservations"))


def others_have_their_place(service):
    service.change("77", **OTHER)
    until(lambda: "slurm.77" in names(service), "reservation")
    room = {node["name"]: node for node in service.api("GET", "/nodes")["nodes"]}
    waits = service.submit("true", gpus=2, node_list="n001")["id"]
    fits = service.submit("true", gpus=1, node_list="n001")["id"]
    service.wait(fits, "completed")
    equal(service.job(waits)["state"], "queued")
    service.change("77", state="COMPLETED")
    service.wait(waits, "completed")
    assert "slurm.77" not in names(service), room


def it_holds_from_the_first_decision_on(service):
    """A service that comes back sees it before it starts anything; what has gone meanwhile is given back."""
    service.change("78", **OTHER)
    until(lambda: "slurm.78" in names(service), "reservation")
    service.kill()
    service.change("78", state="COMPLETED")
    service.change("79", **OTHER)
    service.start()
    until(lambda: "slurm.79" in names(service), "reservation")
    assert "slurm.78" not in names(service)


def our_own_jobs_are_not_others(service):
    job = service.submit("sleep", "100", gpus=1)["id"]
    service.wait(job, "running")
    service.change("80", **OTHER)
    until(lambda: "slurm.80" in names(service), "reservation")
    assert "slurm.1'" not in names(service), names(service)


if __name__ == "__main__":
    run_with(lambda test: OnFake(), others_have_their_place, it_holds_from_the_first_decision_on, our_own_jobs_are_not_others)
