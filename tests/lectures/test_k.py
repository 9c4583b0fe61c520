"""Lecture K, row by row: kernel engineering, SVM, linear and semi-parametric regression, choosing kernels."""

import math
from itertools import product

import cvxopt
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcourse import (
    C_from_lam,
    Cosine,
    Gaussian,
    Hamming,
    InvalidKernel,
    KernelLogisticRegression,
    KernelNeighbors,
    KernelPerceptron,
    KernelRidge,
    KernelSVM,
    Laplacian,
    Linear,
    Matern,
    Perceptron,
    Polynomial,
    Positions,
    Ridge,
    SemiparametricRidge,
    accuracy,
    alignment,
    alignment_weights,
    choose_kernel,
    cross_validate,
    decision_values,
    dual_weights,
    grid_search,
    hinge_losses,
    is_psd,
    is_valid_kernel,
    k_fold,
    kernel_perceptron,
    kernel_svm,
    kernel_svm_by_the_book,
    leave_one_out,
    logistic_gradient_descent,
    logistic_newton,
    logistic_sgd,
    mean_squared_error,
    minimise_perceptron_loss,
    monte_carlo,
    noisy_sinc,
    p450_chimeras,
    perceptron_loss,
    perceptron_loss_subgradient,
    predict,
    ridge_from_mean_risk,
    rings,
    squared_feature_distances,
    svm_objective,
    svm_sgd,
    target_alignment,
    trend_and_wiggle,
    two_moons,
)

seeds = st.integers(0, 10_000)


