"""One peer program as a server: python worker.py PROGRAM CASES THREADS, then a command per line on stdin.

PROGRAM is eager, tuned, compiled (PyTorch) or jax. Commands: `check CASE` answers what the first steps give,
`time CASE SECONDS` the milliseconds of every step. CASE is train_64x2 and so on, or rollout. Answers are JSON lines.
"""
import json, os, pathlib, sys, time

program, folder, threads = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])   # JAX knows no other limit
config = json.loads((folder / "cases.json").read_text())
E = config["encoder"]
WIDTH, HEADS, LAYERS, FFN, RATE = E["width"], E["heads"], E["layers"], E["ffn"], config["learning_rate"]
B, T, D, BASELINE = (config["rollout"][k] for k in ("batch", "steps", "features", "baseline"))

def groups(features, count):
    return [(f + 1) * features // count - f * features // count for f in range(count)]

def repeat(step, seconds):
    step(); times, start = [], time.perf_counter()
    while time.perf_counter() - start < seconds or len(times) < 3:
        t = time.perf_counter(); step(); times.append(1e3 * (time.perf_counter() - t))
    return times

if program == "jax":
    import jax, jax.numpy as jnp
    from safetensors.numpy import load_file

    def load(case): return {k: jnp.asarray(v) for k, v in load_file(folder / f"{case}.safetensors").items()}
    def linear(p, name, h): return h @ p[name + ".w"] + p[name + ".b"]
    def norm(p, name, h):
        h = h - h.mean(-1, keepdims=True)
        return h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-5) * p[name + ".gain"] + p[name + ".shift"]
    def encode(p, x, sizes):
        parts, at = [jnp.broadcast_to(p["tokens.cls"], (len(x), WIDTH))], 0
        for f, s in enumerate(sizes):
            parts.append(x[:, at:at + s] @ p["tokens.features.w"][at:at + s] + p["tokens.features.b"][f]); at += s
        h = jnp.stack(parts, 1)
        for l in range(LAYERS):
            b, last = f"block{l}", l + 1 == LAYERS
            a = norm(p, b + ".norm1", h); kept = h[:, :1] if last else h
            split = lambda m: m.reshape(*m.shape[:2], HEADS, WIDTH // HEADS)
            q = split(linear(p, b + ".query", a[:, :1] if last else a))
            k, v = (split(m) for m in jnp.split(linear(p, b + ".key_value", a), 2, -1))
            w = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5)
            mixed = jnp.einsum("bhqk,bkhd->bqhd", w, v).reshape(*q.shape[:2], WIDTH)
            h = kept + linear(p, b + ".output", mixed)
            h = h + linear(p, b + ".down", jax.nn.gelu(linear(p, b + ".up", norm(p, b + ".norm2", h)), approximate=False))
        return norm(p, "last_norm", h[:, 0])
    def trainer(case):
        c = load(case); p = {k[6:]: v for k, v in c.items() if k.startswith("param.") and "policy" not in k}
        sizes = groups(config["train_features"], int(case.split("x")[1]) - 1); x, z = c["x"], c["z"]
        def loss(p):
            u = linear(p, "disc", encode(p, x, sizes))
            return (jnp.maximum(u, 0) - u * z + jnp.log1p(jnp.exp(-jnp.abs(u)))).mean()
        @jax.jit
        def step(p, m, v, t):
            value, g = jax.value_and_grad(loss)(p)
            m = jax.tree.map(lambda m, g: .9 * m + .1 * g, m, g); v = jax.tree.map(lambda v, g: .999 * v + .001 * g * g, v, g)
            new = lambda p, m, v: p - RATE * (m / (1 - .9 ** t)) / (jnp.sqrt(v / (1 - .999 ** t)) + 1e-8)
            return jax.tree.map(new, p, m, v), m, v, value
        state = [p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), 0]
        def run():
            state[3] += 1; p, m, v, value = step(*state[:3], jnp.float32(state[3]))
            value.block_until_ready(); state[:3] = p, m, v; return float(value)
        return run
    def rollout(_): return None
