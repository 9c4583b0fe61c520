"""Lecture H, row by row: what a kernel is, kernel perceptron, soft neighbours, networks and learned features."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from kernelcourse import (
    MLP,
    Gaussian,
    KernelLogisticRegression,
    KernelNeighbors,
    KernelPerceptron,
    KernelRidge,
    KernelSVM,
    Layer,
    Linear,
    LogisticRegression,
    Network,
    Perceptron,
    Polynomial,
    backward,
    cross_entropy,
    dual_weights,
    forward,
    hidden_features,
    init_network,
    is_psd,
    is_valid_kernel,
    kernel_neighbors,
    kernel_perceptron,
    kernel_perceptron_list,
    kernel_softmax,
    kernel_svm,
    logistic_gradient_descent,
    monomials,
    noisy_sinc,
    one_hot,
    perceptron,
    pooled_perceptrons,
    predict,
    primal_logistic_gradient_descent,
    primal_softmax,
    primal_weights,
    rings,
    sgd,
    soft_neighbors,
    softmax,
    softmax_cross_entropy,
    squared_error,
    svm_objective,
    svm_sgd,
    svm_subgradient,
    target_alignment,
    two_moons,
    xor,
)

seeds = st.integers(0, 10_000)


def cloud(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def labelled(seed, n=10, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.choice([-1, 1], size=n)


# H1: criteria for a kernel, Mercer's theorem


@given(seeds, st.integers(1, 9))
def test_H1_a_matrix_without_negative_eigenvalues_is_one_of_dot_products(seed, n):
    X = cloud(seed, n, 2)
    M = np.array([[math.exp(-sum((x - z) ** 2)) for z in X] for x in X])
    values, Q = np.linalg.eigh(M)
    assert values[0] > -1e-12
    phi = Q * np.sqrt(np.maximum(values, 0))  # one feature per eigenvector: its entries are the values at the points
    np.testing.assert_allclose(Linear()(phi), Gaussian.from_gamma(1.0)(X), atol=1e-10)


def test_H1_passing_on_some_points_is_no_proof():
    def k(x, z):
        return math.cos(np.linalg.norm(x - z))

    line = np.linspace(0, 5, 8)[:, None] * np.array([0.6, 0.8])
    assert is_psd(np.array([[k(x, z) for z in line] for x in line]))  # on a line it is cos a cos b + sin a sin b
    verdict = is_valid_kernel(k, sample=lambda n, rng: 5 * rng.normal(size=(n, 2)), rng=0)
    assert not verdict
    a, points = verdict.a, verdict.points
    total = sum(a_i * a_j * k(x, z) for a_i, x in zip(a, points, strict=True) for a_j, z in zip(a, points, strict=True))
    assert total < 0


@given(seeds)
def test_H1_every_subset_of_the_points_passes_too(seed):
    rng = np.random.default_rng(seed)
    X = cloud(seed, 8, 2)
    chosen = rng.permutation(8)[: int(rng.integers(1, 9))]
    K = Polynomial(2)(X)
    np.testing.assert_allclose(K[np.ix_(chosen, chosen)], Polynomial(2)(X[chosen]), rtol=1e-10)
    assert is_psd(K[np.ix_(chosen, chosen)])


# H2: the recursive rules


def f(x):
    return math.cos(x[0]) - 0.3 * x[1]


LEAVES = st.sampled_from(
    [
        (Linear(), lambda x, z: float(x @ z)),
        (Gaussian.from_gamma(0.5), lambda x, z: math.exp(-0.5 * sum((x - z) ** 2))),
    ]
)
WEIGHTS = st.floats(0.1, 2.0)


def compositions(parts):
    """One more application of a rule, as a pair: our kernel, and the formula written by hand."""
    return st.one_of(
        st.builds(
            lambda a, p, b, q: (a * p[0] + b * q[0], lambda x, z: a * p[1](x, z) + b * q[1](x, z)),
            WEIGHTS,
            parts,
            WEIGHTS,
            parts,
        ),
        parts.map(lambda p: (p[0].polynomial([0.5, 1.0, 2.0]), lambda x, z: 0.5 + p[1](x, z) + 2 * p[1](x, z) ** 2)),
        parts.map(lambda p: ((0.1 * p[0]).exp(), lambda x, z: math.exp(0.1 * p[1](x, z)))),
        parts.map(lambda p: (p[0].weighted(f), lambda x, z: f(x) * p[1](x, z) * f(z))),
    )


@given(st.recursive(LEAVES, compositions, max_leaves=4), seeds)
def test_H2_any_recursive_composition_is_a_kernel(pair, seed):
    k, by_hand = pair
    X = np.random.default_rng(seed).uniform(-1, 1, size=(7, 2))
    try:
        expected = np.array([[by_hand(x, z) for z in X] for x in X])
    except OverflowError:  # exp of exp of exp: no float holds it, and the kernel says so
        with pytest.raises(OverflowError):
            k(X)
        return
    np.testing.assert_allclose(k(X), expected, rtol=1e-8, atol=1e-10)
    values = np.linalg.eigvalsh(k(X))
    assert values[0] >= -1e-9 * values[-1]


@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_H2_the_gaussian_from_the_last_two_rules(gamma):
    X, Z = cloud(0, 6, 3), cloud(1, 5, 3)
    assembled = (2 * gamma * Linear()).exp().weighted(lambda x: math.exp(-gamma * x @ x))
    expected = [[math.exp(-gamma * sum((x - z) ** 2)) for z in Z] for x in X]
    np.testing.assert_allclose(assembled(X, Z), expected, rtol=1e-9)
    np.testing.assert_allclose(Gaussian.from_gamma(gamma)(X, Z), expected, rtol=1e-11)


# H3: the kernel perceptron with a list L


def perceptron_in_feature_space(Phi, y, max_epochs):
    w, L = np.zeros(Phi.shape[1]), []
    for _ in range(max_epochs):
        changed = False
        for i in range(len(y)):
            if np.sign(w @ Phi[i]) != y[i]:
                w = w + y[i] * Phi[i]
                L.append(i)
                changed = True
        if not changed:
            break
    return w, L


@given(seeds, st.integers(1, 12))
def test_H3_list_of_mistakes_is_that_of_the_perceptron_in_feature_space(seed, max_epochs):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(8, 2)).astype(float)  # whole numbers: no score is 0 up to rounding
    y = rng.choice([-1, 1], size=8)
    k = (Linear() + 1) ** 2
    Phi = k.features(X)
    w, L = perceptron_in_feature_space(Phi, y, max_epochs)
    fit = kernel_perceptron_list(k(X), y, max_epochs=max_epochs)
    assert fit.mistakes_list == L
    assert fit.coefficients.tolist() == [y[i] * L.count(i) for i in range(8)]
    np.testing.assert_allclose(sum((y[i] * Phi[i] for i in L), np.zeros(Phi.shape[1])), w)
    np.testing.assert_allclose(perceptron(Phi, y, max_epochs=max_epochs).w, w)
    z = rng.integers(-2, 3, size=(1, 2)).astype(float)
    np.testing.assert_allclose(predict(k(z, X), fit.coefficients), k.features(z) @ w, atol=1e-9)


def test_H3_without_a_separator_it_stops_after_the_last_epoch():
    X, y = np.array([[1.0], [1.0], [2.0]]), [1, -1, 1]  # one point with both labels
    fit = kernel_perceptron_list(Linear()(X), y, max_epochs=7)
    assert (fit.epochs, fit.separated) == (7, False)
    separable = kernel_perceptron_list(Linear()([[1.0], [-1.0]]), [1, -1], max_epochs=7)
    assert (separable.epochs, separable.separated) == (2, True)


def test_H3_only_the_points_on_the_list_are_needed_for_testing():
    X, y = two_moons(50, noise=0.05, rng=0)
    k = Gaussian(0.4)
    fit = kernel_perceptron_list(k(X), y)
    on_the_list = sorted(set(fit.mistakes_list))
    assert len(on_the_list) < 25
    Z = two_moons(20, rng=1).X
    by_list = [sum(y[j] * math.exp(-sum((X[j] - z) ** 2) / 0.32) for j in fit.mistakes_list) for z in Z]
    np.testing.assert_allclose(
        predict(k(Z, X[on_the_list]), fit.coefficients[on_the_list]), by_list, rtol=1e-8, atol=1e-10
    )


# H4: the recipe for kernelising an algorithm


def ridge_pair(Phi, K, y):
    return primal_weights(Phi, y, ridge=0.5), dual_weights(K, y, ridge=0.5)


def perceptron_pair(Phi, K, y):
    return perceptron(Phi, y, max_epochs=20).w, kernel_perceptron(K, y, max_epochs=20).alpha * y


def logistic_pair(Phi, K, y):
    zero_one = (y + 1) // 2
    return (
        primal_logistic_gradient_descent(Phi, zero_one, step=0.01, iterations=50),
        logistic_gradient_descent(K, zero_one, step=0.01, iterations=50),
    )


def softmax_pair(Phi, K, y):
    labels = np.arange(len(y)) % 3
    return primal_softmax(Phi, labels, ridge=0.5), kernel_softmax(K, labels, ridge=0.5)


PAIRS = [ridge_pair, perceptron_pair, logistic_pair, softmax_pair]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_H4_step_1_the_model_is_a_combination_of_the_points(pair, seed):
    X, y = labelled(seed, n=6)
    Phi = monomials(X, 3)  # ten features, six points: a combination of the points is a strong claim
    w, a = pair(Phi, Polynomial(3)(X), y)
    np.testing.assert_allclose(sum(np.multiply.outer(phi, a_i) for phi, a_i in zip(Phi, a, strict=True)), w, atol=1e-6)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.__name__)
def test_H4_steps_2_and_3_inner_products_are_all_that_is_needed(pair):
    X, y = labelled(4, n=12)
    Z = cloud(5, 7, 2)
    k = Polynomial(2)
    w, _ = pair(monomials(X, 2), k(X), y)
    _, a = pair(np.zeros((12, 1)), k(X), y)  # no features at all
    np.testing.assert_allclose(predict(k(Z, X), a), monomials(Z, 2) @ w, atol=1e-5)


# H5: nearest neighbours and kernels


def test_H5_a_narrow_gaussian_votes_like_the_nearest_neighbour():
    X, y = two_moons(60, noise=0.2, rng=0)
    Z = two_moons(40, noise=0.2, rng=1).X
    delta = [y[np.argmin([np.linalg.norm(x - z) for x in X])] for z in Z]
    k = Gaussian(0.02)
    assert np.sign(soft_neighbors(k(Z, X), y)).tolist() == delta
    plain = Linear()
    assert kernel_neighbors(plain(Z, X), plain.diag(Z), plain.diag(X), y, kappa=1).tolist() == delta
    # So narrow that no point affects another: the perceptron's votes are those of 1-NN, one for each point.
    assert kernel_perceptron(Gaussian(1e-4)(X), y).alpha.tolist() == [1] * 60


def test_H5_agreement_with_the_nearest_neighbour_grows_as_the_kernel_narrows():
    X, y = labelled(6, n=80)
    Z = cloud(7, 200, 2)
    one_nearest = KernelNeighbors(Linear(), kappa=1).fit(X, y).predict(Z)
    agreement = [
        np.mean(np.sign(soft_neighbors(Gaussian(sigma)(Z, X), y)) == one_nearest) for sigma in (3.0, 0.3, 0.05)
    ]
    assert agreement == sorted(agreement)
    assert agreement[-1] > 0.97


def test_H5_a_wide_kernel_votes_like_the_majority():
    X, y = labelled(8, n=31)
    Z = cloud(9, 20, 2)
    assert np.sign(soft_neighbors(Gaussian(1000.0)(Z, X), y)).tolist() == [np.sign(y.sum())] * 20


def test_H5_the_soft_vote_written_out():
    X, y = labelled(10)
    Z = cloud(11, 5, 2)
    expected = [sum(y[i] * math.exp(-sum((X[i] - z) ** 2)) for i in range(10)) for z in Z]
    np.testing.assert_allclose(soft_neighbors(Gaussian.from_gamma(1.0)(Z, X), y), expected, rtol=1e-9)


def test_H5_the_svm_learns_the_votes_and_most_points_have_none():
    X, y = two_moons(100, noise=0.1, rng=2)
    fit = kernel_svm(Gaussian(0.5)(X), y, lam=1e-4)
    assert np.count_nonzero(fit.alpha > 1e-8 * fit.alpha.max()) < 40


# H6: multilayer perceptrons

AND_OR_ONE = np.array([[1.0, 1.0, -0.5], [-1.0, -1.0, 1.5], [0.0, 0.0, 1.0]])


def sign(value):
    return 1.0 if value >= 0 else -1.0


@given(seeds)
def test_H6_pooled_perceptrons_written_out(seed):
    rng = np.random.default_rng(seed)
    X, W, v = rng.normal(size=(6, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    expected = [sign(sum(v_j * sign(w @ x) for v_j, w in zip(v, W, strict=True))) for x in X]
    assert pooled_perceptrons(X, W, v).tolist() == expected


def test_H6_three_pooled_perceptrons_solve_xor_and_one_does_not():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([-1, 1, 1, -1])
    with_one = np.column_stack([corners, np.ones(4)])
    assert pooled_perceptrons(with_one, AND_OR_ONE, [1.0, 1.0, -1.0]).tolist() == y.tolist()
    assert Perceptron(max_epochs=500).fit(corners, y).separated_ == [False]
    # Nor would any other single perceptron: half of 4000 random ones get three corners right, none all four.
    singles = np.random.default_rng(0).normal(size=(4000, 3))
    right = (np.sign(with_one @ singles.T) == y[:, None]).sum(axis=0)
    assert right.max() == 3


@given(seeds)
def test_H6_a_layer_combines_the_outputs_of_the_layer_before(seed):
    network = init_network((3, 4, 2, 2), rng=seed, activation="tanh")
    x = cloud(seed + 1, 1, 3)
    h = list(x[0])
    for number, (W, b) in enumerate(network.layers):
        z = [sum(h[i] * W[i, j] for i in range(len(h))) + b[j] for j in range(len(b))]
        h = z if number == 2 else [math.tanh(value) for value in z]
        np.testing.assert_allclose(forward(network, x)[number + 1][0], h, rtol=1e-9, atol=1e-12)


@given(seeds)
def test_H6_steep_hidden_units_are_perceptrons(seed):
    rng = np.random.default_rng(seed)
    W, v = rng.normal(size=(5, 2)), rng.normal(size=5)
    X = rng.normal(size=(8, 2))
    X = X[np.abs(X @ W.T).min(axis=1) > 1e-2]  # away from the corners, which the steps leave rounded
    assume(len(X) > 0)
    steep = Network([Layer(1e5 * W.T, np.zeros(5)), Layer(v[:, None], np.zeros(1))], activation="tanh")
    assert np.sign(forward(steep, X)[-1][:, 0]).tolist() == pooled_perceptrons(X, W, v).tolist()


def test_H6_hidden_units_bend_the_boundary():
    X, y = rings(100, noise=0.1, rng=0)
    none, one_layer, two_layers = (
        MLP(hidden=hidden, epochs=60, rng=0).fit(X, y).score(X, y) for hidden in ((), (8,), (8, 8))
    )
    assert none < 0.75
    assert min(one_layer, two_layers) > 0.97


# H7: computational graphs trained by SGD


@given(seeds)
def test_H7_softmax_and_cross_entropy_written_out(seed):
    rng = np.random.default_rng(seed)
    Z, labels = rng.normal(size=(5, 3)), rng.integers(0, 3, size=5)
    hat = [[math.exp(z_j) / sum(math.exp(z_l) for z_l in z) for z_j in z] for z in Z]
    np.testing.assert_allclose(softmax(Z), hat, rtol=1e-10)
    loss = -sum(math.log(hat_i[label]) for hat_i, label in zip(hat, labels, strict=True))
    Y = [[float(label == j) for j in range(3)] for label in labels]
    assert one_hot(labels, 3).tolist() == Y
    assert cross_entropy(softmax(Z), Y) == pytest.approx(loss, rel=1e-9)
    assert softmax_cross_entropy(Z, Y)[0] == pytest.approx(loss / 5, rel=1e-9)


def test_H7_squared_error_written_out():
    Z, Y = cloud(12, 4, 2), cloud(13, 4, 2)
    expected = sum(0.5 * sum((y - z) ** 2) for y, z in zip(Y, Z, strict=True)) / 4
    assert squared_error(Z, Y)[0] == pytest.approx(expected)


@pytest.mark.parametrize("sizes", [(2, 3), (2, 4, 3), (2, 4, 5, 3)], ids=["linear", "one hidden", "two hidden"])
@pytest.mark.parametrize("loss", [squared_error, softmax_cross_entropy])
def test_H7_backpropagation_is_the_difference_quotient(sizes, loss):
    network = init_network(sizes, rng=0, activation="tanh")
    X, Y = cloud(14, 6, 2), one_hot([0, 1, 2, 0, 1, 2], 3)
    _, gradient = backward(network, X, Y, loss=loss)
    step = 1e-5
    for number, part in ((n, p) for n in range(len(sizes) - 1) for p in (0, 1)):
        shape = network.layers[number][part].shape
        for index in np.ndindex(shape):

            def moved(size, number=number, part=part, index=index):
                layers = [[W.copy(), b.copy()] for W, b in network.layers]
                layers[number][part][index] += size
                outputs = forward(Network([Layer(*layer) for layer in layers], "tanh"), X)[-1]
                return loss(outputs, Y)[0]

            quotient = (moved(step) - moved(-step)) / (2 * step)
            assert gradient[number][part][index] == pytest.approx(quotient, abs=1e-8)


def test_H7_one_step_of_sgd_on_linear_regression_by_hand():
    X, t = np.array([[1.0, 2.0]]), np.array([[3.0]])
    network = Network([Layer([[0.5], [-1.0]], [0.25])])
    trained = sgd(network, X, t, loss=squared_error, step=0.1, epochs=1, batch_size=1, rng=0).network
    error = (0.5 * 1 - 1.0 * 2 + 0.25) - 3.0  # <w, x> + b - y
    np.testing.assert_allclose(trained.layers[0].W[:, 0], [0.5 - 0.1 * error * 1, -1.0 - 0.1 * error * 2])
    np.testing.assert_allclose(trained.layers[0].b, 0.25 - 0.1 * error)


def test_H7_linear_regression_as_a_graph_ends_at_least_squares():
    X = cloud(15, 30, 2)
    t = X @ [1.0, -2.0] + 0.5 + 0.1 * cloud(16, 1, 30)[0]
    design = np.column_stack([X, np.ones(30)])
    w = np.linalg.lstsq(design, t, rcond=None)[0]
    start = Network([Layer(np.zeros((2, 1)), np.zeros(1))])
    trained = sgd(start, X, t[:, None], loss=squared_error, step=0.5, epochs=300, batch_size=30, rng=0).network
    np.testing.assert_allclose([*trained.layers[0].W[:, 0], *trained.layers[0].b], w, atol=1e-8)
    stochastic = sgd(start, X, t[:, None], loss=squared_error, step=0.02, epochs=40, batch_size=1, rng=0).network
    np.testing.assert_allclose([*stochastic.layers[0].W[:, 0], *stochastic.layers[0].b], w, atol=0.05)


def test_H7_logistic_regression_as_a_graph_ends_at_the_minimum():
    X = cloud(17, 30, 2)
    labels = np.arange(30) % 3
    Y, ridge = one_hot(labels, 3), 1.0

    def objective(theta):
        W, b = theta[:6].reshape(2, 3), theta[6:]
        scores = X @ W + b
        log_sum = np.log(np.exp(scores).sum(axis=1))
        return -(scores[np.arange(30), labels] - log_sum).mean() + ridge / 60 * (W**2).sum()

    best = minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-8})
    start = Network([Layer(np.zeros((2, 3)), np.zeros(3))])
    training = sgd(start, X, Y, loss=softmax_cross_entropy, step=1.0, epochs=500, batch_size=30, ridge=ridge, rng=0)
    assert training.losses[-1] == pytest.approx(best.fun, abs=1e-9)
    np.testing.assert_allclose(training.network.layers[0].W, best.x[:6].reshape(2, 3), atol=1e-4)


def test_H7_a_deeper_graph_fits_what_a_linear_one_cannot():
    X, t, _ = noisy_sinc(60, noise=0.02, rng=0)
    Z, T = (X - X.mean(axis=0)) / X.std(axis=0), ((t - t.mean()) / t.std())[:, None]  # of mean square 1

    def left_over(*hidden, step, epochs):
        start = init_network((1, *hidden, 1), rng=0)
        options = {"step": step, "epochs": epochs, "batch_size": 16, "momentum": 0.9}
        return 2 * sgd(start, Z, T, loss=squared_error, rng=0, **options).losses[-1]

    assert left_over(step=0.1, epochs=50) > 0.8
    assert left_over(16, 16, step=0.05, epochs=150) < 0.1


# H8: the kernel SVM as a computational graph


@given(seeds, st.floats(0.01, 1.0))
def test_H8_subgradient_is_the_difference_quotient_between_the_kinks(seed, lam):
    X, y = labelled(seed, n=7)
    K = Gaussian(1.0)(X)
    alpha = np.random.default_rng(seed + 1).normal(size=7)
    margins = y * (K @ (y * alpha))
    step = 1e-3 * np.abs(margins - 1).min()  # too short to reach a kink; in between the objective is quadratic
    quotient = [
        (svm_objective(alpha + step * e, K, y, lam=lam) - svm_objective(alpha - step * e, K, y, lam=lam)) / (2 * step)
        for e in np.eye(7)
    ]
    np.testing.assert_allclose(svm_subgradient(alpha, K, y, lam=lam), quotient, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_H8_sgd_in_the_dual_is_sgd_on_w_in_feature_space(seed):
    X, y = labelled(seed, n=12)
    lam, steps = 0.1, 40
    Phi = monomials(X, 2)
    w, average = np.zeros(Phi.shape[1]), np.zeros(Phi.shape[1])
    for t, i in enumerate(np.random.default_rng(seed).integers(12, size=steps), start=1):
        subgradient = 2 * lam * w - (y[i] * Phi[i] if y[i] * (w @ Phi[i]) < 1 else 0)  # of hinge plus lam |w|^2
        w = w - subgradient / (2 * lam * t)
        average = average + t * w
    average = average / (steps * (steps + 1) / 2)
    last = svm_sgd(Polynomial(2)(X), y, lam=lam, steps=steps, rng=seed, averaged=False)
    averaged = svm_sgd(Polynomial(2)(X), y, lam=lam, steps=steps, rng=seed)
    np.testing.assert_allclose(Phi.T @ (last * y), w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(Phi.T @ (averaged * y), average, rtol=1e-8, atol=1e-10)


def test_H8_sgd_comes_close_to_the_optimum():
    X, y = two_moons(60, noise=0.2, rng=0)
    K = Gaussian(0.7)(X)
    best = kernel_svm(K, y, lam=0.05, gap=1e-9).objective
    values = [
        svm_objective(svm_sgd(K, y, lam=0.05, steps=steps, rng=1), K, y, lam=0.05) for steps in (30, 1000, 20_000)
    ]
    assert min(values) >= best - 1e-9
    assert values == sorted(values, reverse=True)
    assert values[-1] < 1.01 * best


# H9: a learned feature map


def trained_on_rings():
    X, y = rings(100, noise=0.1, rng=0)
    return X, y, MLP(hidden=(8,), epochs=80, rng=0).fit(X, y)


def test_H9_the_last_layer_is_a_linear_model_on_the_learned_features():
    X, _, model = trained_on_rings()
    phi = model.features(X)
    assert phi.shape == (100, 8)
    W, b = model.network_.layers[-1]
    scores = np.array([[sum(phi_i * W[:, j]) + b[j] for j in range(2)] for phi_i in phi])
    np.testing.assert_allclose(model.decision_function(X), scores[:, 1] - scores[:, 0], rtol=1e-9, atol=1e-9)


def test_H9_hidden_features_are_what_the_layers_before_the_last_compute():
    network = init_network((2, 5, 3, 1), rng=0, activation="relu")
    X = cloud(18, 4, 2)
    h = X
    for W, b in network.layers[:-1]:
        h = np.maximum(h @ W + b, 0)
    np.testing.assert_allclose(hidden_features(network, X), h)
    np.testing.assert_allclose(hidden_features(init_network((2, 1), rng=0), X), X)  # no hidden layer: phi(x) = x


def test_H9_learned_features_make_a_kernel_that_a_linear_machine_can_use():
    X, y, model = trained_on_rings()
    test = rings(300, noise=0.1, rng=1)
    learned = Linear().after(model.features)
    np.testing.assert_allclose(learned(X), model.features(X) @ model.features(X).T)
    assert is_psd(learned(X))
    raw = KernelSVM(Linear(), lam=0.001, offset="free").fit(X, y).score(test.X, test.y)
    on_learned = KernelSVM(learned, lam=0.001, offset="free").fit(X, y).score(test.X, test.y)
    assert raw < 0.8
    assert on_learned > 0.95


def test_H9_training_turns_the_kernel_towards_the_labels():
    X, y = rings(100, noise=0.1, rng=0)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    start = init_network((2, 8, 2), rng=0)
    trained = sgd(
        start, scaled, one_hot((y + 1) // 2, 2), loss=softmax_cross_entropy, step=0.2, epochs=100, batch_size=16, rng=0
    ).network

    def aligned(network):
        phi = hidden_features(network, scaled)
        return target_alignment(phi @ phi.T, y)

    assert aligned(trained) > 2 * aligned(start)


def test_H9_ridge_on_the_learned_kernel_is_the_last_layer_trained_anew():
    X, t, _ = noisy_sinc(40, noise=0.05, rng=1)
    model = MLP(hidden=(6,), epochs=50, rng=0).fit(X, t > 0)
    phi = model.features(X)
    w = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(6), phi.T @ t)  # the primal, on six learned features
    dual = KernelRidge(Linear().after(model.features), ridge=0.1).fit(X, t)
    Z = np.linspace(-8, 8, 20)[:, None]
    np.testing.assert_allclose(dual.predict(Z), model.features(Z) @ w, atol=1e-7)


# H10: the playground


def with_squares(X):
    return np.hstack([X, X**2, X[:, :1] * X[:, 1:]])


BENDING = {
    "quadratic features": lambda: LogisticRegression(ridge=0.1),
    "hidden layer": lambda: MLP(hidden=(8,), epochs=60, rng=0),
    "two hidden layers": lambda: MLP(hidden=(8, 8), epochs=60, rng=0),
    "kernel perceptron": lambda: KernelPerceptron(Gaussian(0.5)),
    "kernel neighbours": lambda: KernelNeighbors(Gaussian(0.5), kappa=3),
    "kernel logistic regression": lambda: KernelLogisticRegression(Gaussian(0.5), ridge=0.1),
    "kernel SVM": lambda: KernelSVM(Polynomial(2), lam=0.001),
}
DATA = {
    "rings": (rings(100, noise=0.15, rng=0), rings(300, noise=0.15, rng=1)),
    "xor": (xor(100, noise=0.3, rng=0), xor(300, noise=0.3, rng=1)),
}


@pytest.mark.parametrize("data", DATA)
def test_H10_no_straight_line_will_do(data):
    train, test = DATA[data]
    for model in (
        LogisticRegression(ridge=0.1),
        KernelSVM(Linear(), lam=0.001, offset="free"),
        MLP(hidden=(), epochs=60, rng=0),
    ):
        assert model.fit(*train).score(*test) < 0.8


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", BENDING)
def test_H10_features_hidden_layers_and_kernels_side_by_side(data, name):
    train, test = DATA[data]
    prepare = with_squares if name == "quadratic features" else lambda X: X
    model = BENDING[name]().fit(prepare(train.X), train.y)
    assert model.score(prepare(test.X), test.y) > 0.9


def test_H10_a_kernel_on_a_hidden_layer_combines_both():
    train, test = DATA["xor"]
    network = MLP(hidden=(6,), epochs=60, rng=0).fit(*train)
    both = KernelSVM(Gaussian(1.0).after(network.features), lam=0.01).fit(*train)
    assert both.score(*test) > 0.9
