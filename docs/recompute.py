"""Recomputes an exported case with PyTorch: python recompute.py DIR [GOLDEN_FILE]"""
import json, pathlib, sys
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
folder = pathlib.Path(sys.argv[1])
config = json.loads((folder / "case.json").read_text())
case = load_file(folder / "case.safetensors")
e, x = config["encoder"], case["input.x"]
pre, width, heads = e["norm"] == "pre", e["width"], e["heads"]
p = {k[6:]: v.clone().requires_grad_() for k, v in case.items() if k.startswith("param.")}

def linear(name, inp): return inp @ p[name + ".w"] + p[name + ".b"]
def norm(name, inp): return F.layer_norm(inp, (width,), p[name + ".gain"][0], p[name + ".shift"][0])
def bce(u, z): return F.binary_cross_entropy_with_logits(u, z, reduction="none")

def drop(site, inp):
    mask = case.get("mask." + site)
    return inp if mask is None else inp * mask.reshape(inp.shape)

def attention(block, a, queries):
    split = lambda m: m.unflatten(-1, (heads, width // heads)).transpose(1, 2)
    key, value = linear(block + ".key_value", a).chunk(2, -1)
    query = linear(block + ".query", a[:, :queries])
    mixed = F.scaled_dot_product_attention(split(query), split(key), split(value))
    return drop(block + ".attention", linear(block + ".output", mixed.transpose(1, 2).flatten(2)))

def feed_forward(block, f):
    act = F.gelu if e["activation"] == "gelu" else F.relu
    return drop(block + ".output", linear(block + ".down", drop(block + ".hidden", act(linear(block + ".up", f)))))

def encode(x, c=None):
    tokens = [p["tokens.cls"].expand(len(x), -1)]
    for f in range(e["groups"]):
        lo, hi = (k * e["features"] // e["groups"] for k in (f, f + 1))
        tokens.append(x[:, lo:hi] @ p["tokens.features.w"][lo:hi] + p["tokens.features.b"][f])
    if e["candidate_token"]:
        tokens.append(linear("tokens.candidates", c))
    h = torch.stack(tokens, 1)
    for l in range(e["layers"]):
        b = f"block{l}"
        queries = 1 if l + 1 == e["layers"] else h.shape[1]  # the last block computes the CLS row alone
        if pre:
            h = h[:, :queries] + attention(b, norm(b + ".norm1", h), queries)
            h = h + feed_forward(b, norm(b + ".norm2", h))
        else:
            h = norm(b + ".norm1", h[:, :queries] + attention(b, h, queries))
            h = norm(b + ".norm2", h + feed_forward(b, h))
    return norm("last_norm", h[:, 0]) if pre else h[:, 0]

def stage1():
    c, z = case["input.c"], case["input.z"]
    phi = encode(x, c)
    u, s = linear("disc", phi), linear("label_policy", phi.detach())
    i, j = case["graph.edges"].long().T
    penalty = (case["graph.weights"][:, None] * (u[i] - u[j]) ** 2).sum()
    policy = (case["input.advantage"] * bce(s, z))[c == 1].sum()   # -ln π(z) = BCE(s, z)
    terms = {"bce": config["bce_weight"] * bce(u, z).sum(), "graph": config["graph_weight"] * penalty, "policy": policy}
    return terms, {"phi": phi, "logits": u, "scores": s}

def stage2():
    actions, m = case["input.actions"].long(), torch.zeros_like(x)
    terms = {"supervised": 0.0, "policy": 0.0}
    for t, w in enumerate(case["input.supervised_weights"]):
        h = encode(m * x)
        terms["supervised"] += w * bce(linear("disc", h), case["input.y"]).sum()
        if t < actions.shape[1]:
            scores = linear("feature_policy", h) / config["temperature"]
            log_pi = scores.masked_fill(m == 1, -torch.inf).log_softmax(1).gather(1, actions[:, t:t + 1])[:, 0]
            terms["policy"] -= config["policy_weight"] * (case["input.advantage"][:, t] * log_pi).sum()
            m = m.scatter(1, actions[:, t:t + 1], 1.0)
    return terms, {}

theta = [v for k, v in p.items() if k.startswith("label_policy")]
rest = [v for k, v in p.items() if not k.startswith("label_policy")]
adam = torch.optim.Adam([{"params": rest}, {"params": theta, "lr": config["policy_learning_rate"]}], lr=config["learning_rate"])
mine, losses = {}, []
for step in range(config["adam_steps"]):
    terms, outputs = stage2() if "input.actions" in case else stage1()
    total = sum(terms.values())
    grads = torch.autograd.grad(total, list(p.values()), allow_unused=True, materialize_grads=True)
    for v, g in zip(p.values(), grads):
        v.grad = g
    adam.step()
    losses.append(total.detach())
    if step == 0:
        mine |= {f"out.{k}": v for k, v in outputs.items()} | {f"loss.{k}": v.reshape(1) for k, v in terms.items()}
        mine |= {f"grad.{k}": v.grad for k, v in p.items()} | {f"adam.{k}": v.clone() for k, v in p.items()}
mine["adam_losses"] = torch.stack(losses)
mine = {k: v.detach().contiguous() for k, v in mine.items()}

worst = {}
for name, b in mine.items():
    a, group = case[name], name.split(".")[0]
    floor = max(1e-6 * float(torch.maximum(a.abs(), b.abs()).max()), 1e-300)
    error = float(((a - b).abs() / torch.maximum(a.abs(), b.abs()).clamp_min(floor)).max())
    worst[group] = max(worst.get(group, (0.0, "")), (error, name))
for group, (error, name) in worst.items():
    print(f"{config['case']:18} {group:12} {error:.1e}  {name}")
if len(sys.argv) > 2:
    save_file(mine, sys.argv[2])
