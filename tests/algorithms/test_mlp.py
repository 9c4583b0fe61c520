"""Multilayer perceptrons: pooled perceptrons, backpropagation, SGD, and the linear models inside."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from kernelcourse.algorithms.logistic import (
    primal_logistic_gradient_descent,
)
from kernelcourse.algorithms.mlp import (
    ACTIVATIONS,
    Layer,
    Network,
    TrainingDiverged,
    backward,
    forward,
    hidden_features,
    init_network,
    pooled_perceptrons,
    sgd,
    softmax_cross_entropy,
    squared_error,
)
from kernelcourse.algorithms.ridge import dual_weights, primal_weights
from kernelcourse.algorithms.softmax import (
    cross_entropy,
    one_hot,
    primal_softmax,
    softmax,
)

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR_LABELS = np.array([0, 1, 1, 0])


def flat(layers):
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def unflat(values, like):
    pieces = iter(np.split(values, np.cumsum([part.size for layer in like for part in layer])[:-1]))
    return [Layer(next(pieces).reshape(W.shape), next(pieces).reshape(b.shape)) for W, b in like]


def blank(inputs, outputs):
    return Network([Layer(np.zeros((inputs, outputs)), np.zeros(outputs))])


# ---------------------------------------------------------------- pooled perceptrons


def test_three_pooled_perceptrons_solve_xor():
    X = np.column_stack([XOR, np.ones(4)])
    at_least_one, not_both, always = [1, 1, -0.5], [-1, -1, 1.5], [0, 0, 1]
    y = pooled_perceptrons(X, [at_least_one, not_both, always], [1, 1, -1])
    np.testing.assert_array_equal(y, 2 * XOR_LABELS - 1)


def test_at_least_one_and_not_both_need_the_third_perceptron():
    # Their pool would have to be negative at the outputs (-1, +1) and (+1, -1), which are negatives of each other.
    X = np.column_stack([XOR, np.ones(4)])
    W = [[1, 1, -0.5], [-1, -1, 1.5]]
    votes = itertools.product(np.linspace(-2, 2, 9), repeat=2)
    assert not any(np.array_equal(pooled_perceptrons(X, W, v), 2 * XOR_LABELS - 1) for v in votes)


def test_a_point_on_the_boundary_counts_as_plus_one():
    np.testing.assert_array_equal(pooled_perceptrons([[0.0], [-1.0]], [[1.0]], [1.0]), [1.0, -1.0])
    np.testing.assert_array_equal(pooled_perceptrons([[1.0]], [[1.0], [-1.0]], [1.0, 1.0]), [1.0])


@pytest.mark.parametrize(
    ("X", "W", "v", "message"),
    [
        (XOR, [[1.0, 1.0, 1.0]], [1.0], "W must have 2 columns"),
        (XOR, [[1.0, 1.0]], [1.0, 2.0], "v has 2 entries, expected 1"),
        (XOR, [[1.0, np.nan]], [1.0], "W contains NaN"),
    ],
)
def test_bad_pools_are_named(X, W, v, message):
    with pytest.raises(ValueError, match=message):
        pooled_perceptrons(X, W, v)


# ---------------------------------------------------------------- activations and the forward pass


@pytest.mark.parametrize("name", ACTIVATIONS)
@given(z=st.floats(-5, 5).filter(lambda z: abs(z) > 1e-3))
def test_derivatives_are_written_in_terms_of_the_output(name, z):
    function, derivative, _ = ACTIVATIONS[name]
    slope = (function(z + 1e-6) - function(z - 1e-6)) / 2e-6
    assert derivative(np.array([function(z)]))[0] == pytest.approx(slope, abs=1e-6)


def test_forward_is_the_chain_of_layers():
    network = init_network((3, 4, 5, 2), rng=0)
    X = np.random.default_rng(1).normal(size=(6, 3))
    (W1, b1), (W2, b2), (W3, b3) = network.layers
    H1 = np.tanh(X @ W1 + b1)
    H2 = np.tanh(H1 @ W2 + b2)
    for got, expected in zip(forward(network, X), [X, H1, H2, H2 @ W3 + b3], strict=True):
        np.testing.assert_array_equal(got, expected)


def test_the_output_is_a_linear_model_on_the_hidden_features():
    network = init_network((3, 4, 5, 2), rng=0, activation="relu")
    X = np.random.default_rng(1).normal(size=(6, 3))
    Phi = hidden_features(network, X)
    assert Phi.shape == (6, 5)
    np.testing.assert_allclose(Phi @ network.layers[-1].W + network.layers[-1].b, forward(network, X)[-1])


def test_without_a_hidden_layer_the_features_are_the_inputs():
    np.testing.assert_array_equal(hidden_features(blank(2, 1), XOR), XOR)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_new_weights_have_the_variance_that_the_activation_wants(activation):
    network = init_network((400, 300, 200), rng=0, activation=activation)
    for W, b in network.layers:
        assert W.var() * len(W) == pytest.approx(ACTIVATIONS[activation].gain, rel=0.05)
        assert not b.any()


def test_new_weights_come_from_rng_alone():
    first, again, other = (flat(init_network((2, 3, 1), rng=seed).layers) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# ---------------------------------------------------------------- losses and backpropagation


def test_squared_error_is_the_lectures_loss_averaged():
    value, _ = squared_error([[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 4.0]])
    assert value == pytest.approx((0.5 * 5 + 0.5 * 16) / 2)


def test_softmax_cross_entropy_is_the_mean_of_cross_entropy_after_softmax():
    Z, Y = np.random.default_rng(0).normal(size=(5, 3)), one_hot([0, 1, 2, 1, 0], 3)
    assert softmax_cross_entropy(Z, Y)[0] == pytest.approx(cross_entropy(softmax(Z), Y) / 5)


def test_a_certain_and_wrong_prediction_has_a_finite_loss():
    assert softmax_cross_entropy([[1e4, 0.0]], [[0.0, 1.0]])[0] == pytest.approx(1e4)


@pytest.mark.parametrize("loss", [squared_error, softmax_cross_entropy])
def test_loss_gradients_are_finite_differences(loss):
    Z, Y = np.random.default_rng(0).normal(size=(4, 3)), one_hot([0, 1, 2, 1], 3)
    slopes = approx_fprime(Z.ravel(), lambda z: loss(z.reshape(4, 3), Y)[0], 1e-7)
    np.testing.assert_allclose(loss(Z, Y)[1].ravel(), slopes, atol=1e-6)


@pytest.mark.parametrize("loss", [squared_error, softmax_cross_entropy])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", [(3, 2), (3, 4, 2), (3, 5, 4, 2)])
def test_backpropagation_gives_finite_differences(sizes, activation, loss):
    rng = np.random.default_rng(0)
    start = init_network(sizes, rng=rng, activation=activation)
    # Random biases keep every relu away from its kink, and make every bias matter in the test.
    network = Network([Layer(W, rng.normal(size=b.shape)) for W, b in start.layers], activation)
    X, Y = rng.normal(size=(6, 3)), one_hot(rng.integers(2, size=6), 2)

    def loss_at(values):
        return backward(Network(unflat(values, network.layers), activation), X, Y, loss=loss)[0]

    value, gradient = backward(network, X, Y, loss=loss)
    assert value == pytest.approx(loss(forward(network, X)[-1], Y)[0])
    np.testing.assert_allclose(flat(gradient), approx_fprime(flat(network.layers), loss_at, 1e-7), atol=2e-6)


# ---------------------------------------------------------------- linear models are networks without a hidden layer


def line(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X @ [[1.0], [-2.0]] + 3.0 + 0.3 * rng.normal(size=(n, 1))


def test_linear_regression_by_sgd_approaches_least_squares():
    X, T = line()
    trained = sgd(blank(2, 1), X, T, loss=squared_error, step=0.02, epochs=300, batch_size=5, rng=0).network
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), T, rcond=None)[0]
    np.testing.assert_allclose(np.vstack(trained.layers[0]), exact, atol=0.05)


def test_the_ridge_of_sgd_is_the_ridge_of_ridge_regression():
    X, T = line()
    X, T = X - X.mean(axis=0), T - T.mean(axis=0)  # centred, so that the free bias is 0
    trained = sgd(blank(2, 1), X, T, loss=squared_error, step=0.5, epochs=200, batch_size=40, rng=0, ridge=7.0).network
    W, b = trained.layers[0]
    np.testing.assert_allclose(W[:, 0], primal_weights(X, T[:, 0], ridge=7.0), rtol=1e-9)
    np.testing.assert_allclose(b, 0, atol=1e-12)


def test_logistic_regression_by_full_batches_is_batch_gradient_descent():
    # Two softmax outputs start equal and move apart: their difference takes steps twice as long.
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=30)
    X = rng.normal(size=(30, 2)) + y[:, None]
    Y, Phi = one_hot(y, 2), np.column_stack([X, np.ones(30)])
    for epochs in range(8):
        net = sgd(blank(2, 2), X, Y, loss=softmax_cross_entropy, step=0.3, epochs=epochs, batch_size=30, rng=0).network
        theta = np.vstack(net.layers[0])
        w = primal_logistic_gradient_descent(Phi, y, step=2 * 0.3 / 30, iterations=epochs)
        np.testing.assert_allclose(theta[:, 1] - theta[:, 0], w, rtol=1e-10, atol=1e-13)


def test_the_gradient_of_the_network_vanishes_at_the_softmax_solution():
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 3
    X = rng.normal(size=(30, 2)) + labels[:, None]
    W = primal_softmax(X, labels, ridge=0.5)
    _, [gradient] = backward(Network([Layer(W, np.zeros(3))]), X, one_hot(labels, 3), loss=softmax_cross_entropy)
    np.testing.assert_allclose(30 * gradient.W + 0.5 * W, 0, atol=1e-7)


def test_a_network_without_hidden_layer_becomes_scikit_learns_logistic_regression():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + labels[:, None] * [1.0, -1.0]
    trained = sgd(
        blank(2, 3),
        X,
        one_hot(labels, 3),
        loss=softmax_cross_entropy,
        step=0.5,
        epochs=1500,
        batch_size=60,
        rng=0,
        momentum=0.9,
        ridge=2.0,
    ).network
    peer = LogisticRegression(C=1 / 2.0, tol=1e-10, max_iter=10_000).fit(X, labels)
    np.testing.assert_allclose(softmax(forward(trained, X)[-1]), peer.predict_proba(X), atol=1e-5)


# ---------------------------------------------------------------- training


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_hidden_layer_learns_xor(activation):
    network = init_network((2, 8, 2), rng=2, activation=activation)
    trained, losses = sgd(
        network,
        XOR,
        one_hot(XOR_LABELS, 2),
        loss=softmax_cross_entropy,
        step=0.5,
        epochs=800,
        batch_size=4,
        rng=0,
        momentum=0.9,
    )
    np.testing.assert_array_equal(forward(trained, XOR)[-1].argmax(axis=1), XOR_LABELS)
    assert losses[-1] < 0.01 < losses[0]


def test_the_learned_kernel_fits_xor_where_the_linear_one_cannot():
    network = init_network((2, 8, 2), rng=2)
    trained, _ = sgd(
        network,
        XOR,
        one_hot(XOR_LABELS, 2),
        loss=softmax_cross_entropy,
        step=0.5,
        epochs=800,
        batch_size=4,
        rng=0,
        momentum=0.9,
    )
    t = 2.0 * XOR_LABELS - 1
    Phi = hidden_features(trained, XOR)
    K = Phi @ Phi.T
    np.testing.assert_array_equal(np.sign(K @ dual_weights(K, t, ridge=0.1)), t)
    linear = XOR @ XOR.T
    assert (np.sign(linear @ dual_weights(linear, t, ridge=0.1)) != t).any()


def test_losses_are_the_objective_before_training_and_after_every_epoch():
    X, T = line()
    network = init_network((2, 3, 1), rng=0)
    trained, losses = sgd(network, X, T, loss=squared_error, step=0.05, epochs=3, batch_size=8, rng=1, ridge=2.0)
    assert losses.shape == (4,)
    for net, value in ((network, losses[0]), (trained, losses[-1])):
        penalty = 2.0 / 2 / len(X) * sum((W**2).sum() for W, _ in net.layers)
        assert value == pytest.approx(squared_error(forward(net, X)[-1], T)[0] + penalty)


def test_sgd_is_the_update_rule_written_out():
    X, T = line(n=7)
    network = init_network((2, 3, 1), rng=0)
    rng, layers = np.random.default_rng(4), network.layers
    velocity = [Layer(0 * W, 0 * b) for W, b in layers]
    for _ in range(2):
        order = rng.permutation(7)
        for batch in (order[:3], order[3:6], order[6:]):
            _, gradient = backward(Network(layers), X[batch], T[batch], loss=squared_error)
            velocity = [
                Layer(0.5 * v.W - 0.1 * (g.W + 1.4 / 7 * W), 0.5 * v.b - 0.1 * g.b)
                for v, g, (W, _) in zip(velocity, gradient, layers, strict=True)
            ]
            layers = [Layer(W + v.W, b + v.b) for (W, b), v in zip(layers, velocity, strict=True)]
    trained = sgd(
        network, X, T, loss=squared_error, step=0.1, epochs=2, batch_size=3, rng=4, momentum=0.5, ridge=1.4
    ).network
    np.testing.assert_allclose(flat(trained.layers), flat(layers), rtol=1e-12)


def test_training_leaves_the_given_network_alone_and_takes_its_randomness_from_rng():
    X, T = line()
    network = init_network((2, 3, 1), rng=0)
    before = flat(network.layers)
    first, again, other = (
        flat(sgd(network, X, T, loss=squared_error, step=0.05, epochs=2, batch_size=4, rng=seed).network.layers)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(flat(network.layers), before)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_no_epochs_give_back_the_network():
    network = init_network((2, 3, 1), rng=0)
    trained, losses = sgd(network, *line(), loss=squared_error, step=0.1, epochs=0, batch_size=4, rng=0)
    np.testing.assert_array_equal(flat(trained.layers), flat(network.layers))
    assert len(losses) == 1


def test_a_batch_larger_than_the_data_is_the_whole_of_it():
    network, (X, T) = init_network((2, 3, 1), rng=0), line()
    whole, larger = (
        sgd(network, X, T, loss=squared_error, step=0.1, epochs=3, batch_size=size, rng=0).losses for size in (40, 999)
    )
    np.testing.assert_array_equal(whole, larger)


# ---------------------------------------------------------------- divergence


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_step_too_large_says_so_and_keeps_the_last_good_network(activation):
    X, T = line()
    network = init_network((2, 4, 1), rng=0, activation=activation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TrainingDiverged, match=r"step=30 is too large; try step=3\b") as caught:
            sgd(network, X, T, loss=squared_error, step=30.0, epochs=2000, batch_size=40, rng=0)
    kept = caught.value
    assert np.isfinite(kept.losses).all()
    assert f"in epoch {len(kept.losses)}:" in str(kept)
    assert squared_error(forward(kept.network, X)[-1], T)[0] == pytest.approx(kept.losses[-1])
    # The saved state is exactly that of an undisturbed run after that many epochs.
    epochs = len(kept.losses) - 1
    again = sgd(network, X, T, loss=squared_error, step=30.0, epochs=epochs, batch_size=40, rng=0)
    np.testing.assert_array_equal(flat(kept.network.layers), flat(again.network.layers))
    np.testing.assert_array_equal(kept.losses, again.losses)


def test_divergence_in_the_first_epoch_keeps_the_network_given():
    X, T = line()
    network = init_network((2, 4, 1), rng=0, activation="relu")
    with pytest.raises(TrainingDiverged, match="in epoch 1:") as caught:
        sgd(network, X, T, loss=squared_error, step=1e200, epochs=5, batch_size=1, rng=0)
    np.testing.assert_array_equal(flat(caught.value.network.layers), flat(network.layers))


def test_weights_that_overflow_behind_a_dead_relu_count_as_divergence():
    # The one hidden unit's bias overflows and switches it off: outputs, loss and penalty stay finite.
    network = Network([Layer([[1.0]], [0.0]), Layer([[1e150, -1e150]], [0.0, 0.0])], activation="relu")
    with pytest.raises(TrainingDiverged):
        sgd(network, [[1e-160]], [[0.0, 1.0]], loss=softmax_cross_entropy, step=1e159, epochs=1, batch_size=1, rng=0)


def test_an_overflow_before_the_first_step_is_not_blamed_on_the_step():
    network = Network([Layer([[1e200]], [0.0])])
    with np.errstate(over="ignore"), pytest.raises(FloatingPointError, match="too large for floating-point"):
        sgd(network, [[1e200]], [[0.0]], loss=squared_error, step=0.1, epochs=1, batch_size=1, rng=0)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: init_network((2,), rng=0), ValueError, "sizes must list"),
        (lambda: init_network(2, rng=0), ValueError, "sizes must list"),
        (lambda: init_network((2, 0), rng=0), ValueError, "every entry of sizes must be a whole number >= 1"),
        (lambda: init_network((2, 1.5), rng=0), TypeError, "every entry of sizes"),
        (lambda: init_network((2, 1), rng=0, activation="cosine"), ValueError, "activation must be one of 'tanh'"),
        (lambda: Network([]), ValueError, "layers must hold at least one layer"),
        (lambda: Network([Layer([[1.0, 2.0]], [0.0])]), ValueError, "layer 0 has 2 outputs"),
        (lambda: Network([([[1.0]], [0.0]), ([[1.0], [1.0]], [0.0])]), ValueError, "layer 1 expects 2 inputs, but"),
        (lambda: Network([Layer([[np.nan]], [0.0])]), ValueError, "W contains NaN"),
        (lambda: forward(blank(3, 1), XOR), ValueError, "X must have 3 columns"),
        (lambda: forward([Layer([[1.0]], [0.0])], XOR), TypeError, "network must be a Network, got list"),
        (lambda: forward(blank(2, 1), [[np.nan, 0.0]]), ValueError, "X contains NaN"),
        (lambda: backward(blank(2, 1), XOR, XOR_LABELS, loss=squared_error), ValueError, "Y must be 2-D"),
        (lambda: backward(blank(2, 1), XOR, [[1.0]], loss=squared_error), ValueError, "Y has 1 entries"),
        (lambda: backward(blank(2, 1), XOR, np.ones((4, 2)), loss=squared_error), ValueError, "Y must have 1 column,"),
        (lambda: backward(blank(2, 1), XOR, np.ones((4, 1)), loss="squared"), TypeError, "loss must be a function"),
        (lambda: squared_error([[1.0]], [[1.0, 2.0]]), ValueError, "Z and Y must have the same shape"),
        (lambda: squared_error([[np.inf]], [[1.0]]), ValueError, "Z contains inf"),
        (lambda: softmax_cross_entropy([[1.0, 2.0]], [[1.0, 1.0]]), ValueError, "each row of Y must be probabilities"),
        (lambda: softmax_cross_entropy([[1.0, 2.0]], [[2.0, -1.0]]), ValueError, "each row of Y must be probabilities"),
    ],
)
def test_bad_networks_and_data_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", 0.0),
        ("step", np.nan),
        ("epochs", -1),
        ("batch_size", 0),
        ("momentum", 1.0),
        ("momentum", -0.1),
        ("ridge", -1.0),
    ],
)
def test_bad_training_numbers_are_named(name, value):
    numbers = {"step": 0.1, "epochs": 1, "batch_size": 2} | {name: value}
    with pytest.raises(ValueError, match=f"{name} must be"):
        sgd(blank(2, 1), XOR, np.ones((4, 1)), loss=squared_error, rng=0, **numbers)


def test_a_network_shares_no_array_with_the_caller():
    W, b = np.eye(2), np.zeros(2)
    network = Network([Layer(W, b)])
    W[:], b[:] = 7.0, 7.0
    np.testing.assert_array_equal(forward(network, XOR)[-1], XOR)


def test_a_divergence_can_be_sent_between_processes():
    sent = pickle.loads(pickle.dumps(TrainingDiverged(0.1, init_network((2, 1), rng=0), np.ones(2))))
    assert "step=0.1 is too large" in str(sent)
    assert sent.network.sizes == (2, 1) and sent.losses.tolist() == [1.0, 1.0]
