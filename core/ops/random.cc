// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Random ops that are pure functions of their seed; philox.h says which bits they give.

#include <cstdint>
#include <limits>
#include <string>

#include "host_vector.h"
#include "op_definition.h"
#include "result_shape.h"
#include "tandem/op_families.h"

namespace tandem {
namespace {

Status CheckSeed(const TensorMetadata& seed) {
  if (seed.rank() == 1 && seed.dim(0) == 2) return Status();
  return InvalidArgument("seed must have shape [2], got seed: ", seed);
}

StatusOr<TensorMetadata> StatelessRandomMetadata(HostInput shape, const TensorMetadata& seed, const OpAttrsRef& attrs) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape result, ReadHostShape(shape, "shape"));
  TANDEM_RETURN_IF_ERROR(CheckSeed(seed));
  return TensorMetadata(attrs.GetOr("dtype", DType::kF32), result);
}

StatusOr<TensorMetadata> RandomIntMetadata(HostInput shape, const TensorMetadata& seed, const TensorMetadata& minval,
                                           const TensorMetadata& maxval, const OpAttrsRef& attrs) {
  if (minval.rank() != 0 || maxval.rank() != 0) {
    return InvalidArgument("minval and maxval must be scalars, got minval: ", minval, ", maxval: ", maxval);
  }
  TANDEM_ASSIGN_OR_RETURN(TensorMetadata result, StatelessRandomMetadata(shape, seed, attrs));
  result.dtype = minval.dtype;
  return result;
}

StatusOr<TensorMetadata> MultinomialMetadata(const TensorMetadata& logits, HostInput num_samples,
                                             const OpAttrsRef& attrs) {
  if (logits.rank() != 2) return InvalidArgument("logits must be a matrix, got logits: ", logits);
  TANDEM_ASSIGN_OR_RETURN(const int64_t samples, num_samples.Scalar("num_samples"));
  if (samples < 0) return InvalidArgument("num_samples must be at least 0, got num_samples: ", samples);
  const DType dtype = attrs.GetOr("output_dtype", DType::kI64);
  if (dtype == DType::kI32 && logits.dim(1) > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("classes must fit in i32, got logits: ", logits, "; set output_dtype to i64");
  }
  const TensorShape shape = {logits.dim(0), samples};
  TANDEM_RETURN_IF_ERROR(CheckElementCount(shape, "logits: ", logits, ", num_samples: ", samples));
  return TensorMetadata(dtype, shape);
}

StatusOr<TensorMetadata> StatelessMultinomialMetadata(const TensorMetadata& logits, HostInput num_samples,
                                                      const TensorMetadata& seed, const OpAttrsRef& attrs) {
  TANDEM_RETURN_IF_ERROR(CheckSeed(seed));
  return MultinomialMetadata(logits, num_samples, attrs);
}

constexpr const char* kMultinomialDoc = TANDEM_DOC(R"(

Element [i, j] of the result is a class of row i of logits: each with a probability that is proportional to the
exponential of its logit. A class whose logit is not finite is never drawn. It is the first class at which the sum of
exponentials, in f64 and relative to the largest, is above u times the whole sum, where u is the number that
tf.StatelessRandomUniform gives in f64 for the same seed and the result's shape.

logits: A matrix: unnormalised logarithms of probabilities, a row for each distribution. An error names the first row
  without a finite number.
num_samples: One number: how many classes are drawn from each row.
output_dtype: The dtype of the result, in which the number of classes must fit.)");

TANDEM_DEFINES OpDefinition MultinomialDef() {
  return OpDefinition("tf.Multinomial")
      .Input("logits: T")
      .HostInput("num_samples: int32")
      .Output("output: output_dtype")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .Attr("T: realnumbertype")
      .Attr("output_dtype: {int32, int64} = DT_INT64")
      .Metadata<&MultinomialMetadata>()
      .Doc(std::string(TANDEM_DOC("Draws classes, the same ones for the same seed: tf.StatelessMultinomial with seed "
                                  "[seed, seed2].")) +
           kMultinomialDoc);
}

