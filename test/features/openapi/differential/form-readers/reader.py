"""Reads queries, forms, multipart forms and JSON, one request a line, as servers in Python do, and prints what they find."""
import base64, email, io, json, sys, urllib.parse, warnings

warnings.simplefilter("ignore")
try:
    import cgi
except ImportError:
    cgi = None


def add(found, name, value):
    found.setdefault(name, []).append(value)


def pairs(text):
    found = {}
    for separator in "&", ";":
        for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True, separator=separator):
            # With the other separator the whole text is one value, which no server of that kind sends.
            if separator == "&" or ";" in text:
                add(found, name, value)
    return found


def multipart(body, content_type):
    found = {}
    if cgi is None:
        # From Python 3.13 on; Starlette and others read the same headers.
        whole = email.message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
        for part in whole.get_payload() if whole.is_multipart() else []:
            name = part.get_param("name", "", "content-disposition")
            add(found, name if isinstance(name, str) else name[2], part.get_payload(decode=True).decode("utf8", "replace"))
        return found
    env = {"REQUEST_METHOD": "POST", "CONTENT_TYPE": content_type, "CONTENT_LENGTH": str(len(body))}
    form = cgi.FieldStorage(fp=io.BytesIO(body), environ=env, keep_blank_values=True)
    for part in form.list or []:
        value = part.value
        add(found, part.name or "", value if isinstance(value, str) else value.decode("utf8", "replace"))
    return found


for line in sys.stdin:
    one = json.loads(line)
    body = base64.b64decode(one["body"])
    kind = one["contentType"]
    readings = [pairs(one["query"])]
    if kind.startswith("application/x-www-form-urlencoded"):
        readings.append(pairs(body.decode("utf8")))
    elif kind.startswith("multipart/"):
        readings.append(multipart(body, kind))
    elif kind.startswith("application/json"):
        readings.append({"(json)": [json.loads(body)]})
    print(json.dumps(readings))
