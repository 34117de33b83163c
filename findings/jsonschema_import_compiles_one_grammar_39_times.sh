#!/bin/sh
# What does `import jsonschema` do with rfc3987-syntax, which its extra "format-nongpl"
# brings (jupyter-events asks for that extra, so JupyterLab has it, and whatever imports
# nbformat there)?
#
# Expected: it imports a function, and the grammar of RFC 3987 is compiled once, when the
# first IRI is checked.
# Seen (jsonschema 4.26.0, rfc3987-syntax 1.1.0, lark 1.3.1): the import compiles that grammar
# 39 times, once as a whole and once for each of its rules, before anything is validated. It is
# most of what the import takes. One of the 39 parsers is used, for "iri". Where
# rfc3987_syntax cannot be imported, none is made, "iri" is not checked and accepts all, and
# "uri" is checked as before.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q "jsonschema[format-nongpl]==4.26.0" rfc3987-syntax==1.1.0 lark==1.3.1
cat >"$folder/parsers.py" <<'PYTHON'
import sys

import lark

made, used = [], set()
init, parse = lark.Lark.__init__, lark.Lark.parse


def counted(self, *args, **options):
    made.append(str(options.get("start")))
    init(self, *args, **options)


def watched(self, *args, **options):
    used.add(id(self))
    return parse(self, *args, **options)


lark.Lark.__init__, lark.Lark.parse = counted, watched
if sys.argv[1] == "without":
    sys.modules["rfc3987_syntax"] = None

import jsonschema  # noqa: E402

print(f"{sys.argv[1]}: {len(made)} parsers made by the import, {len(set(made))} of them different")
checker = jsonschema.FormatChecker()
for name, text in [("iri", "https://example.org"), ("iri", "no scheme"),
                   ("uri", "https://example.org"), ("uri", "no scheme")]:
    print(f"  {name} {text!r}: {checker.conforms(text, name)}")
print(f"  {len(made)} parsers, {len(used)} used")
PYTHON
for way in with without; do
    "$folder/env/bin/python" "$folder/parsers.py" "$way"
done | tee "$folder/seen"
diff - "$folder/seen" <<'WANTED'
with: 39 parsers made by the import, 39 of them different
  iri 'https://example.org': True
  iri 'no scheme': False
  uri 'https://example.org': True
  uri 'no scheme': False
  39 parsers, 1 used
without: 0 parsers made by the import, 0 of them different
  iri 'https://example.org': True
  iri 'no scheme': True
  uri 'https://example.org': True
  uri 'no scheme': False
  0 parsers, 0 used
WANTED
