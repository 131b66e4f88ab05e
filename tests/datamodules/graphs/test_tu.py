"""TU data sets from a few lines of text, against hand-written graphs and PyG's own reader."""

from __future__ import annotations

import urllib.error
import urllib.request
import zipfile

import pytest
import torch
from torch_geometric.datasets import TUDataset as PyGTUDataset

from datamodules.augmentations import Compose, GraphCL, Identity, NodeDrop
from datamodules.graphs.tu import TUDataset
from datamodules.seeding import generator_at

VIEWS = [Identity(), Identity()]
URL = "https://www.chrsmrrs.com/graphkerneldatasets"

# Graph 1: an edge given three times, a self-loop at a node that has nothing else. Graph 2: an edge in one direction, an
# isolated last node. Graph 3: one node. Graph 4: two nodes and no edge. Labels of graphs and nodes skip numbers.
FILES = {
    "A": "1, 2\n2, 1\n1, 2\n3, 3\n5, 4\n5, 6\n6, 5\n2, 1\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n2\n3\n4\n4\n",
    "graph_labels": "3\n-1\n3\n7\n",
    "node_labels": "2\n5\n3\n2\n2\n5\n3\n2\n5\n3\n",
}
EDGES = [[1, 0, 4, 5, 4], [0, 1, 3, 4, 5]]
NODE_PTR, EDGE_PTR, TARGET = [0, 3, 7, 8, 10], [0, 2, 5, 5, 5], [1, 0, 1, 2]
ONE_HOT = {2: [1.0, 0, 0, 0], 3: [0, 1.0, 0, 0], 5: [0, 0, 0, 1.0]}  # no node has label 4
X = [ONE_HOT[label] for label in (2, 5, 3, 2, 2, 5, 3, 2, 5, 3)]
# two graphs, of nodes 1, 2 and 3, 4, 5
PAIR = {"A": "1, 2\n2, 1\n4, 5\n", "graph_indicator": "1\n1\n2\n2\n2\n", "graph_labels": "0\n1\n"}


def pack(root, files, name="TINY", inside="{name}/", compression=zipfile.ZIP_DEFLATED):
    """Writes the archive; ``inside`` is the folder in it."""
    root.mkdir(parents=True, exist_ok=True)
    path = root / f"{name}.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for kind, text in files.items():
            archive.writestr(f"{inside.format(name=name)}{name}_{kind}.txt", text)
    return path


def unpack(root, files, name="TINY", inside="{name}/"):
    """Writes the folder."""
    folder = root / inside.format(name=name)
    folder.mkdir(parents=True)
    for kind, text in files.items():
        (folder / f"{name}_{kind}.txt").write_text(text)
    return folder


def read(root, files=None, name="TINY", **arguments):
    if files is not None:
        pack(root, files, name)
    return TUDataset(name, VIEWS, root=str(root), **arguments)


def shape_of(data):
    rows = data.samples.inputs
    return [rows.edge_index.tolist(), rows.node_ptr.tolist(), rows.edge_ptr.tolist(), data.samples.target.tolist()]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)


