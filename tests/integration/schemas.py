"""Check answers against the schemas of schema/answers: schemas.py NAME <ANSWERS, a JSON value a line

This reads the words of JSON Schema that the schemas use, and refuses another one.
"""

import functools
import json
import os
import re
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema/answers")
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float)}
SAID = {"$schema", "$comment", "$defs", "title"}


@functools.cache
def schema_of(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        return json.load(f)


def is_of(value, kind):
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def faults(value, schema, name, at):
    """Yield a sentence for each place of VALUE that SCHEMA, a part of the file NAME, does not allow. AT is the place of VALUE."""
    for word, wanted in schema.items():
        check = CHECKS.get(word)
        if check:
            yield from check(value, wanted, schema, name, at)
        elif word not in SAID:
            raise ValueError(f"{name}: this program does not know {word}")


def refers(value, wanted, _, name, at):
    file, path = wanted.split("#/")
    schema = schema_of(file or name)
    for part in path.split("/"):
        schema = schema[part]
    yield from faults(value, schema, file or name, at)


def typed(value, wanted, _schema, _name, at):
    if not any(is_of(value, kind) for kind in ([wanted] if isinstance(wanted, str) else wanted)):
        yield f"{at} is {value!r:.60} and no {wanted}"


def has_members(value, wanted, schema, name, at):
    if isinstance(value, dict):
        for key, member in value.items():
            if key in wanted:
                yield from faults(member, wanted[key], name, f"{at}.{key}")
            elif schema.get("additionalProperties", True) is False:
                yield f"{at} has {key}"


def other_members(value, wanted, schema, name, at):
    if isinstance(value, dict) and isinstance(wanted, dict):
        for key in set(value) - set(schema.get("properties", ())):
            yield from faults(value[key], wanted, name, f"{at}.{key}")


def required(value, wanted, _schema, _name, at):
    if isinstance(value, dict):
        yield from (f"{at} lacks {key}" for key in wanted if key not in value)


def items(value, wanted, _schema, name, at):
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from faults(item, wanted, name, f"{at}[{i}]")


def one_of(value, wanted, _schema, name, at):
    if sum(not list(faults(value, it, name, at)) for it in wanted) != 1:
        yield f"{at} is {value!r:.60} and none of {wanted}"


def holds(rule, sentence):
    def check(value, wanted, _schema, _name, at):
        if not rule(value, wanted):
            yield f"{at} is {value!r:.60}, and {sentence} {wanted}"

    return check


CHECKS = {
    "$ref": refers,
    "type": typed,
    "properties": has_members,
    "additionalProperties": other_members,
    "required": required,
    "items": items,
    "oneOf": one_of,
    "enum": holds(lambda value, wanted: value in wanted, "is none of"),
    "pattern": holds(lambda value, wanted: not isinstance(value, str) or re.search(wanted, value), "does not match"),
    "minimum": holds(lambda value, wanted: not isinstance(value, (int, float)) or value >= wanted, "is less than"),
    "maxItems": holds(lambda value, wanted: not isinstance(value, list) or len(value) <= wanted, "has more items than"),
}


def check(answer, name):
    """Raise AssertionError if ANSWER is not as schema/answers/NAME.json says. Return ANSWER."""
    found = list(faults(answer, schema_of(f"{name}.json"), f"{name}.json", name))
    assert not found, "\n".join(found[:20])
    return answer


if __name__ == "__main__":
    for line in sys.stdin:
        check(json.loads(line), sys.argv[1])
