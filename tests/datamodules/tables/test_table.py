"""Your own table: labels, splits and what a checkpoint hands on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from datamodules import Table
from datamodules.augmentations import FeatureCorruption, Identity

VIEWS = [Identity(), FeatureCorruption(0.2)]


def frame(rows=60, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": generator.normal(3, 2, rows).round(4),
            "count": generator.integers(0, 9, rows),
            "colour": generator.choice(["red", "green", "blue"], rows),
            "kind": np.array(["b", "a", "c"])[np.arange(rows) % 3],
        }
    )


@pytest.fixture
def load(tmp_path):
    """A Table of a frame written to a file."""

    def _load(data=None, name="mine.csv", **arguments):
        data = frame() if data is None else data
        path = tmp_path / name
        if path.suffix == ".parquet":
            data.to_parquet(path)
        else:
            data.to_csv(path, index=False)
        return Table(VIEWS, str(path), **({"target": "kind"} | arguments))

    return _load


@pytest.fixture
def complaint(load):
    def _complaint(*args, **arguments):
        with pytest.raises(ValueError, match=r".") as error:
            load(*args, **arguments)
        return str(error.value)

    return _complaint


def test_what_there_is(load, tmp_path):
    data = load()
    assert (data.in_features, data.cardinalities, data.num_classes) == (3, (5,), 3)
    assert data.classes == ["a", "b", "c"]
    assert data.samples.target.tolist() == [1, 0, 2] * 20
    assert data.samples.inputs.shape == (60, 3)
    assert data.files == [tmp_path / "mine.csv"]
    assert data.describe() == {
        "name": "mine.csv with 2 numeric and 1 categorical columns",
        "samples": {"train": 48, "val": 6, "test": 6},
    }


def test_text_and_parquet_are_the_same(load):
    text, parquet = load(), load(name="mine.parquet")
    assert torch.equal(text.samples.inputs, parquet.samples.inputs)
    assert torch.equal(text.samples.target, parquet.samples.target)
    assert text.fitted == parquet.fitted


def test_splits(load):
    data = load(frame(400), held_out=0.3)
    splits, target = data.samples.splits, data.samples.target
    assert torch.cat(list(splits.values())).sort().values.equal(torch.arange(400))
    assert {name: target[rows].bincount().tolist() for name, rows in splits.items()} == {
        "train": [93, 94, 93],
        "val": [20, 20, 20],
        "test": [20, 20, 20],
    }
    assert all(torch.equal(rows, load(frame(400), held_out=0.3).samples.splits[name]) for name, rows in splits.items())


def test_statistics_are_of_training_rows_alone(load):
    data = frame()
    before = load(data)
    train, others = (before.samples.splits[name] for name in ("train", "test"))
    changed = data.copy()
    changed.loc[others.numpy(), "size"] *= -1000
    changed.loc[others.numpy(), "colour"] = "grey"
    after = load(changed)
    assert after.fitted == before.fitted
    assert torch.equal(after.samples.inputs[train], before.samples.inputs[train])
    assert not torch.equal(after.samples.inputs[others], before.samples.inputs[others])
    sizes = after.samples.inputs[train, 0]
    assert sizes.mean().item() == pytest.approx(0, abs=1e-6)
    assert sizes.std(correction=0).item() == pytest.approx(1, abs=1e-5)


def test_a_test_file(load, tmp_path):
    more = frame(30, seed=1).sample(frac=1, axis=1, random_state=0)
    more.loc[4, "kind"] = "d"
    more.to_csv(tmp_path / "test.csv", index=False)
    data = load(test_file=str(tmp_path / "test.csv"))
    assert data.describe()["samples"] == {"train": 48, "val": 12, "test": 30}
    assert data.classes == ["a", "b", "c", "d"]
    assert data.samples.splits["test"].tolist() == list(range(60, 90))
    assert data.samples.target[64] == 3
    alone = load(more, "test.csv", fitted=data.fitted)
    alone.setup("predict")
    assert torch.equal(alone.samples.inputs, data.samples.inputs[60:])


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([1, -1, 1], ["-1", "1"]),
        ([10, 9, 7], ["7", "9", "10"]),
        (["<=50K", ">50K", ">50K"], ["<=50K", ">50K"]),
        ([True, False, True], ["False", "True"]),
        ([1.0, 2.0, 2.0], ["1", "2"]),
        ([0.5, 1.5, 0.5], ["0.5", "1.5"]),
    ],
)
def test_labels_of_any_kind(load, labels, classes):
    data = load(frame().assign(kind=labels * 20))
    assert data.classes == classes
    texts = [str(label).removesuffix(".0") for label in labels]
    assert data.samples.target[:3].tolist() == [classes.index(text) for text in texts]


def test_rows_without_a_label(load):
    data = frame()
    data.loc[7, "kind"] = None
    target = load(data).samples.target
    assert target[7] == -1
    assert (target >= 0).sum() == 59


def test_no_labels(load):
    data = load(target=None, drop=["kind"])
    assert data.num_classes == 0
    assert data.samples.target.unique().tolist() == [-1]
    assert data.describe()["samples"] == {"train": 48, "val": 6, "test": 6}


def test_a_file_of_five_rows(load):
    assert load(frame(5), target=None, held_out=0.4).describe()["samples"] == {"train": 3, "val": 1, "test": 1}


def test_predict_sees_every_row_and_leaves_the_splits(load):
    data = load()
    seen = torch.cat(list(data.predict_dataloader()))
    assert seen.tolist() == list(range(60))
    assert len(data.samples.splits["test"]) == 6


def test_numbers_that_are_categories(load):
    data = load(categorical=["count"])
    assert (data.in_features, len(data.cardinalities)) == (3, 2)


def flags(rows=60):
    generator = np.random.default_rng(1)
    more = {"flag": generator.random(rows) < 0.5, "share": generator.choice([0.1, 0.25, 1e-5], rows)}
    return frame(rows).assign(**more, kind=generator.random(rows) < 0.5)


class TestOneValueOneText:
    @pytest.mark.parametrize("pair", [("a.csv", "b.parquet"), ("a.parquet", "b.csv")])
    def test_in_text_and_parquet(self, load, tmp_path, pair):
        one, other = (load(flags(), name, categorical=["share"]) for name in pair)
        assert one.fitted == other.fitted
        assert one.classes == ["False", "True"]
        both = load(flags(), pair[0], categorical=["share"], test_file=str(tmp_path / pair[1]))
        assert torch.equal(both.samples.inputs[:60], both.samples.inputs[60:])
        assert torch.equal(both.samples.target[:60], both.samples.target[60:])
        assert len(both.classes) == 2

    def test_in_upper_case_and_with_blanks(self, load):
        written = flags().assign(
            flag=flags()["flag"].map({True: "TRUE", False: " false "}), colour=" " + frame()["colour"]
        )
        for name in ("a.csv", "a.parquet"):
            assert torch.equal(load(written, name).samples.inputs, load(flags()).samples.inputs)

    @pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
    def test_what_checkpoints_of_earlier_versions_hold(self, load, name, caplog):
        data = load(flags())
        columns = data.fitted["columns"]
        assert columns["categories"][1] == ["False", "True"]
        old = {"columns": {**columns, "categories": [columns["categories"][0], ["false", "true"]]}}
        other = load(flags(), name, fitted={**old, "classes": ["false", "true"]})
        assert torch.equal(other.samples.inputs, data.samples.inputs)
        assert torch.equal(other.samples.target, data.samples.target)
        assert not any("unknown" in line for line in caplog.messages)

    def test_a_column_whose_values_are_all_unknown(self, load, caplog):
        data = load(flags())
        new = flags().assign(flag=[0, 1] * 30)
        _ = load(new, "new.parquet", fitted=data.fitted).samples
        line = next(line for line in caplog.messages if "flag" in line)
        assert line.endswith(
            "new.parquet: flag has none of the training's values, so that all count as unknown: it has 0, 1, training "
            "had False, True"
        )


class TestIndex:
    @pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
    def test_is_no_feature(self, load, tmp_path, name):
        shuffled = frame().sample(frac=1, random_state=0)
        if name == "a.csv":
            shuffled.to_csv(tmp_path / name)
            data = Table(VIEWS, str(tmp_path / name), target="kind")
        else:
            data = load(shuffled, name)
        assert data.fitted == load(shuffled.reset_index(drop=True), "plain.csv").fitted

    def test_of_training_rows_may_be_a_test_file_s_column(self, load, tmp_path):
        frame(30, seed=1).set_index("size").to_parquet(tmp_path / "test.parquet")
        assert load(test_file=str(tmp_path / "test.parquet")).describe()["samples"]["test"] == 30

    @pytest.mark.parametrize("numbers", [np.arange(60) + 3, np.random.default_rng(0).permutation(60)])
    def test_that_has_another_name_is_warned_of(self, load, caplog, numbers):
        load(frame().assign(key=numbers))
        assert (
            [line for line in caplog.messages if "counts the rows" in line]
            == [
                line
                for line in caplog.messages
                if line.endswith("mine.csv: key counts the rows: drop it, unless it says something of them")
            ]
            != []
        )

    def test_that_is_dropped_by_name(self, load, tmp_path):
        frame().to_csv(tmp_path / "a.csv")
        frame().rename_axis("Unnamed: 0").to_csv(tmp_path / "b.csv")
        assert Table(VIEWS, str(tmp_path / "b.csv"), "kind", drop=["Unnamed: 0"]).in_features == 3


def test_how_columns_are_read_is_one_line(load, caplog):
    load(frame().assign(note="x"), drop=["note"])
    assert [line.partition("mine.csv: ")[2] for line in caplog.messages] == [
        "columns are read as 2 numbers, 1 categories (largest: colour, 3 values), 1 left out"
    ]


SLEEP = ["None", "Insomnia", "Sleep Apnea"]


class TestLabelsThatLookMissing:
    @pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
    def test_are_missing_and_told(self, load, caplog, name):
        data = load(frame().assign(kind=SLEEP * 20), name)
        assert data.classes == ["Insomnia", "Sleep Apnea"]
        assert (data.samples.target == -1).sum() == 20
        assert any("'None' in kind (missing says which do)" in line for line in caplog.messages)
        assert any(
            line.endswith("20 of 60 rows have no label in kind: no score counts them") for line in caplog.messages
        )

    @pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
    def test_are_kept(self, load, caplog, name):
        data = load(frame().assign(kind=SLEEP * 20), name, missing=[])
        assert data.classes == ["Insomnia", "None", "Sleep Apnea"]
        assert (data.samples.target >= 0).all()
        assert not any("no label" in line for line in caplog.messages)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_numbers_with_other_marks(load, name):
    data = frame()
    german = data.assign(size=data["size"].map(lambda value: f"{value:.4f}".replace(".", ",")))
    german["count"] = [f"{1000 * value:,}".replace(",", ".") for value in data["count"]]
    expected = load(data.assign(count=data["count"] * 1000), "plain.csv")
    read = load(german, name, decimal=",", thousands=".")
    assert read.fitted == expected.fitted
    assert torch.equal(read.samples.inputs, expected.samples.inputs)
    with pytest.raises(ValueError, match="size has numbers with a decimal comma such as"):
        load(german, name)


class TestCheckpoint:
    def test_another_file_is_encoded_as_training_was(self, load):
        data = load()
        new = frame(4, seed=3).drop(columns="kind")[["colour", "size", "count"]]
        new.loc[1, "colour"] = "grey"
        other = load(new, "new.csv", fitted=data.fitted)
        other.setup("predict")
        assert other.samples.target.tolist() == [-1] * 4
        assert [len(rows) for rows in other.samples.splits.values()] == [4, 4, 4]
        mean, deviation = data.columns.means[0], data.columns.deviations[0]
        expected = ((new["size"] - mean) / deviation).tolist()
        assert other.samples.inputs[:, 0].tolist() == pytest.approx(expected, rel=1e-5)
        assert other.samples.inputs[1, 2] == 1
        assert (other.in_features, other.cardinalities, other.num_classes) == (3, (5,), 3)

    def test_nothing_is_read_of_a_file_that_is_not_needed(self, load, tmp_path):
        data = load()
        other = load(frame(3), "new.csv", fitted=data.fitted, test_file=str(tmp_path / "gone.csv"))
        other.setup("predict")
        assert len(other.samples.target) == 3

    def test_labels_that_training_did_not_have(self, load):
        data = load()
        other = load(frame().assign(kind=["z", "a", "b"] * 20), "new.csv", fitted=data.fitted)
        assert other.samples.target[:3].tolist() == [-1, 0, 1]

    @pytest.mark.parametrize("read", [False, True])
    @pytest.mark.parametrize("target", ["kind", None])
    def test_labels_that_training_had_none_of_count(self, load, target, read):
        data = load(frame() if target else frame().drop(columns="kind"), target=target)
        other = load(frame().assign(kind=["y", "z", "x"] * 20), "new.csv", fitted=data.fitted, target="kind")
        if read:
            other.setup()
        other.load_state_dict({**data.state_dict(), "position": 0})
        assert other.samples.target[:3].tolist() == [1, 2, 0]
        assert other.classes == ["x", "y", "z"]
        assert other.num_classes == 3

    @pytest.mark.parametrize("labels", [[None], ["z"]])
    def test_a_file_without_two_labels(self, load, labels):
        """Has the training's classes, and no score."""
        data = load()
        other = load(frame().assign(kind=labels * 60), "new.csv", fitted=data.fitted)
        assert other.samples.target.unique().tolist() == [-1]
        assert other.classes == data.classes

    def test_a_state_wins_over_what_the_file_says(self, load):
        data = load()
        other = load(frame().assign(size=frame()["size"] * 10, kind=["b", "c", "z"] * 20), "new.csv")
        other.load_state_dict({**data.state_dict(), "position": 0})
        assert other.fitted == data.fitted
        assert other.samples.target[:3].tolist() == [1, 2, -1]
        torch.testing.assert_close(
            other.samples.inputs[:, 0],
            data.samples.inputs[:, 0] * 10 + 9 * data.columns.means[0] / data.columns.deviations[0],
        )

    def test_state_is_of_plain_types(self, load, tmp_path):
        data = load(frame().assign(count=[None, *range(59)]), impute=True)
        torch.save(data.state_dict(), tmp_path / "state.pt")
        assert torch.load(tmp_path / "state.pt", weights_only=True)["fitted"] == data.fitted


