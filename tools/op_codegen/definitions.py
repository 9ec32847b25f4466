# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""The ops of the registry as the typed functions of every language see them: names, and what is a parameter."""

import re

# Names that a language or its headers take, and a better one.
RENAMED = {"assert": "assertTrue", "print": "printStrings"}


def function_name(op, registered):
    """tf.ConcatV2 -> concat, tf._FusedConv2D -> fusedConv2d; tf.PadV2 -> padV2, because there is a tf.Pad as well."""
    unversioned = re.sub(r"V\d+$", "", op)
    versions = [other for other in registered if re.sub(r"V\d+$", "", other) == unversioned]
    name = (op if len(versions) > 1 else unversioned).split(".", 1)[1].lstrip("_")
    name = name[0].lower() + re.sub(r"(?<=\d)D", "d", name[1:])
    return RENAMED.get(name, name)


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def camel(name):
    """data_format -> dataFormat, DstT -> dstT"""
    first, *others = snake(name).split("_")
    return first + "".join(word.capitalize() for word in others)


def is_variadic(arg):
    return "number_attr" in arg or "type_list_attr" in arg


def type_text(arg):
    if "dtype" in arg:
        text = arg["dtype"]
    elif "any_dtype" in arg:
        text = "any"
    else:
        text = arg.get("type_attr") or arg.get("type_list_attr")
    if "number_attr" in arg:
        text = f"{arg['number_attr']} * {text}"
    return text + (" (host)" if arg.get("host_input") else "")


class OpDefinition:
    def __init__(self, op, registered):
        self.op = op
        self.full_name = op["name"]
        self.name = function_name(op["name"], registered)
        self.type_name = self.name[0].upper() + self.name[1:]
        self.inputs = op["inputs"]
        self.outputs = op["outputs"]
        # Attributes that follow from the arguments are not part of the functions.
        self.attrs = [a for a in op["attrs"] if not a["inferred"]]
        self.required = [a for a in self.attrs if "default" not in a]
        self.optional = [a for a in self.attrs if "default" in a]
        self.has_side_effects = op["side_effects"]
        self.takes_runtime = self.has_side_effects or self._lacks_tensors()

    def _lacks_tensors(self):
        """Where nothing but sizes is given, no argument tells the runtime."""
        plain = [i for i in self.inputs if not i["host_input"] and not is_variadic(i)]
        variadic = [i for i in self.inputs if is_variadic(i)]
        first_host = bool(self.inputs) and self.inputs[0]["host_input"]
        return (not plain and not variadic) or (first_host and self.full_name == "tf.Fill")

    @property
    def gives_list(self):
        return len(self.outputs) == 1 and is_variadic(self.outputs[0])

    @property
    def gives_one(self):
        return len(self.outputs) == 1 and not is_variadic(self.outputs[0])

    @property
    def list_among_results(self):
        """The index of the result that is a list, where there are others; None if there is no such one."""
        lists = [i for i, output in enumerate(self.outputs) if is_variadic(output)]
        return lists[0] if lists and len(self.outputs) > 1 else None

    def has_function(self):
        """Whether the op has a typed function; the others are called by name."""
        kinds = {a["kind"] for a in self.attrs}
        return not self.full_name.startswith("test.") and not kinds & {"any", "tensor", "func"}


def definitions(registry):
    registered = {op["name"] for op in registry["ops"]}
    return [OpDefinition(op, registered) for op in registry["ops"]]
