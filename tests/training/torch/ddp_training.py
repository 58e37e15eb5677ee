"""One process of a data-parallel training: ddp_training RUN DIRECTORY RANK WORLD_SIZE KILL_AT.

It trains for three epochs, and writes the epoch and the first IDs of the pairs of each step to a file. Rank 0 saves a
checkpoint every five steps. Started again, it continues from there, and removes the steps after it from its file.
At step KILL_AT the last rank kills itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel

from nmt_prep.torch import Batches

EPOCHS, SAVE_EVERY = 3, 5


def train(run: Path, directory: Path, kill_at: int) -> None:
    rank = torch.distributed.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    batches = Batches(run, "train", batch_tokens=200, seed=3)
    checkpoint, log, step = directory / "checkpoint.pt", directory / f"{rank}.log", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        batches.load_state_dict(saved["batches"])
        step = saved["step"]
        log.write_text("".join(line + "\n" for line in log.read_text().split("\n")[:step]))
    for epoch in range(batches.epoch, EPOCHS):
        batches.set_epoch(epoch)
        for batch in batches:
            step += 1
            if step == kill_at and rank == torch.distributed.get_world_size() - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            sides = [batch["input_ids"].sum(1), batch["attention_mask"].sum(1)]
            loss = model(torch.stack(sides, 1).float()).mean()
            optimizer.zero_grad()
            loss.backward()  # waits for the other ranks
            optimizer.step()
            with log.open("a") as file:
                file.write(json.dumps([epoch, batch["input_ids"][:, 0].tolist()]) + "\n")
            if step % SAVE_EVERY == 0:
                torch.distributed.barrier()
                if rank == 0:
                    state = {"model": model.state_dict(), "batches": batches.state_dict(), "step": step}
                    torch.save(state, directory / "new.pt")
                    (directory / "new.pt").replace(checkpoint)


def main() -> None:
    run, directory, rank, world_size, kill_at = sys.argv[1:]
    store = f"file://{directory}/store-{kill_at}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=int(rank), world_size=int(world_size))
    train(Path(run), Path(directory), int(kill_at))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
