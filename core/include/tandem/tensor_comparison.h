// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Comparison of numbers of a dtype with what is expected of them: in units in the last place (ULP) and absolutely.

#ifndef TANDEM_TENSOR_COMPARISON_H_
#define TANDEM_TENSOR_COMPARISON_H_

#include <cstdint>

#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/function_ref.h"
#include "tandem/message.h"
#include "tandem/op_def.h"
#include "tandem/tensor_shape.h"

namespace tandem {

// The distance between the neighbours of a finite `value` in the dtype (c64: in f32): of zero and subnormal numbers,
// the smallest subnormal; of integers, 1.
TANDEM_EXPORT double UlpOf(double value, DType dtype);

// Numbers pass if |actual - expected| <= max(abs, ulp * ULP, of_largest * L), where L is the largest finite magnitude
// among all that is expected. A NaN passes for a NaN; otherwise numbers that are not finite must be the same, unless
// `ulp` is infinite. Integers pass if they differ by at most max(abs, ulp), bool only if they are the same.
struct TensorTolerance {
  double ulp = 0;
  double abs = 0;
  double of_largest = 0;
  // ULP is that of the larger of both numbers, of a complex element that of the largest of all parts. Otherwise it is
  // that of the expected number, each part of a complex element for itself.
  bool at_larger = false;
  // The sign of zeros must be the same, too.
  bool signed_zeros = false;
};

// A number that does not pass.
struct NumberDifference {
  int64_t number;  // its place; a complex element is two numbers, so that its place is half of this
  double error;    // |actual - expected|; infinite where no tolerance helps
  double ulp;      // the same in ULP; 0 of integers
};

// Calls `differs` for each number that does not pass, in order. Both are `num_numbers` numbers in a row, at any
// address; of c64, parts of elements; not strings. Returns the largest finite error in ULP of a floating-point number,
// passed or not, that is not within the absolute tolerance; 0 of integers. Ends early where a KernelRun is stopped.
TANDEM_EXPORT double CompareNumbers(DType dtype, const void* expected, const void* actual, int64_t num_numbers,
                                    const TensorTolerance& tolerance,
                                    FunctionRef<void(const NumberDifference&)> differs);

// The worst error in ULP that the op's definition states for results of this dtype (NU-1); -1: none is stated.
TANDEM_EXPORT int StatedUlp(const OpDef& def, DType dtype);

// The number at a place, of c64 a part, of bool 0 or 1; not of strings.
TANDEM_EXPORT void AppendNumber(MessageBuilder& out, DType dtype, const void* data, int64_t number);
// The element at a place, c64 as "(1, -2)"; not of strings.
TANDEM_EXPORT void AppendElement(MessageBuilder& out, DType dtype, const void* data, int64_t element);
// Where in the shape the element with this row-major place is: "[1,2]"; of a scalar "[]".
TANDEM_EXPORT void AppendPosition(MessageBuilder& out, const TensorShape& shape, int64_t element);

}  // namespace tandem

#endif  // TANDEM_TENSOR_COMPARISON_H_
