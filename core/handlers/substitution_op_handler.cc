// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls that become other calls once it is known what their arguments are.

#include "tandem/substitution_op_handler.h"

#include <algorithm>
#include <utility>

#include "checked_result.h"
#include "defs/attr_conversion.h"
#include "defs/op_signature.h"
#include "execute/late_value.h"
#include "substitution_rules.h"
#include "tandem/elementwise_group.h"
#include "tandem/host_context.h"
#include "tandem/small_array.h"

namespace tandem {

namespace {

constexpr size_t kUsualArgs = 4;
constexpr size_t kUsualResults = 2;

// What can run in place of an op, and when.
struct Choice {
  PreparedSubstitution rule;
  RcRef<const OpImpl> op;
};

class SubstitutionOp final : public OpImpl {
 public:
  // `original` is null if the handler below has no kernel, as `no_original` says.
  SubstitutionOp(std::shared_ptr<const OpDef> def, RcRef<const OpImpl> original, Status no_original,
                 std::vector<Choice> choices, const Device* device, bool is_removable)
      : OpImpl(def->name, is_removable),
        def_(std::move(def)),
        signature_(*def_),
        original_(std::move(original)),
        no_original_(std::move(no_original)),
        choices_(std::move(choices)),
        device_(device) {}

  void Invoke(const OpInvocation& invocation) const override;

  // What has to come before it can be said which op it is; null: nothing.
  AsyncValue* NextDependency(std::span<const TensorHandle> args) const;
  // Decides and runs; nothing has to come.
  void Run(const OpInvocation& invocation) const { RunOnce(invocation, /*is_converted=*/false); }
  const OpDef& def() const { return *def_; }
  const Device* device() const { return device_; }

 private:
  using Args = SmallArray<const TensorMetadata*, kUsualArgs>;
  using Metadata = SmallArray<TensorMetadata, kUsualResults>;

  void InvokeOriginal(const OpInvocation& invocation) const;
  void RunOnce(const OpInvocation& invocation, bool is_converted) const;
  // The metadata of the results, as far as it follows from what is on the host; of the others the dtype.
  Status Infer(const OpInvocation& invocation, const Args& args, const OpAttrsRef& attrs, Metadata& results,
               bool& has_shapes) const;
  void CheckResult(const ExecutionContext& exec, const Choice& choice, size_t i, const TensorMetadata& expected,
                   bool has_shape, TensorHandle& result) const;

  const std::shared_ptr<const OpDef> def_;
  const OpSignature signature_;
  const RcRef<const OpImpl> original_;
  const Status no_original_;
  const std::vector<Choice> choices_;
  const Device* const device_;
};

// Ok if a result is what the op that was called gives.
Status CheckMetadata(std::string_view op, const Substitution& rule, size_t i, const TensorMetadata& expected,
                     bool has_shape, const TensorMetadata& given) {
  const bool fits = has_shape ? expected == given : expected.dtype == DType::kInvalid || expected.dtype == given.dtype;
  if (fits) return Status();
  MessageBuilder wanted;
  has_shape ? wanted.Append(expected) : wanted.Append(expected.dtype);
  return Internal("result ", i, " must be ", wanted.view(), ", as ", op, " gives it, got ", given, " of ",
                  std::string_view(NameOfReplacement(rule)));
}

// A result whose metadata comes later.
class LateCheck final : public CheckedResult {
 public:
  LateCheck(const ExecutionContext& exec, std::string_view op, TensorHandle source,
            std::shared_ptr<const Substitution> rule, size_t index, const TensorMetadata& expected, bool has_shape)
      : CheckedResult(exec, op, std::move(source)),
        rule_(std::move(rule)),
        index_(index),
        expected_(expected),
        has_shape_(has_shape) {}

 private:
  AsyncValue* Prepare() override { return nullptr; }
  bool IsLong() const override { return false; }
  Status Check() override {
    const Status wrong = CheckMetadata(name(), *rule_, index_, expected_, has_shape_, source().metadata());
    return wrong.ok() ? wrong : Tell(wrong);
  }

  const std::shared_ptr<const Substitution> rule_;
  const size_t index_;
  const TensorMetadata expected_;
  const bool has_shape_;
};

// A call of which is not known yet what it is.
class PendingSubstitution final : public PendingCall {
 public:
  PendingSubstitution(const SubstitutionOp& op, const ExecutionContext& exec, OpAttrsRef attrs)
      : PendingCall(exec, op.name()), op_(RcRef<const SubstitutionOp>::Share(&op)), attrs_(std::move(attrs)) {}