class TestPlaces:
    @pytest.mark.parametrize(
        ("place", "inside"),
        [
            (pack, "{name}/"),
            (pack, "{name}//"),  # as in the archives of MUTAG and PROTEINS
            (pack, ""),
            (pack, "a/b/"),
            (unpack, "{name}/"),
            (unpack, "{name}/raw/"),  # as PyG leaves them
        ],
    )
    def test_reads_what_is_there_and_writes_nothing_beside(self, place, inside, tmp_path):
        place(tmp_path / "data", FILES, inside=inside)
        before = sorted(tmp_path.rglob("*"))
        for path in before:
            path.chmod(0o555 if path.is_dir() else 0o444)
        data = TUDataset("TINY", VIEWS, root=str(tmp_path / "data"))
        data.prepare_data()
        assert shape_of(data) == [EDGES, NODE_PTR, EDGE_PTR, TARGET]
        assert data.samples.inputs.x.tolist() == X
        assert sorted(tmp_path.rglob("*")) == before

    def test_the_folder_goes_before_the_archive(self, tmp_path):
        unpack(tmp_path, FILES)
        (tmp_path / "TINY.zip").write_text("junk")
        assert len(read(tmp_path).samples.inputs) == 4

    def test_files_are_what_is_read(self, tmp_path):
        archive = pack(tmp_path / "a", FILES)
        folder = unpack(tmp_path / "f", FILES, inside="{name}/raw/")
        assert read(tmp_path / "a").files == [archive]
        assert read(tmp_path / "f").files == [folder]

    def test_a_relative_root_survives_a_change_of_folder(self, tmp_path, monkeypatch):
        pack(tmp_path / "data", FILES, "MUTAG")
        monkeypatch.chdir(tmp_path)
        data = TUDataset("MUTAG", VIEWS)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert data.files == [tmp_path / "data" / "MUTAG.zip"]

    @pytest.mark.parametrize("name", ["../TINY", "a/TINY", "..", ".", "", "C:\\TINY", "TINY\0"])
    def test_a_name_that_leaves_the_root(self, name, tmp_path):
        unpack(tmp_path, FILES)
        (tmp_path / "root" / "a").mkdir(parents=True)
        with pytest.raises(ValueError, match="name must be that of a set of the TU collection, such as MUTAG, got "):
            TUDataset(name, VIEWS, root=str(tmp_path / "root"))

    @pytest.mark.parametrize("place", [pack, unpack])
    def test_a_set_for_regression_has_no_labels(self, place, tmp_path, caplog):
        files = {kind: text for kind, text in FILES.items() if kind != "graph_labels"}
        place(tmp_path, files | {"graph_attributes": "0.5\n1.5\n2\n-3\n"})
        data = read(tmp_path)
        assert shape_of(data) == [EDGES, NODE_PTR, EDGE_PTR, [-1] * 4]
        assert data.num_classes == 0
        (line,) = [record.getMessage() for record in caplog.records]
        assert line == f"{data.files[0]} has no classes of its graphs, so no label is used"
        place(
            tmp_path / "gap", files | {"graph_indicator": "1\n1\n1\n5\n5\n5\n5\n3\n4\n4\n", "graph_attributes": "1\n"}
        )
        with pytest.raises(ValueError, match=r"^graph 2 in .* has no node in TINY_graph_indicator\.txt"):
            read(tmp_path / "gap")

    @pytest.mark.parametrize(("edges", "line"), [("", "no graph has an edge"), ("1, 2\n", "no edge has its reverse")])
    def test_warns_of_edges_that_lack(self, edges, line, tmp_path, caplog):
        read(tmp_path, FILES | {"A": edges})
        (found,) = [record.getMessage() for record in caplog.records]
        assert found.startswith(f"{tmp_path / 'TINY.zip'}: {line}, so that ")

    def test_names_with_capitals_and_dashes(self, tmp_path):
        assert len(read(tmp_path, FILES, "NEW-SET_5K").samples.inputs) == 4

    def test_a_name_with_what_means_something_in_patterns(self, tmp_path):
        unpack(tmp_path, FILES, name="SYN[1]")
        assert shape_of(read(tmp_path, name="SYN[1]")) == shape_of(read(tmp_path / "plain", FILES))

    def test_what_archivers_add_is_left_alone(self, tmp_path):
        with zipfile.ZipFile(pack(tmp_path, FILES), "a") as archive:
            archive.writestr("__MACOSX/TINY/._TINY_A.txt", "junk")
            archive.writestr("TINY/README.txt", "junk")
            archive.mkdir("TINY/empty")
        assert shape_of(read(tmp_path))[0] == EDGES

    @pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_compressions(self, compression, tmp_path):
        pack(tmp_path, FILES, compression=compression)
        assert shape_of(read(tmp_path)) == [EDGES, NODE_PTR, EDGE_PTR, TARGET]


