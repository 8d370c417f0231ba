"""Speed of LIBLINEAR, scikit-multilearn and scikit-learn beside this project: docs/evaluation.md."""
import numpy as np, scipy.sparse as sp, os, subprocess, sys, time, tempfile, warnings
for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"): assert os.environ.get(v) == "1", v
from sklearn.svm import LinearSVC
from sklearn.neighbors import NearestNeighbors
from sklearn import metrics as M
warnings.simplefilter("ignore")
PROGRAM = "cargo bench -q --bench side_by_side --".split(); WHAT = sys.argv[1:] or ["svm", "mlknn", "metrics", "scaling"]
rng = np.random.default_rng(0)

def dense(n, d, L):
    X = rng.standard_normal((n, d)); W = rng.standard_normal((d, L)) / np.sqrt(d)
    S = X @ W + rng.standard_normal((n, L)); return X, (S > np.quantile(S, .8, axis=0)).astype(np.uint8)
def sparse(n, d, L, filled=68):                       # binary, few frequent and many rare columns
    p = np.exp(-np.arange(d) / 300); p *= filled / p.sum(); X = (rng.random((n, d)) < p).astype(float)
    W = rng.standard_normal((d, L)) * (rng.random((d, L)) < .1)
    S = X @ W + rng.standard_normal((n, L)); return X, (S > np.quantile(S, .9, axis=0)).astype(np.uint8)
def rust(work, X, Y, repeats):
    with tempfile.TemporaryDirectory() as d:
        X.astype("<f8").tofile(d + "/x.f64"); Y.astype(np.uint8).tofile(d + "/y.u8")
        open(d + "/shape.txt", "w").write("%d %d %d" % (*X.shape, Y.shape[1]))
        out = subprocess.run([*PROGRAM, work, d, str(repeats)], capture_output=True, text=True, check=True).stdout
    return {l.split()[0]: (float(l.split()[1]), float(l.split()[2])) for l in out.splitlines()}
def best(f, repeats):
    t = []
    for _ in range(repeats): s = time.process_time(); v = f(); t.append(time.process_time() - s)
    return min(t), v

def objective(X, Y, models, loss):
    total = 0.
    for j, m in enumerate(models):
        z = np.maximum(0, 1 - (2. * Y[:, j] - 1) * m.decision_function(X)); w = m.coef_.ravel(); b = m.intercept_[0]
        total += .5 * (w @ w + b * b) + ((z * z).sum() if loss == "squared_hinge" else z.sum())
    return total
def svm(name, X, Y, repeats=3):
    data = sp.csr_matrix(X) if (X != 0).mean() <= .2 else X
    ours = rust("svm", X, Y, repeats)
    optimum = {l: min(v for v in [ours[l][1]]) for l in ours}
    for loss, dual in (("squared_hinge", False), ("squared_hinge", True), ("hinge", True)):
        if dual and len(X) > 5000: continue            # minutes, and it does not converge
        for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
            fit = lambda: [LinearSVC(loss=loss, dual=dual, tol=tol, random_state=0).fit(data, Y[:, j]) for j in range(Y.shape[1])]
            t, models = best(fit, repeats if dual is False or data is not X else 1); v = objective(data, Y, models, loss)
            if v <= optimum[loss] * (1 + 1e-6) or max(m.n_iter_ for m in models) >= 1000: break
        ours = rust("svm", X, Y, repeats); reached = v / optimum[loss] - 1
        print(f"svm {name} {loss}: LIBLINEAR {'dual' if dual else 'primal'} tol {tol:g} {1e3*t:.0f} ms (objective {reached:+.1e}), "
              f"here {1e3*ours[loss][0]:.0f} ms, ratio {t/ours[loss][0]:.1f}", flush=True)
if "svm" in WHAT:
    svm("n 2000 d 200 L 14", *dense(2000, 200, 14)); svm("n 8276 d 120 L 15", *dense(8276, 120, 15))
    svm("n 2000 d 1836 L 15 sparse", *sparse(2000, 1836, 15), repeats=5)

