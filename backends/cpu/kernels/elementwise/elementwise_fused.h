// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Groups of element-wise ops on the CPU: the rows of the ops, one after the other, on blocks that stay in the cache.

#ifndef TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_FUSED_H_
#define TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_FUSED_H_

#include <array>
#include <map>
#include <memory>
#include <string_view>

#include "kernels/elementwise/elementwise_code.h"
#include "kernels/elementwise/elementwise_rows.h"
#include "tandem/cpu/code_runner.h"
#include "tandem/elementwise_group.h"

namespace tandem::cpu {

// A row and what comes with it, as the kernel of the op alone would use them.
struct StepRow {
  RowFunction function;
  float cost = 0;  // nanoseconds an element
  bool swaps = false;
  const char* parameter = nullptr;
  const char* flag = nullptr;
  Row row_if_flag = nullptr;
};
using StepRows = std::array<StepRow, kNumDTypes>;  // by the dtype that kernels are looked up by

// Gives the same bits as the ops one by one: it calls the same rows, or what does the same in registers.
class ElementwiseRowFuser final : public ElementwiseFuser {
 public:
  // `runner`: null if there is nobody who runs code that is made.
  explicit ElementwiseRowFuser(CodeRunner runner = nullptr);

  bool CanFuse(const OpDef& def, const OpAttrsRef& attrs) const override;
  bool CanFuse(const OpDef& def, DType dtype) const override;
  StatusOr<Kernel> MakeKernel(std::shared_ptr<const ElementwiseGroup> group) const override;

 private:
  void Add(const RowEntry& entry, DTypeSet dtypes, const RowFunction& function);

  const CastRows casts_;
  std::map<std::string_view, StepRows> rows_;  // by op
  mutable LoopCodes codes_;
};

}  // namespace tandem::cpu

#endif  // TANDEM_BACKENDS_CPU_KERNELS_ELEMENTWISE_ELEMENTWISE_FUSED_H_
