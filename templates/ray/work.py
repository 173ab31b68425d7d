"""Work for Ray inside a job; the cluster is gone with the end of the block."""
import strata.ray

with strata.ray.cluster() as ray:
    print(ray.cluster_resources(), flush=True)

    @ray.remote(num_cpus=1)  # num_gpus=1: with a GPU of its own
    def square(number):  # yours
        return number ** 2

    print(sum(ray.get([square.remote(number) for number in range(100)])))
