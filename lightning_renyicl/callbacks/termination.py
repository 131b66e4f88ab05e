"""What SIGTERM does: all processes of a training stop at the same step, an evaluation ends at once."""

from __future__ import annotations

import signal
import threading
from typing import Any

import torch
import torch.distributed as dist
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities.exceptions import SIGTERMException


class Termination(Callback):
    """Lets SIGTERM stop a training of several processes a step after the one that the first process is in.

    Lightning's own handler tells the others at once, amid whatever they exchange just then, which often fails. It is
    enough for a training of one process.
    """

    def __init__(self) -> None:
        self._asked = False
        self._answer: torch.Tensor | None = None  # of the first process, after the step before

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._asked, self._answer = False, None
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._ask)  # the trainer puts back what was there before it

    def _ask(self, *_: Any) -> None:
        self._asked = True

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """Asks the first process, and looks at what it answered after the step before.

        The answer to this step's question would have to be waited for, with the device's work that was queued before.

        Raises:
            SIGTERMException: it is to stop.
        """
        before, self._answer = self._answer, torch.tensor(int(self._asked), device=trainer.strategy.root_device)
        dist.broadcast(self._answer, src=0)
        if before is not None and before.item():
            raise SIGTERMException


class EndAtOnce(Callback):
    """Lets SIGTERM end an evaluation or a prediction wherever it is.

    Lightning's own handler makes a note, at which predictions never look, nor evaluations after their last batch, when
    protocols do their work.
    """

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._begin(trainer)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._begin(trainer)

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._begin(trainer)

    @staticmethod
    def _begin(trainer: Trainer) -> None:
        """Takes the signal from here on, until the trainer puts back what was there before it.

        Raises:
            SIGTERMException: it has come before.
        """

        def end(number: int, _: Any) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # nothing else interrupts the end
            if trainer.strategy.launcher is not None:
                trainer.strategy.launcher.kill(number)
            raise SIGTERMException

        if trainer.received_sigterm:
            raise SIGTERMException
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, end)
