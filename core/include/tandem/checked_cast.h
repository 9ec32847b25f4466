// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Conversion of tensors to another dtype in which every value is checked, for what users give and take as plain values.

#ifndef TANDEM_CHECKED_CAST_H_
#define TANDEM_CHECKED_CAST_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/execution_context.h"
#include "tandem/export.h"
#include "tandem/host_tensors.h"
#include "tandem/op_def.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem {

// `from`, a dense host tensor, with elements of `to`; itself if it has them already. Integers and bool take numbers
// without a fraction that are in range; floating-point dtypes round to the nearest and take everything but finite
// numbers beyond their largest; complex numbers become others if they are real. Strings convert to nothing. The error
// says which element: "y[1][0]: expected 0 to 255 for u8, got 300", where `name` is "y"; OutOfRange for that, else
// InvalidArgument.
TANDEM_EXPORT StatusOr<Tensor> CheckedCast(const Tensor& from, DType to, std::string_view name,
                                           HostAllocator& allocator);

// The same of numbers, to the memory of as many elements of a dtype that has a size. False if one does not fit, whose
// error CheckedCast has.
[[nodiscard]] TANDEM_EXPORT bool CheckedCastNumbers(std::span<const int64_t> numbers, DType to, void* elements);
[[nodiscard]] TANDEM_EXPORT bool CheckedCastNumbers(std::span<const double> numbers, DType to, void* elements);

// CheckedCast to the dtype that `like`, whose metadata is pending, turns out to have: a pending tensor with pending
// metadata (TY-2). It ends as the error that `like` ends as, or with one of its own for a call of `op`, and is
// cancelled with the host and the request of `exec`. `name` is of an input of `op`, a text of the definition itself.
TANDEM_EXPORT TensorHandle CheckedCastLike(const ExecutionContext& exec, Tensor from, const TensorHandle& like,
                                           const OpDef& op, std::string_view name);

}  // namespace tandem

#endif  // TANDEM_CHECKED_CAST_H_
