// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Operators on tensors: `x * 2 + y`, `-x`, `x < 0`. Each is a call of the op that it is named after below.

#ifndef TANDEM_OPERATORS_H_
#define TANDEM_OPERATORS_H_

#include <concepts>
#include <source_location>
#include <utility>

#include "tandem/export.h"
#include "tandem/operand.h"

namespace tandem::eager {

// An operand, and where it is written: operators have no other parameter that could say where they are called. One of
// two operands at least is a tensor.
struct OperatorOperand {
  OperatorOperand(const Tensor& tensor,  // NOLINT(google-explicit-constructor)
                  std::source_location where = std::source_location::current())
      : operand(tensor), where(where) {}
  OperatorOperand(Tensor&& tensor,  // NOLINT(google-explicit-constructor)
                  std::source_location where = std::source_location::current())
      : operand(std::move(tensor)), where(where) {}
  template <typename Number>
  requires std::integral<Number> || std::floating_point<Number> OperatorOperand(
      Number number,  // NOLINT(google-explicit-constructor)
      std::source_location where = std::source_location::current())
      : operand(number), where(where) {}

  Operand operand;
  std::source_location where;
};

// tf.AddV2, tf.Sub, tf.Mul, tf.RealDiv and tf.Neg. Integers are divided by floorDiv, which says how it rounds.
TANDEM_EXPORT Tensor operator+(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator-(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator*(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator/(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator-(OperatorOperand x);

// tf.Less, tf.LessEqual, tf.Greater, tf.GreaterEqual, tf.Equal and tf.NotEqual: tensors of bool, one for each element.
// `==` too compares elements, which may be pending; it says nothing of two tensors being the same, and no tensor is a
// condition: `if (x == y)` does not compile.
TANDEM_EXPORT Tensor operator<(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator<=(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator>(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator>=(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator==(OperatorOperand x, OperatorOperand y);
TANDEM_EXPORT Tensor operator!=(OperatorOperand x, OperatorOperand y);

}  // namespace tandem::eager

#endif  // TANDEM_OPERATORS_H_
