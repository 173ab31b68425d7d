"""DistributedDataParallel with checkpoints: rank 0 saves, everybody loads. Runs on CPUs (gloo) where there are no GPUs."""
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

told = False


def tell(number, frame):
    global told
    told = True


def main():
    signal.signal(signal.SIGTERM, tell)
    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 1).to(device)  # your model
    optimizer = torch.optim.AdamW(model.parameters())
    step, path = 0, os.environ.get("STRATA_CHECKPOINT")
    if path:
        saved = torch.load(path, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    model = DistributedDataParallel(model)
    while step < 1000:
        batch = torch.randn(32, 16, device=device)  # your data
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        # all ranks have to agree to end: each may have heard at another step
        ending = torch.tensor(int(told), device=device)
        dist.all_reduce(ending, dist.ReduceOp.MAX)
        if dist.get_rank() == 0 and (ending or step % 200 == 0):
            directory = os.environ.get("STRATA_CHECKPOINT_DIR", ".")
            new = os.path.join(directory, ".new")
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, new)
            os.replace(new, os.path.join(directory, "state.pt"))
            print(f"step {step}: loss {loss.item():.4f}, saved", flush=True)
        if ending:
            break
    dist.destroy_process_group()


main()
