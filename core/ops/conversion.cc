// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops that change how a tensor is represented on the host, and nothing else.

#include "op_definition.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

TANDEM_DEFINES OpDefinition ConversionDef(const char* name) {
  return OpDefinition(name).Input("x: T").Output("y: T").Attr("T: type").Metadata<&UnchangedMetadata>();
}

}  // namespace

Status RegisterConversionOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          ConversionDef("tandem.ToDense").Doc(TANDEM_DOC(R"(Gives a tensor with all its elements in memory.

x: Dense, scalar or sparse on the host; anything else, such as strings, is an error.)")),
          ConversionDef("tandem.ToScalar").Doc(TANDEM_DOC(R"(Gives a tensor that keeps one value for its whole shape.

x: Dense or scalar on the host, with all elements equal, bit for bit; anything else is an error.)")),
          ConversionDef("tandem.ToSparseCoo")
              .Doc(TANDEM_DOC(R"(Gives a tensor that keeps the coordinates and values of the elements that are not zero.

x: Dense, scalar or sparse on the host; anything else, such as strings, is an error.)")),
      });
}

}  // namespace tandem
