"""Dask arrays: the same numbers as numpy, with threads and with two processes, one of which may die; bad chunks."""

import logging

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor

from kernelcourse import (
    Falkon,
    FourierLogisticRegression,
    FourierRidge,
    Gaussian,
    NystromLogisticRegression,
    NystromRidge,
    NystromSVM,
    engine,
)

rng = np.random.default_rng(2)
X = rng.normal(size=(400, 3))
t = np.sin(2 * X[:, 0]) + X[:, 1]
y = np.where(t > 0, "up", "down")
three = np.digitize(t, [-0.7, 0.7])
new = rng.normal(size=(70, 3))
MODELS = [
    NystromRidge(Gaussian(1.0), m=40, ridge=5.0),
    NystromRidge(Gaussian(1.0), m=40, ridge=5.0, landmarks="kmeans++"),
    Falkon(Gaussian(1.0), m=40, ridge=5.0, landmarks="leverage"),
    FourierRidge(Gaussian(1.0), m=40, ridge=5.0),
    NystromLogisticRegression(Gaussian(1.0), m=40),
    FourierLogisticRegression(Gaussian(1.0), m=40),
    NystromSVM(Gaussian(1.0), m=40),
]


def close(actual, wanted):
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def fit_on_numpy(model, target):
    with engine("on" if is_regressor(model) else "off"):  # the twins of classifiers take other steps, to more digits
        return clone(model).fit(X, target)


def scores(model, X):
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("chunks", [400, (70, 0, 130, 1, 199), 23], ids=str)
def test_dask_arrays_give_the_numbers_of_numpy(model, chunks):
    target = t if is_regressor(model) else y
    X_chunks = da.from_array(X, chunks=(chunks, 2))  # in columns too
    on_numpy = fit_on_numpy(model, target)
    on_dask = clone(model).fit(X_chunks, da.from_array(target, chunks=150))
    close(scores(on_dask, new), scores(on_numpy, new))
    lazy = scores(on_dask, da.from_array(new, chunks=(30, 3)))
    assert isinstance(lazy, da.Array)
    close(lazy.compute(), scores(on_numpy, new))


def test_labels_and_probabilities_of_dask_arrays():
    chunks = da.from_array(X, chunks=(90, 3))
    model = NystromLogisticRegression(Gaussian(1.0), m=40).fit(chunks, da.from_array(three, chunks=90))
    with engine("off"):  # the twin takes other steps, to the same tolerance
        here = NystromLogisticRegression(Gaussian(1.0), m=40).fit(X, three)
    labels, probabilities = model.predict(chunks), model.predict_proba(chunks)
    assert labels.dtype == three.dtype and (labels.compute() == here.predict(X)).all()
    close(probabilities.compute(), here.predict_proba(X))
    assert model.score(chunks, da.from_array(three, chunks=90)) == here.score(X, three)
    words = NystromSVM(Gaussian(1.0), m=40).fit(chunks, y)  # points in chunks, labels as a numpy vector
    assert set(words.predict(chunks).compute()) == {"up", "down"}


def test_regressors_score_and_report_on_dask_arrays():
    chunks, targets = da.from_array(X, chunks=(90, 3)), da.from_array(t, chunks=90)
    model = NystromRidge(Gaussian(1.0), m=40).fit(chunks, targets)
    assert model.score(chunks, targets) == pytest.approx(model.score(X, t))
    assert model.gram_error(chunks, sample=50).relative == pytest.approx(model.gram_error(X, sample=50).relative, rel=1)