class TestComplaints:
    def test_of_the_target(self, complaint):
        assert "mine.csv has no column nope, which is the target; it has size, count" in complaint(target="nope")
        assert "kind has the same label 'a' in all rows: leave the target out" in complaint(frame().assign(kind="a"))
        assert "kind has no label: leave" in complaint(frame().assign(kind=None))
        numbers = frame(120).assign(kind=np.arange(120) / 7)
        assert "kind has 120 different numbers, no labels: leave" in complaint(numbers)

    def test_of_a_class_with_one_row(self, complaint):
        data = frame()
        data.loc[5, "kind"] = "rare"
        assert complaint(data).endswith(
            "kind has labels of fewer than 3 rows, rare, which cannot be in training, validation and test: "
            "merge them with others, or empty those cells; if nearly every row has its own, leave the target out"
        )

    def test_of_labels_that_are_identities(self, complaint):
        message = complaint(frame(3000).assign(kind=[f"id{number}" for number in range(3000)]))
        assert "fewer than 3 rows, id0, id1, id10 … (3,000 in all), which" in message
        assert message.endswith("if nearly every row has its own, leave the target out")

    def test_of_many_columns(self, load, tmp_path):
        wide = frame().assign(**{f"c{number}": np.random.default_rng(number).random(60) for number in range(50)})
        frame(9).to_csv(tmp_path / "test.csv", index=False)
        with pytest.raises(ValueError, match=r"test\.csv lacks columns that training had: c0, c1, c2 … \(50 in all\)"):
            _ = load(wide, test_file=str(tmp_path / "test.csv")).samples

    def test_of_no_rows(self, complaint):
        assert "mine.csv has columns, but no rows" in complaint(frame(0))

    def test_of_too_few_rows_set_aside(self, complaint):
        message = complaint(frame(12))
        assert "held_out 0.2 of 12 rows cannot be set aside, as each split needs rows of every class" in message

    def test_of_columns_to_drop(self, complaint):
        assert "mine.csv has no columns nope, no to drop" in complaint(drop=["nope", "size", "no"])

    def test_of_missing_values(self, complaint):
        assert "missing values in size, colour" in complaint(frame().assign(size=[None, *range(59)], colour=None))

    @pytest.mark.parametrize("held_out", [0, 1, -0.1])
    def test_of_the_share(self, complaint, held_out):
        assert "held_out must be in (0, 1)" in complaint(held_out=held_out)

    def test_of_a_test_file_with_other_columns(self, load, tmp_path):
        frame(9).drop(columns="size").to_csv(tmp_path / "test.csv", index=False)
        with pytest.raises(ValueError, match=r"test\.csv lacks columns that training had: size"):
            _ = load(test_file=str(tmp_path / "test.csv")).samples


