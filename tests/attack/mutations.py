"""Damage of every kind: bits and pieces of bytes, values within JSON, cells, headers and arrays.

All take a generator first, so that input 1234 of a seed is the same on every machine.
"""

import json
import re

import numpy as np

from lincat import _tensors

NUMBERS = [0, -1, 1, 2, 255, 2**31, -(2**31), 2**53 + 1, 2**63, 2**64, 10**30, -(10**400)]
NUMBERS += [0.5, -0.0, 1e308, -1e308, 5e-324, 1e-300, float("nan"), float("inf"), -float("inf")]
TEXTS = ["", " ", "a" * 5000, "\x00", "é", "[/bold]", "=1+1", "NaN", "null", "1e999", "\x1b[2J"]
TEXTS += ["../../etc/passwd", "os:system", "a:b", "state", "\u202e", "0" * 400, "-", "auto"]
OTHERS = [None, True, False, [], {}, [[]], [None], {"a": 1}, [1, "a"], [[1.0], [2.0, 3.0]]]
TOKENS = [b"null", b"-1", b"1e999", b"NaN", b"[" * 3000, b'{"a":' * 2000, b"9" * 400, b'""']
TOKENS += [
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\r",
    b"\n",
    b'"',
    b"'",
    b",",
    b",,,,",
    b"\\ud800",
]
TOKENS += [b"inf", b"true", b"{}", b"[]", b"=1", b"#", b";", b"\t", b"[[", b"]]", b"1970-01-01"]


def pick(rng, things):
    """One of them."""
    return things[int(rng.integers(len(things)))]


