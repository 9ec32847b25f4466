// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What of a recording is needed, and how it is said in instructions.

#include "program_recording_function.h"

#include <algorithm>
#include <memory>

#include "tandem/host_tensors.h"

namespace tandem {

namespace {

// Of the host's device, on whatever machine.
constexpr std::string_view kHostHandler = "cpu";
constexpr std::string_view kToSparse = "tandem.ToSparseCoo";

template <typename... Parts>
Status Unimplemented(const Parts&... parts) {
  return MakeError(StatusCode::kUnimplemented, parts...);
}

// What a program has of a tensor on the host, which is not sparse.
std::shared_ptr<const ProgramConstant> CopyOf(const Tensor& tensor) {
  auto constant = std::make_shared<ProgramConstant>();
  constant->metadata = tensor.metadata();
  if (tensor.IsA(kStringHost)) {
    const StringHostView view(tensor);
    for (int64_t i = 0; i < view.size(); ++i) constant->strings.emplace_back(view[i]);
    return constant;
  }
  constant->is_splat = tensor.IsA(kScalarHost);
  const size_t size =
      constant->is_splat ? DTypeSize(tensor.dtype()) : static_cast<size_t>(tensor.metadata().byte_size());
  const auto* const data = static_cast<const std::byte*>(tensor.data());
  constant->bytes.assign(data, data + size);
  return constant;
}

}  // namespace

StatusOr<std::vector<AsyncValue*>> RecordedFunction::Plan() {
  output_values_.clear();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].IsValid()) return InvalidArgument("expected output ", i, " to be a tensor, got a null handle");
    uint32_t value = content_.Find(outputs_[i]);
    if (value == kNone) {
      KnownValues::Entries dropped;
      if (!content_.Reserve(1, 0, dropped)) return Status::OutOfMemory();
      value = content_.AddConstant(outputs_[i]);
    }
    output_values_.push_back(value);
  }
  TANDEM_RETURN_IF_ERROR(MarkNeeded());
  std::vector<AsyncValue*> awaited;
  const Device& host = host_.device();
  for (size_t i = 0; i < needed_values_.size(); ++i) {
    const RecordedValue& value = content_.values[i];
    if (!needed_values_[i] || value.kind != RecordedValue::Kind::kConstant) continue;
    RecordedConstant& constant = content_.constants[value.index];
    awaited.push_back(constant.tensor.value().value());
    const Device* const device = constant.tensor.device();
    if (device == nullptr || device == &host) continue;
    if (!constant.on_host.IsValid()) {
      constant.on_host = constant.tensor.TransferTo(ExecutionContext(host_, Location()), host);
    }
    awaited.push_back(constant.on_host.value().value());
  }
  const auto is_pending = [](const RcRef<AsyncValue>& value) { return !value->IsAvailable(); };
  if (std::any_of(content_.outside.begin(), content_.outside.end(), is_pending)) return awaited;
  for (const TensorHandle& output : outputs_) awaited.push_back(output.value().value());
  for (const RecordedCall& call : content_.calls) {
    if (call.effect) awaited.push_back(call.effect.get());
  }
  return awaited;
}

Status RecordedFunction::MarkNeeded() {
  needed_values_.assign(content_.values.size(), false);
  needed_calls_.assign(content_.calls.size(), false);
  has_effects_ = false;
  canonical_.resize(content_.values.size());
  for (uint32_t i = 0; i < canonical_.size(); ++i) canonical_[i] = Canonical(i);
  for (uint32_t& value : output_values_) {
    value = canonical_[value];
    needed_values_[value] = true;
  }
  for (size_t i = content_.calls.size(); i-- > 0;) {
    const RecordedCall& call = content_.calls[i];
    bool is_needed = call.effect && !call.effect->IsError();
    for (uint32_t k = 0; k < call.num_results; ++k) is_needed = is_needed || needed_values_[call.first_result + k];
    if (!is_needed) continue;
    needed_calls_[i] = true;
    has_effects_ = has_effects_ || call.effect;
    for (const uint32_t operand : OperandsOf(call)) {
      const uint32_t value = canonical_[operand];
      const RecordedValue& source = content_.values[value];
      if (source.kind == RecordedValue::Kind::kResult && source.index >= i) {
        return Unimplemented("expected arguments from calls recorded before, got one of ", call.op,
                             " that turned out to be a result of ", content_.calls[source.index].op,
                             ", which was called later");
      }
      needed_values_[value] = true;
    }
  }
  return Status();
}

uint32_t RecordedFunction::Canonical(uint32_t value) const {
  const RecordedValue& recorded = content_.values[value];
  if (recorded.kind != RecordedValue::Kind::kConstant) return value;
  const AsyncValue& tensor = *content_.constants[recorded.index].tensor.value().value();
  const uint32_t found = tensor.IsAvailable() ? content_.known.Find(*tensor.Resolved()) : kNone;
  if (found == kNone || content_.values[found].kind == RecordedValue::Kind::kConstant) return value;
  return found;
}

