// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// FFT, IFFT, RFFT, IRFFT.

#include <string_view>

#include "op_definition.h"
#include "result_shape.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

StatusOr<TensorMetadata> FftMetadata(const TensorMetadata& input) {
  if (input.rank() > 0) return input;
  return InvalidArgument("input must have at least one dimension, got input: ", input);
}

// The transform's length, and `input` with `last` of it in the last dimension.
StatusOr<TensorMetadata> RealMetadata(const TensorMetadata& input, const HostInput& fft_length, bool to_real) {
  TANDEM_RETURN_IF_ERROR(FftMetadata(input).status());
  if (fft_length.metadata().rank() != 1 || fft_length.size() != 1) {
    return InvalidArgument("fft_length must have shape [1], got fft_length: ", fft_length.metadata());
  }
  const int64_t length = fft_length.Int(0);
  if (length < 0) return InvalidArgument("fft_length must be at least 0, got fft_length: [", length, "]");
  TensorShape shape = input.shape;
  shape.SetDim(shape.rank() - 1, to_real ? length : length == 0 ? 0 : length / 2 + 1);
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "input: ", input, ", fft_length: ", length));
  return TensorMetadata(to_real ? DType::kF32 : DType::kC64, shape);
}

StatusOr<TensorMetadata> RfftMetadata(const TensorMetadata& input, HostInput fft_length) {
  return RealMetadata(input, fft_length, false);
}

StatusOr<TensorMetadata> IrfftMetadata(const TensorMetadata& input, HostInput fft_length) {
  return RealMetadata(input, fft_length, true);
}

TANDEM_DEFINES OpDefinition ComplexTransform(const char* name, const char* doc) {
  return OpDefinition(name)
      .Input("input: Tcomplex")
      .Output("output: Tcomplex")
      .Attr("Tcomplex: {complex64} = DT_COMPLEX64")
      .Metadata<&FftMetadata>()
      .Doc(doc);
}

}  // namespace

Status RegisterSignalOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          ComplexTransform("tf.FFT", TANDEM_DOC(R"(Discrete Fourier transform along the last dimension.

Element k of n is the sum of x[j] * exp(-2 pi i j k / n) over all j. Computed in f64 and rounded once, in n log n steps for
every n.

input: Of rank 1 at least.)")),
          ComplexTransform("tf.IFFT", TANDEM_DOC(R"(Inverse discrete Fourier transform along the last dimension.

Element k of n is the sum of x[j] * exp(2 pi i j k / n) over all j, divided by n. Computed in f64 and rounded once, in
n log n steps for every n.

input: Of rank 1 at least.)")),
          OpDefinition("tf.RFFT")
              .Input("input: Treal")
              .HostInput("fft_length: int32")
              .Output("output: Tcomplex")
              .Attr("Treal: {float} = DT_FLOAT")
              .Attr("Tcomplex: {complex64} = DT_COMPLEX64")
              .Metadata<&RfftMetadata>()
              .Doc(TANDEM_DOC(R"(Discrete Fourier transform of real numbers along the last dimension.

The result has the first fft_length / 2 + 1 elements of tf.FFT; the others are their conjugates.

input: Of rank 1 at least. Of the last dimension, what is beyond fft_length is left out, and 0 stands for what is missing.
fft_length: Shape [1]: the length of the transform, at least 0.)")),
          OpDefinition("tf.IRFFT")
              .Input("input: Tcomplex")
              .HostInput("fft_length: int32")
              .Output("output: Treal")
              .Attr("Treal: {float} = DT_FLOAT")
              .Attr("Tcomplex: {complex64} = DT_COMPLEX64")
              .Metadata<&IrfftMetadata>()
              .Doc(TANDEM_DOC(R"(Inverse of tf.RFFT: fft_length real numbers of the first half of their transform.

The imaginary part of element 0, and of element fft_length / 2 of an even length, has no effect.

input: Of rank 1 at least. Of the last dimension, what is beyond fft_length / 2 + 1 elements is left out, and 0 stands for
  what is missing.
fft_length: Shape [1]: the length of the transform, at least 0.)")),
      });
}

}  // namespace tandem
