"""Plain data passes unchanged in both directions, and nothing else gets through."""

import base64
import json
import socket
import struct
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kernelcourse.checking.calling import call
from kernelcourse.checking.cases import Case
from kernelcourse.checking.values import Sparse, same
from kernelcourse.course.plain import LARGEST, Channel, Closed, NotPlain, Unknown, decode, encode, unknown

NUMBERS = st.one_of(st.integers(), st.floats(), st.complex_numbers(), st.booleans(), st.none(), st.text(max_size=20))
VALUES = st.recursive(
    NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | st.frozensets(st.integers() | st.fractions() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=8,
)
ARRAYS = hnp.arrays(
    st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(), hnp.floating_dtypes(sizes=(16, 32, 64))),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def through(value):
    return decode(json.loads(json.dumps(encode(value))))


@given(VALUES)
def test_values_arrive_as_they_left(value):
    assert same(through(value), value)


@given(ARRAYS)
def test_arrays_arrive_as_they_left(array):
    got = through(array)
    assert got.shape == array.shape and got.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(got, array)


def test_layout_and_class_of_an_array_stay_behind():
    table = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(through(table[::2, ::-1]), table[::2, ::-1])
    assert type(through(np.matrix([[1.0, 2.0]]))) is np.ndarray
    assert type(through(np.float64(2))) is np.float64
    assert through(np.longdouble(2)) == 2
    words = through(np.array([["a", "bc"]]))
    assert words.shape == (1, 2) and words.dtype.kind == "U" and words.tolist() == [["a", "bc"]]
    assert through(np.array([], dtype=str)).dtype.kind == "U"
    assert through(Sparse((0, 2), np.zeros((0, 2), dtype=np.int64), np.zeros(0))).shape == (0, 2)


@pytest.mark.parametrize(
    "value", [object(), np.array([object()]), lambda: 1, (i for i in "ab"), np.array(["2020"], "datetime64[Y]")]
)
def test_what_is_not_plain_arrives_as_unknown(value):
    got = through(value)
    assert isinstance(got, Unknown)
    for ask in (bool, len, iter, float, list, np.sum, lambda x: x == 1, lambda x: x + 1, lambda x: np.eye(2) @ x, hash):
        with pytest.raises(TypeError):
            ask(got)


def test_an_unknown_bears_the_name_of_its_type_if_it_is_one():
    class Strange:
        pass

    assert type(through(Strange())).__name__ == "Strange"
    assert type(unknown("a; import os")).__name__ == "Unknown"


def test_depth_and_number_are_bounded():
    deep = []
    for _ in range(100):
        deep = [deep]
    assert "Unknown" in str(type(through(deep)).__mro__) or "list" in str(through(deep))
    for form in ("list", "tuple", "fraction", "frozenset"):
        code = 1
        for _ in range(100):
            code = {form: [code]}
        with pytest.raises(NotPlain, match="too deep"):
            decode(code)
    assert len(decode({"list": [1] * 199_999})) == 199_999  # 200,000 values, counting the list itself
    with pytest.raises(NotPlain):
        decode({"list": [1] * 200_000})


SPARSE = encode(Sparse((2, 2), np.array([[1, 1]]), np.ones(1)))
ONE = base64.b64encode(np.ones(1).tobytes()).decode()


@pytest.mark.parametrize(
    "code",
    [
        {"pickle": "gASVAAAA"},
        [1, 2],
        {},
        {"tuple": 5},
        {"dict": [[{"list": []}, 1]]},
        {"dict": [[1, 2, 3]]},
        {"int": "zz"},
        {"complex": [1]},
        {"array": ONE, "dtype": "O8", "shape": [1]},
        {"array": ONE, "dtype": "M8[s]", "shape": [1]},
        {"array": ONE, "dtype": "f8", "shape": [2]},
        {"array": ONE, "dtype": "f8", "shape": [-1]},
        {"array": ONE, "dtype": "f8", "shape": [True]},
        {"array": ONE, "dtype": "f8", "shape": [1] * 40},
        {"array": ONE, "dtype": "f8", "shape": [2**40, 0, 2**40]},
        {"array": "###", "dtype": "f8", "shape": [0]},
        {"array": ONE, "dtype": ["f8"], "shape": [1]},
        {"array": ONE},
        {"texts": ["a", 1], "shape": [2]},
        {"texts": ["a" * 10_000, *["b"] * 1_000], "shape": [1_001]},
        {"fraction": [1, 0]},
        {"set": [{"list": []}]},
        {"sparse": [{"list": [2]}, 1, 1, "csr", True]},
        SPARSE | {"sparse": [{"list": [1, 1]}, *SPARSE["sparse"][1:]]},
        SPARSE | {"sparse": [*SPARSE["sparse"][:3], "__class__", True]},
        {"frame": [{"list": ["a"]}, {"list": [0, 1]}, {"list": [{"list": [1]}]}, {"list": ["int64"]}, False]},
    ],
)
def test_forged_codes_are_refused(code):
    with pytest.raises(NotPlain):
        decode(code)


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">I", LARGEST + 1),
        struct.pack(">I", 3) + b"{]}",
        struct.pack(">I", 3) + b"[1]",
        struct.pack(">I", 4) + b"\xff\xfe\x00\x01",
        struct.pack(">I", 200_000) + b"[" * 200_000,
    ],
)
def test_forged_messages_are_refused(ends, data):
    channel, other = ends
    other.sendall(data)
    with pytest.raises(NotPlain):
        channel.receive()


