"""How servers in Python read a URI: a JSON text a line in, a JSON list of what they would open a line out."""

import json
import posixpath
import socket
import sys
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname


def attempt(read):
    try:
        return [read()]
    except Exception:
        return []


def paths(uri):
    found = []
    parsed = attempt(lambda: urlparse(uri))
    for url in parsed:
        if url.scheme == "file":
            found += [url.path, unquote(url.path), unquote(unquote(url.path))]
            found += attempt(lambda: url2pathname(url.path))
            found += attempt(lambda: unquote(url.path, errors="ignore"))
    for start in ("file://", "file:"):
        if uri.lower().startswith(start):
            rest = uri[len(start) :]
            found += [rest, unquote(rest)]
            break
    return found


def addresses(uri):
    found = []
    for url in attempt(lambda: urlparse(uri)):
        if url.scheme not in ("http", "https"):
            continue
        if attempt(lambda: url.port) not in ([None], [443 if url.scheme == "https" else 80]):
            continue
        for host in attempt(lambda: url.hostname or ""):
            hosts = [host, host.rstrip(".")]
            hosts += attempt(lambda: host.encode("idna").decode("ascii"))
            hosts += attempt(lambda: socket.inet_ntoa(socket.inet_aton(host)))
            found += [[each, unquote(url.path)] for each in hosts]
    return found


def opened(path):
    return posixpath.normpath("/" + path.split("\0")[0].lstrip("/"))


for line in sys.stdin:
    uri = json.loads(line)
    print(
        json.dumps(
            {
                "paths": [opened(path) for path in paths(uri) if path],
                "addresses": [[host, opened(path)] for host, path in addresses(uri)],
            }
        )
    )
