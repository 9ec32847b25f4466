// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Element-wise ops: unary, activations, binary with broadcasting, comparisons, Cast, SelectV2, ClipByValue, AddN.

#include <array>
#include <string>
#include <string_view>

#include "elementwise_ops.h"
#include "op_definition.h"
#include "tandem/element_expressions.h"
#include "tandem/metadata_functions.h"
#include "tandem/op_families.h"

namespace tandem {

namespace {

constexpr const char* kBool = "";  // no type attribute: the op is defined for bool alone
constexpr const char* kReal = "{u8, i8, u16, i16, i32, u32, i64, u64, f16, bf16, f32, f64}";
constexpr const char* kNumeric = "{u8, i8, u16, i16, i32, u32, i64, u64, f16, bf16, f32, f64, c64}";
constexpr const char* kSignedNumeric = "{i8, i16, i32, i64, f16, bf16, f32, f64, c64}";
constexpr const char* kSignedReal = "{i8, i16, i32, i64, f16, bf16, f32, f64}";
constexpr const char* kFloat = "{f16, bf16, f32, f64}";
constexpr const char* kFloatOrComplex = "{f16, bf16, f32, f64, c64}";
constexpr const char* kInt = "{u8, i8, u16, i16, i32, u32, i64, u64}";
constexpr const char* kRemainder = "{i32, i64, f16, bf16, f32, f64}";
constexpr const char* kAny = "type";

// A definition without arguments of its own yet: `dtypes` are those of the type attribute T. Results are exact, rounded
// once, unless MaxUlp says otherwise afterwards.
TANDEM_DEFINES OpDefinition Define(const char* name, const char* dtypes, const char* doc) {
  OpDefinition builder(name);
  if (*dtypes != '\0') builder.Attr("T: " + std::string(dtypes));
  builder.Doc(doc).Elementwise(ElementExpressionsOf(name)).MaxUlp(0);
  return builder;
}

// y = f(x).
TANDEM_DEFINES OpDefinition Unary(const char* name, const char* dtypes, const char* doc) {
  const char* type = *dtypes == '\0' ? "bool" : "T";
  return Define(name, dtypes, doc)
      .Input("x: " + std::string(type))
      .Output("y: " + std::string(type))
      .Metadata<&UnchangedMetadata>();
}

// activations = f(features).
TANDEM_DEFINES OpDefinition Activation(const char* name, const char* dtypes, const char* doc) {
  return Define(name, dtypes, doc).Input("features: T").Output("activations: T").Metadata<&UnchangedMetadata>();
}

// y = f(x), a bool for each element.
TANDEM_DEFINES OpDefinition Predicate(const char* name, const char* dtypes, const char* doc) {
  return Define(name, dtypes, doc).Input("x: T").Output("y: bool").Metadata<&PredicateMetadata>();
}

// z = f(x, y), with broadcasting.
TANDEM_DEFINES OpDefinition Binary(const char* name, const char* dtypes, const char* doc) {
  const char* type = *dtypes == '\0' ? "bool" : "T";
  return Define(name, dtypes, doc)
      .Input("x: " + std::string(type))
      .Input("y: " + std::string(type))
      .Output("z: " + std::string(type))
      .Metadata<&BroadcastMetadata>();
}

// z = f(x, y), with broadcasting, a bool for each pair of elements.
TANDEM_DEFINES OpDefinition Comparison(const char* name, const char* dtypes, const char* doc) {
  return Define(name, dtypes, doc)
      .Input("x: T")
      .Input("y: T")
      .Output("z: bool")
      .Metadata<&BroadcastPredicateMetadata>();
}

StatusOr<TensorMetadata> EqualityMetadata(const TensorMetadata& x, const TensorMetadata& y, const OpAttrsRef& attrs) {
  StatusOr<TensorMetadata> result = BroadcastPredicateMetadata(x, y);
  if (result.ok() || attrs.GetOr("incompatible_shape_error", true)) return result;
  return TensorMetadata(DType::kBool, TensorShape());
}

TANDEM_DEFINES OpDefinition Equality(const char* name, const char* doc) {
  return Comparison(name, kAny, doc).Attr("incompatible_shape_error: bool = true").Metadata<&EqualityMetadata>();
}

StatusOr<TensorMetadata> CastMetadata(const TensorMetadata& x, const OpAttrsRef& attrs) {
  DType dtype = DType::kInvalid;
  if (!attrs.Get("DstT", &dtype)) return InvalidArgument("attribute DstT must be a dtype");
  return TensorMetadata(dtype, x.shape);
}

StatusOr<TensorMetadata> SelectMetadata(const TensorMetadata& condition, const TensorMetadata& t,
                                        const TensorMetadata& e) {
  if (condition.shape == t.shape && t.shape == e.shape) return t;
  const StatusOr<TensorShape> values = BroadcastShapes(t.shape, e.shape);
  if (values.ok()) {
    const StatusOr<TensorShape> all = BroadcastShapes(condition.shape, *values);
    if (all.ok()) return TensorMetadata(t.dtype, *all);
  }
  return InvalidArgument("shapes must be broadcast compatible, got condition: ", condition, ", t: ", t, ", e: ", e);
}

StatusOr<TensorMetadata> NextAfterMetadata(const TensorMetadata& x1, const TensorMetadata& x2) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, BroadcastArguments("x1", x1, "x2", x2));
  return TensorMetadata(x1.dtype, shape);
}

