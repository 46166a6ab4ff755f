"""Started by torchrun in the tests: a tiny run; with `--kill` one process is killed once, after the others saved and before it did."""

import os
import signal
import sys
from pathlib import Path

import torch
from worlds import make_env, tiny_training

from flaneur.agent import distributed
from flaneur.agent.training import Trainer

FATAL_UPDATE = 3

if __name__ == "__main__":
    folder, kill = Path(sys.argv[1]), "--kill" in sys.argv
    torch.set_num_threads(1)
    distributed.start("cpu")
    env = make_env(seed=distributed.rank())
    trainer = Trainer(tiny_training(steps=160, validate_every=2), env, make_env(1), folder, {})
    save = trainer.save

    def save_or_die() -> None:
        killed = folder / "killed"
        if kill and distributed.rank() == 1 and trainer.done_updates == FATAL_UPDATE and not killed.exists():
            killed.touch()
            while not (folder / f"saved_{FATAL_UPDATE}").exists():
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        save()
        (folder / f"saved_{trainer.done_updates}").touch()

    trainer.save = save_or_die  # type: ignore[method-assign]
    trainer.run(lambda done, total, row: print(f"{distributed.rank()}: {done} of {total}", flush=True))
    distributed.stop()