  [[nodiscard]] bool MakeResults(const OpInvocation& invocation) {
    if (!args_.Init(invocation.args.size()) || !results_.Init(invocation.results.size()) ||
        !metadata_.Init(invocation.results.size())) {
      return false;
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      results_[i] = MakeUnconstructed<Tensor>();
      metadata_[i] = MakeUnconstructed<TensorMetadata>();
      if (!results_[i] || !metadata_[i]) return false;
    }
    has_chain_ = invocation.chain != nullptr;
    if (!has_chain_ || (!op_->def().has_side_effects && results_.size() > 0)) return true;
    chain_out_ = MakeUnconstructed<Chain>();
    return static_cast<bool>(chain_out_);
  }

  // Takes the arguments, and gives the results.
  void TakeOver(const OpInvocation& invocation) {
    for (size_t i = 0; i < args_.size(); ++i) args_[i] = std::move(invocation.args[i]);
    for (size_t i = 0; i < results_.size(); ++i) {
      invocation.results[i] = TensorHandle(AsyncValueRef<TensorMetadata>(RcRef<AsyncValue>(metadata_[i])),
                                           AsyncValueRef<Tensor>(RcRef<AsyncValue>(results_[i])), op_->device());
    }
    if (has_chain_) chain_in_ = invocation.chain->CopyRef();
    if (chain_out_) *invocation.chain = AsyncValueRef<Chain>(RcRef<AsyncValue>(chain_out_));
  }

 private:
  void Advance() override {
    if (AsyncValue* missing = op_->NextDependency(args_.span())) return WaitFor(missing);
    if (!TryBegin()) return;
    SmallArray<TensorHandle, kUsualResults> given;
    if (!given.Init(results_.size())) return Fail(Tell(Status::OutOfMemory()));
    AsyncValueRef<Chain> chain = std::move(chain_in_);
    op_->Run({exec(), args_.span(), attrs_, given.span(), has_chain_ ? &chain : nullptr});
    const LateOrigin origin = {exec(), op_->def(), /*is_of_call=*/true};
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!given[i].IsError()) {
        const bool is_known = given[i].IsMetadataAvailable();
        results_[i]->Construct(is_known ? given[i].metadata() : TensorMetadata(), given[i].device());
        if (is_known) std::exchange(metadata_[i], nullptr)->Emplace(given[i].metadata());
      }
      AsyncValueRef<Tensor> value = given[i].value().CopyRef();
      given[i].reset();
      ForwardTensor(origin, std::move(value), std::move(results_[i]), std::move(metadata_[i]));
    }
    if (chain_out_) ForwardChain(origin, std::move(chain), std::move(chain_out_));
    Leave();
    Release();
  }
  void DropInputs() override {
    for (TensorHandle& arg : args_) arg.reset();
    chain_in_.reset();
  }
  void SetError(const Status& error) override {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (metadata_[i]) std::move(metadata_[i])->SetError(error);
      std::move(results_[i])->SetError(error);
    }
    if (chain_out_) std::move(chain_out_)->SetError(error);
  }

  const RcRef<const SubstitutionOp> op_;
  const OpAttrsRef attrs_;
  SmallArray<TensorHandle, kUsualArgs> args_;
  SmallArray<RcRef<TensorValue>, kUsualResults> results_;
  SmallArray<RcRef<ConcreteAsyncValue<TensorMetadata>>, kUsualResults> metadata_;
  bool has_chain_ = false;
  AsyncValueRef<Chain> chain_in_;
  RcRef<ConcreteAsyncValue<Chain>> chain_out_;
};

void InvokePending(const SubstitutionOp& op, const OpInvocation& invocation) {
  const ExecutionContext& exec = invocation.exec;
  PendingOps& pending = exec.host().pending_ops();
  if (Status admitted = pending.Admit(exec, 0); !admitted.ok()) {
    return FailInvocation(invocation, op.name(), std::move(admitted));
  }
  OpAttrsRef attrs = invocation.attrs.Freeze();
  RcRef<PendingSubstitution> call;
  if (!attrs.out_of_memory()) call = MakeRef<PendingSubstitution>(op, exec, std::move(attrs));
  if (!call || !call->MakeResults(invocation)) {
    pending.Release(0);
    return FailInvocation(invocation, op.name(), Status::OutOfMemory());
  }
  call->TakeOver(invocation);
  call.release()->Start();
}

void SubstitutionOp::InvokeOriginal(const OpInvocation& invocation) const {
  if (!original_) return FailInvocation(invocation, name(), no_original_);
  original_->Invoke(invocation);
}

AsyncValue* SubstitutionOp::NextDependency(std::span<const TensorHandle> args) const {
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorHandle& arg = args[i];
    if (arg.IsError()) return nullptr;
    if (def_->metadata != nullptr && signature_.IsHostInput(i, args.size())) {
      if (!arg.IsAvailable()) return arg.value().value();
    } else if (!arg.IsMetadataAvailable() && !arg.metadata_value()->IsAvailable()) {
      return arg.metadata_value();
    }
  }
  return nullptr;
}