StatusOr<TensorMetadata> Atan2Metadata(const TensorMetadata& y, const TensorMetadata& x) {
  TANDEM_ASSIGN_OR_RETURN(const TensorShape shape, BroadcastArguments("y", y, "x", x));
  return TensorMetadata(y.dtype, shape);
}

// An error unless `limit` can be stretched to the shape of `x`.
Status CheckBroadcastsTo(std::string_view x_name, const TensorMetadata& x, std::string_view limit_name,
                         const TensorMetadata& limit) {
  const StatusOr<TensorShape> shape = BroadcastShapes(x.shape, limit.shape);
  if (shape.ok() && *shape == x.shape) return Status();
  return InvalidArgument(limit_name, " must broadcast to the shape of ", x_name, ", got ", x_name, ": ", x, ", ",
                         limit_name, ": ", limit);
}

StatusOr<TensorMetadata> PreluMetadata(const TensorMetadata& x, const TensorMetadata& slope) {
  TANDEM_RETURN_IF_ERROR(CheckBroadcastsTo("x", x, "slope", slope));
  return x;
}

StatusOr<TensorMetadata> ClipMetadata(const TensorMetadata& t, const TensorMetadata& low, const TensorMetadata& high) {
  TANDEM_RETURN_IF_ERROR(CheckBroadcastsTo("t", t, "clip_value_min", low));
  TANDEM_RETURN_IF_ERROR(CheckBroadcastsTo("t", t, "clip_value_max", high));
  return t;
}

StatusOr<TensorMetadata> AddNMetadata(VariadicMetadata inputs) {
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape == inputs[0].shape) continue;
    return InvalidArgument("inputs must have the same shape, got inputs[0]: ", inputs[0], ", inputs[", i,
                           "]: ", inputs[i]);
  }
  return inputs[0];
}

