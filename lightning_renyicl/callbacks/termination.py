"""All processes of a training stop at the same step."""

from __future__ import annotations

import signal
import threading
from typing import Any

import torch
import torch.distributed as dist
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities.exceptions import SIGTERMException

from lightning_renyicl.distributed import world_group


class Termination(Callback):
    """Lets SIGTERM stop a training of several processes after the step that the first process is in.

    Lightning's own handler tells the others at once, amid whatever they exchange just then, which often fails. A
    training of one process stops by that.
    """

    def __init__(self) -> None:
        self._asked = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._asked = False
        if world_group() is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._ask)  # the trainer puts back what was there before it

    def _ask(self, *_: Any) -> None:
        self._asked = True

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """Asks the first process.

        Raises:
            SIGTERMException: it is to stop.
        """
        if world_group() is None:
            return
        asked = torch.tensor(int(self._asked), device=trainer.strategy.root_device)
        dist.broadcast(asked, src=0)
        if asked.item():
            raise SIGTERMException
