"""Reads requests, one a line, as servers written in Python may read them, and prints what each would act on."""
import json
import sys
import unicodedata


class Members(list):
    """The members of an object in their order."""


def last(name):
    return lambda members: next((v for k, v in reversed(members) if k == name), None)


def first(name):
    return lambda members: next((v for k, v in members if k == name), None)


def folding(fold):
    return lambda name: lambda members: next((v for k, v in reversed(members) if fold(k) == name), None)


READERS = [
    last,
    first,
    folding(str.lower),
    folding(str.casefold),
    folding(lambda key: key.upper().lower()),
    folding(lambda key: unicodedata.normalize("NFKC", key).casefold()),
]


def at(read, name, value):
    return read(name)(value) if isinstance(value, Members) else None


def text(value):
    return value if isinstance(value, str) else ""


def reading(read, message):
    params = at(read, "params", message)
    arguments = at(read, "arguments", params)
    ref = at(read, "ref", params)
    env = at(last, "env", arguments)
    return {
        "method": text(at(read, "method", message)),
        "name": text(at(read, "name", params)),
        "uri": text(at(read, "uri", params)),
        "refName": text(at(read, "name", ref)),
        "refUri": text(at(read, "uri", ref)),
        "env": env if isinstance(env, str) else None,
        "odd": arguments is not None and not isinstance(arguments, Members),
    }


def doubled(value):
    if isinstance(value, Members):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(doubled(inner) for _, inner in value)
    return isinstance(value, list) and any(doubled(inner) for inner in value)


for line in sys.stdin.buffer:
    message = json.loads(line, object_pairs_hook=Members)
    readings = [reading(read, message) for read in READERS]
    print(json.dumps({"readings": readings, "doubled": doubled(message)}))
