"""Graphs as users bring them: files of PyG, data set objects, tables of nodes and edges."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch import Trainer, seed_everything
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.transforms import ToSparseTensor

from datamodules import Graphs
from datamodules.augmentations import Identity, NodeDrop
from lightning_renyicl.encoders import GIN
from lightning_renyicl.evaluation import OnlineProbe
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import GraphModule
from lightning_renyicl.objectives import RMLCPC

VIEWS = [Identity(), Identity()]


def graph(*edges, x=((1.0, 2.0), (3.0, 4.0), (5.0, 6.0)), **others):
    x = None if x is None else torch.tensor(x)
    return Data(x=x, edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).T, **others)


def three():
    """A one-way edge given twice and a loop; a graph without edges and label; both directions, another label."""
    return [
        graph((2, 0), (1, 1), (2, 0), y=torch.tensor([4])),
        graph(x=((7.0, 8.0),)),
        graph((0, 1), (1, 0), x=((9.0, 0.0), (0.0, 9.0)), y=2),
    ]


EDGES, NODE_PTR, EDGE_PTR = [[2, 5, 4], [0, 4, 5]], [0, 3, 4, 6], [0, 1, 1, 3]
X = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 0], [0, 9]]
TARGET = [1, -1, 0]


def load(**arguments):
    return Graphs(VIEWS, **({"held_out": 0} | arguments))


def parts(data):
    rows, target = data.samples.inputs, data.samples.target
    return [t.tolist() for t in (rows.x, rows.edge_index, rows.node_ptr, rows.edge_ptr, target)]


def saved(content, path):
    torch.save(content, path)
    return str(path)


class Memory(InMemoryDataset):
    """A data set of PyG."""

    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


class Listed(list):
    """A list with a name of its own, for messages."""


class TestPyG:
    """The same graphs in every form that PyG has for them."""

    def test_a_list(self, tmp_path):
        data = load(file=saved(three(), tmp_path / "graphs.pt"))
        assert parts(data) == [X, EDGES, NODE_PTR, EDGE_PTR, TARGET]
        assert (data.in_features, data.num_classes, data.classes) == (2, 2, [2, 4])
        assert data.samples.inputs.x.dtype == torch.float32
        assert data.samples.target.dtype == torch.long
        assert data.files == [tmp_path / "graphs.pt"]

    @pytest.mark.parametrize("form", ["save", "tuple", "object"])
    def test_an_in_memory_dataset(self, form, tmp_path):
        graphs = three()
        graphs[0].y, graphs[1].y, graphs[2].y = (torch.tensor([y]) for y in (4, -1, 2))
        dataset = Memory(graphs)
        if form == "save":  # (dictionary, slices, class), as its `save` and its processed files are
            InMemoryDataset.save(graphs, str(tmp_path / "data.pt"))
            data = load(file=str(tmp_path / "data.pt"))
        elif form == "tuple":
            data = load(file=saved((dataset._data, dataset.slices), tmp_path / "data.pt"))
        else:
            data = load(dataset=dataset)
        assert parts(data) == [X, EDGES, NODE_PTR, EDGE_PTR, TARGET]

    @pytest.mark.parametrize("form", ["save", "tuple", "object", "list"])
    def test_without_features(self, form, tmp_path):
        graphs = [Data(edge_index=g.edge_index, num_nodes=len(g.x), y=torch.tensor([0])) for g in three()]
        dataset = Memory(graphs)
        if form == "save":
            InMemoryDataset.save(graphs, str(tmp_path / "data.pt"))
            data = load(file=str(tmp_path / "data.pt"))
        elif form == "tuple":
            data = load(file=saved((dataset._data, dataset.slices), tmp_path / "data.pt"))
        elif form == "object":
            data = load(dataset=dataset)
        else:
            data = load(file=saved(graphs, tmp_path / "data.pt"))
        assert parts(data) == [[[1]] * 6, EDGES, NODE_PTR, EDGE_PTR, [0, 0, 0]]
        assert data.in_features == 1

    def test_part_of_a_dataset_in_its_order(self):
        dataset = Memory([graph((0, 1), y=torch.tensor([i]), x=((float(i),), (0.0,))) for i in range(5)])
        data = load(dataset=dataset[[3, 1]])
        assert data.samples.inputs.x[:, 0].tolist() == [3, 0, 1, 0]
        assert data.classes == [1, 3]

    def test_max_degree(self):
        data = load(dataset=three(), max_degree=1)
        assert data.in_features == 4
        assert data.samples.inputs.x[:, :2].tolist() == X
        assert data.samples.inputs.x[:, 2:].tolist() == [[0, 1], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
        bare = [Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)]
        assert load(dataset=bare, max_degree=1).samples.inputs.x.tolist() == [[0, 1], [0, 1], [1, 0]]

    @pytest.mark.parametrize("y", [1, 1.0, True, [1], torch.tensor(1), torch.tensor([[1.0]]), np.int64(1)])
    def test_ways_to_write_a_label(self, y):
        assert load(dataset=[graph((0, 1), y=y)]).classes == [1]

    @pytest.mark.parametrize("y", [None, -1, torch.tensor([-1])])
    def test_unknown_labels(self, y):
        data = load(dataset=[graph((0, 1), y=y), graph((0, 1), y=6), graph((0, 1), y=7)])
        assert (data.samples.target.tolist(), data.classes, data.num_classes) == ([-1, 0, 1], [6, 7], 2)

    @pytest.mark.parametrize(
        ("labels", "classes", "target"),
        [
            ([-1, 1, -1], [-1, 1], [0, 1, 0]),
            ([6, -1], [-1, 6], [1, 0]),
            ([-1, 0, 1], [0, 1], [-1, 0, 1]),
            ([-1, 1, None], [-1, 1], [0, 1, -1]),
            ([-1, -1], [], [-1, -1]),
            ([-1, None], [], [-1, -1]),
        ],
    )
    def test_minus_one_is_a_class_beside_one_other(self, labels, classes, target):
        data = load(dataset=[graph((0, 1), y=y) for y in labels])
        assert (data.classes, data.samples.target.tolist()) == (classes, target)

    @pytest.mark.parametrize(
        "y",
        [
            torch.tensor([1, 0]),
            torch.tensor([1.5]),
            torch.tensor(float("nan")),
            float("inf"),
            [0, 1],
            torch.tensor([]),
            np.array([0.5]),
        ],
    )
    def test_a_y_that_is_no_class_means_no_labels(self, y):
        with pytest.warns(UserWarning, match="Listed: y is no class"):
            data = load(dataset=Listed([*three(), graph((0, 1), y=y)]))
        assert (data.samples.target.tolist(), data.classes, data.num_classes) == ([-1] * 4, [], 0)

    def test_a_y_that_is_no_class_in_a_file(self, tmp_path):
        path = tmp_path / "graphs.pt"
        with pytest.warns(UserWarning, match="graphs.pt: y is no class"):
            data = load(file=saved([*three(), graph((0, 1), y=torch.tensor([0.5]))], path))
        assert data.samples.target.tolist() == [-1] * 4

    def test_no_labels(self):
        data = load(dataset=[graph((0, 1)), graph((0, 1))])
        assert (data.samples.target.tolist(), data.num_classes) == ([-1, -1], 0)

    @pytest.mark.parametrize("dtype", [torch.long, torch.half, torch.float64, torch.bool])
    def test_features_become_float32(self, dtype):
        x = load(dataset=[Data(x=torch.tensor([[1, 0]], dtype=dtype))]).samples.inputs.x
        assert x.dtype == torch.float32
        assert x.tolist() == [[1, 0]]

    def test_other_attributes_are_left_alone(self, tmp_path):
        graphs = [graph((0, 1), y=1, smiles="CC", edge_attr=torch.ones(1, 3), pos=torch.ones(3, 3))]
        assert parts(load(file=saved(graphs, tmp_path / "g.pt")))[1] == [[0], [1]]

    def test_a_dataset_of_torch_that_has_a_length(self):
        class Drawn(torch.utils.data.Dataset):
            def __len__(self):
                return 3

            def __getitem__(self, i):
                assert i < 3, "asked for what is beyond the end"
                return graph((0, 1), y=i)

        assert len(load(dataset=Drawn()).samples.inputs) == 3

    def test_the_example_of_the_docstring(self):
        zinc = [graph((0, 1), x=((i,), (1,), (2,)), y=torch.tensor([0.5 * i - 3])) for i in range(4)]
        with pytest.warns(UserWarning, match="y is no class"):
            data = load(dataset=zinc)
        assert (data.in_features, data.num_classes) == (1, 0)

    @pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
    @pytest.mark.parametrize("source", ["file", "save", "dataset"])
    def test_a_sparse_adjacency(self, layout, source, tmp_path):
        graphs = [Data.from_dict(ToSparseTensor(layout=layout)(one).to_dict()) for one in three()]
        assert all("edge_index" not in one for one in graphs)
        if source == "save":
            for one in graphs:
                one.y = torch.tensor([-1 if one.y is None else int(one.y)])
            InMemoryDataset.save(graphs, str(tmp_path / "graphs.pt"))
        else:
            torch.save(graphs, tmp_path / "graphs.pt")
        data = load(dataset=graphs) if source == "dataset" else load(file=str(tmp_path / "graphs.pt"))
        assert parts(data) == [X, EDGES, NODE_PTR, EDGE_PTR, TARGET]

    def test_an_adjacency_that_is_not_transposed(self):
        adjacency = torch.sparse_coo_tensor([[2, 2], [0, 1]], torch.ones(2), (3, 3))
        one = Data(x=torch.ones(3, 1), adj=adjacency)
        assert load(dataset=[one]).samples.inputs.edge_index.tolist() == [[2, 2], [0, 1]]

    def test_edge_index_goes_before_an_adjacency(self):
        one = ToSparseTensor(remove_edge_index=False)(graph((0, 1), (1, 2)))
        one.edge_index = one.edge_index[:, :1]
        assert load(dataset=[one]).samples.inputs.edge_index.tolist() == [[0], [1]]

    @pytest.mark.parametrize(
        ("graphs", "line"),
        [
            ([graph(), graph((1, 1))], "Listed: no graph has an edge, so that only nodes are learnt from"),
            ([graph(), graph((0, 1), (1, 2), (0, 1))], "Listed: no edge has its reverse, so that nodes see only those"),
            ([graph((0, 2)), graph((1, 2), (2, 1))], None),
            ([graph((0, 1)), graph((1, 0))], "Listed: no edge has its reverse"),  # in another graph
        ],
    )
    def test_warns_of_edges_that_lack(self, graphs, line, caplog):
        load(dataset=Listed(graphs))
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == (line is not None)
        assert all(one.startswith(line) for one in lines)

    def test_features_of_no_columns_are_none(self):
        assert load(dataset=[Data(x=torch.ones(2, 0), edge_index=torch.tensor([[0], [1]]))]).in_features == 1


def complaint(error=ValueError, **arguments):
    """The message of one line that a bad input gives."""
    with pytest.raises(error) as caught:
        load(**arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


class TestBadGraphs:
    @pytest.mark.parametrize(
        ("bad", "expected"),
        [
            (graph((0, 1), (1, 7)), "edge 1 joins nodes [1, 7] of 3"),
            (graph((0, 1), (-1, 0)), "edge 1 joins nodes [-1, 0] of 3"),
            (Data(x=torch.ones(3, 2), edge_index=torch.ones(2, 1)), "int64 [2, edges], got torch.float32 [2, 1]"),
            (Data(x=torch.ones(3, 2), edge_index=torch.zeros(5, 2).long()), "[2, edges], got torch.int64 [5, 2]"),
            (Data(x=torch.ones(3, 2), edge_index=torch.zeros(2, 1).int()), "[2, edges], got torch.int32 [2, 1]"),
            (Data(x=torch.ones(3)), "x must be [nodes, F], got shape [3]"),
            (
                Data(x=torch.tensor([[1.0, float("nan")]])),
                "feature 1 of node 0 is nan, expected a finite number",
            ),
            (
                Data(x=torch.tensor([[1.0, float("inf")]])),
                "feature 1 of node 0 is inf, expected a finite number",
            ),
            (Data(x=torch.ones(0, 2)), "no nodes"),
            (Data(y=1), "no nodes; say num_nodes if it has no x"),
            (graph((0, 1), x=None, num_nodes=2), "no node features x, others have some"),
            (graph((0, 1), y="toxic"), "y must be a whole number, got 'toxic': number the classes"),
            (Data(x=torch.ones(3, 2).to_sparse()), "x is sparse (torch.sparse_coo), expected a dense tensor"),
            (Data(x=torch.ones(3, 2).to_sparse_csr()), "x is sparse (torch.sparse_csr), expected a dense tensor"),
            (Data(x=torch.ones(3, 2) * 1j), "x has complex numbers: make real features of them"),
            (Data(x=torch.ones(3, 2), y=torch.ones(1).to_sparse()), "y is sparse (torch.sparse_coo)"),
            (Data(x=torch.ones(3, 2), edge_index=torch.ones(2, 1).long().to_sparse()), "edge_index is sparse"),
            (Data(x=torch.ones(3, 2), adj=torch.ones(3, 3)), "its edges are adj, a dense tensor [3, 3]: expected edge"),
            (Data(x=torch.ones(3, 2), adj_t=torch.eye(5).to_sparse()), "edge 3 joins nodes [3, 3] of 3"),
            (Data(num_nodes=10**12), "it and the graphs before it would take 59,604.6 GiB of memory, more than"),
            (Data(num_nodes=10**30), "GiB of memory, more than the"),
            (Data(num_nodes=-3), "num_nodes must be positive, got -3"),
            (Data(num_nodes=2.5), "num_nodes must be a whole number, got 2.5"),
            (Data(x=torch.ones(1, 1).expand(10**9, 100)), "it and the graphs before it would take 432.1 GiB"),
            (Data(x=torch.ones(3, 2), edge_index=torch.zeros(2, 1).long().expand(2, 10**12)), "14,901.2 GiB of memory"),
        ],
    )
    @pytest.mark.parametrize("source", ["file", "dataset"])
    @pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")
    def test_names_the_graph(self, bad, expected, source, tmp_path):
        graphs = [*three(), bad]
        path = tmp_path / "graphs.pt"
        message = complaint(file=saved(graphs, path)) if source == "file" else complaint(dataset=Listed(graphs))
        assert expected in message
        assert message.startswith(f"{path if source == 'file' else 'Listed'}, graph 3: ")

    def test_features_that_are_too_large_for_float32(self):
        message = complaint(dataset=[Data(x=torch.full((1, 2), 1e300, dtype=torch.float64))])
        assert message == "list, graph 0: feature 0 of node 0 is 1e+300, expected a finite number"

    def test_degrees_of_more_kinds_than_memory_has_room_for(self):
        message = complaint(dataset=three(), max_degree=10**12)
        assert message.startswith("degrees of 6 nodes up to 1,000,000,000,000, one-hot, would take 44,703.5 GiB")

    def test_different_numbers_of_features(self, tmp_path):
        path = tmp_path / "graphs.pt"
        message = complaint(file=saved([*three(), graph((0, 1), x=((1.0,), (2.0,)))], path))
        assert message == f"{path}: graphs need one common number of node features, got [1, 2]"

    @pytest.mark.parametrize("bad", [Data(x=[[1.0], [2.0]]), Data(x=np.ones((2, 1))), "no graph", None])
    def test_what_is_no_graph_or_has_no_tensor(self, bad):
        assert "graph 1" in complaint(dataset=[graph((0, 1), x=((1.0,), (2.0,))), bad])

    def test_a_label_in_words(self):
        assert "graph 0" in complaint(dataset=[graph((0, 1), y="toxic")])

    def test_a_missing_number_has_nothing_to_do_with_the_shape(self):
        assert "shape" not in complaint(dataset=[Data(x=torch.tensor([[1.0, float("nan")]]))])


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


UNSAFE = "holds no graphs that can be loaded without running code from it: "


class TestBadFiles:
    def test_a_file_that_unpacks_to_more_than_memory(self, tmp_path, monkeypatch):
        path, plain = tmp_path / "graphs.pt", tmp_path / "plain.pt"
        torch.save([Data(x=torch.zeros(2**20, 1))], plain)
        with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                new.writestr(name, old.read(name))
        assert path.stat().st_size < 2**14
        monkeypatch.setattr("datamodules.room.memory_limit", lambda: 2**21)
        message = complaint(file=str(path))
        assert message == (
            f"{path} unpacked would take 4.0 MiB of memory, more than the 2.0 MiB that data may take on this machine"
        )

    def test_what_transforms_leave(self, tmp_path):
        graphs = [ToSparseTensor()(one) for one in three()]
        message = complaint(file=saved(graphs, tmp_path / "graphs.pt"))
        assert message.endswith(
            "AttrType, which transforms leave in them: save Data.from_dict(graph.to_dict()) of each graph"
        )
        load(file=saved([Data.from_dict(graph.to_dict()) for graph in graphs], tmp_path / "graphs.pt"))

    def test_slices_that_do_not_fit(self, tmp_path):
        data = Data(x=torch.ones(3, 1), edge_index=torch.zeros(2, 0).long())
        for slices in ({"x": torch.tensor([0, 9])}, {"y": torch.tensor([0, 1])}):
            path = tmp_path / "graphs.pt"
            assert complaint(file=saved((data, slices), path)).startswith(str(path))

    def test_slices_of_more_graphs_than_memory_has_room_for(self, tmp_path, monkeypatch):
        data, path = Data(x=torch.ones(3, 1)), tmp_path / "graphs.pt"
        monkeypatch.setattr("datamodules.room.memory_limit", lambda: 2**20)
        message = complaint(file=saved((data, {"x": torch.zeros(1).long().expand(2**11 + 1)}), path))
        assert message.startswith(f"the 2,048 graphs of {path} would take 2.0 MiB of memory, more than the 1.0 MiB")

    @pytest.mark.parametrize("how", ["pickle", "script", "numpy", "cut", "text", "empty"])
    def test_nobody_is_told_to_run_code(self, how, tmp_path):
        path = tmp_path / "graphs.pt"
        if how == "script":
            torch.jit.script(torch.nn.Linear(1, 1)).save(path)
        else:
            whole = io.BytesIO()
            torch.save([graph((0, 1))], whole)
            contents = {"pickle": pickle.dumps([graph((0, 1))]), "cut": whole.getvalue()[:-200], "empty": b""}
            contents |= {"numpy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}", "text": b"a,b\n1,2\n"}
            path.write_bytes(contents[how])
        message = complaint(file=str(path))
        assert message.startswith(f"{path} {UNSAFE}")
        assert len(message.removeprefix(f"{path} {UNSAFE}")) > 3
        for advice in ("weights_only", "weights-only", "torch.jit", "torch.load", "file an issue", "safe_globals"):
            assert advice not in message.lower()

    @pytest.mark.parametrize("how", ["zip", "old", "pickle", "within"])
    def test_code_in_a_file_does_not_run(self, how, tmp_path):
        path, trace = tmp_path / "graphs.pt", tmp_path / "ran"
        if how == "pickle":
            path.write_bytes(pickle.dumps([Touch(trace)], protocol=2))
        elif how == "within":
            torch.save([graph((0, 1), y=1, extra=Touch(trace))], path)
        else:
            torch.save([Touch(trace)], path, _use_new_zipfile_serialization=how == "zip")
        message = complaint(file=str(path))
        assert message == f"{path} {UNSAFE}it has a {os.mkdir.__module__}.mkdir"
        assert not trace.exists()
        # the trap works where code is run
        with path.open("rb") as file:
            pickle.load(file) if how == "pickle" else torch.load(path, weights_only=False)
        assert trace.exists()

    @pytest.mark.parametrize(
        ("content", "culprit"),
        [
            ([graph((0, 1), z=np.ones(2))], "numpy"),
            ([HeteroData()], "torch_geometric.data."),
            (Batch.from_data_list([graph((0, 1))]), "torch_geometric.data.batch."),
        ],
    )
    def test_says_what_cannot_be_loaded_safely(self, content, culprit, tmp_path):
        path = tmp_path / "graphs.pt"
        assert complaint(file=saved(content, path)).startswith(f"{path} {UNSAFE}it has a {culprit}")

    @pytest.mark.parametrize(
        ("content", "got"),
        [
            (graph((0, 1)), "Data"),
            ({"a": 1}, "dict"),
            (torch.ones(3), "Tensor"),
            (None, "NoneType"),
            ((1, 2), "tuple"),
            ((graph((0, 1)), graph((1, 0))), "tuple"),
        ],
    )
    def test_something_else(self, content, got, tmp_path):
        path = tmp_path / "graphs.pt"
        assert complaint(file=saved(content, path)) == f"{path} must hold a list of PyG Data objects, got {got}"

    @pytest.mark.parametrize(("content", "got"), [([torch.ones(3)], "Tensor"), ([graph((0, 1)).to_dict()], "dict")])
    def test_a_list_of_something_else(self, content, got, tmp_path):
        assert got in complaint(file=saved(content, tmp_path / "graphs.pt"))

    def test_a_dataset_of_one_graph(self, tmp_path):
        InMemoryDataset.save([graph((0, 1), y=1)], str(tmp_path / "data.pt"))
        assert len(load(file=str(tmp_path / "data.pt")).samples.inputs) == 1

    @pytest.mark.parametrize("form", ["data", "dictionary", "save"])
    def test_a_tuple_without_slices_is_one_graph(self, form, tmp_path):
        one = three()[0]
        content = {"data": (one, None), "dictionary": (one.to_dict(), None), "save": (one.to_dict(), None, Data)}[form]
        data = load(file=saved(content, tmp_path / "data.pt"))
        assert parts(data) == [X[:3], [[2], [0]], [0, 3], [0, 1], [0]]

    def test_no_graphs(self, tmp_path):
        assert complaint(file=saved([], tmp_path / "graphs.pt")) == f"{tmp_path / 'graphs.pt'} has no graphs"
        assert complaint(dataset=Listed()) == "Listed has no graphs"

    def test_cut_short(self, tmp_path):
        path = tmp_path / "graphs.pt"
        content = io.BytesIO()
        torch.save(three(), content)
        path.write_bytes(content.getvalue()[:800])
        assert complaint(file=str(path)).startswith(f"{path} {UNSAFE}")

    @pytest.mark.parametrize("content", [b"hello world\n", b""])
    def test_a_file_of_another_kind(self, content, tmp_path):
        path = tmp_path / "graphs.pt"
        path.write_bytes(content)
        assert complaint(file=str(path)).startswith(f"{path} {UNSAFE}")

    @pytest.mark.parametrize("name", ["nowhere.pt", "."])
    def test_no_such_file(self, name, tmp_path):
        assert str(tmp_path / name) in complaint(OSError, file=str(tmp_path / name))


# Graphs 7 and 3, in the order in which they are first named, their rows mixed. Graph 7: nodes 1 and 2, a loop, an edge
# given twice and without its reverse. Graph 3: nodes 4, 3 and 5, the first two joined in both directions, 5 alone.
NODES = "graph,weight,node,label,size\n7,0.5,1,yes,10\n3,1.5,4,no,40\n7,2.5,2,yes,20\n3,3.5,3,no,30\n3,4.5,5,no,50\n"
LINKS = "source,target\n4,3\n1,2\n3,4\n1,1\n1,2\n"
TABLE_X = [[0.5, 10], [2.5, 20], [1.5, 40], [3.5, 30], [4.5, 50]]
TABLE = [TABLE_X, [[0, 3, 2], [1, 2, 3]], [0, 2, 5], [0, 1, 3], [1, 0]]


def frame(text):
    return pd.read_csv(io.StringIO(text))


def tables(folder, nodes=NODES, edges=LINKS, kind="csv"):
    """Writes the two tables and says where."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {"nodes": folder / f"nodes.{kind}", "edges": folder / f"edges.{kind}"}
    for path, content in zip(paths.values(), (nodes, edges), strict=True):
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif kind.lower() in ("parquet", "pq"):
            (frame(content) if isinstance(content, str) else content).to_parquet(path)
        elif kind == "csv.gz":
            path.write_bytes(gzip.compress(content.encode()))
        else:
            path.write_text(content)
    return {name: str(path) for name, path in paths.items()}


