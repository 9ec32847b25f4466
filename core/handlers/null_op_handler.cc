// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The handler without ops.

#include "tandem/core_runtime.h"
#include "tandem/op_handler.h"

namespace tandem {

namespace {

class NullOpHandler final : public OpHandler {
 public:
  explicit NullOpHandler(CoreRuntime& runtime) : OpHandler("null", runtime, nullptr) {}

  StatusOr<Op> MakeOp(std::string_view op_name) override {
    if (runtime().registry().Find(op_name) == nullptr) return runtime().registry().NotFoundError(op_name);
    return MakeError(StatusCode::kUnimplemented, "op handler null has no kernel for this op");
  }
};

}  // namespace

std::unique_ptr<OpHandler> CreateNullOpHandler(CoreRuntime& runtime) {
  return std::make_unique<NullOpHandler>(runtime);
}

}  // namespace tandem
