// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Complex, Real, Imag, Conj, ComplexAbs: complex numbers and their parts.

#include "elementwise_ops.h"
#include "op_definition.h"
#include "tandem/metadata_functions.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> ComplexMetadata(const TensorMetadata& real, const TensorMetadata& imag) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, BroadcastArguments("real", real, "imag", imag));
  return TensorMetadata(DType::kC64, shape);
}

TensorMetadata PartMetadata(const TensorMetadata& input) { return TensorMetadata(DType::kF32, input.shape); }

// A real number of each complex one.
TANDEM_DEFINES OpDefinition Part(const char* name, const char* input, const char* output, const char* doc) {
  return OpDefinition(name)
      .Input(input)
      .Output(output)
      .Attr("T: {complex64} = DT_COMPLEX64")
      .Attr("Tout: {float} = DT_FLOAT")
      .Metadata<&PartMetadata>()
      .Doc(doc);
}

}  // namespace

Status RegisterComplexOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.Complex")
              .Input("real: T")
              .Input("imag: T")
              .Output("out: Tout")
              .Attr("T: {float} = DT_FLOAT")
              .Attr("Tout: {complex64} = DT_COMPLEX64")
              .Metadata<&ComplexMetadata>()
              .Doc(TANDEM_DOC("Complex numbers of their real and imaginary parts, with broadcasting.")),
          Part("tf.Real", "input: T", "output: Tout", TANDEM_DOC("Real parts of complex numbers.")),
          Part("tf.Imag", "input: T", "output: Tout", TANDEM_DOC("Imaginary parts of complex numbers.")),
          Part("tf.ComplexAbs", "x: T", "y: Tout",
               TANDEM_DOC(
                   "Absolute values of complex numbers: the square root of the sum of the squares of both parts.\n\n"
                   "It is accurate to 1 ULP where that is a number; infinite if either part is, else NaN if "
                   "either is.")),
          OpDefinition("tf.Conj")
              .Input("input: T")
              .Output("output: T")
              .Attr("T: {complex64} = DT_COMPLEX64")
              .Metadata<&UnchangedMetadata>()
              .Doc(TANDEM_DOC("Complex conjugates: imaginary parts change their sign.")),
      });
}

}  // namespace tandem
