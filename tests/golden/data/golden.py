"""Writes the golden files of the readers: python golden.py HERE BUNDLED REFERENCE"""
import gzip, hashlib, json, os, sys
import arff, numpy as np, scipy.io as sio, scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

here, bundled, reference = sys.argv[1:4]
rng = np.random.default_rng(7)

def write(name, text, encoding="utf-8"):
    with open(os.path.join(here, name), "w", encoding=encoding, newline="") as f:
        f.write(text)

def numbers(rows, cols):
    """Values with short and with long decimals, tiny and huge ones, and zeros."""
    x = rng.normal(size=(rows, cols)) * 10.0 ** rng.integers(-6, 7, size=(rows, cols))
    x[rng.random((rows, cols)) < 0.2] = 0.0
    return np.where(rng.random((rows, cols)) < 0.5, np.round(x, 3), x)

# ---- files -----------------------------------------------------------------------------------
n, d, l = 12, 5, 3
x, y = numbers(n, d), rng.random((n, l)) < 0.4
colours = ["red", "green blue", "black"]
head = ["% a comment", "@RELATION 'golden: -C -3'", ""]
head += [f"@attribute\t'feature {j}'\tREAL" for j in range(d)]
head += ["@attribute colour {red, 'green blue', black}"]
head += [f"@attribute l{j} {{0,1}}" for j in range(l)]
nominal = rng.integers(0, 3, n)
rows = [",".join([repr(float(v)) for v in x[i]] + [f"'{colours[nominal[i]]}'"] + [str(int(v)) for v in y[i]]) for i in range(n)]
write("dense.arff", "\r\n".join(head + ["@DATA"] + rows) + "\r\n")
with open(os.path.join(here, "dense.arff"), "rb") as f:
    packed = gzip.compress(f.read(), mtime=0)
with open(os.path.join(here, "dense.arff.gz"), "wb") as f:
    f.write(packed)
sparse_rows = []
for i in range(n):
    cells = [f"{j} {float(x[i, j])!r}" for j in range(d) if x[i, j] != 0]
    if nominal[i]:
        cells.append(f"{d} '{colours[nominal[i]]}'")
    cells += [f"{d + 1 + j} 1" for j in range(l) if y[i, j]]
    sparse_rows.append("{" + ", ".join(cells) + "}")
write("sparse.arff", "\n".join(head + ["@data"] + sparse_rows) + "\n")
lines = []
for i in range(n):
    labels = ",".join(str(j + 1) for j in range(l) if y[i, j])
    lines.append(labels + " " + " ".join(f"{j + 1}:{float(x[i, j])!r}" for j in range(d) if x[i, j] != 0) + " # row")
write("rows.svm", "\n".join(lines) + "\n")
signs = np.where(y.T, 1, -1)
mat = lambda name, **v: sio.savemat(os.path.join(here, name), v.pop("vars"), **v)
mat("plain.mat", vars={"data": x, "target": signs.astype(np.int16)})
mat("packed.mat", vars={"data": (x * 10).astype(np.float32), "target": y.T.astype(np.uint8), "partial_labels": (y.T | (rng.random((l, n)) < 0.3)).astype(np.uint8), "note": "text", "cells": np.array([1, "a"], dtype=object)}, do_compression=True)
mat("sparse.mat", vars={"data": sp.csc_matrix(x), "target": sp.csc_matrix(y.astype(float))})
mat("parts.mat", vars={"train_data": rng.integers(0, 255, (7, 4)).astype(np.uint8), "train_target": signs[:, :7], "test_data": rng.integers(0, 255, (5, 4)).astype(np.uint8), "test_target": signs[:, 7:]}, do_compression=True)
mat("turned.mat", vars={"data": x.T, "target": y})

# ---- what other tools read --------------------------------------------------------------------
def dense(path, labels):
    loaded = arff.load(open(path, encoding="latin-1"), encode_nominal=True, return_type=arff.DENSE)
    return split(np.array(loaded["data"], dtype=float), [a[0] for a in loaded["attributes"]], labels)