def test_few_labels_leave_what_is_fitted_as_it_is(load):
    whole, few = load(), load(labels=4)
    assert few.describe()["samples"] == {"train": 12, "val": 6, "test": 6}
    assert few.samples.target[few.samples.splits["train"]].bincount().tolist() == [4, 4, 4]
    assert torch.equal(few.samples.inputs, whole.samples.inputs)
    assert few.fitted == whole.fitted
    assert len(next(iter(few.train_dataloader()))) == 12  # of a batch_size of 512
    with pytest.raises(ValueError, match=r"data\.labels 4 needs labels"):
        load(labels=4, target=None, drop=["kind"]).train_dataloader()


class TestAnID:
    @pytest.mark.parametrize("name", ["mine.csv", "mine.parquet"])
    @pytest.mark.parametrize("ids", [[f"00{number}" for number in range(60)], list(range(1000, 1060))])
    def test_is_no_feature_and_names_rows(self, load, name, ids):
        plain = load(name=f"plain-{name}")
        data = load(frame().assign(customer=ids), name, id="customer")
        assert data.samples.inputs.equal(plain.samples.inputs)
        # text files hold text
        assert data.names.to_pylist() == (ids if name == "mine.parquet" else [str(each) for each in ids])
        assert plain.names is None

    def test_may_be_pandas_index(self, load, tmp_path):
        data = load(frame().rename_axis("Unnamed: 0").reset_index(), id="Unnamed: 0")
        assert data.names.to_pylist() == [str(number) for number in range(60)]

    def test_of_a_test_file_too(self, load, tmp_path):
        frame(9, seed=1).assign(customer=range(9)).to_parquet(tmp_path / "test.parquet")
        ids = [f"c{number}" for number in range(60)]
        data = load(frame().assign(customer=ids), id="customer", test_file=str(tmp_path / "test.parquet"))
        assert data.names.to_pylist() == [*ids, *map(str, range(9))]  # of one type

    def test_has_to_be_there_and_nothing_else(self, complaint):
        said = complaint(id="customer")
        assert "mine.csv has no column customer, which data.id names; it has size, count, colour" in said
        for named in (
            {"target": "kind"},
            {"drop": ["kind"], "target": None},
            {"categorical": ["kind"], "target": None},
        ):
            assert complaint(id="kind", **named).startswith("data.id is kind, which data.target")
        assert "no column beside size" in complaint(frame()[["size"]], id="size", target=None)

    def test_of_predictions_is_the_other_file_s(self, load, tmp_path):
        data = load(frame().assign(customer=range(60)), id="customer")
        new = frame(5, seed=2).assign(customer=list("vwxyz"))
        other = load(new, name="new.csv", id="customer", fitted=data.fitted)
        other.setup("predict")
        assert len(other.samples.target) == 5
        assert other.names.to_pylist() == list("vwxyz")