class TestGraphs:
    def test_numbers(self, tmp_path):
        data = read(tmp_path, FILES)
        assert (data.in_features, data.num_classes) == (4, 3)
        assert data.samples.inputs.x.dtype == torch.float32
        assert data.samples.inputs.edge_index.dtype == data.samples.target.dtype == torch.long

    def test_no_labels_give_a_constant_1(self, tmp_path):
        data = read(tmp_path, FILES | {"node_attributes": "4\n" * 10, "edge_labels": "1\n" * 8})
        plain = read(tmp_path / "plain", {kind: text for kind, text in FILES.items() if kind != "node_labels"})
        assert data.in_features == 4  # attributes are no features unless asked for
        assert plain.in_features == 1
        assert plain.samples.inputs.x.tolist() == [[1.0]] * 10

    def test_several_columns_of_labels(self, tmp_path):
        data = read(tmp_path, PAIR | {"node_labels": "0, 7\n1, 9\n0, 7\n0, 9\n1, 7\n"})
        expected = [[1, 0, 1, 0, 0], [0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
        assert data.samples.inputs.x.tolist() == expected

    def test_node_attributes_join_the_labels(self, tmp_path):
        files = PAIR | {"node_labels": "0\n1\n0\n1\n1\n", "node_attributes": "0.5, -1\n1, 2\n3, 4e-1\n5, 6\n7, 8.25\n"}
        data = read(tmp_path, files, node_attributes=True)
        numbers = torch.tensor([[0.5, -1], [1, 2], [3, 0.4], [5, 6], [7, 8.25]])
        labels = torch.eye(2)[[0, 1, 0, 1, 1]]
        assert torch.equal(data.samples.inputs.x, torch.cat((labels, numbers), dim=1))
        assert data.in_features == 4

    def test_max_degree(self, tmp_path):
        star = {"A": "1,2\n2,1\n1,3\n3,1\n1,4\n4,1\n1,4\n5,5\n", "graph_indicator": "1\n" * 5, "graph_labels": "1\n"}
        data = read(tmp_path, star, max_degree=2)
        assert data.samples.inputs.x.tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
        both = read(tmp_path / "both", star | {"node_labels": "0\n1\n1\n1\n1\n"}, max_degree=3)
        assert both.in_features == 6
        assert both.samples.inputs.x[0].tolist() == [1, 0, 0, 0, 0, 1]
        assert both.samples.inputs.x[4].tolist() == [0, 1, 1, 0, 0, 0]

    def test_nodes_of_a_graph_that_do_not_lie_together(self, tmp_path):
        files = {
            "A": "1, 3\n2, 4\n4, 2\n",
            "graph_indicator": "2\n1\n2\n1\n",
            "graph_labels": "5\n6\n",
            "node_labels": "0\n1\n2\n3\n",
            "node_attributes": "10\n20\n30\n40\n",
        }
        # nodes 2, 4, 1 and 3 in this order; edge 1 → 3 has become 2 → 3
        data = read(tmp_path, files, node_attributes=True, max_degree=1)
        assert shape_of(data) == [[[1, 0, 2], [0, 1, 3]], [0, 2, 4], [0, 2, 3], [0, 1]]
        assert data.samples.inputs.x.tolist() == [
            [0, 1, 0, 0, 20, 0, 1],
            [0, 0, 0, 1, 40, 0, 1],
            [1, 0, 0, 0, 10, 1, 0],
            [0, 0, 1, 0, 30, 0, 1],
        ]

    @pytest.mark.parametrize("edges", ["", "\n", "2, 2\n"])
    def test_no_edges_at_all(self, edges, tmp_path):
        data = read(tmp_path, PAIR | {"A": edges}, max_degree=1)
        assert shape_of(data) == [[[], []], [0, 2, 5], [0, 0, 0], [0, 1]]
        assert data.samples.inputs.x.tolist() == [[1, 0]] * 5
        assert data.samples.inputs[torch.tensor([1, 0])].edge_index.shape == (2, 0)

    def test_one_node_graphs(self, tmp_path):
        data = read(tmp_path, {"A": "", "graph_indicator": "1\n2\n3\n", "graph_labels": "1\n2\n1\n"})
        assert shape_of(data) == [[[], []], [0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 0]]

    def test_graphs_and_nodes_counted_from_0(self, tmp_path):
        files = PAIR | {"A": "0, 1\n1, 0\n3, 4\n", "graph_indicator": "0\n0\n1\n1\n1\n"}
        assert shape_of(read(tmp_path, files)) == shape_of(read(tmp_path / "from 1", PAIR))

    def test_counted_from_0_where_node_0_has_no_edge(self, tmp_path):
        files = PAIR | {"A": "3, 4\n4, 3\n", "graph_indicator": "0\n0\n1\n1\n1\n"}
        assert shape_of(read(tmp_path, files))[0] == [[4, 3], [3, 4]]

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace("\n", "\r\n"),
            lambda text: text + "\n",
            lambda text: text.removesuffix("\n"),
            lambda text: text.replace(", ", ","),
            lambda text: "\ufeff" + text,
        ],
    )
    def test_ways_to_write_the_same(self, change, tmp_path):
        data = read(tmp_path, {kind: change(text) for kind, text in FILES.items()})
        assert shape_of(data) == [EDGES, NODE_PTR, EDGE_PTR, TARGET]
        assert data.samples.inputs.x.tolist() == X

    def test_batches(self, tmp_path):
        data = read(tmp_path, FILES)
        views, target = data.train_batch(torch.tensor([3, 0]))
        assert target.tolist() == [2, 1]
        assert views[0].ptr.tolist() == [0, 2, 5]
        assert views[0].edge_index.tolist() == [[3, 2], [2, 3]]
        assert views[0].x.tolist() == [*X[8:], *X[:3]]