else:
    import torch
    from safetensors.torch import load_file
    from torch import nn
    from torch.nn import functional as F
    torch.set_num_threads(threads)

    class Eager(nn.Module):
        """nn.TransformerEncoder as anyone would write it; it computes all rows of the last layer."""
        def __init__(self, p, features, count, outputs):
            super().__init__()
            self.sizes, at = groups(features, count), 0
            self.cls = nn.Parameter(p["tokens.cls"].clone()); self.embed = nn.ModuleList()
            for f, s in enumerate(self.sizes):
                self.embed.append(self.linear(p["tokens.features.w"][at:at + s], p["tokens.features.b"][f])); at += s
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, FFN, 0.0, "gelu", batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
            self.heads = nn.ModuleDict({h: self.linear(p[h + ".w"], p[h + ".b"][0]) for h in outputs})
            with torch.no_grad():
                for l, block in enumerate(self.encoder.layers):
                    b = f"block{l}."; a = block.self_attn
                    a.in_proj_weight.copy_(torch.cat([p[b + "query.w"], p[b + "key_value.w"]], 1).T)
                    a.in_proj_bias.copy_(torch.cat([p[b + "query.b"], p[b + "key_value.b"]], 1)[0])
                    for mine, name in ((a.out_proj, "output"), (block.linear1, "up"), (block.linear2, "down")):
                        mine.weight.copy_(p[b + name + ".w"].T); mine.bias.copy_(p[b + name + ".b"][0])
                    for mine, name in ((block.norm1, b + "norm1"), (block.norm2, b + "norm2"), (self.encoder.norm, "last_norm")):
                        mine.weight.copy_(p[name + ".gain"][0]); mine.bias.copy_(p[name + ".shift"][0])
        @staticmethod
        def linear(w, b):
            layer = nn.Linear(*w.shape)
            with torch.no_grad(): layer.weight.copy_(w.T); layer.bias.copy_(b)
            return layer
        def forward(self, x):
            tokens = [e(part)[:, None] for e, part in zip(self.embed, x.split(self.sizes, 1))]
            return self.encoder(torch.cat([self.cls.expand(len(x), 1, -1), *tokens], 1))[:, 0]

    class Tuned(nn.Module):
        """Written by hand: only the CLS row of the last layer, fused projections, fused attention."""
        def __init__(self, p, features, count, outputs):
            super().__init__()
            self.sizes = groups(features, count)
            self.p = nn.ParameterDict({k.replace(".", "_"): nn.Parameter(v.clone()) for k, v in p.items()
                if not k.endswith("query.w") and not k.endswith("query.b") and not k.endswith("key_value.w") and not k.endswith("key_value.b")
                and ("policy" not in k or k.split(".")[0] in outputs)})
            for l in range(LAYERS):
                for s in "wb":
                    self.p[f"block{l}_qkv_{s}"] = nn.Parameter(torch.cat([p[f"block{l}.query.{s}"], p[f"block{l}.key_value.{s}"]], 1))
        def lin(self, name, h):
            w, b = self.p[name + "_w"], self.p[name + "_b"]
            return torch.addmm(b, h.reshape(-1, h.shape[-1]), w).view(*h.shape[:-1], -1)
        def norm(self, name, h): return F.layer_norm(h, (WIDTH,), self.p[name + "_gain"][0], self.p[name + "_shift"][0])
        def tokens(self, x):
            w, b, at, out = self.p["tokens_features_w"], self.p["tokens_features_b"], 0, []
            for f, s in enumerate(self.sizes):
                out.append(torch.addmm(b[f], x[:, at:at + s], w[at:at + s])); at += s
            return out
        def forward(self, x): return self.encode(self.tokens(x))
        def encode(self, tokens):
            h = torch.stack([self.p["tokens_cls"].expand(len(tokens[0]), -1), *tokens], 1)
            split = lambda m: m.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)
            for l in range(LAYERS):
                b, last = f"block{l}", l + 1 == LAYERS
                a = self.norm(b + "_norm1", h)
                if last:
                    w, c = self.p[b + "_qkv_w"], self.p[b + "_qkv_b"]
                    q = torch.addmm(c[:, :WIDTH], a[:, 0], w[:, :WIDTH])[:, None]
                    k, v = (a @ w[:, WIDTH:] + c[:, WIDTH:]).chunk(2, -1); h = h[:, :1]
                else:
                    q, k, v = self.lin(b + "_qkv", a).chunk(3, -1)
                mixed = F.scaled_dot_product_attention(split(q), split(k), split(v)).transpose(1, 2).flatten(2)
                h = h + self.lin(b + "_output", mixed)
                h = h + self.lin(b + "_down", F.gelu(self.lin(b + "_up", self.norm(b + "_norm2", h))))
            return self.norm("last_norm", h[:, 0])

    def model(p, features, count, outputs):
        kind = Eager if program == "eager" else Tuned
        return kind(p, features, count, outputs)
    def head(net, name, h):
        return net.heads[name](h) if program == "eager" else torch.addmm(net.p[name + "_b"], h, net.p[name + "_w"])
    def adam(net): return torch.optim.Adam(net.parameters(), RATE, **({} if program == "eager" else {"fused": True}))
    def params(c): return {k[6:]: v for k, v in c.items() if k.startswith("param.")}

    def trainer(case):
        c = load_file(folder / f"{case}.safetensors"); x, z = c["x"], c["z"]
        net = model(params(c), config["train_features"], int(case.split("x")[1]) - 1, ["disc"]); opt = adam(net)
        loss = lambda: F.binary_cross_entropy_with_logits(head(net, "disc", net(x)), z)
        loss = torch.compile(loss) if program == "compiled" else loss
        def run():
            opt.zero_grad(set_to_none=True); value = loss(); value.backward(); opt.step(); return float(value.detach())
        return run

    def rollout(_):
        if program == "compiled": return None
        c = load_file(folder / "rollout.safetensors"); x, y = c["x"], c["y"]; net = model(params(c), D, 1, ["disc", "feature_policy"])
        opt, rows = adam(net), torch.arange(B)
        def log_pi(h, m, a): return head(net, "feature_policy", h).masked_fill(m == 1, -torch.inf).log_softmax(1).gather(1, a)[:, 0]
        def joint(advantage, logs, h): return F.binary_cross_entropy_with_logits(head(net, "disc", h), y) - (advantage * logs).sum() / B
        def rewards(h): return -F.binary_cross_entropy_with_logits(head(net, "disc", h), y, reduction="none").mean(1)
        def plain(actions=None, reward=None):
            """The graph of all steps is kept; multinomial draws."""
            m, logs = torch.zeros_like(x), []
            for t in range(T):
                h = net(m * x)
                if actions is None:
                    with torch.no_grad(): a = torch.multinomial(head(net, "feature_policy", h).masked_fill(m == 1, -torch.inf).softmax(1), 1)
                else: a = actions[:, t:t + 1]
                logs.append(log_pi(h, m, a)); m = m.scatter(1, a, 1.0)
            h = net(m * x)
            if reward is None: reward = rewards(h).detach()[:, None]
            return joint(reward - BASELINE, torch.stack(logs, 1), h)
        def quick(actions=None, reward=None):
            """No graph while sampling, tokens updated by one feature a step, then one replay of all states at once."""
            w, b = net.p["tokens_features_w"], net.p["tokens_features_b"][0]
            if actions is None:
                with torch.no_grad():
                    e, m, chosen = b.expand(B, -1).clone(), torch.zeros_like(x), []
                    for t in range(T):
                        probs = head(net, "feature_policy", net.encode([e])).masked_fill(m == 1, -torch.inf).softmax(1).cumsum(1)
                        a = torch.searchsorted(probs, torch.rand(B, 1) * probs[:, -1:]).clamp_max(D - 1)
                        chosen.append(a); m.scatter_(1, a, 1.0); e.addcmul_(x.gather(1, a), w[a[:, 0]])
                    actions = torch.cat(chosen, 1); reward = rewards(net.encode([e]))[:, None]
            steps = w[actions] * x.gather(1, actions)[:, :, None]
            e = b + torch.cat([torch.zeros(B, 1, WIDTH), steps.cumsum(1)], 1)
            h = net.encode([e.transpose(0, 1).reshape((T + 1) * B, WIDTH)]).view(T + 1, B, WIDTH)
            before = torch.stack([torch.zeros_like(x).scatter(1, actions[:, :t], 1.0) for t in range(T)])
            scores = head(net, "feature_policy", h[:-1].reshape(T * B, WIDTH)).view(T, B, D).masked_fill(before == 1, -torch.inf)
            logs = scores.log_softmax(2).gather(2, actions.T[:, :, None])[:, :, 0].T
            return joint(reward - BASELINE, logs, h[-1])
        work = plain if program == "eager" else quick
        def run(check=False):
            opt.zero_grad(set_to_none=True)
            loss = work(c["actions"].long(), c["reward"]) if check else work()
            loss.backward()
            if check:
                g = net.heads["disc"].weight.grad.T if program == "eager" else net.p["disc_w"].grad
                return [float(loss), float((g - c["grad.disc.w"]).abs().max() / c["grad.disc.w"].abs().max())]
            opt.step()
        return run

runs = {}
def get(case):
    if case not in runs: runs[case] = (rollout if case == "rollout" else trainer)(case)
    return runs[case]

print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    command, case, *rest = line.split()
    if command == "check":
        runs.pop(case, None); run = get(case)
        answer = None if run is None else run(True) if case == "rollout" else [run() for _ in range(5)]
    else:
        run = get(case); answer = None if run is None else repeat(run, float(rest[0]))
    print(json.dumps(answer), flush=True)