void SubstitutionOp::Invoke(const OpInvocation& invocation) const {
  // What is wrong with a call the op that was called says.
  const bool is_right = signature_.CheckArgumentCount(invocation.args.size()).ok() &&
                        std::ranges::all_of(invocation.args, &TensorHandle::IsValid) &&
                        (invocation.chain != nullptr || (!def_->has_side_effects && !invocation.results.empty())) &&
                        invocation.exec.CheckActive().ok();
  if (!is_right) return InvokeOriginal(invocation);
  NextDependency(invocation.args) == nullptr ? Run(invocation) : InvokePending(*this, invocation);
}

Status SubstitutionOp::Infer(const OpInvocation& invocation, const Args& args, const OpAttrsRef& attrs,
                             Metadata& results, bool& has_shapes) const {
  has_shapes = def_->metadata != nullptr;
  SmallArray<const Tensor*, kUsualArgs> values;
  if (!values.Init(has_shapes && def_->has_host_inputs ? args.size() : 0)) return Status::OutOfMemory();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = nullptr;
    if (!signature_.IsHostInput(i, args.size())) continue;
    values[i] = &invocation.args[i].tensor();
    has_shapes = has_shapes && (IsExpandable(*values[i]) || values[i]->IsA(kStringHost));
  }
  if (!has_shapes) return Status();
  const std::span<const TensorMetadata* const> given(args.data(), args.size());
  return def_->metadata({given, values.span(), attrs, results.span(), def_->metadata_closure.get()});
}

void SubstitutionOp::RunOnce(const OpInvocation& invocation, bool is_converted) const {
  Args args;
  Metadata expected;
  const std::span<TensorHandle> handles = invocation.args;
  if (!args.Init(handles.size()) || !expected.Init(invocation.results.size())) {
    return FailInvocation(invocation, name(), Status::OutOfMemory());
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (handles[i].IsError()) return InvokeOriginal(invocation);
    args[i] = &handles[i].metadata();
  }
  const BorrowedOpAttrs borrowed(invocation.attrs, def_->defaults.get());
  const OpAttrsRef& attrs = borrowed.ref();
  if (!signature_.Bind(args.span(), attrs, expected.span()).ok()) {
    const StatusOr<OpAttrsRef> converted = is_converted ? OpAttrsRef() : ConvertAttrs(*def_, invocation.attrs);
    if (!converted.ok() || converted->empty()) return InvokeOriginal(invocation);
    return RunOnce({invocation.exec, handles, *converted, invocation.results, invocation.chain}, true);
  }
  const auto choice =
      std::ranges::find_if(choices_, [&](const Choice& one) { return one.rule.Matches(args.span(), attrs); });
  bool has_shapes = false;
  if (choice == choices_.end() || !Infer(invocation, args, attrs, expected, has_shapes).ok()) {
    return InvokeOriginal(invocation);
  }
  const bool is_kernel = choice->rule.replacement_def() == nullptr;
  const StatusOr<OpAttrsRef> replaced = is_kernel ? OpAttrsRef() : choice->rule.ReplaceAttrs(attrs);
  if (!replaced.ok()) return FailInvocation(invocation, name(), replaced.status());
  choice->op->Invoke(
      {invocation.exec, handles, is_kernel ? invocation.attrs : *replaced, invocation.results, invocation.chain});
  for (size_t i = 0; i < expected.size(); ++i) {
    CheckResult(invocation.exec, *choice, i, expected[i], has_shapes, invocation.results[i]);
  }
}

void SubstitutionOp::CheckResult(const ExecutionContext& exec, const Choice& choice, size_t i,
                                 const TensorMetadata& expected, bool has_shape, TensorHandle& result) const {
  if (!result.IsValid() || result.IsError()) return;
  const Substitution& rule = choice.rule.rule();
  if (result.IsMetadataAvailable()) {
    const Status wrong = CheckMetadata(name(), rule, i, expected, has_shape, result.metadata());
    if (wrong.ok()) return;
    result = TensorHandle::MakeError(exec.host().EmitError(wrong.WithContext(name(), exec.location())));
    return;
  }
  if (!has_shape && expected.dtype == DType::kInvalid) return;
  auto late = MakeRef<LateCheck>(exec, name(), std::move(result), choice.rule.shared_rule(), i, expected, has_shape);
  result = late ? late->MakeResult() : TensorHandle();
  if (!result.IsValid()) {
    const Status error = Status::OutOfMemory().WithContext(name(), exec.location());
    result = TensorHandle::MakeError(exec.host().EmitError(error));
    return;
  }
  late.release()->Begin();
}