class TestTables:
    @pytest.mark.parametrize("kind", ["csv", "csv.gz", "CSV", "parquet", "pq", "PQ", "Parquet"])
    def test_files(self, kind, tmp_path):
        data = load(**tables(tmp_path, kind=kind))
        assert parts(data) == TABLE
        assert (data.in_features, data.num_classes, data.classes) == (2, 2, ["no", "yes"])
        assert data.files == [tmp_path / f"nodes.{kind}", tmp_path / f"edges.{kind}"]
        assert data.samples.inputs.x.dtype == torch.float32

    def test_two_kinds_of_files(self, tmp_path):
        nodes, edges = tables(tmp_path / "a", kind="parquet")["nodes"], tables(tmp_path / "b")["edges"]
        assert parts(load(nodes=nodes, edges=edges)) == TABLE

    def test_graphs_and_nodes_named_in_words(self, tmp_path):
        nodes = "graph,node,label\ng2,a,1\ng10,b,0\ng2,c,1\n"
        data = load(**tables(tmp_path, nodes, "source,target\nc,a\n"))
        # a, c; b
        assert parts(data) == [[[1]] * 3, [[1], [0]], [0, 2, 3], [0, 1, 1], [1, 0]]

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_order_of_first_appearance(self, kind, tmp_path):
        nodes = "graph,node,value,label\n10,z,0,a\n9,y,1,b\n10,b,2,\n11,x,3,c\n9,a,4,\n10,c,5,\n"
        data = load(**tables(tmp_path, nodes, "source,target\na,y\nz,b\nb,c\n", kind))
        # z, b, c; y, a; x
        assert parts(data) == [
            [[0], [2], [5], [1], [4], [3]],
            [[0, 1, 4], [1, 2, 3]],
            [0, 3, 5, 6],
            [0, 2, 3, 3],
            [0, 1, 2],
        ]

    def test_names_of_nodes_that_graphs_share_with_rows_not_together(self, tmp_path):
        nodes = "graph,node,value\nv,1,0\nu,1,1\nv,0,2\nu,0,3\n"
        data = load(**tables(tmp_path, nodes, "graph,source,target\nu,1,0\nv,0,1\n"))
        assert parts(data)[:3] == [[[0], [2], [1], [3]], [[1, 2], [0, 3]], [0, 2, 4]]

    def test_nodes_named_within_their_graph(self, tmp_path):
        nodes = "graph,node,value\nu,0,1\nu,1,2\nv,0,3\nv,1,4\n"
        data = load(**tables(tmp_path, nodes, "graph,source,target\nv,0,1\nu,1,0\n"))
        assert parts(data)[:3] == [[[1], [2], [3], [4]], [[1, 2], [0, 3]], [0, 2, 4]]

    def test_edges_with_and_without_the_graph_are_the_same(self, tmp_path):
        links = "graph,source,target\n3,4,3\n7,1,2\n3,3,4\n7,1,1\n7,1,2\n"
        assert parts(load(**tables(tmp_path, edges=links))) == TABLE

    def test_no_features_and_no_labels(self, tmp_path):
        data = load(**tables(tmp_path, "graph,node\n1,1\n1,2\n2,3\n", "source,target\n1,2\n"))
        assert parts(data) == [[[1]] * 3, [[0], [1]], [0, 2, 3], [0, 1, 1], [-1, -1]]
        assert (data.in_features, data.num_classes) == (1, 0)

    def test_no_edges(self, tmp_path):
        for kind, names in (("csv", "1,1\n1,2\n"), ("csv", "x,a\nx,b\n")):
            data = load(**tables(tmp_path / names[0], f"graph,node\n{names}", "source,target\n", kind))
            assert parts(data)[1:4] == [[[], []], [0, 2], [0, 0]]

    def test_other_columns_of_edges_are_left_alone(self, tmp_path):
        links = "weight,target,source,kind\n,3,4,a\n1,2,1,b\n2,4,3,\n"
        assert parts(load(**tables(tmp_path, edges=links))) == TABLE

    @pytest.mark.parametrize(
        ("labels", "classes", "target"),
        [
            (["b", "b", "a"], ["a", "b"], [1, 0]),
            (["5", "5", "-1"], ["-1", "5"], [1, 0]),
            (["0.5", "0.5", "0.25"], ["0.25", "0.5"], [1, 0]),
            (["10", "10", "9"], ["9", "10"], [1, 0]),  # in the order of the numbers
            (["9", "9", "10a"], ["10a", "9"], [1, 0]),  # in the order of the words
            (["", "", "a"], ["a"], [-1, 0]),
            (["", "7", "9"], ["7", "9"], [0, 1]),  # one node is enough
            (["", "", ""], [], [-1, -1]),
            (["True", "True", "False"], ["False", "True"], [1, 0]),
        ],
    )
    def test_labels(self, labels, classes, target, tmp_path):
        nodes = "graph,node,label\n" + "".join(f"{g},{n},{y}\n" for g, n, y in zip("ppq", "abc", labels, strict=True))
        data = load(**tables(tmp_path, nodes, "source,target\n"))
        assert (data.classes, data.num_classes) == (classes, len(classes))
        assert data.samples.target.tolist() == target

    def test_columns_of_pandas_own_types(self, tmp_path):
        types = {"graph": "category", "node": "category", "label": "category", "size": "Int64", "weight": "Float64"}
        data = load(**tables(tmp_path, frame(NODES).astype(types), kind="parquet"))
        assert parts(data) == TABLE

    def test_true_and_false_are_numbers(self, tmp_path):
        data = load(**tables(tmp_path, "graph,node,ring\n1,1,True\n1,2,False\n", "source,target\n"))
        assert data.samples.inputs.x.tolist() == [[1], [0]]

    def test_max_degree(self, tmp_path):
        data = load(**tables(tmp_path), max_degree=1)
        assert data.samples.inputs.x[:, 2:].tolist() == [[1, 0], [0, 1], [0, 1], [0, 1], [1, 0]]

    @pytest.mark.parametrize("name", ["row", "owner", "place"])
    def test_any_column_may_be_a_feature(self, name, tmp_path):
        nodes = f"graph,node,{name},column\n1,1,5,6\n1,2,7,8\n"  # such as the pixels of an image
        data = load(**tables(tmp_path, nodes, "source,target\n1,2\n"))
        assert data.samples.inputs.x.tolist() == [[5, 6], [7, 8]]

    def test_names_of_numbers_and_words(self, tmp_path):
        data = load(**tables(tmp_path, "graph,node\n1,1\n1,2\n1,x\n", "source,target\n1,2\n"))
        assert data.samples.inputs.edge_index.tolist() == [[0], [1]]

    def test_names_with_leading_zeros(self, tmp_path):
        data = load(**tables(tmp_path, "graph,node\n1,1\n1,01\n", "source,target\n1,01\n"))
        assert data.samples.inputs.edge_index.tolist() == [[0], [1]]

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    @pytest.mark.parametrize(("nodes", "edges"), [("float", "int"), ("int", "float"), ("float", "str"), ("int", "str")])
    def test_a_whole_number_is_the_same_name_in_every_type(self, nodes, edges, kind, tmp_path):
        named = pd.DataFrame({"graph": [1, 1], "node": [1, 2]}).astype(nodes)
        joined = pd.DataFrame({"graph": [1], "source": [1], "target": [2]}).astype(edges)
        if kind == "csv":
            named, joined = named.to_csv(index=False), joined.to_csv(index=False)
        data = load(**tables(tmp_path, named, joined, kind))
        assert data.samples.inputs.edge_index.tolist() == [[0], [1]]

    def test_labels_of_whole_numbers_of_which_some_are_missing(self, tmp_path):
        nodes = pd.DataFrame({"graph": [1, 2, 3], "node": [1, 2, 3], "label": [10, None, 9]})
        data = load(**tables(tmp_path, nodes, "source,target\n", "parquet"))
        assert (data.classes, data.samples.target.tolist()) == (["9", "10"], [1, -1, 0])