def sparse(path, labels):
    loaded = arff.load(open(path, encoding="latin-1"), encode_nominal=True, return_type=arff.COO)
    values, row, col = loaded["data"]
    # Rows without entries at the end would be lost: count the lines.
    body = open(path, encoding="latin-1").read().lower().split("@data", 1)[1]
    count = sum(1 for line in body.splitlines() if line.strip())
    names = [a[0] for a in loaded["attributes"]]
    table = sp.coo_matrix((values, (row, col)), shape=(count, len(names)), dtype=float).toarray()
    return split(table, names, labels)

def split(table, names, labels):
    # liac-arff keeps the backslash of an escaped quote in a name.
    on = [j for j, name in enumerate(names) if name.replace("\\'", "'") in labels]
    off = [j for j in range(len(names)) if j not in set(on)]
    return table[:, off], table[:, on] > 0

def is_sparse(path):
    body = open(path, encoding="latin-1").read().lower().split("@data", 1)[1]
    return body.lstrip().startswith("{")

def as_json(x, y, c=None):
    out = {"x": np.asarray(x, dtype=float).tolist(), "truth": np.asarray(y).astype(int).tolist()}
    if c is not None:
        out["candidates"] = np.asarray(c).astype(int).tolist()
    return out

path = lambda name: os.path.join(here, name)
small = {}
for name, reader in [("dense.arff", dense), ("sparse.arff", sparse)]:
    small[name] = as_json(*reader(path(name), {"l0", "l1", "l2"}))
small["dense.arff.gz"] = small["dense.arff"]
sx, sy = load_svmlight_file(path("rows.svm"), multilabel=True)
classes = sorted({c for row in sy for c in row})
small["rows.svm"] = as_json(sx.toarray(), [[c in row for c in classes] for row in sy])
m = sio.loadmat(path("plain.mat")); small["plain.mat"] = as_json(m["data"], m["target"].T > 0)
m = sio.loadmat(path("packed.mat")); small["packed.mat"] = as_json(m["data"], m["target"].T > 0, m["partial_labels"].T > 0)
m = sio.loadmat(path("sparse.mat")); small["sparse.mat"] = as_json(m["data"].toarray(), m["target"].toarray() > 0)
m = sio.loadmat(path("parts.mat"))
small["parts.mat"] = as_json(np.vstack([m["train_data"], m["test_data"]]), np.hstack([m["train_target"], m["test_target"]]).T > 0)
m = sio.loadmat(path("turned.mat")); small["turned.mat"] = as_json(m["data"].T, m["target"] > 0)
json.dump(small, open(path("small.json"), "w"), indent=0)

# ---- whole data sets: hashes of the values as little-endian f64 and of the labels as bytes ------
def fingerprint(x, y):
    sha = lambda b: hashlib.sha256(b).hexdigest()
    return {"n": x.shape[0], "d": x.shape[1], "labels": y.shape[1],
            "x_sha256": sha(np.ascontiguousarray(x + 0.0, dtype="<f8").tobytes()), "truth_sha256": sha(np.ascontiguousarray(y, dtype=np.uint8).tobytes())}

def labels_of(file, meta=None):
    if meta:
        return {name.replace("\\'", "'") for name in meta["label_names_in_column_order"]}
    import re
    return set(re.findall(r'name="([^"]*)"', open(file[:-5] + ".xml", encoding="utf-8").read()))

whole = {}
for file in sorted(os.listdir(bundled)):
    if file.endswith(".arff"):
        p = os.path.join(bundled, file)
        whole[file] = fingerprint(*(sparse if is_sparse(p) else dense)(p, labels_of(p)))
for folder in sorted(os.listdir(reference)):
    meta = json.load(open(os.path.join(reference, folder, "META.json")))
    for file in sorted(os.listdir(os.path.join(reference, folder))):
        if file.endswith(".arff"):
            p = os.path.join(reference, folder, file)
            names = labels_of(p, meta)
            whole[f"{folder}/{file}"] = fingerprint(*(sparse if is_sparse(p) else dense)(p, names))
json.dump(whole, open(path("whole.json"), "w"), indent=1)
