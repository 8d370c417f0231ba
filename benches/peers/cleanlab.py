"""Finds wrong labels with cleanlab and with POMDP-FS, on the same candidates.

    python benches/peers/cleanlab.py DATA.csv RESULT [DATA.csv RESULT ...]

DATA.csv has the truth and the candidates (columns `label:NAME` and `candidate:NAME`, as
`pomdp-fs data convert --noise` writes them); RESULT is the folder that `pomdp-fs select DATA.csv
--out RESULT` made. Needs cleanlab and scikit-learn; docs/methods/cleanlab.md has the commands.

A cell is a candidate label of an instance; it is noisy if it is not true. Each side scores the cells
by how wrong they look, and the area under the precision-recall curve (average precision) of the noisy
cells compares the scores. The chance level is the share of noisy cells.
"""

import csv
import pathlib
import sys

# This file has the name of the package: its folder must not be searched first.
sys.path = [p for p in sys.path if pathlib.Path(p).resolve() != pathlib.Path(__file__).resolve().parent]

import numpy as np
from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

FOLDS = 5
PRICES = (0.001, 0.01, 0.1, 1.0)


def read_table(path):
    """Names of the columns, and their values."""
    with open(path, newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return head, rows


def read_data(path):
    """Features, truth and candidates, and the names of the labels."""
    head, rows = read_table(path)
    columns = {kind: [k for k, name in enumerate(head) if name.startswith(kind)] for kind in ("label:", "candidate:")}
    if not columns["label:"] or len(columns["label:"]) != len(columns["candidate:"]):
        sys.exit(f"{path}: expected columns 'label:NAME' and as many 'candidate:NAME'")
    used = set(columns["label:"] + columns["candidate:"])
    values = np.array(rows, dtype=float)
    features = values[:, [k for k in range(len(head)) if k not in used]]
    names = [head[k].removeprefix("label:") for k in columns["label:"]]
    return features, values[:, columns["label:"]] > 0, values[:, columns["candidate:"]] > 0, names


def read_confidence(folder, names):
    """Rows that were labelled, and p(label) of each."""
    head, rows = read_table(pathlib.Path(folder) / "pseudo_labels.csv")
    columns = [head.index(f"p({name})") for name in names]
    index = np.array([int(row[head.index("row")]) for row in rows])
    return index, np.array([[float(row[k]) for k in columns] for row in rows])


def out_of_sample(x, labels, price):
    """Probability of each label by logistic regressions that did not see the row."""
    p = np.empty(labels.shape)
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(x):
        scaler = StandardScaler().fit(x[train])
        seen, new = scaler.transform(x[train]), scaler.transform(x[test])
        for j in range(labels.shape[1]):
            y = labels[train, j]
            if y.all() or not y.any():
                p[test, j] = float(y[0])
                continue
            model = LogisticRegression(C=price, max_iter=1000).fit(seen, y)
            p[test, j] = model.predict_proba(new)[:, 1]
    return p


def best_probabilities(x, labels):
    """Out-of-sample probabilities with the price that predicts the candidates best."""
    tried = [(price, out_of_sample(x, labels, price)) for price in PRICES]
    return min(tried, key=lambda pair: log_loss(labels.ravel(), pair[1].ravel()))


def cleanlab_scores(labels, p):
    """How wrong each cell looks to cleanlab, and which of them its filter flags."""
    lists = [np.flatnonzero(row).tolist() for row in labels]
    quality = np.asarray(get_label_quality_scores_per_class(lists, p))
    issues = np.asarray(find_multilabel_issues_per_class(lists, p, n_jobs=1))
    if quality.shape != labels.shape or issues.shape != labels.shape:
        sys.exit("this version of cleanlab arranges its results differently; 2.9 was tested")
    # A label that is missing cannot be noise here.
    return 1.0 - quality, issues & labels


def compare(data, result):
    x, truth, candidates, names = read_data(data)
    rows, confidence = read_confidence(result, names)
    x, truth, candidates = x[rows], truth[rows], candidates[rows]
    price, p = best_probabilities(x, candidates)
    wrong, flagged = cleanlab_scores(candidates, p)
    noisy = ~truth[candidates]
    area = lambda scores: average_precision_score(noisy, scores[candidates])
    # What the filter does not flag comes last, in no order.
    filtered = np.where(flagged, 1.0 + wrong, 0.0)
    hits, found = (flagged & ~truth)[candidates].sum(), flagged.sum()
    precision = hits / found if found else float("nan")
    print(
        f"| {pathlib.Path(data).stem} | {candidates.sum()} | {noisy.mean():.3f} | {area(filtered):.3f} "
        f"| {precision:.3f} / {hits / noisy.sum():.3f} | {area(wrong):.3f} | {area(1.0 - confidence):.3f} | {price} |",
        flush=True,
    )


def main(arguments):
    if not arguments or len(arguments) % 2:
        sys.exit(__doc__)
    print("| set | cells | chance | cleanlab's filter | its precision / recall | cleanlab's quality | POMDP-FS | C |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for data, result in zip(arguments[::2], arguments[1::2]):
        compare(data, result)


if __name__ == "__main__":
    main(sys.argv[1:])