Status RecordedFunction::CheckErrors() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].IsError()) continue;
    const Status& error = outputs_[i].GetError();
    return MakeError(error.code(), "expected output ", i, " to be a tensor, got an error").WithCause(error);
  }
  for (size_t i = 0; i < needed_values_.size(); ++i) {
    const RecordedValue& value = content_.values[i];
    if (!needed_values_[i] || value.kind != RecordedValue::Kind::kConstant) continue;
    const RecordedConstant& constant = content_.constants[value.index];
    const TensorHandle& tensor = constant.on_host.IsValid() ? constant.on_host : constant.tensor;
    if (!tensor.IsError()) continue;
    const Status& error = tensor.GetError();
    return MakeError(error.code(), "expected a tensor as a constant of the program, got an error").WithCause(error);
  }
  return Status();
}

StatusOr<ProgramFunction> RecordedFunction::Make(std::string_view name, size_t max_inline_bytes) {
  TANDEM_RETURN_IF_ERROR(CheckErrors());
  function_.name = name;
  max_inline_bytes_ = max_inline_bytes;
  made_.assign(content_.values.size(), kNone);
  AddParameters();
  TANDEM_RETURN_IF_ERROR(AddHandlers());
  for (size_t i = 0; i < content_.calls.size(); ++i) {
    if (needed_calls_[i]) TANDEM_RETURN_IF_ERROR(AddCall(content_.calls[i]));
  }
  std::vector<uint32_t> results;
  for (const uint32_t value : output_values_) {
    TANDEM_ASSIGN_OR_RETURN(const uint32_t result, Use(value));
    results.push_back(result);
  }
  function_.result_types.assign(results.size(), ProgramType::kTensor);
  if (has_effects_) {
    results.insert(results.begin(), chain_);
    function_.result_types.insert(function_.result_types.begin(), ProgramType::kChain);
  }
  Add(ProgramKernel::kReturn, std::move(results));
  return std::move(function_);
}

void RecordedFunction::AddParameters() {
  std::vector<ProgramType>& types = function_.value_types;
  if (has_effects_) {
    chain_ = 0;
    types.push_back(ProgramType::kChain);
  }
  for (size_t i = 0; i < content_.values.size(); ++i) {
    if (content_.values[i].kind != RecordedValue::Kind::kInput) continue;
    made_[i] = static_cast<uint32_t>(types.size());
    types.push_back(ProgramType::kTensor);
  }
  function_.num_parameters = static_cast<uint32_t>(types.size());
}

Status RecordedFunction::AddHandlers() {
  for (size_t i = 0; i < content_.calls.size(); ++i) {
    if (!needed_calls_[i]) continue;
    const RecordedCall& call = content_.calls[i];
    std::string_view name;
    if (call.handler != nullptr) {
      name = call.handler->name();
    } else {
      TANDEM_ASSIGN_OR_RETURN(name, HandlerNameFor(*call.target));
    }
    AddHandler(name);
  }
  for (size_t i = 0; i < needed_values_.size(); ++i) {
    const RecordedValue& value = content_.values[i];
    if (!needed_values_[i] || value.kind != RecordedValue::Kind::kConstant) continue;
    const RecordedConstant& constant = content_.constants[value.index];
    if (constant.on_host.IsValid()) {
      TANDEM_ASSIGN_OR_RETURN(const std::string_view name, HandlerNameFor(*constant.tensor.device()));
      AddHandler(name);
    } else if (constant.tensor.tensor().IsA(kSparseCooHost)) {
      AddHandler(kHostHandler);
    }
  }
  return Status();
}

void RecordedFunction::AddHandler(std::string_view name) {
  if (handlers_.contains(name)) return;
  Add(ProgramKernel::kGetOpHandler, {}).name = name;
  handlers_.emplace(name, AddResult(ProgramType::kOpHandler));
}

StatusOr<std::string_view> RecordedFunction::HandlerNameFor(const Device& device) const {
  if (&device == &host_.device()) return kHostHandler;
  const OpHandler* const handler = state_.FindDelegate(device);
  if (handler != nullptr) return std::string_view(handler->name());
  return FailedPrecondition("expected a recorded op handler for ", device.name(),
                            ", where tensors of the recording are, got none");
}

Status RecordedFunction::AddCall(const RecordedCall& call) {
  std::vector<uint32_t> arguments;
  for (const uint32_t operand : OperandsOf(call)) {
    TANDEM_ASSIGN_OR_RETURN(const uint32_t argument, Use(canonical_[operand]));
    arguments.push_back(argument);
  }
  if (call.handler != nullptr) {
    AddOp(call, arguments);
    return Status();
  }
  if (!call.is_to_dense) {
    return Unimplemented("expected transfers to the dense representation of a device, got one to another on ",
                         call.target->name());
  }
  TANDEM_ASSIGN_OR_RETURN(const std::string_view handler, HandlerNameFor(*call.target));
  made_[call.first_result] = AddTransfer(arguments[0], handler);
  return Status();
}