def test_half_a_message_is_no_message(ends):
    channel, other = ends
    other.sendall(struct.pack(">I", 100) + b"{")
    other.close()
    with pytest.raises(Closed):
        channel.receive()


def test_a_reader_that_does_not_read_is_late_and_one_that_is_gone_has_hung_up(ends):
    channel, other = ends
    channel.connection.settimeout(0.01)
    with pytest.raises(TimeoutError):
        channel.send({"text": "x" * 10_000_000})
    other.close()
    with pytest.raises(Closed):
        channel.send({})


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"value": [[]] * 1_100_000}).encode(),
        b'{"a": ' + b"[" * 1_100_000,
    ],
)
def test_a_message_of_too_many_parts_is_not_even_read(text):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=theirs.sendall, args=(struct.pack(">I", len(text)) + text,))
        sender.start()
        with pytest.raises(NotPlain, match="parts"):
            Channel(ours).receive()
        sender.join()


def test_a_dict_has_few_entries_and_texts_can_be_written():
    assert len(through({k: 0 for k in range(1000)})) == 1000
    assert len(through({str(k) for k in range(5000)})) == 5000  # texts cannot be made to collide
    for value in ({k: 0 for k in range(1001)}, set(range(1001))):
        with pytest.raises(NotPlain, match="entries"):
            through(value)
    assert through(["\ud800", {"\udcff": 1}]) == ["?", {"?": 1}]


def test_fractions_and_decimals_are_numbers():
    assert through([Fraction(1, 4), Decimal("0.5")]) == [0.25, 0.5]


def test_functions_get_sparse_matrices_and_data_frames_as_their_libraries_have_them():
    sparse, pd = pytest.importorskip("scipy.sparse"), pytest.importorskip("pandas")
    frame = pd.DataFrame({"w": ["a", None], "n": [1, 2.5], "d": pd.to_datetime(["2020-01-01", "2021-02-03"])})
    for value in (frame.set_index(pd.Index(["p", "q"])), frame["n"], sparse.csc_matrix(np.eye(2)), sparse.eye_array(2)):
        arrived = through(value)
        assert not isinstance(arrived, type(value))  # its type is restored when a function is called with it
        outcome = call(lambda given: (type(given), given), Case((arrived,)))
        assert outcome.value[0] is type(value) and same(outcome.value[1], value) and not outcome.changed
    assert call(lambda given: given.insert(0, "x", 1), Case((through(frame),))).changed == (0,)
