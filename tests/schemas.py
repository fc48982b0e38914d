"""The schemas of --json in docs/schemas, for tests that have an answer of a command."""

import json
import os
import pathlib

FOLDER = pathlib.Path(os.environ["KYMO_SOURCE_DIR"]) / "docs/schemas"

try:
    import jsonschema
except ImportError:
    jsonschema = None


def check(name, value):
    """Raises jsonschema.ValidationError if this is not what the schema promises. Nothing is checked without jsonschema."""
    if jsonschema is None:
        return
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    common = json.loads((FOLDER / "common.json").read_text())
    resolver = jsonschema.RefResolver("", schema, store={"common.json": common})
    jsonschema.Draft202012Validator(schema, resolver=resolver).validate(value)