def random_files(seed, columns=1):
    """A set with loops, repeated and one-way edges, single nodes and labels of nodes and graphs that skip numbers."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator)

    sizes = draw(1, 7, 20).index_fill(0, torch.tensor(19), 2)
    first = sizes.cumsum(0) - sizes
    graph = torch.arange(20).repeat_interleave(sizes)
    owner = draw(0, 20, 90)
    edges = first[owner] + draw(0, 2**20, 2, 90) % sizes[owner]
    edges[:, -1] = torch.tensor([len(graph) - 2, len(graph) - 1])  # PyG loses last graphs without edges

    def text(rows):
        return "".join(", ".join(map(str, row)) + "\n" for row in rows)

    numbers = (torch.rand(len(graph), 2, generator=generator) * 8).round() / 8
    return {
        "A": text((edges + 1).T.tolist()),
        "graph_indicator": text((graph + 1)[:, None].tolist()),
        "graph_labels": text((3 * draw(-1, 3, 20))[:, None].tolist()),
        "node_labels": text((2 * draw(1, 5, len(graph), columns)).tolist()),
        "node_attributes": text(numbers.tolist()),
    }


class TestAsPyG:
    @pytest.mark.parametrize(("seed", "columns"), [(0, 1), (1, 1), (2, 3)])
    def test_features_edges_and_labels(self, seed, columns, tmp_path):
        unpack(tmp_path, random_files(seed, columns), inside="{name}/raw/")
        ours = read(tmp_path).samples
        theirs = PyGTUDataset(str(tmp_path), "TINY")
        assert len(ours.inputs) == len(theirs) == 20
        assert ours.target.tolist() == theirs.y.tolist()
        for i, graph in enumerate(ours.inputs[torch.arange(20)].to_data_list()):
            assert torch.equal(graph.x, theirs[i].x)
            pairs = list(map(tuple, graph.edge_index.T.tolist()))
            assert len(pairs) == len(set(pairs))
            assert set(pairs) == set(map(tuple, theirs[i].edge_index.T.tolist()))

    def test_node_attributes(self, tmp_path):
        unpack(tmp_path, random_files(3), inside="{name}/raw/")
        ours = read(tmp_path, node_attributes=True).samples.inputs.x
        theirs = PyGTUDataset(str(tmp_path), "TINY", use_node_attr=True).x
        assert torch.equal(ours, theirs.roll(-2, dims=1))  # theirs has the numbers before the labels

    def test_without_node_labels(self, tmp_path):
        files = random_files(4)
        del files["node_labels"], files["node_attributes"]
        unpack(tmp_path, files, inside="{name}/raw/")
        ours, theirs = read(tmp_path).samples.inputs, PyGTUDataset(str(tmp_path), "TINY")
        for i, graph in enumerate(ours[torch.arange(20)].to_data_list()):
            assert graph.num_nodes == theirs[i].num_nodes
            assert sorted(graph.edge_index.T.tolist()) == sorted(theirs[i].edge_index.T.tolist())


class TestLegacy:
    def legacy(self, tmp_path, views, files=FILES, **arguments):
        pack(tmp_path, files)
        return TUDataset("TINY", views, root=str(tmp_path), legacy=True, **arguments)

    def test_self_loops(self, tmp_path):
        rows = self.legacy(tmp_path, [Identity(), GraphCL("dnodes")]).samples.inputs
        # on nodes below the highest one with an edge: node 0 of graph 1, nodes 3 and 4 of graph 2, none of the others
        expected = sorted([*zip(*EDGES, strict=True), (0, 0), (3, 3), (4, 4)], key=lambda edge: edge[::-1])
        assert sorted(map(tuple, rows.edge_index.T.tolist()), key=lambda edge: edge[::-1]) == expected
        assert rows.edge_index[1].diff().min() >= 0
        assert rows.node_ptr.tolist() == NODE_PTR
        assert rows.edge_ptr.tolist() == [0, 3, 8, 8, 8]
        assert rows.x.tolist() == X

    @pytest.mark.parametrize("choice", ["dnodes", "subgraph", "pedges", "random4"])
    def test_augmentations_are_the_original_codes(self, choice, tmp_path):
        files = random_files(5)
        data = self.legacy(tmp_path, [Identity(), GraphCL(choice, ratio=0.4, subgraph_ratio=0.5)], files)
        index = torch.arange(20)
        (_, view), _ = data.train_batch(index)
        batch = data.samples.inputs[index]
        expected = GraphCL(choice, legacy=True)(batch, generator_at(data.seed, 0, 0, 0))
        corrected = GraphCL(choice, ratio=0.4, subgraph_ratio=0.5)(batch, generator_at(data.seed, 0, 0, 0))
        assert torch.equal(view.x, expected.x)
        assert torch.equal(view.edge_index, expected.edge_index)
        assert view.edge_index.tolist() != corrected.edge_index.tolist()

    def test_given_augmentations_stay_as_they_were(self, tmp_path):
        given = GraphCL("dnodes")
        views = [Identity(), given]
        self.legacy(tmp_path, views)
        assert views[1] is given

    @pytest.mark.parametrize("legacy", [True, False])
    def test_the_same_batches_in_each_epoch_only_then(self, legacy, tmp_path):
        pack(tmp_path, random_files(6))
        data = TUDataset("TINY", [Identity(), GraphCL("dnodes")], 8, str(tmp_path), legacy=legacy)
        loader = data.train_dataloader()
        epochs = []
        for epoch in range(3):
            loader.sampler.set_epoch(epoch)
            epochs.append([batch.tolist() for batch in loader])
        assert [len(batch) for batch in epochs[0]] == [8, 8, 4]
        assert [index for batch in epochs[0] for index in batch] != list(range(20))
        assert [epoch == epochs[0] for epoch in epochs] == [True, legacy, legacy]

    @pytest.mark.parametrize("views", [VIEWS, [Identity(), NodeDrop()]])
    def test_needs_a_graphcl_view(self, views):
        with pytest.raises(ValueError, match=r"legacy: .* Identity for views, got (no GraphCL|NodeDrop)"):
            TUDataset("MUTAG", views, legacy=True)

    def test_a_nested_graphcl_is_no_silent_exception(self):
        with pytest.raises(ValueError, match="legacy"):
            TUDataset("MUTAG", [Identity(), Compose([GraphCL("dnodes")])], legacy=True)


class TestKnownSets:
    @pytest.mark.parametrize(
        ("name", "features", "classes"),
        [
            ("MUTAG", 7, 2),
            ("PROTEINS", 3, 2),
            ("NCI1", 37, 2),
            ("DD", 89, 2),
            ("IMDB-BINARY", 1, 2),
            ("COLLAB", 1, 3),
            ("REDDIT-BINARY", 1, 2),
            ("REDDIT-MULTI-5K", 1, 5),
        ],
    )
    def test_answer_without_data(self, name, features, classes, tmp_path):
        data = TUDataset(name, VIEWS, root=str(tmp_path / "nowhere"))
        assert (data.in_features, data.num_classes) == (features, classes)
        assert not (tmp_path / "nowhere").exists()

    def test_degrees_take_the_place_of_the_constant(self, tmp_path):
        assert TUDataset("MUTAG", VIEWS, root=str(tmp_path), max_degree=4).in_features == 12
        assert TUDataset("IMDB-BINARY", VIEWS, root=str(tmp_path), max_degree=4).in_features == 5
        pack(tmp_path, PAIR, "IMDB-BINARY")
        data = TUDataset("IMDB-BINARY", VIEWS, root=str(tmp_path), max_degree=4)
        assert data.samples.inputs.x.shape == (5, data.in_features)

    @pytest.mark.parametrize(
        ("name", "files", "found"),
        [
            ("MUTAG", FILES, "4 node features and 3 classes, .*7 and 2"),
            ("PROTEINS", PAIR, "1 node features and 2 classes, .*3 and 2"),  # PyG#5891: came without its labels once
            ("IMDB-BINARY", FILES, "4 node features"),
            ("COLLAB", PAIR, "1 node features and 2 classes, .*1 and 3"),
        ],
    )
    def test_another_set_under_a_known_name(self, name, files, found, tmp_path):
        pack(tmp_path, files, name)
        with pytest.raises(ValueError, match=found) as caught:
            TUDataset(name, VIEWS, root=str(tmp_path)).setup()
        assert str(tmp_path / f"{name}.zip") in str(caught.value)


class TestBadFiles:
    """Every complaint is one line that names the file, where it lies, and the line in it where there is one."""

    def complaint(self, tmp_path, files, **arguments):
        pack(tmp_path, {kind: text for kind, text in files.items() if text is not None})
        with pytest.raises(ValueError, match=r"TINY\.zip") as caught:
            read(tmp_path, **arguments).setup()
        message = str(caught.value)
        assert str(tmp_path / "TINY.zip") in message
        assert "\n" not in message.strip("\n")
        return message

    @pytest.mark.parametrize(
        ("kind", "text", "expected"),
        [
            ("A", None, ["no TINY_A.txt"]),
            ("A", "1, 2\n2, 9\n", ["line 2 of TINY_A.txt", "[2, 9]", "5 nodes"]),
            ("A", "0, 1\n1, 5\n", ["line 2 of TINY_A.txt", "[1, 5]", "5 nodes"]),
            ("A", "1, 2\n-2, 1\n", ["line 2 of TINY_A.txt", "[-2, 1]"]),
            ("A", "1, 2\n2, 1\n3, 2\n", ["line 3 of TINY_A.txt", "[3, 2]", "different graphs, 2 and 1"]),
            ("A", "1, 2\n2, x\n", ["TINY_A.txt", "'x' in line 2", "whole number"]),
            ("A", "1, 2\n2.5, 1\n", ["TINY_A.txt", "'2.5' in line 2", "whole number"]),
            ("A", "1, 2\n2, nan\n", ["TINY_A.txt", "'nan' in line 2"]),
            ("A", "1, 2\n2, 1, 3\n", ["TINY_A.txt", "3 values in line 2"]),
            ("A", "1, 2\n2\n", ["TINY_A.txt", "1 values in line 2"]),
            ("A", "1\n2\n", ["TINY_A.txt", "2 columns, got 1"]),
            ("A", "1, 2, 1\n2, 1, 1\n", ["TINY_A.txt", "2 columns, got 3"]),
            ("A", "1 2\n2 1\n", ["TINY_A.txt", "'1 2' in line 1"]),
            ("graph_indicator", None, ["no TINY_graph_indicator.txt"]),
            ("graph_indicator", "", ["no graphs", "TINY_graph_indicator.txt is empty"]),
            ("graph_indicator", "1\n1\n2\nb\n2\n", ["TINY_graph_indicator.txt", "'b' in line 4"]),
            ("graph_indicator", "1\n1\n2\n2\n3\n", ["TINY_graph_indicator.txt", "3 graphs", "labels.txt has 2 lines"]),
            ("graph_indicator", "1\n1\n3\n3\n3\n", ["TINY_graph_indicator.txt", "3 graphs", "labels.txt has 2 lines"]),
            ("graph_indicator", "1,1\n1,1\n2,1\n2,1\n2,1\n", ["TINY_graph_indicator.txt", "1 number in a line, got 2"]),
            ("graph_labels", None, ["no TINY_graph_labels.txt"]),
            ("graph_labels", "", ["TINY_graph_labels.txt has 0 lines"]),
            ("graph_labels", "1\n", ["2 graphs", "TINY_graph_labels.txt has 1 lines"]),
            ("graph_labels", "1\n2\n1\n", ["graph 3 in line 3 of TINY_graph_labels.txt", "no node"]),
            ("graph_labels", "1\na\n", ["TINY_graph_labels.txt", "'a' in line 2"]),
            ("graph_labels", "1\n0.5\n", ["TINY_graph_labels.txt", "'0.5' in line 2"]),
            ("node_labels", "0\n1\n", ["TINY_node_labels.txt", "has 2 lines", "5 nodes"]),
            ("node_labels", "0\n1\n0\n1\n0\n1\n", ["TINY_node_labels.txt", "has 6 lines", "5 nodes"]),
            ("node_labels", "0\n1\n0\n1.5\n0\n", ["TINY_node_labels.txt", "'1.5' in line 4"]),
            ("node_labels", "0\n1\n0\n1\n500000000\n", ["TINY_node_labels.txt", "500000000", "too many"]),
        ],
    )
    def test_names_file_and_line(self, kind, text, expected, tmp_path):
        message = self.complaint(tmp_path, PAIR | {kind: text})
        assert [part for part in expected if part not in message] == []

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({"node_labels": "0\n" * 2**18}, "{} unpacked would take 2.0 MiB of memory, more than the 1.0 MiB"),
            ({"A": "1, 2\n" * 2**16}, "{} unpacked would take 1.3 MiB of memory, more than the 1.0 MiB"),
            (
                {"node_labels": "0\n4095\n" * 9, "graph_indicator": "1\n2\n" * 9},
                "TINY_node_labels.txt in {}, one-hot, would take 1.1 MiB of memory, more than the 1.0 MiB",
            ),
            ({"A": "1," * 2**17}, "TINY_A.txt in {} has more than 131,072 characters in line 1"),
            ({"A": "1,2\n" + "1" * 2**18}, "TINY_A.txt in {} has more than 131,072 characters in line 2"),
        ],
    )
    def test_more_than_memory_has_room_for(self, files, message, tmp_path, monkeypatch):
        limit = 2**30 if "characters" in message else 2**20
        monkeypatch.setattr("datamodules.room.memory_limit", lambda: limit)
        found = self.complaint(tmp_path, PAIR | {"A": "1, 3\n" if "one-hot" in message else PAIR["A"]} | files)
        assert found.startswith(message.format(tmp_path / "TINY.zip"))

    def test_labels_at_both_ends_of_whole_numbers(self, tmp_path):
        message = self.complaint(tmp_path, PAIR | {"node_labels": f"{-(2**63)}\n{2**63 - 1}\n0\n0\n0\n"})
        assert "labels up to 18446744073709551616 above the smallest, too many" in message

    def test_graph_ids_that_skip(self, tmp_path):
        files = PAIR | {"graph_indicator": "1\n1\n3\n3\n3\n", "graph_labels": "1\n2\n1\n"}
        message = self.complaint(tmp_path, files)
        assert "graph 2 in line 2 of TINY_graph_labels.txt" in message

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (None, ["no TINY_node_attributes.txt", "leave node_attributes false"]),
            ("1\n2\n", ["TINY_node_attributes.txt", "2 lines", "5 nodes"]),
            ("1,2\n1,2\n1,nan\n1,2\n1,2\n", ["line 3, column 2 of TINY_node_attributes.txt", "no number"]),
            ("1,2\n1,2\n1,2\ninf,2\n1,2\n", ["line 4, column 1 of TINY_node_attributes.txt", "no number"]),
            ("1.5\n1\n\n1\n1\n", ["TINY_node_attributes.txt", "4 lines", "5 nodes"]),
            ("1.5,2\n1\n1,2\n1,2\n1,2\n", ["line 2, column 2 of TINY_node_attributes.txt", "no number"]),
        ],
    )
    def test_node_attributes(self, text, expected, tmp_path):
        message = self.complaint(tmp_path, PAIR | {"node_attributes": text}, node_attributes=True)
        assert [part for part in expected if part not in message] == []

    @pytest.mark.parametrize("fault", ["abc", " nan", " -inf"])  # the collection writes a blank after the comma
    def test_a_fault_among_fractions(self, fault, tmp_path):
        files = PAIR | {"node_attributes": f"1.5, 2\n1, 2\n1,{fault}\n1, 2\n1, 2\n"}
        message = self.complaint(tmp_path, files, node_attributes=True)
        assert "line 3" in message
        assert "whole number" not in message

    def test_a_line_too_long_among_fractions(self, tmp_path):
        files = PAIR | {"node_attributes": "1.5, 2\n1, 2\n1, 2, 3\n1, 2\n1, 2\n"}
        assert "line 3" in self.complaint(tmp_path, files, node_attributes=True)

    def test_an_empty_last_line_of_attributes(self, tmp_path):
        files = PAIR | {"node_attributes": "1.5\n2\n3\n4\n5\n\n"}
        assert read(tmp_path, files, node_attributes=True).in_features == 1

    def test_negative_graph(self, tmp_path):
        message = self.complaint(tmp_path, PAIR | {"graph_indicator": "1\n-1\n2\n2\n2\n"})
        assert "names 2 graphs" not in message

    def test_a_number_that_is_too_large(self, tmp_path):
        message = self.complaint(tmp_path, PAIR | {"A": "1, 2\n99999999999999999999, 1\n"})
        assert "line 2" in message


class TestDamagedArchives:
    def complaint(self, tmp_path):
        with pytest.raises(
            ValueError, match=r"TINY\.zip (is damaged or cut short|cannot be unpacked) .*: delete .* get it again"
        ) as caught:
            read(tmp_path).setup()
        assert str(tmp_path / "TINY.zip") in str(caught.value)

    @pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
    def test_cut_short(self, share, tmp_path):
        path = pack(tmp_path, random_files(0))
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        self.complaint(tmp_path)

    @pytest.mark.parametrize("content", [b"<html>404</html>", b"\x1f\x8b\x08\x00" * 30])
    def test_something_else(self, content, tmp_path):
        (tmp_path / "TINY.zip").write_bytes(content)
        self.complaint(tmp_path)

    @pytest.mark.parametrize(
        "compression",
        [
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
            zipfile.ZIP_BZIP2,
            zipfile.ZIP_LZMA,
        ],
    )
    def test_damaged_within(self, compression, tmp_path):
        path = pack(tmp_path, FILES | {"A": 50 * FILES["A"]}, inside="", compression=compression)
        content = bytearray(path.read_bytes())
        start = len("TINY_A.txt") + 30 + 20  # of the local header, then some of the data
        content[start : start + 8] = bytes(byte ^ 0x55 for byte in content[start : start + 8])
        path.write_bytes(content)
        self.complaint(tmp_path)

    @pytest.mark.parametrize(("local", "central", "value"), [(6, 8, 1), (8, 10, 9)])
    def test_what_python_cannot_unpack(self, local, central, value, tmp_path):
        path = pack(tmp_path, FILES)
        content = bytearray(path.read_bytes())
        for signature, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
            start = -1
            while (start := content.find(signature, start + 1)) >= 0:
                content[start + offset] = value
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"TINY\.zip"):
            read(tmp_path).setup()

    def test_empty(self, tmp_path):
        pack(tmp_path, {})
        with pytest.raises(ValueError, match=r"TINY\.zip has no TINY_graph_indicator\.txt"):
            read(tmp_path)

    def test_of_another_set(self, tmp_path):
        pack(tmp_path, FILES, "OTHER").rename(tmp_path / "TINY.zip")
        with pytest.raises(ValueError, match=r"TINY\.zip has no TINY_graph_indicator\.txt"):
            read(tmp_path)


class TestMissing:
    @pytest.mark.parametrize("name", ["MUTAG", "TINY"])
    def test_one_line_says_what_to_get_and_where_to_put_it(self, name, tmp_path):
        with pytest.raises(FileNotFoundError, match="no network") as caught:
            TUDataset(name, VIEWS, root=str(tmp_path / "data")).setup()
        message = str(caught.value)
        assert f"no {name}.zip or {name} in {tmp_path / 'data'}" in message
        assert f"get {URL}/{name}.zip and put {name}.zip, packed as it is, into {tmp_path / 'data'}" in message
        assert "\n" not in message
        assert list(tmp_path.rglob("*.zip")) == []

    def test_a_root_that_is_a_file(self, tmp_path):
        (tmp_path / "data").write_text("")
        with pytest.raises(OSError, match=r"put MUTAG\.zip"):
            TUDataset("MUTAG", VIEWS, root=str(tmp_path / "data")).prepare_data()

    def test_a_folder_without_its_edges(self, tmp_path):
        unpack(tmp_path, {kind: text for kind, text in FILES.items() if kind != "A"})
        with pytest.raises((OSError, ValueError), match=r"TINY_A\.txt"):
            read(tmp_path)

    def test_a_download_is_put_in_place(self, tmp_path, monkeypatch):
        def download_url(url, folder, log, filename):
            assert (url, log) == (f"{URL}/TINY.zip", False)
            pack(tmp_path / "source", FILES).rename(f"{folder}/{filename}")

        monkeypatch.setattr("torch_geometric.data.download_url", download_url)
        data = read(tmp_path / "data" / "graphs")
        assert shape_of(data) == [EDGES, NODE_PTR, EDGE_PTR, TARGET]
        assert [path.name for path in (tmp_path / "data" / "graphs").iterdir()] == ["TINY.zip"]

    def test_a_download_cut_short_leaves_nothing_behind(self, tmp_path, monkeypatch):
        def download_url(url, folder, log, filename):
            with open(f"{folder}/{filename}", "wb") as file:
                file.write(b"half")
            raise urllib.error.URLError("connection lost")

        monkeypatch.setattr("torch_geometric.data.download_url", download_url)
        with pytest.raises(FileNotFoundError, match="connection lost"):
            read(tmp_path)
        assert list(tmp_path.iterdir()) == []


class TestSplits:
    def sixty(self, tmp_path, **arguments):
        """60 graphs of one node, 40 of class 0 and 20 of class 1, mixed."""
        files = {
            "A": "",
            "graph_indicator": "".join(f"{i + 1}\n" for i in range(60)),
            "graph_labels": "".join(f"{int(i % 3 == 1)}\n" for i in range(60)),
        }
        return read(tmp_path, files, **arguments)

    def test_nothing_held_out(self, tmp_path):
        data = self.sixty(tmp_path)
        for split in ("train", "val", "test"):
            assert torch.equal(data.samples.splits[split], torch.arange(60))
        assert data.describe()["samples"] == {"graphs": 60}

    @pytest.mark.parametrize(("held_out", "size"), [(0.2, 6), (0.4, 12), (0.6, 18), (0.8, 24)])
    def test_stratified_apart_and_complete(self, held_out, size, tmp_path):
        data = self.sixty(tmp_path, held_out=held_out)
        splits, target = data.samples.splits, data.samples.target
        assert data.describe()["samples"] == {"train": 60 - 2 * size, "val": size, "test": size}
        assert torch.cat(list(splits.values())).sort().values.equal(torch.arange(60))
        for rows in splits.values():
            assert target[rows].bincount().tolist() == [2 * len(rows) // 3, len(rows) // 3]
            assert rows.diff().min() > 0
        assert len(data.feature_dataloader("test").dataset) == size

    def test_the_same_whatever_the_seed(self, tmp_path):
        torch.manual_seed(1)
        first = self.sixty(tmp_path, held_out=0.3).samples.splits
        torch.manual_seed(2)
        second = self.sixty(tmp_path, held_out=0.3).samples.splits
        assert all(torch.equal(first[split], second[split]) for split in first)

    @pytest.mark.parametrize("held_out", [0.01, 0.99])
    def test_a_share_that_leaves_a_split_without_a_class(self, held_out, tmp_path):
        with pytest.raises(ValueError, match=rf"held_out {held_out} of 60 graphs cannot be set aside"):
            self.sixty(tmp_path, held_out=held_out)

    @pytest.mark.parametrize("held_out", [-0.1, 1.0, 2])
    def test_a_share_outside_its_range(self, held_out):
        with pytest.raises(ValueError, match=rf"held_out must be in \[0, 1\), got {held_out}"):
            TUDataset("MUTAG", VIEWS, held_out=held_out)

    def test_a_set_smaller_than_a_batch_is_one_batch(self, tmp_path):
        batches = list(self.sixty(tmp_path, batch_size=128).train_dataloader())
        assert len(batches) == 1
        assert batches[0].sort().values.equal(torch.arange(60))

    def test_a_set_of_one_graph(self, tmp_path):
        data = read(tmp_path, {"A": "1, 2\n", "graph_indicator": "1\n1\n", "graph_labels": "4\n"})
        assert (data.num_classes, len(data.samples.inputs)) == (1, 1)
        with pytest.raises(ValueError, match="at least 2 graphs for each process, got 1"):
            data.train_dataloader()

    def test_max_degree_below_0(self):
        with pytest.raises(ValueError, match="max_degree must be at least 0, got -1"):
            TUDataset("MUTAG", VIEWS, max_degree=-1)


class TestDescription:
    def name(self, tmp_path, files, name="TINY", views=VIEWS, **arguments):
        pack(tmp_path, files, name)
        return TUDataset(name, views, root=str(tmp_path), **arguments).describe()["name"]

    def test_says_what_the_features_are(self, tmp_path):
        attributes = FILES | {"node_attributes": "1\n" * 10}
        assert self.name(tmp_path / "a", FILES) == "TINY with node labels"
        assert self.name(tmp_path / "b", FILES, max_degree=3) == "TINY with node labels and degrees up to 3"
        assert self.name(tmp_path / "c", PAIR, "IMDB-BINARY", max_degree=3) == "IMDB-BINARY with degrees up to 3"
        both = self.name(tmp_path / "d", attributes, node_attributes=True)
        assert both == "TINY with node labels and node attributes"

    def test_no_labels(self, tmp_path):
        attributes = PAIR | {"node_attributes": "1\n" * 5}
        assert "constant" in self.name(tmp_path / "a", PAIR)
        assert "constant" in self.name(tmp_path / "b", PAIR, "IMDB-BINARY")
        assert self.name(tmp_path / "c", attributes, node_attributes=True) == "TINY with node attributes"
        assert self.name(tmp_path / "d", PAIR, max_degree=1) == "TINY with degrees up to 1"

    def test_legacy(self, tmp_path):
        name = self.name(tmp_path, FILES, views=[Identity(), GraphCL("pedges")], legacy=True)
        assert name.startswith("TINY with node labels")
        assert "GraphCL" in name