def cloud(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def labelled(seed, n=10, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.choice([-1, 1], size=n)


def gaussian(x, z, h=1.0):
    return math.exp(-sum((x - z) ** 2) / h**2)


# K1: what a kernel is

KERNELS = [
    Linear(),
    Polynomial(3),
    Gaussian(0.7),
    Laplacian(1.3),
    Matern(0.8, nu=0.5),
    Matern(1.0, nu=2.2),
    Cosine(),
    Gaussian(1.0) * Polynomial(2) + Linear(),
]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@given(seed=seeds, n=st.integers(1, 12), scale=st.sampled_from([0.01, 1.0, 10.0]))
def test_K1_every_gram_matrix_is_symmetric_and_positive_semidefinite(k, seed, n, scale):
    X = scale * cloud(seed, n, 2)
    K = k(X)
    np.testing.assert_array_equal(K, K.T)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-9 * max(values[-1], 1e-300)


def test_K1_each_of_the_two_conditions_is_needed():
    # Symmetric, with a point of k(x, x) < 0.
    negative = is_valid_kernel(lambda x, z: x @ z - 1, rng=0)
    assert not negative
    assert negative.value < 0
    # x'Az with x'Ax = |x|^2 > 0 for every x, and yet not a kernel: A is not symmetric.
    A = np.array([[1.0, 1.0], [-1.0, 1.0]])
    skew = is_valid_kernel(lambda x, z: x @ A @ z, sample=lambda n, rng: rng.normal(size=(n, 2)), rng=0)
    assert not skew
    x, z = skew.points
    assert x @ A @ x > 0
    assert x @ A @ z != z @ A @ x


# K2: four kernels


@pytest.mark.parametrize("h", [0.5, 1.0, 3.0])
def test_K2_the_four_kernels_by_their_formulas(h):
    X, Z = cloud(0, 5, 3), cloud(1, 4, 3)
    formulas = {
        Linear(): lambda x, z: sum(x * z),
        Polynomial(4): lambda x, z: (sum(x * z) + 1) ** 4,
        Gaussian.from_h(h): lambda x, z: math.exp(-sum((x - z) ** 2) / h**2),
        Laplacian(h): lambda x, z: math.exp(-sum(abs(x - z)) / h),
    }
    for k, formula in formulas.items():
        np.testing.assert_allclose(k(X, Z), [[formula(x, z) for z in Z] for x in X], rtol=1e-10)


def test_K2_gaussian_and_laplacian_far_into_their_tails():
    for r in (0.1, 3.0, 15.0):
        with mpmath.workdps(30):
            expected = float(mpmath.exp(-(mpmath.mpf(r) ** 2))), float(mpmath.exp(-mpmath.mpf(r)))
        assert Gaussian.from_h(1.0)([[0.0]], [[r]])[0, 0] == pytest.approx(expected[0], rel=1e-12)
        assert Laplacian(1.0)([[0.0]], [[r]])[0, 0] == pytest.approx(expected[1], rel=1e-13)


def test_K2_a_function_of_the_laplacian_s_space_may_have_kinks_a_gaussian_one_not():
    step = 1e-4
    x = np.array([[-step], [0.0], [step]])
    for k, kink in ((Laplacian(1.0), 2.0), (Gaussian.from_h(1.0), 0.0)):
        left, middle, right = k(x, [[0.0]])[:, 0]
        assert (middle - left) / step - (right - middle) / step == pytest.approx(kink, abs=1e-3)


# K3: kernel engineering


def test_K3_compositions_combine_values_and_stay_kernels():
    X = cloud(2, 10, 2)
    k1, k2 = Gaussian.from_h(1.0), Polynomial(2)
    A = np.array([[gaussian(x, z) for z in X] for x in X])
    B = np.array([[(x @ z + 1) ** 2 for z in X] for x in X])
    compositions = [
        (k1 + k2, A + B),
        (k1 * k2, A * B),
        (3.0 * k1, 3 * A),
        (k1.polynomial([1.0, 2.0, 0.0, 0.5]), 1 + 2 * A + 0.5 * A**3),
        (k1.exp(), np.exp(A)),
    ]
    for k, expected in compositions:
        np.testing.assert_allclose(k(X), expected, rtol=1e-10)
        assert is_psd(k(X))


def test_K3_a_map_V_carries_a_kernel_to_other_objects():
    def V(z):
        return np.array([float(len(z)), float(z.count("a"))])

    strings = ["banana", "cab", "abba", "", "zebra"]
    k = Polynomial(2).after(V)
    expected = [[(V(z) @ V(w) + 1) ** 2 for w in strings] for z in strings]
    np.testing.assert_allclose(k(strings), expected)
    # The proof: the features are phi(V(z)).
    phi_of_V = Polynomial(2).features(np.array([V(z) for z in strings]))
    np.testing.assert_allclose(k.features(strings), phi_of_V)
    np.testing.assert_allclose(phi_of_V @ phi_of_V.T, expected)


@pytest.mark.parametrize("construct", [lambda: -1.0 * Linear(), lambda: Linear().polynomial([1.0, -0.1])])
def test_K3_a_negative_coefficient_is_refused(construct):
    with pytest.raises(InvalidKernel):
        construct()


# K4: kernels as similarity functions


@pytest.mark.parametrize("k", [Gaussian(0.7), Laplacian(1.0), Matern(1.0, nu=0.5), Matern(1.0)], ids=repr)
def test_K4_similarity_is_1_at_the_point_itself_and_falls_with_the_distance(k):
    direction = np.array([0.6, -0.8])
    values = k([[0.3, 0.1]], [np.array([0.3, 0.1]) + r * direction for r in (0.0, 0.2, 0.5, 1.0, 3.0)])[0]
    assert values[0] == pytest.approx(1.0)
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("k", [Gaussian(0.7), Polynomial(3).normalized(), Cosine(), Laplacian(1.0)], ids=repr)
def test_K4_the_more_similar_the_nearer_in_feature_space(k):
    K = k(cloud(3, 12, 2))
    assert np.abs(K).max() <= 1 + 1e-12  # Cauchy and Schwarz
    np.testing.assert_allclose(K, 1 - squared_feature_distances(K) / 2, atol=1e-7)


def test_K4_with_a_narrow_gaussian_only_close_points_vote():
    X, y = labelled(4, n=30)
    Z = X[:10] + 0.01
    h = 0.1
    alpha = np.random.default_rng(5).uniform(0.5, 1.5, size=30)
    close = [sum(alpha[i] * y[i] * (np.linalg.norm(X[i] - z) < 3 * h) for i in range(30)) for z in Z]
    f = decision_values(Gaussian.from_h(h)(Z, X), alpha, y)
    alone = [sum(np.linalg.norm(X[i] - z) < 3 * h for i in range(30)) == 1 for z in Z]
    assert sum(alone) > 4
    np.testing.assert_array_equal(np.sign(f)[alone], np.sign(close)[np.array(alone)])
    np.testing.assert_allclose(f[alone], np.array(close)[alone], rtol=0.05)


# K5: k-NN against the kernelized perceptron


def counting(kernel_class):
    """A kernel that counts the pairs of points it is evaluated at."""

    class Counting(kernel_class):
        pairs = 0

        def formula(self, X, Z):
            type(self).pairs += len(X) * len(Z)
            return super().formula(X, Z)

    return Counting


def test_K5_neighbours_need_no_training_and_all_points_the_perceptron_the_reverse():
    X, y = two_moons(60, noise=0.05, rng=0)
    Z = two_moons(20, rng=1).X
    CountingGaussian = counting(Gaussian)
    neighbours = KernelNeighbors(CountingGaussian(0.3), kappa=3).fit(X, y)
    assert CountingGaussian.pairs == 0
    neighbours.predict(Z)
    assert CountingGaussian.pairs == 20 * 60

    CountingGaussian.pairs = 0
    machine = KernelPerceptron(CountingGaussian(0.3)).fit(X, y)
    assert CountingGaussian.pairs == 60**2
    assert np.count_nonzero(machine.c_) < 30  # most points were never wrong


def test_K5_the_perceptron_depends_on_its_mistakes_only():
    X, y = two_moons(60, noise=0.05, rng=0)
    Z = two_moons(20, rng=1).X
    fit = kernel_perceptron(Gaussian(0.3)(X), y)
    wrong_once = np.flatnonzero(fit.alpha)
    k = Gaussian(0.3)
    full = decision_values(k(Z, X), fit.alpha, y)
    thinned = decision_values(k(Z, X[wrong_once]), fit.alpha[wrong_once], y[wrong_once])
    np.testing.assert_allclose(full, thinned, rtol=1e-10, atol=1e-12)
    # 1-NN needs every point: flip any label, and the prediction at that point flips.
    for i in range(0, 60, 7):
        flipped = np.where(np.arange(60) == i, -y, y)
        assert KernelNeighbors(k, kappa=1).fit(X, flipped).predict(X[[i]])[0] == -y[i]


def test_K5_the_perceptron_sees_a_global_trend_that_neighbours_miss():
    rng = np.random.default_rng(6)
    w = np.array([1.0, -0.5])
    X = rng.uniform(-1, 1, size=(60, 2))
    X = X[np.abs(X @ w) > 0.1]
    y = np.sign(X @ w).astype(int)
    far = 50 * rng.uniform(-1, 1, size=(300, 2))
    truth = np.sign(far @ w)
    perceptron = KernelPerceptron(Linear()).fit(X, y)
    neighbours = KernelNeighbors(Linear(), kappa=1).fit(X, y)
    assert perceptron.score(far, truth) > neighbours.score(far, truth) + 0.02
    assert perceptron.score(far, truth) > 0.95


# K6: parametric against non-parametric learning


def test_K6_parametric_models_have_a_fixed_number_of_weights_kernels_one_for_each_point():
    for n in (10, 40):
        X, t, _ = noisy_sinc(n, rng=0)
        assert Ridge(lambda X: np.hstack([X, X**2])).fit(X, t).w_.shape == (2,)
        assert Perceptron(max_epochs=5).fit(X, t > 0).w_.shape == (2,)  # a weight and an offset
        assert KernelRidge().fit(X, t).a_.shape == (n,)
        assert KernelPerceptron().fit(X, t > 0).c_.shape == (n,)


def test_K6_a_non_parametric_model_keeps_learning_where_a_parametric_one_stands_still():
    Z = np.linspace(-9, 9, 200)[:, None]
    errors = {"parametric": [], "non-parametric": []}
    for n in (10, 40, 160):
        X, t, truth = noisy_sinc(n, noise=0.05, rng=1)
        models = {
            "parametric": Ridge(ridge=1e-3, offset="free"),
            "non-parametric": KernelRidge(Gaussian(1.0), ridge=0.05),
        }
        for name, model in models.items():
            errors[name].append(mean_squared_error(truth(Z), model.fit(X, t).predict(Z)))
    assert errors["non-parametric"] == sorted(errors["non-parametric"], reverse=True)
    assert errors["non-parametric"][-1] < 0.01 * errors["parametric"][-1]
    assert errors["parametric"][-1] > 0.9 * np.var(truth(Z))  # a line cannot fit sinc


def test_K6_the_linear_kernel_leads_back_to_the_parametric_model():
    X, t = cloud(7, 20, 3), cloud(8, 1, 20)[0]
    Z = cloud(9, 6, 3)
    np.testing.assert_allclose(
        KernelRidge(Linear(), ridge=0.5).fit(X, t).predict(Z), Ridge(ridge=0.5).fit(X, t).predict(Z), rtol=1e-8
    )


# K7: the kernelized SVM


@given(seeds, st.floats(1e-3, 10))
def test_K7_objective_is_mean_hinge_loss_plus_penalty_written_out(seed, lam):
    X, y = labelled(seed)
    n = len(y)
    alpha = np.random.default_rng(seed + 1).normal(size=n)
    k = [[gaussian(x, z) for z in X] for x in X]
    hinge = [max(0.0, 1 - y[i] * sum(alpha[j] * y[j] * k[i][j] for j in range(n))) for i in range(n)]
    penalty = sum(alpha[i] * alpha[j] * y[i] * y[j] * k[i][j] for i in range(n) for j in range(n))
    K = Gaussian.from_h(1.0)(X)
    assert svm_objective(alpha, K, y, lam=lam) == pytest.approx(sum(hinge) / n + lam * penalty, rel=1e-9)
    np.testing.assert_allclose(hinge_losses(decision_values(K, alpha, y), y), hinge, rtol=1e-9, atol=1e-12)


@given(seeds, st.floats(1e-3, 10))
def test_K7_kernelized_objective_is_the_svm_s_own_at_w_from_alpha(seed, lam):
    X, y = labelled(seed, d=3)
    n = len(y)
    alpha = np.random.default_rng(seed + 1).uniform(size=n)
    w = sum(alpha[j] * y[j] * X[j] for j in range(n))
    own = np.mean([max(0.0, 1 - y[i] * (w @ X[i])) for i in range(n)]) + lam * w @ w
    assert svm_objective(alpha, Linear()(X), y, lam=lam) == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.02, 0.2])