Status RegisterUnaryOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          Unary("tf.Abs", kSignedReal,
                TANDEM_DOC("Absolute value. The smallest integer of a dtype has none and stays as it is.")),
          Unary("tf.Neg", kSignedNumeric, TANDEM_DOC("Negation. Integers wrap around.")),
          Unary("tf.Sign", kSignedNumeric,
                TANDEM_DOC("Sign: -1, 0 or 1; NaN stays NaN. Of a complex number that is not 0, the number over its "
                           "absolute value.")),
          Unary("tf.Square", kNumeric, TANDEM_DOC("Product of each element with itself. Integers wrap around.")),
          Unary("tf.Sqrt", kFloatOrComplex, TANDEM_DOC("Square root; NaN below 0.")),
          Unary("tf.Rsqrt", kFloatOrComplex, TANDEM_DOC("One over the square root; NaN below 0, infinity at 0."))
              .MaxUlp(1),
          Unary("tf.Reciprocal", kFloatOrComplex, TANDEM_DOC("One over each element; infinity at 0.")),
          Unary("tf.Exp", kFloatOrComplex, TANDEM_DOC("e to the power of each element.")).MaxUlp(1),
          Unary("tf.Expm1", kFloatOrComplex, TANDEM_DOC("exp(x) - 1, accurate also near 0.")).MaxUlp(2),
          Unary("tf.Log", kFloatOrComplex, TANDEM_DOC("Natural logarithm; NaN below 0, minus infinity at 0."))
              .MaxUlp(1),
          Unary("tf.Log1p", kFloatOrComplex, TANDEM_DOC("log(1 + x), accurate also near 0.")).MaxUlp(1),
          Unary("tf.Sin", kFloatOrComplex, TANDEM_DOC("Sine of an angle in radians; NaN for infinities.")).MaxUlp(2),
          Unary("tf.Cos", kFloatOrComplex, TANDEM_DOC("Cosine of an angle in radians; NaN for infinities.")).MaxUlp(2),
          Unary("tf.Tan", kFloatOrComplex, TANDEM_DOC("Tangent of an angle in radians; NaN for infinities.")).MaxUlp(4),
          Unary("tf.Asin", kFloatOrComplex,
                TANDEM_DOC("Arcsine, in [-pi/2, pi/2]; NaN for real numbers beyond -1 and 1."))
              .MaxUlp(2),
          Unary("tf.Acos", kFloatOrComplex, TANDEM_DOC("Arccosine, in [0, pi]; NaN for real numbers beyond -1 and 1."))
              .MaxUlp(2),
          Unary("tf.Atan", kFloatOrComplex, TANDEM_DOC("Arctangent, in [-pi/2, pi/2].")).MaxUlp(2),
          Unary("tf.Sinh", kFloatOrComplex, TANDEM_DOC("Hyperbolic sine.")).MaxUlp(2),
          Unary("tf.Cosh", kFloatOrComplex, TANDEM_DOC("Hyperbolic cosine.")).MaxUlp(2),
          Unary("tf.Tanh", kFloatOrComplex, TANDEM_DOC("Hyperbolic tangent.")).MaxUlp(3),
          Unary("tf.Asinh", kFloatOrComplex, TANDEM_DOC("Inverse hyperbolic sine.")).MaxUlp(2),
          Unary("tf.Acosh", kFloatOrComplex, TANDEM_DOC("Inverse hyperbolic cosine; NaN for real numbers below 1."))
              .MaxUlp(2),
          Unary("tf.Atanh", kFloatOrComplex,
                TANDEM_DOC(
                    "Inverse hyperbolic tangent; infinity of the same sign at -1 and 1, NaN for real numbers beyond."))
              .MaxUlp(2),
          Unary("tf.Sigmoid", kFloatOrComplex, TANDEM_DOC("Logistic function 1 / (1 + exp(-x)).")).MaxUlp(2),
          Unary("tf.Erf", kFloat, TANDEM_DOC("Gauss error function.")).MaxUlp(2),
          Unary("tf.Floor", kFloat, TANDEM_DOC("Largest whole number that is not above the element.")),
          Unary("tf.Ceil", kFloat, TANDEM_DOC("Smallest whole number that is not below the element.")),
          Unary(
              "tf.Round", kSignedNumeric,
              TANDEM_DOC(
                  "Nearest whole number, halves to the even one. Of a complex number, real and imaginary part each.")),
          Unary("tf.Rint", kFloat, TANDEM_DOC("Nearest whole number, halves to the even one.")),
          Unary("tf.Invert", kInt, TANDEM_DOC("Every bit flipped: -1 - x, where integers have a sign.")),
          Unary("tf.LogicalNot", kBool, TANDEM_DOC("True where the element is false.")),
          Predicate("tf.IsNan", kFloat, TANDEM_DOC("True where the element is NaN.")),
          Predicate("tf.IsInf", kFloat, TANDEM_DOC("True where the element is infinite, of either sign.")),
          Predicate("tf.IsFinite", kFloat, TANDEM_DOC("True where the element is neither infinite nor NaN.")),
          OpDefinition("tf.Cast")
              .Input("x: SrcT")
              .Output("y: DstT")
              .Attr("SrcT: {bool, u8, i8, u16, i16, i32, u32, i64, u64, f16, bf16, f32, f64, c64}")
              .Attr("DstT: {bool, u8, i8, u16, i16, i32, u32, i64, u64, f16, bf16, f32, f64, c64}")
              .Attr("Truncate: bool = false")
              .Metadata<&CastMetadata>()
              .Elementwise()
              .MaxUlp(0)
              .Doc(TANDEM_DOC(
                  "Converts each element to the dtype DstT. Integers wrap around. Floating point to integer drops the "
                  "fraction; values out of range give the nearest integer that is in range, NaN gives 0. Towards "
                  "narrower "
                  "floating point it rounds to nearest, halves to even; if Truncate is set, it drops the bits of the "
                  "fraction that there is no room for. To bool it is true where the element is not 0. Complex to any "
                  "other "
                  "dtype drops the imaginary part first, so that 2i is false as a bool.")),
      });
}

