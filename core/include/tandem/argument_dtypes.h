// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which dtype a plain value takes as an argument of an op: inferred from the op's definition, as TensorFlow does.

#ifndef TANDEM_ARGUMENT_DTYPES_H_
#define TANDEM_ARGUMENT_DTYPES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/export.h"
#include "tandem/op_attrs.h"
#include "tandem/op_def.h"

namespace tandem {

// What a call was given as one argument.
struct GivenArgument {
  enum class Kind : uint8_t {
    kTensor,   // of `dtype`, which is invalid if it will never be known
    kPending,  // a tensor whose dtype is not known yet
    kValue,    // a number, or a list of them, which by itself would be `dtype`: bool, i32, i64, u64 or f32
  };
  Kind kind = Kind::kTensor;
  DType dtype = DType::kInvalid;
};

// What a value becomes: a tensor of `dtype`; or, if that is invalid, of the dtype of argument `like`, which is pending.
struct ArgumentDType {
  DType dtype = DType::kInvalid;
  size_t like = 0;
  std::string_view name;  // of the definition's input
};

// Says what the value at `position` becomes in a call of `def` (TY-1):
//   1. the definition's dtype, where it is the same in every call;
//   2. what the attribute that is the argument's type was set to;
//   3. the dtype of the tensors whose type is the same attribute;
//   4. the attribute's default, if it suits all values whose type is the same attribute;
//   5. the widest dtype of these values by themselves, in the order of GivenArgument; if the definition does not allow
//      that, the first of i32, i64, f32, f64 and all others that it allows and that does, if any.
// Integers suit every numeric dtype that has their range, numbers given as floats suit floating-point and complex ones.
TANDEM_EXPORT ArgumentDType InferArgumentDType(const OpDef& def, const OpAttrsRef& attrs,
                                               std::span<const GivenArgument> given, size_t position);

}  // namespace tandem

#endif  // TANDEM_ARGUMENT_DTYPES_H_
