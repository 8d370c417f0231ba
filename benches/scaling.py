"""Time and memory of `select` against rows, features, labels, tokens, rollout length and threads:
python benches/scaling.py [--write] [--large]

One size grows at a time on planted data; a cell is one run of the program with few epochs, which memory does not depend
on. Processor time and peak memory are those of the operating system for that process. Exponents are fitted by least
squares on logarithms over the points whose time, less that of the smallest data (the start of the program), counts.
--large adds 100,000 x 100 and 1,000,000 x 100. --write puts the table into docs/performance.md. Needs NumPy.
"""
import argparse, math, os, pathlib, subprocess, sys, tempfile, time

root = pathlib.Path(__file__).resolve().parent.parent
program = os.environ.get("POMDP_FS", str(root / "target/release/pomdp-fs"))
arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--write", action="store_true"); arguments.add_argument("--large", action="store_true")
arguments.add_argument("--data", nargs=4, metavar=("FILE", "N", "D", "L"), help="only write planted data")
arguments = arguments.parse_args()

def data(path, n, d, L):
    """Planted data: the labels are linear in the features, plus noise. CSV, written in blocks."""
    import numpy as np
    rng = np.random.default_rng(0); W = rng.standard_normal((d, L)) / math.sqrt(d)
    with open(path, "w") as f:
        f.write(",".join([f"f{j}" for j in range(d)] + [f"label:y{j}" for j in range(L)]) + "\n")
        for at in range(0, n, 10000):
            X = rng.standard_normal((min(10000, n - at), d)); Y = X @ W + rng.standard_normal((len(X), L)) > 1.2
            np.savetxt(f, np.hstack([X, Y]), fmt=["%.4g"] * d + ["%d"] * L, delimiter=",")

def run(n, d, L, threads=1, options=()):
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: the system counts the memory of the one that starts a program as the program's.
        path = folder + "/planted.csv"; subprocess.run([sys.executable, __file__, "--data", path, str(n), str(d), str(L)], check=True)
        command = [program, "select", path, "--out", folder + "/out", "--noise", "0.2", "--quiet", "--threads", str(threads),
                   "--svm-c", "1", "--set", "epochs1=2", *options, *(() if "--budget" in options else ("--budget", "10"))]
        start = time.perf_counter(); process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        message = process.stderr.read().decode(); _, status, usage = os.wait4(process.pid, 0)
        if status: raise SystemExit(f"{' '.join(command)}: {message}")
        return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / 1024

if arguments.data: data(arguments.data[0], *map(int, arguments.data[1:])); raise SystemExit

def exponent(sizes, times):
    points = [(math.log(s), math.log(t)) for s, t in zip(sizes, times) if t > 0]
    x, y = zip(*points); mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in points) / sum((a - mx) ** 2 for a in x)

DEFAULT, PAPER = ("--set", "rollouts=3"), ("--preset", "paper", "--set", "epochs2=1")
STUDIES = [   # name, sizes, run of one size
    ("rows n (d 100, L 10)", [4000, 8000, 16000, 32000], lambda s: run(s, 100, 10, 1, DEFAULT)),
    ("features d (n 4000, L 10)", [50, 100, 200, 400], lambda s: run(4000, s, 10, 1, DEFAULT)),
    ("labels L (n 4000, d 100)", [5, 10, 20, 40], lambda s: run(4000, 100, s, 1, DEFAULT)),
    ("tokens, preset paper (n 1000, d 64, L 10)", [2, 4, 8, 16], lambda s: run(1000, 64, 10, 1, (*PAPER, "--set", f"groups={s - 1}", "--set", "rollout=2"))),
    ("selections T, preset paper (n 1000, d 64, L 10)", [4, 8, 16, 32], lambda s: run(1000, 64, 10, 1, (*PAPER, "--set", f"rollout={s}", "--budget", "32"))),
]
lines = ["| grows | sizes | processor time, s | peak memory, MB | exponent of time | exponent of memory |", "| --- | --- | --- | --- | --- | --- |"]
for name, sizes, work in STUDIES:
    found = [work(s) for s in sizes]; times, memory = [f[0] for f in found], [f[2] for f in found]
    lines.append(f"| {name} | {', '.join(map(str, sizes))} | {', '.join(f'{t:.2f}' for t in times)} | {', '.join(f'{m:.0f}' for m in memory)} | "
                 f"{exponent(sizes, times):.2f} | {exponent(sizes, memory):.2f} |"); print(lines[-1], flush=True)
for threads in (1, 2):
    cpu, wall, _ = run(8000, 100, 10, threads, DEFAULT)
    lines.append(f"| threads (n 8000, d 100, L 10) | {threads} | {cpu:.2f} (wall {wall:.2f}) | | | |"); print(lines[-1], flush=True)
for n in [100_000, 1_000_000] if arguments.large else []:
    cpu, wall, memory = run(n, 100, 15, 2, ("--set", "rollouts=1"))
    lines.append(f"| {n:,} rows × 100, L 15, 2 threads | | {cpu:.0f} (wall {wall:.0f}) | {memory:.0f} | | |"); print(lines[-1], flush=True)
if arguments.write:
    page = root / "docs/performance.md"; a, b = "<!-- scaling -->\n", "<!-- end of scaling -->\n"
    before, rest = page.read_text().split(a); _, after = rest.split(b); page.write_text(before + a + "\n".join(lines) + "\n" + b + after)
