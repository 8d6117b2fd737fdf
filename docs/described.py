"""Descriptions of the fields of schemas, as Markdown."""

from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from bridge.protocol.wire import Schema


@frozen
class Field:
    """
    One field of a schema.

    :ivar name: As JSON spells it.
    :ivar kind: The name of its JSON type.
    :ivar required: Whether it has no default.
    :ivar meaning: Its description.
    :ivar rules: The rules in its annotation, as text.
    """

    name: str
    kind: str
    required: bool
    meaning: str
    rules: str

    @property
    def words(self) -> str:
        """Meaning and rules."""
        code = f"`{self.rules}`" if set("*[") & set(self.rules) else self.rules
        return joined([self.meaning.rstrip("."), code])


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a Markdown table."""
    lines = [list(heads)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def joined(words: Iterable[str]) -> str:
    """Join what is not empty by semicolons."""
    return "; ".join(filter(None, words))


def fields_in(schema: Schema, defs: Mapping[str, Schema]) -> Iterator[Field]:
    """
    Describe each field of a schema.

    :param defs: The definitions that the schema may refer to.
    """
    required = schema.get("required", ())
    for name, held in schema.get("properties", {}).items():
        rules = [held.get("x-rule", ""), *_values(held, defs)]
        yield Field(
            name,
            schema_words(held, defs),
            name in required,
            held.get("description", ""),
            joined(rules),
        )


def schema_words(schema: Schema, defs: Mapping[str, Schema]) -> str:
    """Return the JSON type of a schema, as text; an object's definition by its name."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        held = defs[name]
        return f"`{name}`" if "properties" in held else schema_words(held, defs)
    if "anyOf" in schema:
        kinds = (schema_words(one, defs) for one in schema["anyOf"])
        return " or ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"array of {schema_words(schema['items'], defs)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {schema_words(schema['additionalProperties'], defs)}"
    return kind if isinstance(kind, str) else " or ".join(kind)


def _values(schema: Schema, defs: Mapping[str, Schema]) -> Iterator[str]:
    """List the values of an enumeration that a schema refers to."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    values = defs.get(name, {}).get("enum", ())
    if values:
        yield f"one of {', '.join(values)}"


def entry(head: str, words: str) -> str:
    """Write one entry of a list of definitions."""
    return f"{head}\n: {words[:1].upper()}{words[1:]}.\n"


def field_entries(found: Iterable[Field]) -> Iterator[str]:
    """Describe fields, each as an entry."""
    for one in found:
        need = "" if one.required else ", optional"
        yield entry(f"`{one.name}` ({one.kind}{need})", one.words)
