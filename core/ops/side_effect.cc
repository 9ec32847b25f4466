// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops with effects: PrintV2, Assert. They take a chain, and give one that stands for their effect.

#include "op_definition.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

Status PrintMetadata(const TensorMetadata& input) {
  if (input.rank() == 0) return Status();
  return InvalidArgument("input must be a scalar, got input: ", input);
}

Status AssertMetadata(const TensorMetadata& condition) {
  if (condition.rank() == 0) return Status();
  return InvalidArgument("condition must be a scalar, got condition: ", condition);
}

}  // namespace

Status RegisterSideEffectOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.PrintV2")
              .Input("input: string")
              .Attr("output_stream: {'stdout', 'stderr', 'log(info)', 'log(warning)', 'log(error)'} = 'stderr'")
              .Attr("end: string = '\n'")
              .SideEffects()
              .Metadata<&PrintMetadata>()
              .Doc(TANDEM_DOC(R"(Prints a string.

input: One string.
output_stream: Where to print. The runtime hands everything it prints to the program around it, whatever the stream.
end: What is printed after the string.)")),
          OpDefinition("tf.Assert")
              .Input("condition: bool")
              .Input("data: T")
              .Attr("T: list(type)")
              .Attr("summarize: int = 3")
              .SideEffects()
              .Metadata<&AssertMetadata>()
              .Doc(TANDEM_DOC(R"(Fails unless a condition is true.

condition: One bool. If it is false, the op fails with an error that shows the data, and so does everything that follows
  on its chain.
data: Tensors to show.
summarize: How many elements of each tensor are shown; negative: as many as fit in the error's text.)")),
      });
}

}  // namespace tandem
