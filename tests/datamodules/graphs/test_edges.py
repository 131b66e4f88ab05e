import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.graphs.edges import clean_edges, edge_ptr_of, node_features, one_hot_degree, with_graphcl_loops


def edges(*pairs):
    return torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous()


@st.composite
def edge_lists(draw):
    nodes = draw(st.integers(1, 8))
    return nodes, draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=40))


@given(edge_lists())
@settings(deadline=None)
def test_clean_edges_is_a_set(drawn):
    nodes, pairs = drawn
    before = edges(*pairs)
    given_edges = before.clone()
    after = clean_edges(before, nodes)
    expected = sorted({(sink, source) for source, sink in pairs if source != sink})
    assert [(sink, source) for source, sink in after.T.tolist()] == expected
    assert after.dtype == torch.long
    assert after.shape == (2, len(expected))
    assert torch.equal(before, given_edges)


def test_clean_edges_by_hand():
    messy = edges((2, 1), (0, 1), (1, 1), (2, 1), (1, 0), (0, 0), (3, 0))
    assert clean_edges(messy, 4).tolist() == [[1, 3, 0, 2], [0, 0, 1, 1]]


def test_clean_edges_keeps_one_direction():
    assert clean_edges(edges((4, 0), (0, 3)), 5).tolist() == [[4, 0], [0, 3]]


def test_clean_edges_of_loops_alone_and_of_nothing():
    assert clean_edges(edges((0, 0), (2, 2)), 3).shape == (2, 0)
    assert clean_edges(edges(), 3).shape == (2, 0)
    assert clean_edges(edges(), 0).shape == (2, 0)


def test_clean_edges_with_numbers_above_32_bits():
    nodes = 10**6
    pairs = [(999_998, 999_999), (999_999, 999_998), (999_998, 999_999), (0, 999_999), (999_999, 0)]
    expected = [[999_999, 999_999, 0, 999_998], [0, 999_998, 999_999, 999_999]]
    assert clean_edges(edges(*pairs), nodes).tolist() == expected


def test_edge_ptr_of_by_hand():
    # graphs of nodes 0–2, 3, 4–6, 7 and 8, the second, fourth and last without edges
    sink = torch.tensor([0, 1, 1, 2, 4, 6, 6])
    assert edge_ptr_of(sink, torch.tensor([0, 3, 4, 7, 8, 9])).tolist() == [0, 4, 4, 7, 7, 7]


def test_edge_ptr_of_without_edges():
    assert edge_ptr_of(torch.zeros(0, dtype=torch.long), torch.tensor([0, 2, 3])).tolist() == [0, 0, 0]


def test_edge_ptr_of_first_graph_without_edges():
    assert edge_ptr_of(torch.tensor([2, 3]), torch.tensor([0, 1, 2, 4])).tolist() == [0, 0, 0, 2]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
@settings(deadline=None)
def test_edge_ptr_of_against_counting(sizes, data):
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    pairs = []
    for first, size in zip(ptr.tolist(), sizes, strict=False):
        node = st.integers(first, first + size - 1)
        pairs.append(data.draw(st.lists(st.tuples(node, node), max_size=8)))
    cleaned = clean_edges(edges(*(pair for graph in pairs for pair in graph)), int(ptr[-1]))
    counts = [len({pair for pair in graph if pair[0] != pair[1]}) for graph in pairs]
    assert edge_ptr_of(cleaned[1], ptr).tolist() == torch.tensor([0, *counts]).cumsum(0).tolist()


def test_one_hot_degree_by_hand():
    # nodes with 2, 0, 1, 4 and 0 edges to them
    sink = torch.tensor([0, 0, 2, 3, 3, 3, 3])
    degrees = one_hot_degree(sink, 5, 3)
    assert degrees.dtype == torch.float32
    assert degrees.tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]


def test_one_hot_degree_puts_the_largest_and_larger_into_one_column():
    sink = torch.tensor([0, 0, 1, 1, 1])
    assert one_hot_degree(sink, 2, 2).tolist() == [[0, 0, 1], [0, 0, 1]]
    assert one_hot_degree(sink, 2, 3).tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert one_hot_degree(sink, 2, 0).tolist() == [[1], [1]]