void RecordedFunction::AddOp(const RecordedCall& call, std::span<const uint32_t> arguments) {
  // A chain is of no use to others as long as there was no effect.
  const bool is_seq = call.effect || (call.takes_chain && is_after_effect_);
  std::vector<uint32_t> operands = {handlers_.find(call.handler->name())->second};
  if (is_seq) operands.push_back(chain_);
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  ProgramInstruction& op = Add(is_seq ? ProgramKernel::kExecuteOpSeq : ProgramKernel::kExecuteOp, std::move(operands));
  op.name = call.op;
  op.attrs = call.attrs;
  const uint32_t chain = is_seq ? AddResult(ProgramType::kChain) : kNone;
  if (call.effect) {
    chain_ = chain;
    is_after_effect_ = true;
  }
  for (uint32_t i = 0; i < call.num_results; ++i) made_[call.first_result + i] = AddResult(ProgramType::kTensor);
}

StatusOr<uint32_t> RecordedFunction::Use(uint32_t recorded) {
  const RecordedValue& value = content_.values[recorded];
  if (made_[recorded] == kNone) {
    TANDEM_ASSIGN_OR_RETURN(made_[recorded], AddConstant(content_.constants[value.index]));
  }
  return made_[recorded];
}

StatusOr<uint32_t> RecordedFunction::AddConstant(const RecordedConstant& constant) {
  const Tensor& tensor = constant.tensor.tensor();
  if (constant.on_host.IsValid() && tensor.IsA(tensor.device()->dense_type())) {
    TANDEM_ASSIGN_OR_RETURN(const std::string_view handler, HandlerNameFor(*tensor.device()));
    return AddTransfer(AddHostTensor(constant.on_host), handler);
  }
  if (tensor.IsA(kSparseCooHost)) return AddSparse(tensor);
  if (IsHostType(tensor.type())) return AddHostTensor(constant.tensor);
  return Unimplemented("expected dense, scalar, string or sparse constants, got ", tensor.metadata(), " as ",
                       tensor.type().name(), " on ", tensor.device()->name());
}

StatusOr<uint32_t> RecordedFunction::AddSparse(const Tensor& tensor) {
  TANDEM_ASSIGN_OR_RETURN(Tensor dense, ToDense(tensor, host_.allocator()));
  TANDEM_ASSIGN_OR_RETURN(const Tensor again, ToSparseCoo(dense, host_.allocator()));
  if (SparseCooView(again).num_values() != SparseCooView(tensor).num_values()) {
    return Unimplemented("expected sparse constants that store no zeros, got ", tensor.metadata(), " that does");
  }
  const uint32_t value = AddHostTensor(TensorHandle::MakeAvailable(std::move(dense)));
  Add(ProgramKernel::kExecuteOp, {handlers_.find(kHostHandler)->second, value}).name = kToSparse;
  return AddResult(ProgramType::kTensor);
}

uint32_t RecordedFunction::AddHostTensor(const TensorHandle& handle) {
  const Tensor& tensor = handle.tensor();
  const bool is_weight =
      tensor.IsA(kDenseHost) && static_cast<uint64_t>(tensor.metadata().byte_size()) > max_inline_bytes_;
  ProgramInstruction& instruction =
      Add(tensor.IsA(kStringHost) ? ProgramKernel::kConstStringTensor : ProgramKernel::kConstDenseTensor, {});
  if (is_weight) {
    instruction.name = "weight" + std::to_string(weights_.size());
    instruction.weight_metadata = tensor.metadata();
    weights_.emplace_back(instruction.name, handle.CopyRef());
  } else {
    instruction.constant = CopyOf(tensor);
  }
  return AddResult(ProgramType::kTensor);
}

uint32_t RecordedFunction::AddTransfer(uint32_t value, std::string_view handler) {
  Add(ProgramKernel::kTransfer, {value, handlers_.find(handler)->second});
  return AddResult(ProgramType::kTensor);
}

ProgramInstruction& RecordedFunction::Add(ProgramKernel kernel, std::vector<uint32_t> operands) {
  ProgramInstruction& instruction = function_.instructions.emplace_back();
  instruction.kernel = kernel;
  instruction.operands = std::move(operands);
  return instruction;
}

uint32_t RecordedFunction::AddResult(ProgramType type) {
  const auto value = static_cast<uint32_t>(function_.value_types.size());
  function_.value_types.push_back(type);
  function_.instructions.back().results.push_back(value);
  return value;
}

}  // namespace tandem