class TestTablesAsTheyAreWritten:
    FRAME = frame(NODES)

    @pytest.mark.parametrize("name", ["nodes.csv", "nodes.parquet"])
    def test_the_index_of_rows_is_no_feature(self, name, tmp_path, caplog):
        paths = tables(tmp_path)
        shuffled = self.FRAME.set_axis([4, 2, 0, 1, 3])
        getattr(shuffled, "to_csv" if name.endswith("csv") else "to_parquet")(tmp_path / name)
        assert parts(load(nodes=str(tmp_path / name), edges=paths["edges"])) == TABLE
        assert any("left out as the index of its rows" in line for line in caplog.messages)

    def test_graphs_and_nodes_that_are_the_index(self, tmp_path):
        paths = tables(tmp_path)
        self.FRAME.set_index(["graph", "node"]).to_parquet(tmp_path / "nodes.parquet")
        assert parts(load(nodes=str(tmp_path / "nodes.parquet"), edges=paths["edges"])) == TABLE

    def test_a_feature_that_counts_the_rows(self, tmp_path, caplog):
        nodes = "graph,node,key\n" + "".join(f"1,{number},{number}\n" for number in range(12))
        load(**tables(tmp_path, nodes, "source,target\n"))
        assert f"{tmp_path / 'nodes.csv'}: key counts the rows: leave it out, unless it says something of them" in (
            caplog.messages
        )

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_labels_and_names_that_look_missing(self, kind, tmp_path, caplog):
        nodes = pd.DataFrame({"graph": ["NA", "b", "c"], "node": [1, 2, 3], "label": ["None", "x", "y"]})
        nodes = nodes if kind == "parquet" else nodes.to_csv(index=False)
        paths = tables(tmp_path, nodes, "source,target\n1,1\n", kind)
        assert "row 1: graph is missing" in complaint(**paths)
        assert load(**paths, missing=[]).classes == ["None", "x", "y"]
        caplog.clear()
        assert load(**paths, missing=["None"]).samples.target.tolist() == [-1, 0, 1]
        assert f"{paths['nodes']}: 1 of 3 graphs have no label: no score counts them" in caplog.messages

    def test_truth_values_are_the_same_labels_in_text_and_parquet(self, tmp_path):
        nodes = pd.DataFrame({"graph": [1, 2], "node": [1, 2], "label": [True, False], "ring": [True, False]})
        text, packed = (
            load(**tables(tmp_path / kind, content, "source,target\n1,1\n", kind))
            for kind, content in (("csv", nodes.to_csv(index=False)), ("parquet", nodes))
        )
        assert text.classes == packed.classes == ["False", "True"]
        assert text.samples.inputs.x.tolist() == packed.samples.inputs.x.tolist() == [[1], [0]]

    def test_other_marks(self, tmp_path):
        nodes = NODES.replace(",", ";").replace(".", ",").replace("10\n", "1.000\n")
        edges = LINKS.replace(",", ";")
        data = load(**tables(tmp_path, nodes, edges), delimiter=";", decimal=",", thousands=".")
        assert parts(data) == [[[0.5, 1000], *TABLE_X[1:]], *TABLE[1:]]

    def test_nodes_are_named_as_they_are_written(self, tmp_path):
        data = load(**tables(tmp_path, "graph,node\n1,1.1\n1,1.10\n", "source,target\n1.1,1.10\n"))
        assert data.samples.inputs.edge_index.tolist() == [[0], [1]]

    def test_numbers_in_another_dress(self, tmp_path):
        message = complaint(**tables(tmp_path, NODES.replace("0.5", '"1,163"')))
        assert message.endswith(
            "features are numbers, but weight has numbers with marks between thousands such as '1,163': set thousands "
            "to ',', or leave it out"
        )
        message = complaint(
            **tables(tmp_path, NODES.replace("0.5", "heavy").replace("1.5", "light").replace("2.5", "-"))
        )
        assert message.endswith(
            "but weight is not: number its values ('heavy', 'light', '-' … (5 in all)), or leave it out"
        )

    def test_a_table_that_is_too_large(self, tmp_path):
        message = complaint(**tables(tmp_path), max_gib=2**-30)
        assert "nodes.csv takes" in message
        assert "max_gib allows" in message