def numpy_mlknn(X, Y, new, k=10, s=1.):
    n, sq = len(X), (X * X).sum(1); D = sq[:, None] + sq - 2 * (X @ X.T); np.fill_diagonal(D, np.inf)
    C = Y[np.argpartition(D, k, axis=1)[:, :k]].sum(1, dtype=int); L = Y.shape[1]
    on, off = np.zeros((L, k + 1)), np.zeros((L, k + 1))
    for j in range(L):
        on[j] = np.bincount(C[Y[:, j] == 1, j], minlength=k + 1); off[j] = np.bincount(C[Y[:, j] == 0, j], minlength=k + 1)
    P1 = (s + on) / (s * (k + 1) + on.sum(1, keepdims=True)); P0 = (s + off) / (s * (k + 1) + off.sum(1, keepdims=True))
    D = (new * new).sum(1)[:, None] + sq - 2 * (new @ X.T); c = Y[np.argpartition(D, k, axis=1)[:, :k]].sum(1, dtype=int)
    prior = (s + Y.sum(0)) / (2 * s + n); J = np.arange(L); a = prior * P1[J, c]; b = (1 - prior) * P0[J, c]
    return int((a >= b).sum())
if "mlknn" in WHAT:
    import skmultilearn.adapt.mlknn as S
    S.NearestNeighbors = lambda k: NearestNeighbors(n_neighbors=k)
    for n, d, L in ((2000, 200, 14), (8000, 120, 15)):
        X, Y = dense(n, d, L); new = X[:n // 10]
        a, va = best(lambda: int(S.MLkNN(k=10).fit(X, sp.csr_matrix(Y.astype(int))).predict(new).sum()), 1)
        b, vb = best(lambda: numpy_mlknn(X, Y, new), 3)
        ours = rust("mlknn", X, Y, 3)
        assert va == ours["scikit-multilearn"][1] and vb == ours["published"][1], (va, vb, ours)
        print(f"mlknn n {n} d {d} L {L}: scikit-multilearn {1e3*a:.0f} ms, NumPy {1e3*b:.0f} ms, here {1e3*ours['published'][0]:.0f} ms, "
              f"ratios {a/ours['scikit-multilearn'][0]:.1f} and {b/ours['published'][0]:.1f}", flush=True)
if "metrics" in WHAT:
    for n, L in ((8000, 15), (2000, 100)):
        F = rng.standard_normal((n, L)); Y = (F + rng.standard_normal((n, L)) > 1.2).astype(int); P = (F > 0).astype(int)
        ours = rust("metrics", F, Y, 20); z = dict(zero_division=0)
        for name, f in dict(label_ranking_loss=lambda: M.label_ranking_loss(Y, F), coverage_error=lambda: M.coverage_error(Y, F),
            label_ranking_average_precision_score=lambda: M.label_ranking_average_precision_score(Y, F),
            hamming_loss=lambda: M.hamming_loss(Y, P), f1_micro=lambda: M.f1_score(Y, P, average="micro", **z),
            f1_macro=lambda: M.f1_score(Y, P, average="macro", **z), f1_samples=lambda: M.f1_score(Y, P, average="samples", **z),
            accuracy_score=lambda: M.accuracy_score(Y, P)).items():
            t, v = best(f, 5); assert abs(v - ours[name][1]) < 1e-9, (name, v, ours[name])
            print(f"{name} n {n} L {L}: scikit-learn {1e3*t:.2f} ms, here {1e3*ours[name][0]:.3f} ms, ratio {t/ours[name][0]:.0f}", flush=True)
if "scaling" in WHAT:
    for n, d, L in ((1000, 100, 10), (2000, 100, 10), (4000, 100, 10), (8000, 100, 10), (4000, 50, 10), (4000, 200, 10), (4000, 400, 10),
                    (4000, 100, 5), (4000, 100, 20), (4000, 100, 40)):
        X, Y = dense(n, d, L); a, b = rust("svm", X, Y, 3), rust("mlknn", X, Y, 3)
        print(f"scaling n {n} d {d} L {L}: SVM squared hinge {1e3*a['squared_hinge'][0]:.0f} ms, hinge {1e3*a['hinge'][0]:.0f} ms, "
              f"ML-kNN {1e3*b['published'][0]:.0f} ms", flush=True)