TANDEM_DEFINES OpDefinition StatelessMultinomialDef() {
  return OpDefinition("tf.StatelessMultinomial")
      .Input("logits: T")
      .HostInput("num_samples: int32")
      .Input("seed: Tseed")
      .Output("output: output_dtype")
      .Attr("T: realnumbertype")
      .Attr("Tseed: {int32, int64} = DT_INT64")
      .Attr("output_dtype: {int32, int64} = DT_INT64")
      .Metadata<&StatelessMultinomialMetadata>()
      .Doc(std::string(TANDEM_DOC("Draws classes, the same ones for the same seed.")) + kMultinomialDoc);
}

TANDEM_DEFINES OpDefinition StatelessRandomDef(const char* name) {
  return OpDefinition(name)
      .HostInput("shape: T")
      .Input("seed: Tseed")
      .Output("output: dtype")
      .Attr("dtype: {half, bfloat16, float, double} = DT_FLOAT")
      .Attr("T: {int32, int64} = DT_INT32")
      .Attr("Tseed: {int32, int64} = DT_INT64")
      .Metadata<&StatelessRandomMetadata>();
}

}  // namespace

Status RegisterRandomOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          StatelessRandomDef("tf.StatelessRandomUniform")
              .Doc(TANDEM_DOC(R"(Draws numbers evenly from [0, 1), the same ones for the same seed on every device.

The generator is Philox4x32-10. Element i of f32, f16 and bf16 is made of word i % 4 of block i / 4, and is the word's
lowest 23, 10 or 7 bits (the mantissa) times 2^-23, 2^-10 or 2^-7. Element i of f64 is made of words 2j and 2j + 1 of
block i / 2, where j = i % 2: the lowest 20 bits of the first, then the 32 bits of the second, times 2^-52.

shape: The sizes of the result, at most 8, each at least 0.
seed: Shape [2]. The generator starts at a key and a counter made of both numbers, sign-extended to 64 bits: Philox
  with key (0x3ec8f720, 0x02461e29) of the counter that has the first number in its lower and the second in its upper
  half gives the words m; then the key is (m0, m1), and block b has the counter (b mod 2^32, b / 2^32, m2, m3).)")),
          StatelessRandomDef("tf.StatelessRandomNormal")
              .Doc(TANDEM_DOC(
                  R"(Draws numbers from the normal distribution of mean 0 and variance 1, the same ones for the same seed.

Pairs of the numbers u, v that tf.StatelessRandomUniform gives for the same seed and shape in f32 (or f64, for a result
of f64) become pairs of normal ones by the transformation of Box and Muller: r * sin(2 pi v), r * cos(2 pi v), where
r = sqrt(-2 log(max(u, 1e-7))). Those of f16 and bf16 are the ones of f32, rounded. Logarithm, sine and cosine are
polynomials in IEEE additions, multiplications and divisions without fused multiply-add, so that every target that
rounds these (and the square root) correctly gives the same bits.

shape: The sizes of the result, at most 8, each at least 0.
seed: Shape [2], as for tf.StatelessRandomUniform.)")),
          OpDefinition("tf.StatelessRandomUniformInt")
              .HostInput("shape: T")
              .Input("seed: Tseed")
              .Input("minval: dtype")
              .Input("maxval: dtype")
              .Output("output: dtype")
              .Attr("dtype: {int32, int64}")
              .Attr("T: {int32, int64}")
              .Attr("Tseed: {int32, int64} = DT_INT64")
              .Metadata<&RandomIntMetadata>()
              .Doc(TANDEM_DOC(R"(Draws integers from [minval, maxval), the same ones for the same seed on every device.

The generator is that of tf.StatelessRandomUniform. Element i of i32 is minval + w mod (maxval - minval), where w is
word i % 4 of block i / 4; for i64, w is made of words 2j (its lower half) and 2j + 1 of block i / 2, where j = i % 2.
So small numbers are slightly more likely where maxval - minval is no power of two.

shape: The sizes of the result, at most 8, each at least 0.
seed: Shape [2], as for tf.StatelessRandomUniform.
minval: A scalar: the smallest number.
maxval: A scalar above minval, itself left out.)")),
          MultinomialDef(),
          StatelessMultinomialDef(),
      });
}

}  // namespace tandem
