// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// TensorConversions: how a tensor of one type becomes one of another, within a device or between two (TH-9).

#ifndef TANDEM_TENSOR_CONVERSIONS_H_
#define TANDEM_TENSOR_CONVERSIONS_H_

#include <map>
#include <mutex>
#include <utility>

#include "tandem/async_value.h"
#include "tandem/export.h"
#include "tandem/status.h"
#include "tandem/tensor.h"

namespace tandem {

class ExecutionContext;

// `from` is concrete and of the registered type; the result is on `target`, of the registered type, and may be pending.
using TensorConversion = AsyncValueRef<Tensor> (*)(const ExecutionContext& exec, const Tensor& from,
                                                   const Device& target);

// Thread-safe.
class TANDEM_EXPORT TensorConversions {
 public:
  // AlreadyExists if the pair has one.
  Status Register(const TensorType& from, const TensorType& to, TensorConversion conversion);
  // Null if there is none.
  TensorConversion Find(const TensorType& from, const TensorType& to) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<const TensorType*, const TensorType*>, TensorConversion> conversions_;
};

// The conversions between host types.
TANDEM_EXPORT Status RegisterHostConversions(TensorConversions& conversions);

}  // namespace tandem

#endif  // TANDEM_TENSOR_CONVERSIONS_H_