class TestBadTables:
    @pytest.mark.parametrize(
        ("nodes", "expected"),
        [
            (NODES.replace("7,2.5,2", "7,2.5,1"), "row 3: node 1 is there twice"),
            (NODES.replace("7,0.5,1,yes", "7,0.5,1,maybe"), "graph 7 has several labels"),
        ],
    )
    def test_names_as_they_are_written(self, nodes, expected, tmp_path):
        assert expected in complaint(**tables(tmp_path, nodes))

    def test_a_node_that_is_not_there_as_it_is_written(self, tmp_path):
        assert "row 2: there is no node 9 " in complaint(**tables(tmp_path, edges="source,target\n1,2\n9,1\n"))

    @pytest.mark.parametrize(
        ("nodes", "expected"),
        [
            ("graph,id\n1,2\n", "needs columns graph, node; it has graph, id"),
            ("node\n1\n", "needs columns graph, node; it has node"),
            ("graph,node\n", "has no graphs: no row"),
            ("", "Empty CSV file"),
            (b"\xff\xfe\x00\x01", "is in UTF-16"),
            ("graph,node\n1,2\n1,3,4\n1,5\n", "Row #3: Expected 2 columns, got 3"),
            (NODES.replace("7,2.5,2", ",2.5,2"), "row 3: graph is missing"),
            (NODES.replace("3,3.5,3", "3,3.5,"), "row 4: node is missing"),
            (NODES.replace("7,2.5,2", "7,2.5,1"), "row 3"),
            (NODES.replace("2.5", "heavy"), "weight is not"),
            (NODES.replace("2.5", ""), "row 3: weight is missing or not finite"),
            (NODES.replace("2.5", "inf"), "row 3: weight is inf, infinite or too large"),
            (NODES.replace("2.5", "1e39"), "row 3: weight is missing or not finite"),
            (NODES.replace("no,50", "no,"), "row 5: size is missing or not finite"),
            (NODES.replace("no,50", "yes,50"), "several labels"),
        ],
    )
    def test_names_the_table_of_nodes(self, nodes, expected, tmp_path):
        paths = tables(tmp_path, nodes)
        with pytest.raises(ValueError, match=expected) as caught:
            load(**paths)
        assert paths["nodes"] in str(caught.value)
        assert "\n" not in str(caught.value).rstrip("\n")

    @pytest.mark.parametrize(
        ("edges", "expected"),
        [
            ("from,to\n1,2\n", "needs columns source, target; it has from, to"),
            ("", "Empty CSV file"),
            ("source,target\n1,2\n,1\n", "row 2: source is missing"),
            ("source,target\n1,2\n1,\n", "row 2: target is missing"),
            ("graph,source,target\n7,1,2\n,1,2\n", "row 2: graph is missing"),
            ("source,target\n1,2\n9,1\n", "row 2: there is no node"),
            ("source,target\n1,2\n2,1\n1,9\n", "row 3: there is no node"),
            ("graph,source,target\n7,1,2\n7,4,3\n", "row 2: there is no node .* of graph"),
            ("graph,source,target\n7,1,2\n8,1,2\n", "row 2: there is no node .* of graph"),
            ("source,target\n1,2\n1,3\n", "row 2: the edge joins two graphs"),
            ("source,target\na,b\n", "row 1: there is no node a in "),
        ],
    )
    def test_names_the_table_of_edges(self, edges, expected, tmp_path):
        paths = tables(tmp_path, edges=edges)
        with pytest.raises(ValueError, match=expected) as caught:
            load(**paths)
        assert paths["edges"] in str(caught.value)
        assert "\n" not in str(caught.value).rstrip("\n")

    def test_nodes_of_the_same_name_need_the_graph_in_edges(self, tmp_path):
        message = complaint(**tables(tmp_path, "graph,node\nu,a\nu,b\nv,a\n", "source,target\na,b\n"))
        assert "nodes.csv, row 3: node a is there twice" in message
        assert "edges.csv has no column graph" in message

    def test_more_values_than_columns(self, tmp_path):
        nodes = "graph,node,value\n1,1,5,9\n1,2,6,9\n"
        assert "nodes.csv" in complaint(**tables(tmp_path, nodes, "source,target\n"))

    @pytest.mark.parametrize("share", [0, 0.5, 0.95])
    def test_parquet_cut_short(self, share, tmp_path):
        content = io.BytesIO()
        frame(NODES).to_parquet(content)
        content = content.getvalue()
        message = complaint(**tables(tmp_path, content[: int(share * len(content))], kind="parquet"))
        assert f"{tmp_path / 'nodes.parquet'} is no Parquet file" in message

    def test_parquet_damaged_within(self, tmp_path):
        content = io.BytesIO()
        frame(NODES).to_parquet(content)
        content = bytearray(content.getvalue())
        content[4:40] = b"\xff" * 36
        assert "nodes.parquet" in complaint(**tables(tmp_path, bytes(content), kind="parquet"))

    @pytest.mark.parametrize(
        "content", [gzip.compress(50 * NODES.encode())[:60], b"graph,node\n1,1\n"], ids=["cut short", "no gzip"]
    )
    def test_damaged_gzip(self, content, tmp_path):
        assert "nodes.csv.gz" in complaint(**tables(tmp_path, content, kind="csv.gz"))

    def test_one_line(self, tmp_path):
        complaint(**tables(tmp_path, "graph,node\n1,2\n1,3,4\n1,5\n"))

    def test_no_such_file(self, tmp_path):
        paths = tables(tmp_path)
        os.remove(paths["edges"])
        assert paths["edges"] in complaint(FileNotFoundError, **paths)


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "got"),
        [
            ({}, "none"),
            ({"file": "a", "dataset": []}, "file and dataset"),
            ({"file": "a", "nodes": "b", "edges": "c"}, "file and nodes and edges"),
            ({"nodes": "a"}, "nodes"),
            ({"edges": "a"}, "edges"),
            ({"file": "a", "edges": "b"}, "file and edges"),
        ],
    )
    def test_one_source(self, arguments, got):
        expected = f"give one of file, dataset, or nodes together with edges, got {got}"
        assert complaint(**arguments) == expected

    def test_max_degree_below_0(self):
        assert complaint(dataset=three(), max_degree=-1) == "max_degree must be at least 0, got -1"

    @pytest.mark.parametrize("held_out", [1, -0.5])
    def test_held_out_outside_its_range(self, held_out):
        assert "held_out must be in [0, 1)" in complaint(dataset=three(), held_out=held_out)


