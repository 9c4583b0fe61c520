// Linear algebra on rows: a matrix is an array of Float64Arrays, a vector is one of them. No library is used, because a
// page loads at most 70 kB for its figures, libraries included.

export const EPSILON = Number.EPSILON;

export const zeros = (n, m) => Array.from({ length: n }, () => new Float64Array(m));

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

export function multiply(A, x) {
  const b = new Float64Array(A.length);
  for (let i = 0; i < A.length; i++) b[i] = dot(A[i], x);
  return b;
}

// The lower triangle L with L L' = A, or null where A is not positive definite to working precision.
export function cholesky(A) {
  const n = A.length;
  const L = zeros(n, n);
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, Math.abs(A[i][i]));
  for (let i = 0; i < n; i++) {
    const row = L[i];
    for (let j = 0; j < i; j++) {
      let sum = A[i][j];
      const other = L[j];
      for (let k = 0; k < j; k++) sum -= row[k] * other[k];
      row[j] = sum / other[j];
    }
    let pivot = A[i][i];
    for (let k = 0; k < i; k++) pivot -= row[k] * row[k];
    if (!(pivot > n * EPSILON * largest)) return null;
    row[i] = Math.sqrt(pivot);
  }
  return L;
}

export function choleskySolve(L, t) {
  const n = L.length;
  const x = Float64Array.from(t);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
    x[i] /= L[i][i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= L[k][i] * x[k];
    x[i] /= L[i][i];
  }
  return x;
}

// Jacobi's method: rotate off-diagonal entries away, pair by pair. Values increase; vectors[i] belongs to values[i].
export function eigenSymmetric(matrix) {
  const n = matrix.length;
  const A = matrix.map((row) => Float64Array.from(row));
  const V = zeros(n, n); // rows are the eigenvectors
  for (let i = 0; i < n; i++) V[i][i] = 1;
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    let total = 0;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        total += A[i][j] ** 2;
        if (i !== j) off += A[i][j] ** 2;
      }
    }
    if (!(off > 1e-32 * total)) break;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (A[p][q] === 0) continue;
        const theta = (A[q][q] - A[p][p]) / (2 * A[p][q]);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (let k = 0; k < n; k++) {
          const x = A[k][p];
          A[k][p] = c * x - s * A[k][q];
          A[k][q] = s * x + c * A[k][q];
        }
        for (const M of [A, V]) {
          for (let k = 0; k < n; k++) {
            const x = M[p][k];
            M[p][k] = c * x - s * M[q][k];
            M[q][k] = s * x + c * M[q][k];
          }
        }
      }
    }
  }
  const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => A[i][i] - A[j][j]);
  return { values: order.map((i) => A[i][i]), vectors: order.map((i) => V[i]) };
}

// Solve (K + ridge I) a = t by Cholesky; where that breaks down, by eigenvalues, leaving out what is lost in rounding.
export function solveRidge(K, t, ridge) {
  const n = K.length;
  const A = K.map((row, i) => {
    const copy = Float64Array.from(row);
    copy[i] += ridge;
    return copy;
  });
  const L = cholesky(A);
  if (L) return choleskySolve(L, t);
  const { values, vectors } = eigenSymmetric(A);
  const floor = n * EPSILON * Math.max(Math.abs(values[0]), Math.abs(values[n - 1]));
  const a = new Float64Array(n);
  vectors.forEach((v, j) => {
    if (values[j] <= floor) return;
    const weight = dot(v, t) / values[j];
    for (let i = 0; i < n; i++) a[i] += weight * v[i];
  });
  return a;
}
