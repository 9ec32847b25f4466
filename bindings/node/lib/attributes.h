// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Attributes of calls, from JavaScript.

#ifndef TANDEM_BINDINGS_NODE_ATTRIBUTES_H_
#define TANDEM_BINDINGS_NODE_ATTRIBUTES_H_

#include <node_api.h>

#include <memory>

#include "tandem.h"
#include "values.h"

namespace tandem::node {

struct ReleaseAttributes {
  void operator()(tandem_attrs* attrs) const { tandem_attrs_release(attrs); }
};
using Attributes = std::unique_ptr<tandem_attrs, ReleaseAttributes>;

// An array of [name, kind, is a list, value], with the kinds of op definitions as JSON: a dtype is its number. What the
// call will refuse is kept in the attributes. Null for none, and if JavaScript has thrown.
Attributes ReadAttributes(Arguments& args, napi_value array);

}  // namespace tandem::node

#endif  // TANDEM_BINDINGS_NODE_ATTRIBUTES_H_