class TestSplits:
    def test_a_fifth_is_held_out_unless_told_otherwise(self):
        data = Graphs(VIEWS, dataset=[graph((0, 1), y=i % 2) for i in range(40)])
        splits, target = data.samples.splits, data.samples.target
        assert data.describe()["samples"] == {"train": 32, "val": 4, "test": 4}
        assert torch.cat(list(splits.values())).sort().values.equal(torch.arange(40))
        assert [target[rows].sum().item() for rows in splits.values()] == [16, 2, 2]

    def test_without_labels(self):
        data = Graphs(VIEWS, dataset=[graph((0, 1)) for _ in range(10)])
        assert data.describe()["samples"] == {"train": 8, "val": 1, "test": 1}

    def test_a_few_graphs(self):
        graphs = [graph((0, 1), y=i % 3) for i in range(12)]
        message = complaint(dataset=graphs, held_out=0.2)
        assert "held_out 0.2 of 12 graphs cannot be set aside" in message
        assert "validation and test each need graphs of every class" in message
        assert load(dataset=graphs).describe()["samples"] == {"graphs": 12}

    def test_one_graph_without_a_label(self):
        graphs = [graph((0, 1), y=None if i == 7 else i % 2) for i in range(41)]
        assert sum(load(dataset=graphs, held_out=0.2).describe()["samples"].values()) == 41

    def test_predict_sees_every_graph(self):
        data = Graphs(VIEWS, dataset=[graph((0, 1), y=i % 2) for i in range(40)])
        assert sum(len(index) for index in data.predict_dataloader()) == 40