Status RegisterActivations(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          Activation("tf.Relu", kReal, TANDEM_DOC("The larger of each element and 0; NaN stays NaN.")),
          Activation("tf.Relu6", kReal, TANDEM_DOC("Each element limited to [0, 6]; NaN stays NaN.")),
          Activation("tf.LeakyRelu", kFloat,
                     TANDEM_DOC("Each element that is not below 0, and alpha times those that are.\n\n"
                                "alpha: The slope below 0, a number of any sign."))
              .MaxUlp(1)
              .Attr("alpha: float = 0.2"),
          Activation("tf.Elu", kFloat, TANDEM_DOC("Exponential linear unit: exp(x) - 1 below 0, else x.")).MaxUlp(2),
          Activation("tf.Selu", kFloat,
                     TANDEM_DOC("Scaled exponential linear unit: 1.7580993408473766 * (exp(x) - 1) below 0, else "
                                "1.0507009873554805 * x.\n\n"
                                "The constants keep mean 0 and variance 1 of normally distributed elements."))
              .MaxUlp(2),
          Activation("tf.Softplus", kFloat, TANDEM_DOC("log(1 + exp(x)), a smooth form of tf.Relu, without overflow."))
              .MaxUlp(2),
          Activation("tf.Softsign", kFloat, TANDEM_DOC("x / (1 + |x|); -1 and 1 for infinities.")).MaxUlp(2),
          Unary("tandem.Gelu", kFloat,
                TANDEM_DOC(
                    "Gaussian error linear unit: x * (1 + erf(x / sqrt(2))) / 2.\n\n"
                    "It is accurate also where the result is tiny; minus infinity gives -0, as the limit is.\n\n"
                    "approximate: Whether to compute x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2 instead."))
              .MaxUlp(4)
              .Attr("approximate: bool = false"),
          OpDefinition("tandem.Prelu")
              .Input("x: T")
              .Input("slope: T")
              .Output("y: T")
              .Attr("T: " + std::string(kFloat))
              .Metadata<&PreluMetadata>()
              .Elementwise(ElementExpressionsOf("tandem.Prelu"))
              .MaxUlp(0)
              .Doc(TANDEM_DOC("Each element of x that is not below 0, and those that are times their slope.\n\n"
                              "slope: Of a shape that broadcasts to that of x, such as one number for each channel.")),
      });
}