def test_no_task_holds_more_than_a_chunk():
    sizes = []

    def watched(block):
        sizes.append(len(block))
        return block

    chunks = da.from_array(X, chunks=(50, 3)).map_blocks(watched, dtype=float, meta=np.empty((0, 3)))
    NystromRidge(m=40).fit(chunks, t)
    assert max(sizes) == 50 and sum(sizes) >= 400


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            lambda: (da.from_array(X)[da.from_array(t) > 0], da.from_array(t)),
            "unknown size: call X.compute_chunk_sizes",
        ),
        (
            lambda: (da.from_array(X), da.from_array(t)[da.from_array(t) > 0]),
            "unknown size: call y.compute_chunk_sizes",
        ),
        (lambda: (da.zeros((0, 3)), da.zeros(0)), r"0 sample\(s\) .* 1 chunk"),
        (lambda: (da.zeros((4, 0)), da.zeros(4)), "0 feature"),
        (lambda: (da.from_array(X[:, 0]), da.from_array(t)), "2-D"),
        (lambda: (da.from_array(X), da.from_array(t[:7])), "y has 7 entries, expected 400"),
        (lambda: (da.from_array(X), da.from_array(X)), "y must be 1-D"),
        (lambda: (da.from_array(X), None), "None"),
        (
            lambda: (
                da.from_array(np.where(np.arange(400)[:, None] == 10, np.nan, X), chunks=(100, 3)),
                da.from_array(t),
            ),
            "in the chunk of rows 0 to 99: X contains NaN",
        ),
        (
            lambda: (da.from_array(X, chunks=(100, 3)), da.from_array(np.where(np.arange(400) == 250, np.inf, t))),
            "in the chunk of rows 200 to 299: y contains inf",
        ),
        (
            lambda: (
                da.from_array(X).map_blocks(scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, 0))),
                da.from_array(t),
            ),
            "X has chunks of type csr_array, expected dense",
        ),
        (lambda: (dask.delayed(X), t), "X must be a dask.array, got Delayed"),
    ],
)
def test_bad_chunks_are_named(data, words):
    with pytest.raises((ValueError, TypeError), match=words):
        NystromRidge(m=10).fit(*data())


def test_landmarks_may_come_from_an_array_of_objects():
    counts = np.arange(60).reshape(20, 3) % 7
    model = NystromRidge(Gaussian(2.0), m=5, ridge=1.0)
    on_dask = clone(model).fit(da.from_array(counts.astype(object), chunks=(8, 3)), t[:20])
    close(on_dask.predict(new), clone(model).fit(counts.astype(float), t[:20]).predict(new))


def test_a_landmark_that_is_no_number_is_named():
    holes = np.where(np.arange(400)[:, None] % 2 == 0, np.nan, X)
    with pytest.raises(ValueError, match=r"X contains NaN or inf \(first in row \d*[02468]\)"):
        NystromRidge(m=100).fit(da.from_array(holes), t)


def test_other_bad_requests():
    with pytest.raises(ValueError, match="got 401 landmarks for n_samples=400"):
        NystromRidge(m=401).fit(da.from_array(X), t)
    with pytest.raises(ValueError, match="one class"):
        NystromSVM(m=10).fit(da.from_array(X), np.zeros(400, dtype=int))
    with pytest.raises(ValueError, match="expecting 3 features"):
        NystromRidge(m=10).fit(da.from_array(X), t).predict(da.from_array(X[:, :2]))


def test_two_workers_give_the_same_numbers_and_one_may_die(tmp_path):
    """One test and one cluster: while a client is open, all of dask's computations go to it."""
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "300s"}),  # for processes that start on a busy machine
        LocalCluster(2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL) as cluster,
        Client(cluster) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        chunks = da.from_array(X, chunks=(60, 3))
        for model in (MODELS[0], MODELS[2], MODELS[4]):
            target = t if is_regressor(model) else y
            close(scores(clone(model).fit(chunks, target), new), scores(fit_on_numpy(model, target), new))
        client.run(wait_for_connections, "10s")  # the worker that is left may ask the dead one for a block
        a_worker_that_dies_changes_nothing(tmp_path / "killed")


def wait_for_connections(time):
    dask.config.set({"distributed.comm.timeouts.connect": time})


def a_worker_that_dies_changes_nothing(killed):
    mark = str(killed)

    def die_once(block, block_info=None):
        import os
        import signal
        from pathlib import Path

        if block_info[0]["chunk-location"][0] == 3 and not Path(mark).exists():
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    chunks = da.from_array(X, chunks=(50, 3)).map_blocks(die_once, dtype=float, meta=np.empty((0, 3)))
    model = Falkon(Gaussian(1.0), m=40, ridge=50.0, iterations=4).fit(chunks, t)
    assert killed.exists(), "no worker was killed, so nothing was tested"
    untouched = Falkon(Gaussian(1.0), m=40, ridge=50.0, iterations=4).fit(da.from_array(X, chunks=(50, 3)), t)
    np.testing.assert_array_equal(model.w_, untouched.w_)