// What the handler below computes as groups, as long as no rule is for it.
class UnsubstitutedFuser final : public ElementwiseFuser {
 public:
  UnsubstitutedFuser(const ElementwiseFuser& below, std::function<bool(std::string_view)> has_rule)
      : below_(below), has_rule_(std::move(has_rule)) {}
  bool CanFuse(const OpDef& def, const OpAttrsRef& attrs) const override {
    return !has_rule_(def.name) && below_.CanFuse(def, attrs);
  }
  bool CanFuse(const OpDef& def, DType dtype) const override {
    return !has_rule_(def.name) && below_.CanFuse(def, dtype);
  }
  bool CanCompute(std::span<const TensorMetadata> inputs, std::span<const TensorMetadata> results) const override {
    return below_.CanCompute(inputs, results);
  }
  StatusOr<Kernel> MakeKernel(std::shared_ptr<const ElementwiseGroup> group) const override {
    return below_.MakeKernel(std::move(group));
  }

 private:
  const ElementwiseFuser& below_;
  const std::function<bool(std::string_view)> has_rule_;
};

}  // namespace

class SubstitutionOpHandler final : public OpHandler {
 public:
  SubstitutionOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate, RcRef<Substitutions> rules)
      : OpHandler(name, runtime, &delegate), rules_(std::move(rules)) {
    if (delegate.fuser() == nullptr) return;
    fuser_ = std::make_unique<const UnsubstitutedFuser>(*delegate.fuser(),
                                                        [this](std::string_view op) { return rules_->Has(op); });
  }

  StatusOr<Op> MakeOp(std::string_view op_name) override;
  const ElementwiseFuser* fuser() const override { return fuser_.get(); }
  StatusOr<Op> MakeGroupOp(std::shared_ptr<const ElementwiseGroup> group) override {
    return fallback()->MakeGroupOp(std::move(group));
  }
  void VisitCallers(std::string_view op_name, FunctionRef<void(std::string_view)> visit) const override {
    rules_->VisitCallers(op_name, visit);
  }

 private:
  StatusOr<Op> MakeReplacement(const PreparedSubstitution& rule);

  const RcRef<Substitutions> rules_;
  std::unique_ptr<const ElementwiseFuser> fuser_;
};

StatusOr<Op> SubstitutionOpHandler::MakeReplacement(const PreparedSubstitution& prepared) {
  const Substitution& rule = prepared.rule();
  if (!rule.replacement.empty()) return MakeOp(rule.replacement);
  if (rule.kernel_handler->device() != device()) {
    return InvalidArgument("expected an op handler of device ", rule.kernel_handler->device()->name(), " below op ",
                           "handler ", std::string_view(name()), " for ", std::string_view(NameOfReplacement(rule)),
                           ", got one of device ", device() == nullptr ? "none" : device()->name());
  }
  return rule.kernel_handler->MakeOpOf(prepared.def(), rule.kernel);
}

StatusOr<Op> SubstitutionOpHandler::MakeOp(std::string_view op_name) {
  const Substitutions::Rules rules = rules_->Find(op_name);
  if (rules.empty()) return fallback()->MakeOp(op_name);
  std::shared_ptr<const OpDef> def = runtime().registry().FindShared(op_name);
  if (def == nullptr) return runtime().registry().NotFoundError(op_name);
  const StatusOr<Op> original = fallback()->MakeOp(op_name);
  if (!original.ok() && original.status().code() != StatusCode::kUnimplemented) return original;
  bool is_removable = def->code != nullptr || (original.ok() && original->impl()->is_removable());
  std::vector<Choice> choices;
  for (const std::shared_ptr<const Substitution>& rule : rules) {
    StatusOr<PreparedSubstitution> prepared = PreparedSubstitution::Make(runtime().registry(), rule);
    if (!prepared.ok()) return InRule(*rule, prepared.status());
    StatusOr<Op> replacement = MakeReplacement(*prepared);
    if (!replacement.ok()) return InRule(*rule, replacement.status());
    is_removable = is_removable || replacement->impl()->is_removable() || rule->kernel.has_code();
    choices.push_back({std::move(*prepared), replacement->impl()});
  }
  RcRef<const OpImpl> op = MakeRef<const SubstitutionOp>(std::move(def), original.ok() ? original->impl() : nullptr,
                                                         original.ok() ? Status() : original.status(),
                                                         std::move(choices), device(), is_removable);
  if (!op) return Status::OutOfMemory();
  return Op(std::move(op));
}

std::unique_ptr<OpHandler> CreateSubstitutionOpHandler(std::string_view name, CoreRuntime& runtime, OpHandler& delegate,
                                                       RcRef<Substitutions> rules) {
  return std::make_unique<SubstitutionOpHandler>(name, runtime, delegate, std::move(rules));
}

}  // namespace tandem
