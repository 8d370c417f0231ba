"""The program beside its peers, in one run: python compare.py [--rounds N] [--seconds S] [--write]

Exports the measured cases, starts one worker per peer, checks that all of them compute the same numbers, then visits
ours and theirs in turn. Prints the table of docs/performance.md; --write puts it there. Expects the program in
target/release (or at $POMDP_FS), and Python with the packages of requirements.txt.
"""
import argparse, json, os, pathlib, platform, statistics, subprocess, sys, tempfile, importlib.metadata

here = pathlib.Path(__file__).resolve().parent; root = here.parent.parent
args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
args.add_argument("--rounds", type=int, default=4); args.add_argument("--seconds", type=float, default=0.6)
args.add_argument("--threads", type=int, nargs="*", default=[1, 2]); args.add_argument("--write", action="store_true")
args.add_argument("--programs", nargs="*", default=["eager", "tuned", "compiled", "jax"])
args.add_argument("--no-evaluation", action="store_true", help="leave SVM, ML-kNN and metrics out")
args = args.parse_args()
program = os.environ.get("POMDP_FS", str(root / "target/release/pomdp-fs"))
NAMES = {"eager": "`nn.TransformerEncoder`, eager", "tuned": "hand-tuned, CLS row only", "compiled": "the same, `torch.compile`", "jax": "JAX, CLS row only"}

class Worker:
    def __init__(self, name, cases, threads):
        self.process = subprocess.Popen([sys.executable, here / "worker.py", name, cases, str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.answer()
    def answer(self):
        while True:
            line = self.process.stdout.readline()
            if not line: raise SystemExit("a worker stopped")
            try: return json.loads(line)
            except ValueError: pass                       # a message of some library
    def ask(self, text):
        self.process.stdin.write(text + "\n"); self.process.stdin.flush(); return self.answer()

def ours(case, threads, seconds):
    """Milliseconds of the fastest and the median run, GFLOP, GFLOP/s, share of peak."""
    id = case.replace("train_", "train_step/") if case != "rollout" else "rollout/"
    command = [program, "bench", "--only", id, "--rounds", str(max(3, int(seconds / .02 / 4))), "--threads", str(threads), "--quiet", "--json", "-"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    entry = report["rollout"] if case == "rollout" else report["train_step"][0]
    return entry | {"peak": report["peak_gflops"], "report": report}

def measure(cases, folder, threads):
    stored = {c: load(folder, c) for c in cases}
    times = {(c, p): [] for c in cases for p in args.programs}; mine = {c: [] for c in cases}; peaks = []
    workers = {p: Worker(p, folder, threads) for p in args.programs}
    for case in cases:
        for p, worker in workers.items():
            answer = worker.ask(f"check {case}")
            if answer is None: times.pop((case, p)); continue
            if case == "rollout":
                loss, error = answer
                assert abs(loss - stored[case]) <= 2e-4 * max(1, abs(stored[case])) and error < 2e-3, (p, case, loss, stored[case], error)
            else:
                worst = max(abs(a - b) / b for a, b in zip(answer, stored[case])); assert worst < 1e-3, (p, case, answer, stored[case])
    for r in range(args.rounds):
        for case in cases:
            entry = ours(case, threads, args.seconds); mine[case].append(entry); peaks.append(entry["report"])
            for p, worker in workers.items():
                if (case, p) in times: times[case, p] += worker.ask(f"time {case} {args.seconds}")
            print(f"{threads} threads, round {r + 1}, {case}: {entry['ms']:.3f} ms", file=sys.stderr, flush=True)
    for worker in workers.values(): worker.process.stdin.close()
    return mine, times, peaks

def load(folder, case):
    from safetensors.numpy import load_file
    file = load_file(pathlib.Path(folder) / f"{case}.safetensors")
    return float(file["loss"].sum()) if case == "rollout" else [float(v) for v in file["losses"]]

def table():
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "bench", "--export", folder], check=True, capture_output=True)
        config = json.loads((pathlib.Path(folder) / "cases.json").read_text())
        cases = [f"train_{b}x{t}" for b, t in config["train"]] + ["rollout"]
        for threads in args.threads:
            mine, times, reports = measure(cases, folder, threads)
            peak = max(r["peak_gflops_threads"] for r in reports); units = {}
            for r in reports:
                for p in r["peaks"]: units[p["unit"]] = max(units.get(p["unit"], 0), p["gflops"])
            lines += [f"### {threads} thread{'s' * (threads > 1)}", "",
                "Peak of the vector unit in use on these threads: %.0f GFLOP/s; one core: %s." % (peak, ", ".join(f"{u} {g:.0f}" for u, g in units.items())), "",
                "| work | ms (median) | GFLOP/s | share of peak (of AVX2) | " + " | ".join(NAMES[p] for p in args.programs) + " |",
                "| --- | --- | --- | --- | " + " | ".join("---" for _ in args.programs) + " |"]
            for case in cases:
                low = min(e["ms"] for e in mine[case]); middle = statistics.median(e["ms_median"] for e in mine[case])
                speed = mine[case][0]["gflop"] / low * 1e3; avx2 = units.get("avx2+fma", 0) * threads
                cells = []
                for p in args.programs:
                    t = times.get((case, p)); cells.append("" if not t else f"{min(t) / low:.2f} ({statistics.median(t) / middle:.2f})")
                name = case.replace("train_", "train step ").replace("rollout", "rollout " + "×".join(str(config["rollout"][k]) for k in ("batch", "steps", "features")))
                lines.append(f"| {name} | {low:.3f} ({middle:.3f}) | {speed:.0f} | {100 * speed / peak:.0f} %" + (f" ({100 * speed / avx2:.0f} %)" if avx2 else "") + " | " + " | ".join(cells) + " |")
            lines.append("")
    versions = ", ".join(f"{n} {importlib.metadata.version(n)}" for n in ("torch", "jax", "numpy", "scikit-learn") if installed(n))
    r = reports[-1]
    lines.append(f"Machine: {r['cpu']}, {r['machine']['cores']} cores, {', '.join(r['machine']['caches'])}; triad L1/L2/L3/DRAM "
                 + "/".join(f"{r['bandwidth_gbs'][k]:.0f}" for k in ("l1", "l2", "l3", "dram")) + f" GB/s. {versions}, Python {platform.python_version()}.")
    return lines

def installed(name):
    try: importlib.metadata.version(name); return True
    except importlib.metadata.PackageNotFoundError: return False

def evaluation():
    """Lines of speed.py: scikit-learn (LIBLINEAR), scikit-multilearn, NumPy."""
    environment = os.environ | {v: "1" for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    out = subprocess.run([sys.executable, here / "speed.py", "svm", "mlknn", "metrics"], capture_output=True, text=True, env=environment, cwd=root)
    if out.returncode: return ["The evaluation was not measured: " + out.stderr.strip().splitlines()[-1]]
    return ["### Evaluation, one thread", "", "```text", *out.stdout.strip().splitlines(), "```"]

lines = table()
if not args.no_evaluation: lines += ["", *evaluation()]
text = "\n".join(lines) + "\n"
print(text)
if args.write:
    page = root / "docs/performance.md"; old = page.read_text(); a, b = "<!-- measured -->\n", "<!-- end -->\n"
    before, rest = old.split(a); _, after = rest.split(b); page.write_text(before + a + text + b + after)