Status RegisterBitwiseOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          Binary("tf.BitwiseAnd", kInt, TANDEM_DOC("Bits that are set in both x and y, with broadcasting.")),
          Binary("tf.BitwiseOr", kInt, TANDEM_DOC("Bits that are set in x or y, with broadcasting.")),
          Binary("tf.BitwiseXor", kInt,
                 TANDEM_DOC("Bits that are set in one of x and y, but not in both, with broadcasting.")),
          Binary("tf.LeftShift", kInt,
                 TANDEM_DOC("x with its bits moved up y places, with broadcasting.\n\n"
                            "Zeros follow. The result is 0 where y is at least the number of bits, or negative.")),
          Binary("tf.RightShift", kInt,
                 TANDEM_DOC("x with its bits moved down y places, with broadcasting.\n\n"
                            "The sign is repeated, if there is one, else zeros follow. Where y is at least the number "
                            "of bits, or "
                            "negative, the result is -1 if x is below 0, else 0.")),
      });
}

Status RegisterBinaryOps(OpRegistry& registry) {
  return RegisterOps(
      registry,
      {
          Binary("tf.AddV2", kNumeric, TANDEM_DOC("Sum, with broadcasting. Integers wrap around.")),
          Binary("tf.Sub", kNumeric, TANDEM_DOC("Difference x - y, with broadcasting. Integers wrap around.")),
          Binary("tf.Mul", kNumeric, TANDEM_DOC("Product, with broadcasting. Integers wrap around.")),
          Binary("tf.RealDiv", kFloatOrComplex,
                 TANDEM_DOC(
                     "Quotient x / y of floating-point numbers, with broadcasting; division by 0 follows IEEE 754.")),
          Binary("tf.DivNoNan", kFloatOrComplex,
                 TANDEM_DOC("Quotient x / y, with broadcasting; 0 where y is 0, also if x is infinite or NaN.")),
          Binary("tf.FloorDiv", kReal,
                 TANDEM_DOC("Floor of the quotient x / y, with broadcasting. An integer divisor of 0 is an error; the "
                            "smallest integer "
                            "over -1 wraps around. Floating-point division by 0 follows IEEE 754.")),
          Binary("tf.FloorMod", kReal,
                 TANDEM_DOC("Remainder of x / y that has the sign of y, with broadcasting. An integer divisor of 0 is "
                            "an error, a "
                            "floating-point one gives NaN.")),
          Binary("tf.Mod", kRemainder,
                 TANDEM_DOC("Remainder of x / y that has the sign of x, with broadcasting. An integer divisor of 0 is "
                            "an error, a "
                            "floating-point one gives NaN.")),
          Binary("tf.Maximum", kReal, TANDEM_DOC("The larger of x and y, with broadcasting; NaN if either is.")),
          Binary("tf.Minimum", kReal, TANDEM_DOC("The smaller of x and y, with broadcasting; NaN if either is.")),
          Binary(
              "tf.Pow", kSignedNumeric,
              TANDEM_DOC(
                  "x to the power of y, with broadcasting. Integers wrap around; a negative exponent of integers is an "
                  "error. Of complex numbers the error grows with y * log(x)."))
              .MaxUlp(1),
          Binary("tf.SquaredDifference", kSignedNumeric,
                 TANDEM_DOC("(x - y) * (x - y), with broadcasting; of complex numbers, times the conjugate. Integers "
                            "wrap around."))
              .MaxUlp(3),
          Define("tf.Atan2", kFloat,
                 TANDEM_DOC("Angle of the point (x, y) in radians, in [-pi, pi], with broadcasting.\n\n"
                            "Zeros and infinities are told apart by sign, as C does: atan2(0, -0) is pi."))
              .MaxUlp(2)
              .Input("y: T")
              .Input("x: T")
              .Output("z: T")
              .Metadata<&Atan2Metadata>(),
          Define("tf.NextAfter", "{f32, f64}",
                 TANDEM_DOC("The number next to x1 in the direction of x2, with broadcasting.\n\n"
                            "x2 where both are equal, zeros of either sign included; NaN if either is. Beside zero are "
                            "the smallest "
                            "subnormal numbers, beyond the largest number is infinity."))
              .Input("x1: T")
              .Input("x2: T")
              .Output("output: T")
              .Metadata<&NextAfterMetadata>(),
          Binary("tf.LogicalAnd", kBool, TANDEM_DOC("True where both x and y are, with broadcasting.")),
          Binary("tf.LogicalOr", kBool, TANDEM_DOC("True where x or y is, with broadcasting.")),
          Binary("tf.LogicalXor", kBool, TANDEM_DOC("True where one of x and y is, but not both, with broadcasting.")),
          Equality(
              "tf.Equal",
              TANDEM_DOC("True where x is equal to y, with broadcasting. NaN is equal to nothing. If the shapes do not "
                         "fit and "
                         "incompatible_shape_error is false, the result is the scalar false rather than an error.")),
          Equality(
              "tf.NotEqual",
              TANDEM_DOC("True where x is not equal to y, with broadcasting. NaN is equal to nothing. If the shapes do "
                         "not fit "
                         "and incompatible_shape_error is false, the result is the scalar true rather than an error.")),
          Comparison("tf.Less", kReal, TANDEM_DOC("True where x < y, with broadcasting; false where either is NaN.")),
          Comparison("tf.LessEqual", kReal,
                     TANDEM_DOC("True where x <= y, with broadcasting; false where either is NaN.")),
          Comparison("tf.Greater", kReal,
                     TANDEM_DOC("True where x > y, with broadcasting; false where either is NaN.")),
          Comparison("tf.GreaterEqual", kReal,
                     TANDEM_DOC("True where x >= y, with broadcasting; false where either is NaN.")),
      });
}

}  // namespace

