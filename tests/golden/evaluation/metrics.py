# metrics.csv: 1,000 random cases, small enough for a slow twin, measured by scikit-learn.
import numpy as np, warnings
from sklearn.metrics import (label_ranking_loss, coverage_error, label_ranking_average_precision_score,
                             hamming_loss, f1_score, accuracy_score)
warnings.simplefilter("ignore")
rng = np.random.default_rng(20261116)
bits = lambda a: "".join(map(str, np.asarray(a, int).ravel()))
out = open("metrics.csv", "w")
print("n,labels,truth,scores,ranking_loss,coverage,average_precision,hamming_loss,micro_f1,macro_f1,example_f1,subset_accuracy", file=out)
for case in range(1000):
    n, L = int(rng.integers(1, 7)), int(rng.integers(2, 8))
    digits = rng.integers(0, int(rng.choice([2, 4, 10])), (n, L))       # few digits: many ties
    y = (rng.random((n, L)) < rng.choice([.1, .5, .9])).astype(int)
    if case % 3 == 0: y[rng.integers(n)] = rng.integers(2)              # an empty or a full row
    p, f = (digits >= 5).astype(int), digits / 10
    z = dict(zero_division=0)
    v = [label_ranking_loss(y, f), coverage_error(y, f), label_ranking_average_precision_score(y, f),
         hamming_loss(y, p), f1_score(y, p, average="micro", **z), f1_score(y, p, average="macro", **z),
         f1_score(y, p, average="samples", **z), accuracy_score(y, p)]
    print(n, L, bits(y), bits(digits), *["%.12g" % x for x in v], sep=",", file=out)
