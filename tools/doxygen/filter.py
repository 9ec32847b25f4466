#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Shows a header to Doxygen: comments as Doxygen writes them, so that the sources need not.

usage: filter.py HEADER    (the INPUT_FILTER of tools/doxygen/Doxyfile; the result goes to standard output)

The comment that opens a file documents it, one before a declaration that declaration, one behind it likewise. Comments
before an empty line stand for themselves, and those inside of functions are nobody else's business: they stay as they
are. Text is text: nothing in it is a command, a tag or a link by accident; indented lines are code. A rule's number,
such as EX-2, leads to the rule on the page of core/CONTRACT.md.
"""

import re
import sys

NO_DECLARATION = ("namespace", "}", "#if", "#endif", "friend", "static_assert", "private:", "protected:", "public:")
CONTRACT_PAGE = "md_core_CONTRACT.html"
RULE = re.compile(r"\b(?:AT|AV|CA|CH|DI|DL|ER|EX|MD|NU|OH|OR|PR|TH|TR|TY|WQ)-\d+[a-z]?\b")
SCOPE = re.compile(r'\b(namespace|class|struct|union|enum)\b|\bextern ""')


def escape(text):
    """As Doxygen shows it unchanged, but for `code`."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a single backtick is none of Markdown's
        parts = [text.replace("`", "'")]
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\@&$#<>%])", r"\\\1", parts[i])
        parts[i] = RULE.sub(rf'<a href="{CONTRACT_PAGE}#\g<0>">\g<0></a>', parts[i])
    return "`".join(parts)


def block(lines, indent, first):
    """A comment block, whose lines come without their slashes, as Doxygen's."""
    out, in_code = [], False
    for text in lines:
        code = text.startswith("  ")
        mark = f"{indent}/// "
        if code != in_code and (code or text.strip()):
            out.append(mark + (r"\code" if code else r"\endcode"))
            in_code = code
        out.append(mark + (text if in_code else escape(text.strip())))
    if in_code:
        out.append(f"{indent}/// \\endcode")
    return ([f"{indent}/// \\file"] if first else []) + out


class Scopes:
    """Which braces are open, and whether what is inside of them are declarations."""

    def __init__(self):
        self.open = []
        self.statement = ""

    def declares(self):
        return all(self.open)

    def read(self, code):
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', '""', code)
        if code.lstrip().startswith("#"):
            return
        for character in code:
            if character == "{":
                head = re.sub(r"<[^<>]*>|\[\[.*?\]\]", "", self.statement)
                self.open.append(bool(SCOPE.search(head)) and "(" not in head and "=" not in head)
                self.statement = ""
            elif character == "}":
                if self.open:
                    self.open.pop()
                self.statement = ""
            elif character == ";":
                self.statement = ""
            else:
                self.statement += character
        self.statement += " "


def filtered(lines):
    scopes, i, file_documented = Scopes(), 0, False
    trailing_column = -1
    while i < len(lines):
        line = lines[i]
        match = re.match(r"^(\s*)//(?!/) ?(.*)$", line)
        if match and "SPDX" not in line:
            indent = match[1]
            if trailing_column == len(indent):  # goes on with the comment behind the line before
                yield f"{indent}///< {escape(match[2].strip())}"
                i += 1
                continue
            end = i
            while end < len(lines) and re.match(r"^\s*//", lines[end]):
                end += 1
            text = [re.sub(r"^\s*// ?", "", comment) for comment in lines[i:end]]
            follows = lines[end].strip() if end < len(lines) else ""
            if not file_documented and not scopes.open:
                yield from block(text, indent, True)
                file_documented = True
            elif scopes.declares() and follows and not follows.startswith(NO_DECLARATION):
                yield from block(text, indent, False)
            else:
                yield from lines[i:end]
            i = end
            continue
        trailing_column = -1
        code = line
        behind = re.match(r"^(.*?\S)(\s+)//(?!/) ?(.*)$", line)
        if behind and not line.lstrip().startswith("//"):
            code = behind[1]
            documents = scopes.declares() and code.endswith((";", ",")) and "NOLINT" not in behind[3]
            if documents:
                trailing_column = len(behind[1]) + len(behind[2])
                line = f"{behind[1]}{behind[2]}///< {escape(behind[3])}"
        scopes.read(code if behind else line)
        yield line
        i += 1


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(filtered(file.read().split("\n"))))


if __name__ == "__main__":
    main()
