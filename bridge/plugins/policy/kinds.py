"""How the walk treats each kind of syntax node."""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = frozenset(
    {
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "arrow_function",
        "method_definition",
    }
)
SCOPES: Final = FUNCTIONS | {
    "statement_block",
    "for_statement",
    "for_in_statement",
    "catch_clause",
    "switch_body",
}
"""What has names of its own."""

TYPES: Final = frozenset(
    {
        "type_annotation",
        "type_arguments",
        "type_parameters",
        "type_alias_declaration",
        "interface_declaration",
        "ambient_declaration",
        "implements_clause",
        "extends_type_clause",
        "asserts_annotation",
        "type_predicate_annotation",
        "adding_type_annotation",
        "omitting_type_annotation",
        "opting_type_annotation",
    }
)
"""What the bundler removes: nothing in it is ever evaluated."""

CASTS: Final = frozenset({"as_expression", "satisfies_expression"})

TYPESCRIPT_ONLY: Final = (
    TYPES
    | CASTS
    | {
        "non_null_expression",
        "abstract_class_declaration",
        "enum_declaration",
        "internal_module",
        "module",
        "import_alias",
        "import_require_clause",
        "accessibility_modifier",
        "override_modifier",
        "optional_parameter",
        "type_assertion",
        "function_signature",
        "index_signature",
    }
)
"""What no JavaScript file holds, unless a parser took comparisons for types."""

ONE_LINE: Final = frozenset(
    {
        # Before a line's end, a contextual keyword is a name.
        *("type_alias_declaration", "interface_declaration", "ambient_declaration"),
        # After a line's end, a type's bracket starts another statement.
        *("lookup_type", "array_type", "generic_type", "instantiation_expression"),
    }
)
"""What the end of a line after its first part makes something else."""

INSTANTIATED: Final = frozenset({"instantiation_expression", "new_expression"})
"""What can end in type arguments."""

SUFFIXED: Final = INSTANTIATED | {"call_expression", "subscript_expression"}
"""What ends in brackets, which another reader may take for something else."""

SLASHES: Final = frozenset({"/", "/="})
ELEMENTS: Final = frozenset({"jsx_element", "jsx_self_closing_element"})
STARTS: Final = ELEMENTS | {"regex", "type_assertion"}
"""What starts with a character that is an operator elsewhere."""

LEGACY_COMMENTS: Final = frozenset({"<", "--", "html_comment"})
"""What holds, or can start, a comment of the oldest scripts."""

NAMES: Final = frozenset({"await", "yield"})
"""What can be a name, so that a ``!`` after it need not negate what follows."""

RESERVED: Final = frozenset(
    {
        *("break", "case", "catch", "class", "const", "continue", "debugger"),
        *("default", "delete", "do", "else", "enum", "export", "extends", "finally"),
        *("for", "function", "if", "import", "in", "instanceof", "new", "return"),
        *("switch", "throw", "try", "typeof", "var", "void", "while", "with"),
    }
)
"""What is a name in no program, though the parser makes one of it to go on."""

OPENERS: Final = frozenset(
    {
        *("(", ",", "=", ":", "[", "!", "&&", "||", "??", "?", "=>", ";", "{", "}"),
        *(")", "return", "case", "throw", "typeof", "void", "delete", "in", "of"),
        *("instanceof", "new", "else", "do", "default", "extends", "...", "+", "-"),
        *("*", "%", "**", "&", "|", "^", "~", "<", "<=", "==", "===", "!="),
        *("!==", "+=", "-=", "*=", "%=", "**=", "&=", "|=", "^=", "||=", "&&="),
        *("??=", "<<", "<<=", "${"),
    }
)
"""
Tokens after which an expression has to start, for every reader of the language.

After any other, one reader's regular expression or JSX element is another's division
or comparison, and what it hides is another's code. One's shift to the right is the end
of another's types.
"""