def labelled(folder, labels):
    """Tables of one-node graphs with these labels."""
    nodes = "graph,node,label\n" + "".join(f"{i},{i},{label}\n" for i, label in enumerate(labels))
    return load(**tables(folder, nodes, "source,target\n"))


def probed(folder, labels):
    """A run of one epoch with a probe, on graphs with these labels."""
    seed_everything(0, verbose=False)
    module = GraphModule(
        partial(GIN, width=4, layers=2),
        in_features=2,
        projector=partial(MLPHead, widths=[8, 4]),
        objective=RMLCPC(alpha=0.01, gamma=1.5, temperature=0.5),
        optimizer=partial(torch.optim.SGD, lr=0.1),
    )
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = Trainer(max_epochs=1, accelerator="cpu", callbacks=[OnlineProbe()], default_root_dir=folder, **quiet)
    graphs = [graph((0, 1), (1, 2), y=y) for y in labels]
    return trainer, module, Graphs([NodeDrop(0.4), Identity()], 6, dataset=graphs, held_out=0)


class TestCheckpoint:
    def test_classes_are_kept(self, tmp_path):
        trained, other = labelled(tmp_path / "a", "abc"), labelled(tmp_path / "b", "bd")
        assert other.num_classes == 2
        other.setup()
        other.load_state_dict(trained.state_dict())
        assert other.samples.target.tolist() == [1, -1]
        assert (other.classes, other.num_classes) == (["a", "b", "c"], 3)

    def test_own_classes_without_a_checkpoint(self, tmp_path):
        assert labelled(tmp_path, "bd").samples.target.tolist() == [0, 1]

    def test_whole_numbers_with_gaps_are_the_same_labels(self, tmp_path):
        trained, other = labelled(tmp_path / "a", [10, 20, 30]), labelled(tmp_path / "b", [20, "", 30])
        other.load_state_dict(trained.state_dict())
        assert other.samples.target.tolist() == [1, -1, 2]

    def test_from_tables_to_pyg(self, tmp_path):
        trained = labelled(tmp_path, [10, 20, 30])
        other = load(dataset=[graph((0, 1), y=30), graph((0, 1), y=25)])
        other.load_state_dict(trained.state_dict())
        assert other.samples.target.tolist() == [2, -1]

    def test_labels_of_numbers_and_words(self, tmp_path):
        trained, other = labelled(tmp_path / "a", ["1", "2", "other"]), labelled(tmp_path / "b", ["2", "1"])
        other.load_state_dict(trained.state_dict())
        assert other.samples.target.tolist() == [1, 0]

    @pytest.mark.parametrize("labels", [["a", "b"], [1, 2], [0.5, 1.5], ["True", "False"], ["", ""]])
    def test_state_is_loaded_safely(self, labels, tmp_path):
        state = labelled(tmp_path, labels).state_dict()
        assert torch.load(saved(state, tmp_path / "state.pt"), weights_only=True) == state

    @pytest.mark.parametrize("labels", [[1, 2, 1], [2, 1, 0], [1, 1, 1]])
    def test_a_trained_probe_meets_a_file_that_lacks_a_class(self, labels, tmp_path):
        trainer, *pair = probed(tmp_path, [0, 1, 2, 0, 1, 2])
        trainer.fit(*pair)
        trainer.save_checkpoint(tmp_path / "last.ckpt")
        trainer, *pair = probed(tmp_path, labels)
        (scores,) = trainer.test(*pair, ckpt_path=tmp_path / "last.ckpt", verbose=False)
        assert 0 <= scores["online_probe/top1"] <= 1
        assert trainer.callbacks[0].probe[1].out_features == 3

    @pytest.mark.parametrize("labels", [[1] * 6, [None] * 6, [-1] * 6])
    def test_a_probe_needs_two_classes_to_train(self, labels, tmp_path):
        trainer, *pair = probed(tmp_path, labels)
        with pytest.raises(ValueError, match="OnlineProbe needs labels of two classes"):
            trainer.fit(*pair)


def test_few_labels(tmp_path):
    file = saved([graph((0, 1), (1, 0), y=number % 2) for number in range(20)], tmp_path / "graphs.pt")
    data = load(file=file, held_out=0.4, labels=2)
    assert data.describe()["samples"] == {"train": 4, "val": 4, "test": 4}
    (batch,) = data.train_dataloader()
    assert data.samples.target[batch].bincount().tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"data\.labels needs graphs to evaluate .* data\.held_out above 0"):
        load(file=file, labels=2)
