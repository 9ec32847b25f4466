// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Operators on tensors as op calls.

#include "tandem/operators.h"

namespace tandem::eager {

namespace {

Tensor Call2(std::string_view op, OperatorOperand& x, OperatorOperand& y) {
  return Call(op, {&x.operand, &y.operand}, OpAttrsRef(), x.where);
}

}  // namespace

Tensor operator+(OperatorOperand x, OperatorOperand y) { return Call2("tf.AddV2", x, y); }
Tensor operator-(OperatorOperand x, OperatorOperand y) { return Call2("tf.Sub", x, y); }
Tensor operator*(OperatorOperand x, OperatorOperand y) { return Call2("tf.Mul", x, y); }
Tensor operator/(OperatorOperand x, OperatorOperand y) { return Call2("tf.RealDiv", x, y); }
Tensor operator<(OperatorOperand x, OperatorOperand y) { return Call2("tf.Less", x, y); }
Tensor operator<=(OperatorOperand x, OperatorOperand y) { return Call2("tf.LessEqual", x, y); }
Tensor operator>(OperatorOperand x, OperatorOperand y) { return Call2("tf.Greater", x, y); }
Tensor operator>=(OperatorOperand x, OperatorOperand y) { return Call2("tf.GreaterEqual", x, y); }
Tensor operator==(OperatorOperand x, OperatorOperand y) { return Call2("tf.Equal", x, y); }
Tensor operator!=(OperatorOperand x, OperatorOperand y) { return Call2("tf.NotEqual", x, y); }
Tensor operator-(OperatorOperand x) { return Call("tf.Neg", {&x.operand}, OpAttrsRef(), x.where); }

}  // namespace tandem::eager
