#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Writes the op reference as one HTML page that needs no network: a search box, and an anchor for each op.

usage: generate_op_page.py REGISTRY.json VERSION OUTPUT.html
The JSON is described in core/lib/defs/op_registry_json.cc.
"""

import html
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # a build leaves nothing in the source tree
from op_codegen.cpp import CppFunction
from op_codegen.definitions import OpDefinition, type_text

PAGE = """\
<!doctype html>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- SPDX-FileCopyrightText: The Tandem Authors -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tandem {version}: ops</title>
<style>
:root {{ --back: #fff; --text: #1c2024; --soft: #60646c; --line: #d9dce1; --panel: #f4f5f7; --link: #0b5cad;
  --mark: #e7f0fb; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --back: #16181b; --text: #e6e8eb; --soft: #9ba1a8; --line: #33373d; --panel: #1f2226; --link: #7ab7ff;
    --mark: #1d3047; }}
}}
* {{ box-sizing: border-box; }}
html {{ scroll-padding-top: 5.5rem; }}
body {{ margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }}
header {{ position: sticky; top: 0; z-index: 1; background: var(--back); border-bottom: 1px solid var(--line);
  padding: .75rem 1.5rem; display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }}
header h1 {{ font-size: 1.1rem; margin: 0; }}
header label {{ flex: 1 1 16rem; max-width: 40rem; }}
input {{ width: 100%; font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line);
  border-radius: 6px; padding: .35rem .7rem; }}
:focus-visible {{ outline: 2px solid var(--link); outline-offset: 1px; }}
output {{ color: var(--soft); min-width: 7rem; }}
.columns {{ display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 80rem; margin: 0 auto; }}
nav {{ position: sticky; top: 3.6rem; height: calc(100vh - 3.6rem); overflow-y: auto; padding: 1rem 0 2rem 1.5rem;
  border-right: 1px solid var(--line); }}
nav a {{ display: block; padding: .05rem .3rem; overflow-wrap: anywhere; font-size: .9rem; }}
main {{ display: flex; flex-direction: column; padding: 1rem 1.5rem 40vh; }}
a {{ color: var(--link); text-decoration: none; }}
a:hover {{ text-decoration: underline; }}
section {{ border-bottom: 1px solid var(--line); padding: .25rem 0 1.25rem; }}
section:target h2 a {{ background: var(--mark); }}
section.by-text {{ order: 1; }}
[hidden] {{ display: none; }}
h2 {{ font-size: 1.15rem; margin: 1rem 0 .25rem; }}
h2 a {{ color: inherit; }}
p {{ margin: .4rem 0; max-width: 48rem; }}
code, pre {{ font: .86rem/1.5 ui-monospace, monospace; }}
pre {{ background: var(--panel); border-radius: 6px; padding: .5rem .75rem; margin: .6rem 0; white-space: pre-wrap;
  overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; margin: .6rem 0; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-top: 1px solid var(--line); }}
th {{ font-weight: normal; white-space: nowrap; width: 1%; }}
td.kind {{ color: var(--soft); width: 30%; }}
.note {{ color: var(--soft); }}
@media (max-width: 50rem) {{
  .columns {{ grid-template-columns: minmax(0, 1fr); }}
  nav {{ display: none; }}
  header, main {{ padding-left: 1rem; padding-right: 1rem; }}
}}
</style>
</head>
<body>
<header>
<h1>Tandem {version} ops</h1>
<label><input id="search" type="search" placeholder="Name, text or dtype: conv, softmax bf16  ( / )"
  aria-label="Search the ops by name, text or dtype" autocomplete="off" spellcheck="false"></label>