def in_bytes(rng, content):
    """Up to four changes anywhere."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(content) + 1))
        width = int(rng.integers(1, max(2, min(len(content), 64))))
        match int(rng.integers(8)):
            case 0 | 1 if at < len(content):
                content[at] ^= 1 << int(rng.integers(8))
            case 2 if at < len(content):
                content[at] = int(rng.integers(256))
            case 3:
                del content[at : at + width]
            case 4:
                content[at:at] = content[at : at + width] * int(rng.integers(1, 4))
            case 5:
                content[at:at] = pick(rng, TOKENS)
            case 6:
                content[at : at + width] = pick(rng, TOKENS)
            case _ if rng.random() < 0.3:
                del content[at:]
    return bytes(content)


def in_text(rng, content):
    """A number or a word replaced; or bytes."""
    found = list(re.finditer(rb"[-+\w.]+", content))
    if not found or rng.random() < 0.4:
        return in_bytes(rng, content)
    for where in sorted({int(rng.integers(len(found))) for _ in range(3)}, reverse=True):
        values = (*NUMBERS, *TEXTS)
        new = str(pick(rng, values)).encode() if rng.random() < 0.7 else pick(rng, TOKENS)
        content = content[: found[where].start()] + new + content[found[where].end() :]
    return content


def value(rng):
    """Any value of JSON."""
    return pick(rng, pick(rng, [NUMBERS, TEXTS, OTHERS]))


def in_value(rng, tree):
    """A value of JSON with one of its nodes changed."""
    if isinstance(tree, dict) and tree and rng.random() < 0.93:
        out, key = dict(tree), pick(rng, list(tree))
        if rng.random() < 0.06:
            del out[key]
        elif rng.random() < 0.03:
            out[pick(rng, TEXTS)] = value(rng)
        else:
            out[key] = in_value(rng, tree[key])
        return out
    if isinstance(tree, list) and tree and rng.random() < 0.93:
        out, at = list(tree), int(rng.integers(len(tree)))
        if rng.random() < 0.1:
            del out[at:]
        elif rng.random() < 0.1:
            out.append(out[at])
        else:
            out[at] = in_value(rng, tree[at])
        return out
    number = isinstance(tree, int | float) and not isinstance(tree, bool)
    if number and abs(tree) < 1e300 and rng.random() < 0.4:
        return pick(rng, [-tree, tree + 1, tree * 2, tree * 1e10, float(tree), str(tree)])
    return value(rng)


def in_json(rng, content):
    """JSON text with a node changed; or bytes."""
    if rng.random() < 0.25:
        return in_text(rng, content)
    tree = json.loads(content)
    for _ in range(int(rng.integers(1, 3))):
        tree = in_value(rng, tree)
    text = json.dumps(tree, ensure_ascii=bool(rng.integers(2)))
    return text.encode("utf-8", "surrogatepass")


def in_json_lines(rng, content):
    """The same in one of the lines."""
    lines = content.splitlines()
    at = int(rng.integers(len(lines)))
    lines[at] = in_json(rng, lines[at])
    return (in_text(rng, content) if rng.random() < 0.2 else b"\n".join(lines)) + b"\n"


def in_array(rng, array):
    """Another number, shape or type."""
    array = np.array(array)
    match int(rng.integers(6)):
        case 0 | 1 | 2 if array.size and array.dtype.kind in "fiu":
            flat = array.reshape(-1).copy()
            with np.errstate(all="ignore"):
                number = np.float64(float(np.clip(float(pick(rng, NUMBERS[:11])), -1e18, 1e18)))
                number = number if rng.random() < 0.5 else np.float64(pick(rng, NUMBERS[12:]))
                number = number if array.dtype.kind == "f" else np.nan_to_num(number) % 2**31
                flat[int(rng.integers(array.size))] = number.astype(array.dtype)
            return flat.reshape(array.shape)
        case 3:
            return array[: len(array) // 2] if array.ndim else array[None]
        case 4:
            return array.astype(pick(rng, [np.float32, np.int64, np.uint8, np.float64, np.int32]))
        case _:
            shapes = [array[None], array.reshape(-1), array[:0] if array.ndim else array]
            return pick(rng, [*shapes, array[..., :1] if array.ndim else array])


FACTORS = (1e300, -1e300, 1e150, 1e10, 2.0, 0.5, 1e-10, 1e-300, 0.0, -1.0)


def in_sums(rng, content):
    """Numbers that no rows can have: arrays scaled, zeroed, negated, shortened, swapped; signed."""
    from safetensors.numpy import load, save

    size = int.from_bytes(content[:8], "little")
    ((key, text),) = json.loads(content[8 : 8 + size])["__metadata__"].items()
    arrays = {name: np.array(array) for name, array in load(content).items()}
    header = json.loads(text)
    numbers = [name for name in sorted(arrays) if arrays[name].dtype.kind in "fi"]
    for _ in range(int(rng.integers(1, 3))):
        name = pick(rng, numbers)
        with np.errstate(all="ignore"):
            arrays[name] = _other_sums(rng, arrays[name], arrays[pick(rng, numbers)])
    if rng.random() < 0.25:
        header["state"] = in_value(rng, header["state"])
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header.pop("sha256", None)
    text = json.dumps(header, sort_keys=True)
    header["sha256"] = _tensors._digest(text, arrays)
    return save(arrays, metadata={key: json.dumps(header, sort_keys=True)})


def _other_sums(rng, array, other):
    factor = pick(rng, FACTORS)
    match int(rng.integers(8)):
        case 0 | 1 | 2:
            return (array * factor).astype(array.dtype)
        case 3 if array.size:  # some of them
            changed, chosen = array.copy(), rng.random(array.shape) < 0.3
            changed[chosen] = (changed[chosen] * factor).astype(array.dtype)
            return changed
        case 4 if array.ndim:
            return array[: max(len(array) - int(rng.integers(1, 3)), 0)]
        case 5 if array.ndim:
            return array[::-1]
        case 6 if array.ndim > 1:
            return array.swapaxes(-1, -2).reshape(array.shape)
        case _ if other.shape == array.shape:
            return other.astype(array.dtype)
    return (array + pick(rng, (1, -1, 1000))).astype(array.dtype)


def in_tensors(rng, content, *, seal=True):
    """A file of ``_tensors`` with a value or an array changed, and a right checksum again."""
    from safetensors.numpy import load, save

    if rng.random() < 0.15:
        return in_bytes(rng, content)
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size]).get("__metadata__")
    arrays = {name: np.array(array) for name, array in load(content).items()}
    if metadata is None or (arrays and rng.random() < 0.5):
        name = pick(rng, sorted(arrays))
        match int(rng.integers(8)):
            case 0:
                del arrays[name]
            case 1:
                arrays["another"] = arrays[name]
            case _:
                with np.errstate(all="ignore"):
                    arrays[name] = in_array(rng, arrays[name])
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if metadata is None:
        return save(arrays)
    ((key, text),) = metadata.items()
    header = json.loads(text)
    if rng.random() < 0.6:
        header = in_value(rng, header)
    if seal and isinstance(header, dict):
        header.pop("sha256", None)
        text = json.dumps(header, sort_keys=True)
        header["sha256"] = _tensors._digest(text, arrays)
    return save(arrays, metadata={key: json.dumps(header, sort_keys=True)})
