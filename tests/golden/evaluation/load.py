"""Features (mean 0, standard deviation 1) and labels of a bundled data set."""
import pathlib, re
import arff, numpy as np

DATA = pathlib.Path(__file__).resolve().parents[3] / "data"


def load(name):
    """X (n, d) and Y (n, L) of data/NAME.arff; labels in file order."""
    names = set(re.findall(r'name="([^"]*)"', (DATA / f"{name}.xml").read_text(encoding="utf-8")))
    with open(DATA / f"{name}.arff", encoding="utf-8") as file:
        table = arff.load(file)
    is_label = np.array([attribute in names for attribute, _ in table["attributes"]])
    values = np.array(table["data"], dtype=float)
    x, y = values[:, ~is_label], values[:, is_label].astype(int)
    return (x - x.mean(0)) / x.std(0), y