<output id="count" aria-live="polite">{count} ops</output>
</header>
<div class="columns">
<nav aria-label="Ops">
{index}</nav>
<main>
<p class="note" id="none" hidden>No op matches.</p>
{sections}</main>
</div>
<script>
"use strict";
// Every word must be found in an op; those that are found in names come first.
const search = document.getElementById("search");
const ops = [...document.querySelectorAll("section")].map(section => ({{
  section, link: document.querySelector(`nav a[href="#${{section.id}}"]`),
  name: section.dataset.names, text: section.dataset.names + " " + section.textContent.toLowerCase(),
}}));
function show() {{
  const words = search.value.toLowerCase().split(/\\s+/).filter(word => word);
  let count = 0;
  for (const op of ops) {{
    const found = words.every(word => op.text.includes(word));
    op.section.hidden = op.link.hidden = !found;
    op.section.classList.toggle("by-text", !words.some(word => op.name.includes(word)));
    count += found;
  }}
  document.getElementById("count").textContent = words.length ? `${{count}} of ${{ops.length}} ops` : `${{count}} ops`;
  document.getElementById("none").hidden = count > 0;
}}
search.addEventListener("input", show);
document.addEventListener("keydown", event => {{
  if (event.key === "/" && document.activeElement !== search) {{ event.preventDefault(); search.focus(); }}
  if (event.key === "Escape") {{ search.value = ""; show(); }}
}});
// A link to an op that the search hides shows it.
addEventListener("hashchange", () => {{
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.hidden) {{ search.value = ""; show(); target.scrollIntoView(); }}
}});
show();
</script>
</body>
</html>
"""


def inline(text):
    """Escaped, with `code` as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def parts_of_doc(doc, names):
    """The paragraphs of a doc, and what it says of single arguments and attributes by name: "name: text"."""
    parts = [(None, [])]
    for line in doc.strip().split("\n"):
        match = re.match(r"(\w+): (.*)", line)
        if match and match[1] in names:
            parts.append((match[1], [match[2]]))
        elif line.strip():
            parts[-1][1].append(line.strip())
        else:
            parts.append((None, []))
    paragraphs = [" ".join(lines) for name, lines in parts if name is None and lines]
    return paragraphs, {name: " ".join(lines) for name, lines in parts if name is not None}


def default_text(attr):
    if "default" not in attr:
        return "" if attr["inferred"] else ", required"
    value = attr["default"]
    text = value if isinstance(value, str) and attr["kind"] == "type" else json.dumps(value)
    return f" = <code>{html.escape(text)}</code>"


def kind_text(attr):
    kind = f"list({attr['kind']})" if attr["list"] else attr["kind"]
    minimum = f" ≥ {attr['minimum']}" if "minimum" in attr else ""
    allowed = ": " + ", ".join(attr["allowed"]) if "allowed" in attr else ""
    return html.escape(kind + minimum + allowed) + default_text(attr)


def rows(op, described):
    for title, args in (("input", op["inputs"]), ("output", op["outputs"])):
        for arg in args:
            kind = title + ", " + type_text(arg)
            yield arg["name"], html.escape(kind), described.get(arg["name"], "")
    for attr in op["attrs"]:
        note = described.get(attr["name"], "")
        if attr["inferred"] and not note:
            note = "Follows from the inputs."
        yield attr["name"], kind_text(attr), note


def section(op, registered):
    names = {arg["name"] for key in ("inputs", "outputs", "attrs") for arg in op[key]}
    paragraphs, described = parts_of_doc(op["doc"], names)
    definition = OpDefinition(op, registered)
    # What the search takes for the op's names: that of the definition and that of the function.
    searched = op["name"].lower()
    signature = ""
    if definition.has_function():
        typed = CppFunction(definition)
        searched += " " + typed.name.lower()
        where = ", std::source_location where = std::source_location::current()"
        parameters = typed.parameters().replace(where, "").replace(where[2:], "")
        signature = f"<pre>{html.escape(f'{typed.result_type()} {typed.name}({parameters})')}</pre>\n"
    notes = []
    if any(arg["host_input"] for arg in op["inputs"]):
        notes.append("The content of an input marked <em>host</em> decides the shape of the result.")
    if op["side_effects"]:
        notes.append("Has side effects: a call takes a chain.")
    if not op["metadata"]:
        notes.append("The shape of the result depends on data.")
    name = html.escape(op["name"])
    text = f'<section id="{name}" data-names="{html.escape(searched)}">\n<h2><a href="#{name}">{name}</a></h2>\n'
    text += "".join(f"<p>{inline(paragraph)}</p>\n" for paragraph in paragraphs) + signature
    table = "".join(f'<tr><th><code>{html.escape(what)}</code></th><td class="kind">{kind}</td><td>{inline(note)}</td>'
                    "</tr>\n" for what, kind, note in rows(op, described))
    if table:
        text += f"<table>\n{table}</table>\n"
    if notes:
        text += f'<p class="note">{" ".join(notes)}</p>\n'
    return text + "</section>\n"


def main():
    registry = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    if registry["format"] != 1:
        sys.exit(f"generate_op_page: expected registry format 1, got {registry['format']}")
    registered = {op["name"] for op in registry["ops"]}
    ops = [op for op in registry["ops"] if not op["name"].startswith("test.")]
    page = PAGE.format(version=html.escape(sys.argv[2]), count=len(ops),
                       index="".join(f'<a href="#{html.escape(op["name"])}">{html.escape(op["name"])}</a>\n'
                                     for op in ops),
                       sections="".join(section(op, registered) for op in ops))
    pathlib.Path(sys.argv[3]).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