def test_K7_training_finds_the_minimum_that_a_quadratic_program_finds(seed, lam):
    X, y = labelled(seed, n=20)
    K = Gaussian(1.0)(X)
    n, C = len(y), 1 / (2 * len(y) * lam)
    assert C_from_lam(lam, n=n) == pytest.approx(C)
    solution = cvxopt.solvers.qp(
        cvxopt.matrix(np.outer(y, y) * K),
        cvxopt.matrix(-np.ones(n)),
        cvxopt.matrix(np.vstack([-np.eye(n), np.eye(n)])),
        cvxopt.matrix(np.append(np.zeros(n), np.full(n, C))),
        options={"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12},
    )
    peer = np.array(solution["x"])[:, 0]
    for solve in (kernel_svm, kernel_svm_by_the_book):
        fit = solve(K, y, lam=lam, gap=1e-8)
        assert svm_objective(fit.alpha, K, y, lam=lam) == pytest.approx(svm_objective(peer, K, y, lam=lam), rel=1e-6)
        np.testing.assert_allclose(K @ (fit.alpha * y), K @ (peer * y), atol=1e-3)


def test_K7_prediction_is_the_sign_of_the_weighted_sum():
    X, y = labelled(10, n=25)
    Z = cloud(11, 12, 2)
    fit = kernel_svm(Gaussian.from_h(1.0)(X), y, lam=0.01)
    expected = [np.sign(sum(fit.alpha[i] * y[i] * gaussian(X[i], z) for i in range(25))) for z in Z]
    assert KernelSVM(Gaussian.from_h(1.0), lam=0.01).fit(X, y).predict(Z).tolist() == expected


# K8: the kernelized perceptron as loss minimisation


@given(seeds)
def test_K8_perceptron_loss_written_out(seed):
    X, y = labelled(seed)
    n = len(y)
    c = np.random.default_rng(seed + 1).normal(size=n)
    f = [sum(c[j] * gaussian(X[j], X[i]) for j in range(n)) for i in range(n)]
    expected = sum(max(0.0, -y[i] * f[i]) for i in range(n)) / n
    K = Gaussian.from_h(1.0)(X)
    assert perceptron_loss(c, K, y) == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert perceptron_loss(np.zeros(n), K, y) == 0  # nothing to learn from the loss alone: 0 is its minimum


@given(seeds)
def test_K8_subgradient_is_the_difference_quotient_between_the_kinks(seed):
    X, y = labelled(seed)
    K = Gaussian.from_h(1.0)(X)
    c = np.random.default_rng(seed + 1).normal(size=len(y))
    step = 1e-4 * np.abs(K @ c).min()  # too short to reach a kink: the loss is linear from here to there
    quotient = [
        (perceptron_loss(c + step * e, K, y) - perceptron_loss(c - step * e, K, y)) / (2 * step) for e in np.eye(len(y))
    ]
    np.testing.assert_allclose(perceptron_loss_subgradient(c, K, y), quotient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("step", [0.25, 1.0, 4.0])
def test_K8_stochastic_descent_on_the_loss_is_the_perceptron(step):
    X, y = labelled(12, n=20)
    K = Gaussian(0.5)(X)
    c = np.zeros(20)
    rng = np.random.default_rng(3)
    for _ in range(4):
        for i in rng.permutation(20):
            if y[i] * sum(c[j] * K[j, i] for j in range(20)) <= 0:
                c[i] += step * y[i]
    np.testing.assert_allclose(minimise_perceptron_loss(K, y, step=step, epochs=4, rng=3), c)
    fit = kernel_perceptron(K, y, max_epochs=4, shuffle=True, rng=3)
    np.testing.assert_allclose(c, step * fit.alpha * y)


# K9: kernelized linear regression


def mean_risk(alpha, K, y, lam):
    n = len(y)
    losses = [(sum(alpha[j] * K[i, j] for j in range(n)) - y[i]) ** 2 for i in range(n)]
    return sum(losses) / n + lam * sum(alpha[i] * K[i, j] * alpha[j] for i in range(n) for j in range(n))


@given(seeds, st.floats(1e-3, 10))
def test_K9_closed_form_minimises_mean_squared_error_plus_penalty(seed, lam):
    X, y = cloud(seed, 6, 2), cloud(seed + 1, 1, 6)[0]
    K = Gaussian.from_h(1.0)(X)
    alpha = dual_weights(K, y, ridge=ridge_from_mean_risk(lam, n=6))
    np.testing.assert_allclose(alpha, np.linalg.inv(K + 6 * lam * np.eye(6)) @ y, rtol=1e-6, atol=1e-9)
    best = mean_risk(alpha, K, y, lam)
    for step in cloud(seed + 2, 4, 6):
        assert mean_risk(alpha + step, K, y, lam) > best
        slope = mean_risk(alpha + step, K, y, lam) - mean_risk(alpha - step, K, y, lam)
        assert slope == pytest.approx(0, abs=1e-7)


@given(seeds, st.floats(1e-3, 10))
def test_K9_linear_kernel_gives_back_w(seed, lam):
    X, y = cloud(seed, 8, 3), cloud(seed + 1, 1, 8)[0]
    alpha = dual_weights(Linear()(X), y, ridge=8 * lam)
    w = sum(alpha[i] * X[i] for i in range(8))
    # The parametric problem (1/n) |Xw - y|^2 + lam |w|^2 by its normal equations.
    np.testing.assert_allclose(w, np.linalg.solve(X.T @ X / 8 + lam * np.eye(3), X.T @ y / 8), rtol=1e-6, atol=1e-9)
    z = cloud(seed + 2, 1, 3)
    np.testing.assert_allclose(predict(Linear()(z, X), alpha), z @ w, rtol=1e-7, atol=1e-9)


# K10: semi-parametric regression


@given(seeds, st.floats(0.1, 3), st.floats(0.1, 3))
def test_K10_f_splits_into_a_sum_of_gaussians_and_a_linear_function(seed, c1, c2):
    X, y = cloud(seed, 7, 2), cloud(seed + 1, 1, 7)[0]
    Z = cloud(seed + 2, 4, 2)
    K = np.array([[c1 * gaussian(x, z) + c2 * x @ z for z in X] for x in X])
    alpha = np.linalg.solve(K + 0.5 * np.eye(7), y)
    w = c2 * sum(alpha[i] * X[i] for i in range(7))
    nonparametric = [c1 * sum(alpha[i] * gaussian(X[i], z) for i in range(7)) for z in Z]

    parts = SemiparametricRidge(c1 * Gaussian.from_h(1.0), c2 * Linear(), ridge=0.5).fit(X, y).parts(Z)
    np.testing.assert_allclose(parts.nonparametric, nonparametric, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(parts.parametric, Z @ w, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(parts.total, nonparametric + Z @ w, rtol=1e-6, atol=1e-9)


def test_K10_far_from_the_data_only_the_linear_part_is_left():
    data = trend_and_wiggle(60, rng=0)
    model = SemiparametricRidge(Gaussian(0.5), Linear(), ridge=0.1).fit(data.X, data.t)
    (slope,) = model.w_
    assert slope == pytest.approx(0.5, abs=0.1)
    np.testing.assert_allclose(model.predict([[100.0], [-80.0]]), [100 * slope, -80 * slope], rtol=1e-9)


def test_K10_semiparametric_extrapolates_like_a_line_and_fits_like_a_gaussian():
    data = trend_and_wiggle(80, rng=1)
    inside = np.linspace(-4.5, 0.9, 60)[:, None]
    beyond = np.linspace(5.5, 9, 40)[:, None]
    models = {
        "gaussian": KernelRidge(Gaussian(0.5), ridge=0.1),
        "linear": KernelRidge(Linear(), ridge=0.1),
        "both": SemiparametricRidge(Gaussian(0.5), Linear(), ridge=0.1),
    }
    error = {
        (name, where): mean_squared_error(data.truth(Z), model.fit(data.X, data.t).predict(Z))
        for name, model in models.items()
        for where, Z in (("inside", inside), ("beyond", beyond))
    }
    assert error["both", "inside"] < 0.2 * error["linear", "inside"]
    assert error["both", "beyond"] < 0.1 * error["gaussian", "beyond"]


# K11: thermostable chimeras of three parents in eight blocks


def test_K11_kernels_on_sequences_count_the_blocks_that_agree():
    sequences = p450_chimeras(20, rng=0).sequences
    agree = np.array([[sum(a == b for a, b in zip(s, t, strict=True)) for t in sequences] for s in sequences])
    np.testing.assert_allclose(Positions()(sequences), agree)
    np.testing.assert_allclose(Hamming(0.7)(sequences), 0.7 ** (8 - agree), rtol=1e-12)
    np.testing.assert_allclose((Positions() ** 2)(sequences), agree**2)
    assert is_psd(Hamming(0.7)(sequences))


def test_K11_the_design_space_is_every_way_to_fill_eight_blocks():
    everything = p450_chimeras(noise=0, rng=0)
    assert sorted(everything.sequences) == sorted("".join(blocks) for blocks in product("123", repeat=8))
    assert len(everything.sequences) == 3**8
    np.testing.assert_allclose(everything.truth(everything.sequences), everything.t)


def test_K11_a_model_of_150_chimeras_finds_one_that_beats_every_parent():
    measured = p450_chimeras(150, rng=1)
    candidates = p450_chimeras(2000, noise=0, rng=0)
    model = KernelRidge(Positions() ** 2, ridge=5.0, offset="free").fit(measured.sequences, measured.t)
    assert model.score(candidates.sequences, candidates.t) > 0.8
    best = candidates.sequences[int(np.argmax(model.predict(candidates.sequences)))]
    parents = measured.truth(list(measured.parents.values()))
    assert measured.truth([best])[0] > parents.max()
    assert measured.truth([best])[0] > np.quantile(candidates.t, 0.995)


def test_K11_interactions_of_blocks_need_a_kernel_with_products():
    measured = p450_chimeras(400, noise=0.5, rng=2)
    others = p450_chimeras(500, noise=0, rng=0)
    score = {}
    for k in (Positions(), Positions() ** 2):
        model = KernelRidge(k, ridge=1.0, offset="free").fit(measured.sequences, measured.t)
        score[k] = model.score(others.sequences, others.t)
    assert score[Positions()] < 0.9 < score[Positions() ** 2]


# K12: choosing kernels and parameters


def test_K12_cross_validation_by_hand():
    X, t, _ = noisy_sinc(20, rng=3)
    folds = k_fold(20, 4, rng=0)
    expected = []
    for train, held_out in folds:
        K = np.array([[math.exp(-((p - q) ** 2) / 2) for q in X[train, 0]] for p in X[train, 0]])
        a = np.linalg.solve(K + 0.3 * np.eye(len(train)), t[train])
        f = [
            sum(a_j * math.exp(-((X[j, 0] - X[i, 0]) ** 2) / 2) for a_j, j in zip(a, train, strict=True))
            for i in held_out
        ]
        expected.append(sum((t[held_out] - f) ** 2) / len(held_out))
    scores = cross_validate(KernelRidge(Gaussian(1.0), ridge=0.3), X, t, folds, metric=mean_squared_error)
    np.testing.assert_allclose(scores, expected, rtol=1e-8)


def test_K12_grid_search_keeps_the_setting_with_the_best_mean():
    X, y = rings(60, noise=0.2, rng=0)
    folds = k_fold(60, 5, rng=1)
    grid = {"kernel__sigma": [0.05, 0.5, 20.0], "lam": [1e-3, 1e-1]}
    search = grid_search(KernelSVM(), X, y, grid, folds)
    means = {
        (sigma, lam): np.mean(cross_validate(KernelSVM(Gaussian(sigma), lam=lam), X, y, folds))
        for sigma in grid["kernel__sigma"]
        for lam in grid["lam"]
    }
    assert [means[s["kernel__sigma"], s["lam"]] for s in search.settings] == pytest.approx(search.scores.tolist())
    assert means[search.best["kernel__sigma"], search.best["lam"]] == max(means.values()) == search.best_score
    assert search.best["kernel__sigma"] != 20.0  # so wide that the prediction is almost constant


def test_K12_search_over_kernels_finds_the_one_that_made_the_data():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(40, 2))
    t = (X @ [1.0, -2.0]) ** 2 + 0.05 * rng.normal(size=40)
    kernels = [Linear(), Polynomial(2), Gaussian(0.05)]
    choice = choose_kernel(kernels, X, t, ridges=[1e-3, 1e-1])
    assert choice.kernel == Polynomial(2)
    for row, k in enumerate(kernels):
        np.testing.assert_allclose(choice.errors[row], leave_one_out(k(X), t, ridges=[1e-3, 1e-1]).errors)
    assert choice.error == choice.errors.min()


def test_K12_learned_kernel_weights_are_non_negative_and_align_better_than_each_kernel_alone():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(50, 3))
    t = np.sin(4 * X[:, 0]) + 2 * X[:, 1]
    kernels = [Gaussian(0.4).on(0), Linear().on(1), Gaussian(0.4).on(2)]
    grams = [k(X) for k in kernels]
    weights = alignment_weights(grams, t)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert weights[2] < 0.5 * min(weights[:2])  # the third input has nothing to do with t
    combined = sum(w * K for w, K in zip(weights, grams, strict=True))
    assert target_alignment(combined, t) > max(target_alignment(K, t) for K in grams)
    # No other mixture does better.
    for other in rng.dirichlet([1, 1, 1], size=30):
        mixture = sum(w * K for w, K in zip(other, grams, strict=True))
        assert target_alignment(mixture, t) <= target_alignment(combined, t) + 1e-9


def test_K12_alignment_is_the_cosine_of_two_gram_matrices():
    A, B = Gaussian(1.0)(cloud(13, 6, 2)), Linear()(cloud(14, 6, 2))
    inner = sum(A[i, j] * B[i, j] for i in range(6) for j in range(6))
    lengths = math.sqrt(sum(v**2 for v in A.ravel())) * math.sqrt(sum(v**2 for v in B.ravel()))
    assert alignment(A, B) == pytest.approx(inner / lengths)


# K13: overfitting and regularisation


def noise_labels(seed, n=80):
    """Labels that have nothing to do with the points: a model that fits them has overfitted."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.choice([-1, 1], size=n)


@pytest.mark.parametrize("seed", range(3))
def test_K13_the_perceptron_fits_pure_noise_and_regularised_machines_do_not(seed):
    X, y = noise_labels(seed)
    n, k = len(y), Gaussian(0.3)

    def right(model):
        return np.mean(np.sign(model.predict(X)) == y)

    assert right(KernelPerceptron(k).fit(X, y)) == 1.0
    assert right(KernelSVM(k, lam=0.1).fit(X, y)) < 0.95
    assert right(KernelRidge(k, ridge=n * 0.1).fit(X, y)) < 0.95
    # With almost no penalty, the regularised models overfit as well.
    assert right(KernelSVM(k, lam=1e-7).fit(X, y)) == 1.0
    assert right(KernelRidge(k, ridge=n * 1e-7).fit(X, y)) == 1.0


def test_K13_regularisation_pays_on_new_points():
    X, y = two_moons(80, noise=0.35, rng=0)
    test = two_moons(1000, noise=0.35, rng=1)
    k = Gaussian(0.15)
    perceptron = KernelPerceptron(k).fit(X, y)
    svm = KernelSVM(k, lam=0.02).fit(X, y)
    assert perceptron.score(X, y) == 1.0
    assert svm.score(test.X, test.y) > perceptron.score(test.X, test.y) + 0.01


def test_K13_training_error_rises_and_the_norm_falls_with_the_penalty():
    X, t, _ = noisy_sinc(40, noise=0.3, rng=2)
    K = Gaussian(0.5)(X)
    lams = [1e-6, 1e-4, 1e-2, 1.0]
    fits = [dual_weights(K, t, ridge=40 * lam) for lam in lams]
    errors = [mean_squared_error(t, K @ a) for a in fits]
    norms = [a @ K @ a for a in fits]
    assert errors == sorted(errors)
    assert norms == sorted(norms, reverse=True)


# K14: the big picture


@given(seeds)
def test_K14_hinge_loss_bounds_the_zero_one_loss_and_shifts_the_perceptron_loss(seed):
    rng = np.random.default_rng(seed)
    f, y = 2 * rng.normal(size=9), rng.choice([-1, 1], size=9)
    hinge = hinge_losses(f, y)
    assert (hinge >= (np.sign(f) != y)).all()
    # The perceptron loss of y f is the hinge loss one unit further on.
    np.testing.assert_allclose(hinge_losses(f + y, y).mean(), perceptron_loss(f, np.eye(9), y), atol=1e-12)


def test_K14_one_problem_several_methods_one_answer():
    X, y = two_moons(40, noise=0.2, rng=3)
    K = Gaussian(0.7)(X)
    zero_one = (y + 1) // 2
    newton = logistic_newton(K, zero_one, ridge=0.5).a
    np.testing.assert_allclose(
        logistic_gradient_descent(K, zero_one, step=0.3, iterations=5000, ridge=0.5), newton, atol=1e-6
    )
    np.testing.assert_allclose(logistic_sgd(K, zero_one, step=0.3, steps=20_000, ridge=0.5, rng=0), newton, atol=1e-6)
    convex = kernel_svm(K, y, lam=0.05, gap=1e-9)
    stochastic = svm_sgd(K, y, lam=0.05, steps=20_000, rng=0)
    assert svm_objective(stochastic, K, y, lam=0.05) == pytest.approx(convex.objective, rel=0.01)


def test_K14_metrics_by_hand():
    assert mean_squared_error([1.0, 2.0, 4.0], [1.0, 0.0, 5.0]) == pytest.approx((0 + 4 + 1) / 3)
    assert accuracy([1, -1, 1, 1], [1, 1, 1, -1]) == 0.5
    X, t = cloud(15, 10, 1), cloud(16, 1, 10)[0]
    model = Ridge().fit(X, t)
    unexplained = sum((t - model.predict(X)) ** 2) / sum((t - sum(t) / 10) ** 2)
    assert model.score(X, t) == pytest.approx(1 - unexplained)


@pytest.mark.parametrize(("n", "k"), [(10, 5), (11, 3), (7, 7), (2, 2)])
def test_K14_k_fold_holds_every_point_out_once(n, k):
    folds = k_fold(n, k, rng=0)
    assert sorted(i for _, held_out in folds for i in held_out) == list(range(n))
    for train, held_out in folds:
        assert sorted([*train, *held_out]) == list(range(n))
        assert len(held_out) in (n // k, n // k + 1)


def test_K14_monte_carlo_draws_afresh_each_time():
    splits = monte_carlo(20, 6, held_out=0.25, rng=0)
    assert len(splits) == 6
    for train, held_out in splits:
        assert len(held_out) == 5
        assert sorted([*train, *held_out]) == list(range(20))
    assert len({tuple(sorted(held_out)) for _, held_out in splits}) > 1


@pytest.mark.parametrize(
    "estimator",
    [
        KernelPerceptron(Gaussian(0.5)),
        KernelNeighbors(Gaussian(0.5)),
        KernelLogisticRegression(Gaussian(0.5), ridge=0.1),
        KernelSVM(Gaussian(0.5), lam=0.01),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("folds", [k_fold(60, 5, rng=0), monte_carlo(60, 5, rng=0)], ids=["k-fold", "Monte Carlo"])
def test_K14_every_classifier_goes_through_the_same_selection(estimator, folds):
    X, y = rings(60, noise=0.1, rng=1)
    assert cross_validate(estimator, X, y, folds, metric=accuracy).mean() > 0.9