def test_one_hot_degree_without_edges():
    assert one_hot_degree(torch.zeros(0, dtype=torch.long), 2, 1).tolist() == [[1, 0], [1, 0]]


def test_node_features_are_what_is_given_then_degrees():
    given, sink = [torch.tensor([[2.0], [3.0]]), torch.tensor([[4.0, 5.0], [6.0, 7.0]])], torch.tensor([1])
    assert node_features(given, sink, 2, 1).tolist() == [[2, 4, 5, 1, 0], [3, 6, 7, 0, 1]]
    assert node_features(given, sink, 2, None).tolist() == [[2, 4, 5], [3, 6, 7]]
    assert node_features([], sink, 2, 1).tolist() == [[1, 0], [0, 1]]
    assert node_features([], sink, 2, None).tolist() == [[1], [1]]


def test_loops_miss_the_last_node_with_an_edge():
    before = edges((1, 0), (0, 1), (2, 1), (1, 2))
    after = with_graphcl_loops(before, torch.tensor([0, 3]))
    assert after.T.tolist() == [[1, 0], [0, 0], [0, 1], [2, 1], [1, 1], [1, 2]]


def test_loops_on_isolated_nodes_before_it_but_not_after():
    before = edges((3, 1), (1, 3))  # nodes 0 and 2 are isolated in between, 4 and 5 behind
    after = with_graphcl_loops(before, torch.tensor([0, 6]))
    assert after.T.tolist() == [[0, 0], [3, 1], [1, 1], [2, 2], [1, 3]]


def test_loops_of_several_graphs():
    # 0–2 a path of two nodes and an isolated one, 3 alone, 4–5 joined, 6–8 without edges, 9–11 joined at the ends
    ptr = torch.tensor([0, 3, 4, 6, 9, 12])
    before = edges((1, 0), (0, 1), (5, 4), (4, 5), (11, 9), (9, 11))
    after = with_graphcl_loops(before, ptr)
    expected = [[1, 0], [0, 0], [0, 1], [5, 4], [4, 4], [4, 5], [11, 9], [9, 9], [10, 10], [9, 11]]
    assert after.T.tolist() == expected
    assert after.dtype == torch.long
    assert edge_ptr_of(after[1], ptr).tolist() == [0, 3, 3, 6, 6, 10]


def test_loops_see_the_highest_node_of_edges_in_one_direction():
    # the higher end is the source of the one graph's edge, the sink of the other's
    after = with_graphcl_loops(edges((2, 0), (3, 5)), torch.tensor([0, 3, 6]))
    assert after.T.tolist() == [[2, 0], [0, 0], [1, 1], [3, 3], [4, 4], [3, 5]]


def test_no_loops_without_edges():
    assert with_graphcl_loops(edges(), torch.tensor([0, 2, 3])).shape == (2, 0)


def test_loops_leave_their_input_alone():
    before, ptr = edges((1, 0), (0, 1)), torch.tensor([0, 2])
    with_graphcl_loops(before, ptr)
    assert before.tolist() == [[1, 0], [0, 1]]
    assert ptr.tolist() == [0, 2]


def loops_by_counting(sizes, graphs):
    """Every graph's own loops, and all edges by the node that they lead to."""
    found, first = [], 0
    for size, graph in zip(sizes, graphs, strict=True):
        highest = max((max(pair) for pair in graph), default=0)
        local = [*graph, *((node, node) for node in range(highest))]
        found += [(first + source, first + sink) for source, sink in local]
        first += size
    return sorted(found, key=lambda pair: pair[1])


@given(st.lists(edge_lists(), min_size=1, max_size=6))
@settings(deadline=None)
def test_loops_against_counting(drawn):
    sizes = [size for size, _ in drawn]
    graphs = [clean_edges(edges(*pairs), size).T.tolist() for size, pairs in drawn]
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    whole = [(first + a, first + b) for first, graph in zip(ptr.tolist(), graphs, strict=False) for a, b in graph]
    after = with_graphcl_loops(edges(*whole), ptr)
    assert [tuple(pair) for pair in after.T.tolist()] == loops_by_counting(sizes, graphs)
