// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Removing what was added together, and telling when nobody is in it any more.

#include "tandem/op_library.h"

namespace tandem {

namespace {

// Tells of its end when the code has been dropped.
class InUse {
 public:
  InUse(std::shared_ptr<const void> code, RcRef<ConcreteAsyncValue<Chain>> unused)
      : code_(std::move(code)), unused_(std::move(unused)) {}
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() {
    code_.reset();
    unused_->Emplace();
  }

 private:
  std::shared_ptr<const void> code_;
  const RcRef<ConcreteAsyncValue<Chain>> unused_;
};

Status Removed() { return FailedPrecondition("the op library has been removed"); }

}  // namespace

OpLibrary::OpLibrary(CoreRuntime& runtime, std::shared_ptr<const void> code) : runtime_(runtime) {
  RcRef<ConcreteAsyncValue<Chain>> unused = MakeUnconstructed<Chain>();
  if (!unused) return;  // as if removed
  unused_ = AsyncValueRef<Chain>(RcRef<AsyncValue>(unused));
  in_use_ = std::make_shared<const InUse>(std::move(code), std::move(unused));
}

OpLibrary::~OpLibrary() { static_cast<void>(Remove()); }

Status OpLibrary::Define(const OpDefBuilder& builder) {
  const std::lock_guard lock(mutex_);
  if (in_use_ == nullptr) return Removed();
  TANDEM_RETURN_IF_ERROR(runtime_.registry().Register(builder, in_use_));
  defined_.emplace_back(builder.name());
  runtime_.OpChanged(builder.name());
  return Status();
}

Status OpLibrary::AddKernel(KernelOpHandler& handler, std::string_view op_name, DTypeSet dtypes, Kernel kernel) {
  const std::lock_guard lock(mutex_);
  if (in_use_ == nullptr) return Removed();
  TANDEM_RETURN_IF_ERROR(handler.AddKernel(op_name, dtypes, std::move(kernel).WithCode(in_use_)));
  added_.push_back({&handler, std::string(op_name), dtypes});
  return Status();
}

Status OpLibrary::AddKernel(KernelOpHandler& handler, std::string_view op_name, Kernel kernel) {
  return AddKernel(handler, op_name, DTypeSet{DType::kInvalid}, std::move(kernel));
}

std::shared_ptr<const void> OpLibrary::in_use() {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

AsyncValueRef<Chain> OpLibrary::Remove() {
  std::shared_ptr<const void> in_use;  // ends last, without the lock: continuations of what it tells may use this
  const std::lock_guard lock(mutex_);
  if (!unused_.IsValid()) return AsyncValueRef<Chain>::MakeAvailable();
  in_use = std::move(in_use_);
  // Definitions first: what is resolved meanwhile is resolved without them.
  for (const std::string& name : defined_) {
    runtime_.registry().Remove(name);
    runtime_.OpChanged(name);
  }
  for (const Added& added : added_) added.handler->RemoveKernels(added.op_name, added.dtypes);
  defined_.clear();
  added_.clear();
  return unused_.CopyRef();
}

}  // namespace tandem
