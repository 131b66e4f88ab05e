"""Few-shot classification on frozen features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from lightning.pytorch import LightningModule, Trainer

from lightning_renyicl.evaluation.episodes import draw_episodes, episode_accuracies
from lightning_renyicl.evaluation.labels import OMIT_CALLBACK
from lightning_renyicl.evaluation.tested import Tested


class FewShot(Tested):
    """Accuracy in episodes of N classes with K labels each, by logistic regression (Lee et al., 2021), in ``test``.

    An episode is N classes of the test split, K samples of each to fit to and other ones to classify, drawn by the
    seed. The classifier minimises Σ cross-entropy + penalty/2 · |W|² on features as they are, scikit-learn's
    ``LogisticRegression(C=1/penalty)``; the paper's is the same with a classifier for each class against the others
    and a penalty on its intercept. Nothing is chosen, and neither training nor validation samples are used, so the
    classes may be others than those of the training.

    Logs ``few_shot/N_way_K_shot/top1``, the mean of the episodes' accuracies, and ``few_shot/N_way_K_shot/interval``,
    1.96 standard errors of it: the mean ± this is a 95 % interval over episodes. The features are the test loop's own,
    those of a part of it where it is limited.

    Args:
        shots: numbers K, each of which has episodes of its own.
        ways: number N of classes in an episode.
        queries: samples of each class that are classified.
        episodes: number of episodes.
        penalty: strength of the regularisation.

    Raises:
        ValueError: no number K, fewer than two classes or episodes, a number below 1 or a penalty that is not above 0;
            in ``test``, too few classes with enough labelled samples, several labels a sample, or features that are not
            finite.
    """

    only_in_test: ClassVar[bool] = True
    """Whether a training is the same with and without this callback."""

    def __init__(
        self,
        shots: Sequence[int] = (1, 5),
        ways: int = 5,
        queries: int = 16,
        episodes: int = 2000,
        penalty: float = 1.0,
    ) -> None:
        super().__init__()
        if not shots or min(*shots, queries) < 1 or min(ways, episodes) < 2 or penalty <= 0:
            raise ValueError(
                "shots and queries must be at least 1, ways and episodes at least 2 and penalty above 0, got "
                f"{list(shots)}, {queries}, {ways}, {episodes} and {penalty}"
            )
        self.shots = list(shots)
        self.ways = ways
        self.queries = queries
        self.episodes = episodes
        self.penalty = penalty

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        features, target = self.taken(trainer.test_dataloaders)
        if target.ndim > 1:
            raise ValueError(f"FewShot needs one label a sample, and the data has several: {OMIT_CALLBACK}")
        if not len(target):
            raise ValueError(f"FewShot needs labels, and the test split has none: {OMIT_CALLBACK}")
        if not features.isfinite().all():
            raise ValueError("FewShot needs finite features: the encoder has diverged")
        for shots in self.shots:
            # on every process, since one that fails alone leaves the others waiting
            places = draw_episodes(target, self.episodes, self.ways, shots + self.queries, torch.initial_seed())
            if trainer.is_global_zero:
                found = episode_accuracies(features.to(pl_module.device), places, shots, self.penalty)
                name, error = f"few_shot/{self.ways}_way_{shots}_shot", found.std() / len(found) ** 0.5
                scores = {f"{name}/top1": found.mean(), f"{name}/interval": 1.96 * error}
                pl_module.log_dict({key: value.float() for key, value in scores.items()}, rank_zero_only=True)