Status RegisterElementwiseOps(OpRegistry& registry) {
  TANDEM_RETURN_IF_ERROR(RegisterUnaryOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterActivations(registry));
  TANDEM_RETURN_IF_ERROR(RegisterBinaryOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterBitwiseOps(registry));
  TANDEM_RETURN_IF_ERROR(RegisterComplexOps(registry));
  return RegisterOps(
      registry,
      {
          OpDefinition("tf.ClipByValue")
              .Input("t: T")
              .Input("clip_value_min: T")
              .Input("clip_value_max: T")
              .Output("output: T")
              .Attr("T: " + std::string(kNumeric))
              .Metadata<&ClipMetadata>()
              .Elementwise(ElementExpressionsOf("tf.ClipByValue"))
              .MaxUlp(0)
              .Doc(TANDEM_DOC(
                  "Elements of t limited to [clip_value_min, clip_value_max].\n\n"
                  "The lower limit wins where it is above the upper one. NaN in any argument gives NaN. Of complex "
                  "numbers, real and imaginary part are limited each.\n\n"
                  "clip_value_min: Of a shape that broadcasts to that of t.\n"
                  "clip_value_max: Of a shape that broadcasts to that of t.")),
          OpDefinition("tf.SelectV2")
              .Input("condition: bool")
              .Input("t: T")
              .Input("e: T")
              .Output("output: T")
              .Attr("T: type")
              .Metadata<&SelectMetadata>()
              .Elementwise(ElementExpressionsOf("tf.SelectV2"))
              .MaxUlp(0)
              .Doc(TANDEM_DOC("Elements of t where the condition is true, else of e; all three broadcast.")),
          OpDefinition("tf.AddN")
              .Input("inputs: N * T")
              .Output("sum: T")
              .Attr("N: int >= 1")
              .Attr("T: " + std::string(kNumeric))
              .Metadata<&AddNMetadata>()
              .Elementwise()
              .Doc(TANDEM_DOC(
                  "Sum of tensors of the same shape, without broadcasting, added one after the other. Integers "
                  "wrap around; f16 and bf16 are summed in f32 and rounded once.")),
      });
}

}  // namespace tandem
