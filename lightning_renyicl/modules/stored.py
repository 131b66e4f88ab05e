"""A module that comes from a checkpoint: in Python, and in a training that goes on."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.trainer.states import TrainerFn

from lightning_renyicl.checkpoints import read_checkpoint
from lightning_renyicl.configuration import section_of, with_current_names
from lightning_renyicl.modules.checks import check_trainer
from lightning_renyicl.trust import Trust


class StoredModule(LightningModule):
    """What all modules do with their checkpoints.

    A training that goes on from a checkpoint of another configuration takes from it what was learnt, and from its own
    configuration the optimizer's values and the schedule, which is at the step that the checkpoint was at. Of what a
    checkpoint doesn't say its values are, all are taken for others.
    """

    _before: dict[str, Any] | None = None  # the checkpoint's arguments, of a training that goes on; {} if it has none
    _stored: list[dict[str, Any]]  # the states of that checkpoint's optimizers
    _groups: list[dict[str, Any]]  # the optimizer's values before the checkpoint's take their place

    @classmethod
    def load_from_checkpoint(  # type: ignore[override]
        cls,
        checkpoint_path: str | Path,
        map_location: Any = "cpu",
        strict: bool = True,
        trust_checkpoint: bool = False,
        **arguments: Any,
    ) -> Any:
        """The module that a checkpoint of the command holds, of this class or one that inherits from it.

        It is in double precision if its training was.

        Args:
            checkpoint_path: the file.
            map_location: device that its weights go to.
            strict: whether each weight must have its place.
            trust_checkpoint: whether to take classes that are not of this project nor of ``torch.optim``, and so to run
                what the checkpoint's author wanted to be run.
            arguments: arguments of the module in place of the checkpoint's.

        Raises:
            ValueError: a file that is damaged or no checkpoint, or that names classes which it may not name.
            OSError: a file that cannot be read.
        """
        path = Path(checkpoint_path)
        checkpoint = read_checkpoint(path, map_location=map_location)
        return cls.of_checkpoint(checkpoint, str(path), strict, trust_checkpoint, **arguments)

    @classmethod
    def of_checkpoint(
        cls,
        checkpoint: dict[str, Any],
        source: str,
        strict: bool = True,
        trust_checkpoint: bool = False,
        **arguments: Any,
    ) -> Any:
        """The module of a checkpoint that has been read; see :meth:`load_from_checkpoint`.

        Args:
            checkpoint: what the file holds.
            source: the file, for messages.
            strict: whether each weight must have its place.
            trust_checkpoint: whether to take classes that are not of this project nor of ``torch.optim``.
            arguments: arguments of the module in place of the checkpoint's.

        Raises:
            ValueError: classes that may not be named, of another kind, or that cannot be made.
        """
        section = section_of(checkpoint.get("hyper_parameters", {}))
        if "class_path" in section:
            section["init_args"] |= arguments
            module = cls.made_of(section, source, trust_checkpoint)
        else:  # of a trainer in Python
            module = cls(**{**section["init_args"], **arguments})
        weights = checkpoint["state_dict"]
        if {weights[name].dtype for name, _ in module.named_parameters() if name in weights} == {torch.float64}:
            module.double()  # else they would be rounded
        module.load_state_dict(weights, strict=strict)
        return module

    @classmethod
    def made_of(cls, section: dict[str, Any], source: str, trust_checkpoint: bool = False) -> Any:
        """A new module of this class or one that inherits from it.

        Args:
            section: its ``class_path`` and ``init_args``.
            source: what says so, for messages.
            trust_checkpoint: whether to take classes that are not of this project nor of ``torch.optim``.

        Raises:
            ValueError: classes that may not be named, of another kind, or that cannot be made.
        """
        from jsonargparse import ArgumentError, ArgumentParser  # which else the command alone needs

        if not trust_checkpoint:
            trust = Trust(source, "trust_checkpoint=True takes whatever it names, and runs it")
            trust.check(section, None, "the module")
            found = trust.class_of(section["class_path"], "the module")
            if not issubclass(found, cls):
                raise ValueError(f"{source} holds {found.__name__}, which is no {cls.__name__}")
        parser = ArgumentParser(exit_on_error=False)
        parser.add_subclass_arguments(cls, "module", fail_untyped=False)
        try:
            return parser.instantiate_classes(parser.parse_object({"module": section})).module
        except ArgumentError as error:
            raise ValueError(shorten(f"{source} holds no {cls.__name__} that can be made: {error}", 500)) from error

    def setup(self, stage: str) -> None:
        """Refuses a trainer that these modules don't work with."""
        check_trainer(self.trainer, stage)

    def configure_model(self) -> None:
        """Converts the module to the trainer's precision before a checkpoint's weights come, which float32 rounds."""
        self.trainer.precision_plugin.convert_module(self)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuses another class of optimizer, and leaves a schedule of another configuration out."""
        self._before = None
        if self._trainer is None or self._trainer.state.fn != TrainerFn.FITTING or not self.hparams:
            return
        self._before = with_current_names(dict(checkpoint.get("hyper_parameters", {})))
        before, now = (_class(arguments.get("optimizer")) for arguments in (self._before, self.hparams))
        if self._before and before != now:
            raise ValueError(
                f"model.optimizer is {now}, which cannot go on from the checkpoint's {before}: keep that class, or "
                "train anew without --ckpt_path"
            )
        self._stored = checkpoint.get("optimizer_states", [])
        if "lr" in self._changes():
            checkpoint["lr_schedulers"] = []

    def on_fit_start(self) -> None:
        """Takes down the optimizer's values, which a checkpoint's are about to replace.

        Raises:
            ValueError: the checkpoint doesn't say which class of optimizer it has, and its values are of another one.
        """
        groups = [group for optimizer in self.trainer.optimizers for group in optimizer.param_groups]
        self._groups = [{name: value for name, value in group.items() if name != "params"} for group in groups]
        if self._before == {}:
            stored = {name for state in self._stored for group in state["param_groups"] for name in group}
            if other := sorted(stored.difference(*groups, ["initial_lr"])):
                raise ValueError(
                    f"model.optimizer is {_class(self.hparams.get('optimizer'))}, which has no {', '.join(other)}, as "
                    "the checkpoint's has: give the class that it was trained with"
                )

    def on_train_start(self) -> None:
        """Gives the optimizer the values of its own configuration where the checkpoint's are of another one."""
        changes = self._changes()
        if not changes:
            return
        groups = [group for optimizer in self.trainer.optimizers for group in optimizer.param_groups]
        for group, own in zip(groups, self._groups, strict=True):
            group.update({name: value for name, value in own.items() if name in changes or not self._before})
            if "lr" in changes:
                group["initial_lr"] = own.get("initial_lr", own["lr"])
        if "lr" not in changes:
            return
        for each in self.trainer.lr_scheduler_configs:
            for _ in range(self.trainer.global_step):
                each.scheduler.step()  # type: ignore[call-arg]

    def _changes(self) -> list[str]:
        """The optimizer's arguments that the checkpoint has others of; ``lr`` also if its schedule is another."""
        if self._before is None:
            return []
        if not self._before:
            return ["lr"]
        before, now = (_arguments(arguments.get("optimizer")) for arguments in (self._before, self.hparams))
        changes = [name for name in now if name in before and before[name] != now[name]]
        held = {name for state in self._stored for group in state["param_groups"] for name in group}
        # what is no group's own, as the vector_lr of LARS, is the rate of one
        rates = self._before.get("scheduler") != self.hparams.get("scheduler") or not held.issuperset(changes)
        return [*changes, "lr"] if rates else changes


def _class(section: Any) -> Any:
    return section.get("class_path") if isinstance(section, dict) else section


def _arguments(section: Any) -> dict[str, Any]:
    return (section.get("init_args") or {}) if isinstance(section, dict) else {}
