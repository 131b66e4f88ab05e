"""What scores beside those of doing nothing say to people."""

from __future__ import annotations

from torch import Tensor

NAMES = {"trained": "trained", "untrained": "untrained", "raw": "raw input"}


def verdict(what: str, predicted: dict[str, Tensor], target: Tensor, instead: str | None) -> list[str]:
    """The accuracies in a line, and advice in another where the trained encoder is not clearly ahead.

    Clearly is by more than the standard error of the difference, std(d) / √m, where d is 1 for a sample that the
    trained encoder alone has right, −1 for one that it alone has wrong, and 0 else.

    Args:
        what: what has classified which samples.
        predicted: classes ``[m]`` by name.
        target: labels ``[m]``.
        instead: what else is worth a try where raw input is as good.
    """
    correct = {name: (given == target).double() for name, given in predicted.items()}
    if "trained" not in correct or len(correct) == 1:
        return []
    shares = ", ".join(f"{NAMES[name]} {100 * right.mean():.1f}" for name, right in correct.items())
    found = [f"accuracy (%) by {what}: {shares}"]
    ahead = {name: correct["trained"] - right for name, right in correct.items() if name != "trained"}
    errors = {name: (d.std() / len(d) ** 0.5).item() for name, d in ahead.items()}
    behind = [name for name, d in ahead.items() if not d.mean() > errors[name]]
    if behind:
        names = " and ".join(NAMES[name] for name in behind)
        points = " and ".join(f"{100 * errors[name]:.1f}" for name in behind)
        advice = "try more epochs, a harder or a milder augmentation, another learning rate or optimizer"
        if "raw" in behind and instead:
            advice += f", and on raw input {instead}"
        found.append(
            f"training is not ahead of {names} by more than a standard error of the difference ({points} points): "
            f"{advice}"
        )
    return found
