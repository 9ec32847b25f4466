// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How a program is made ready: what it names is found, and values get slots that are used again after their last use.

#include "program_plan.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "defs/op_signature.h"
#include "program_epilogues.h"
#include "program_fusion.h"
#include "program_kernels.h"
#include "tandem/constant_buffer.h"
#include "tandem/host_context.h"
#include "tandem/host_tensors.h"

namespace tandem {

namespace {

// The slots of a function's values.
class Slots {
 public:
  // `instructions` are the function's in the order in which they are executed.
  Slots(const ProgramFunction& function, std::span<const ProgramInstruction* const> instructions)
      : of_(function.value_types.size(), PlanStep::kNoSlot) {
    last_uses_.resize(function.value_types.size(), kNever);
    for (size_t i = 0; i < instructions.size(); ++i) {
      for (const uint32_t value : instructions[i]->operands) last_uses_[value] = i;
    }
  }

  // Of a value that is defined here; none for what is never used.
  uint32_t Define(uint32_t value) {
    if (last_uses_[value] == kNever) return PlanStep::kNoSlot;
    if (free_.empty()) {
      of_[value] = count_++;
    } else {
      of_[value] = free_.back();
      free_.pop_back();
    }
    return of_[value];
  }

  // Of the operands of an instruction, whose slots are free behind their last uses.
  std::vector<PlanOperand> Use(size_t instruction, std::span<const uint32_t> values) {
    std::vector<PlanOperand> operands(values.size());
    for (size_t i = values.size(); i-- > 0;) {
      const uint32_t value = values[i];
      const bool is_last = last_uses_[value] == instruction;
      operands[i] = {.slot = of_[value], .is_last_use = is_last};
      if (!is_last) continue;
      last_uses_[value] = kNever;  // it may be an operand twice
      free_.push_back(of_[value]);
    }
    return operands;
  }

  uint32_t count() const { return count_; }

 private:
  static constexpr size_t kNever = SIZE_MAX;
  std::vector<uint32_t> of_;
  std::vector<size_t> last_uses_;
  std::vector<uint32_t> free_;
  uint32_t count_ = 0;
};

}  // namespace

// Fills in a plan.
class PlanBuilder {
 public:
  PlanBuilder(ProgramPlan& plan, const RcRef<const Program>& program, std::string_view source)
      : plan_(plan), program_(program), source_(source) {}

  Status Build() {
    const std::span<const ProgramFunction> functions = program_->functions();
    plan_.functions_.resize(functions.size());
    plan_.default_handler_ = plan_.options_.op_handler;
    if (plan_.default_handler_ == nullptr) plan_.default_handler_ = plan_.runtime_.FindHandler("cpu");
    for (const ProgramFunction& function : functions) {
      for (const ProgramInstruction& instruction : function.instructions) {
        if (instruction.kernel == ProgramKernel::kRegisterOpHandler) registered_.insert(instruction.name);
      }
    }
    for (size_t i = 0; i < functions.size(); ++i) TANDEM_RETURN_IF_ERROR(BuildFunction(functions[i], i));
    // Only now, since a function may be called before it is defined.
    states_.resize(functions.size(), State::kOpen);
    for (size_t i = 0; i < functions.size(); ++i) FindPlaces(i, 0);
    return Status();
  }

 private:
  enum class State : uint8_t { kOpen, kBusy, kDone };
  static constexpr int kMaxPlaceDepth = 64;

  Status BuildFunction(const ProgramFunction& source, size_t index) {
    PlanFunction& function = plan_.functions_[index];
    function.source = &source;
    const std::vector<const ProgramInstruction*> instructions = InOrder(source);
    Slots slots(source, instructions);
    for (uint32_t i = 0; i < source.num_parameters; ++i) function.parameters.push_back(slots.Define(i));
    handlers_.assign(source.value_types.size(), nullptr);
    constant_steps_.clear();
    function.steps.reserve(source.instructions.size());
    for (size_t i = 0; i < instructions.size(); ++i) {
      const ProgramInstruction& instruction = *instructions[i];
      PlanStep& step = function.steps.emplace_back();
      step.kernel = instruction.kernel;
      step.name = instruction.name.empty() ? ProgramKernelName(instruction.kernel) : instruction.name;
      step.location = LocationOf(instruction);
      if (instruction.attrs) step.attrs = OpAttrsRef(instruction.attrs);
      for (size_t k = 0; k < instruction.functions.size(); ++k) {
        step.functions[k] = &plan_.functions_[instruction.functions[k]];
      }
      TANDEM_RETURN_IF_ERROR(Resolve(instruction, step));
      step.operands = slots.Use(i, instruction.operands);
      MoveConstants(instruction, step);
      if (step.tensor.IsValid()) constant_steps_.emplace(instruction.results[0], &step);
      for (const uint32_t value : instruction.results) step.results.push_back(slots.Define(value));
    }
    function.num_slots = slots.count();
    if (!plan_.options_.fuse) return Status();
    FoldEpilogues(source.value_types.size(), instructions, function.steps);
    return FuseSteps(source.value_types.size(), instructions, function.steps);
  }

  // What needs nothing comes first, so that the ops that use it follow each other.
  static std::vector<const ProgramInstruction*> InOrder(const ProgramFunction& source) {
    std::vector<const ProgramInstruction*> first;
    std::vector<const ProgramInstruction*> others;
    for (const ProgramInstruction& instruction : source.instructions) {
      const bool needs_nothing = InfoOf(instruction.kernel).makes_tensor ||
                                 (instruction.kernel == ProgramKernel::kGetOpHandler && instruction.operands.empty());
      (needs_nothing ? first : others).push_back(&instruction);
    }
    first.insert(first.end(), others.begin(), others.end());
    return first;
  }

  Location LocationOf(const ProgramInstruction& instruction) const {
    const ProgramPosition& position = instruction.position;
    std::string text = program_->file();
    if (position.line > 0) text += ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
    return plan_.runtime_.host().locations().Intern(text);
  }

  // The error of an instruction, with its place and what stands there.
  Status Located(const Status& error, std::string_view op, const ProgramInstruction& instruction,
                 const PlanStep& step) const {
    const bool is_from_here = !error.location().IsKnown() && error.num_steps() == 0;
    const std::string shown = is_from_here ? ShowProgramPlace(source_, instruction.position) : "";
    if (shown.empty()) return error.WithContext(op, step.location);
    if (!error.op().empty()) op = error.op();
    return Status::Error(error.code(), std::string(error.detail()) + '\n' + shown, op, step.location, error.cause());
  }

  // Finds what the instruction names.
  Status Resolve(const ProgramInstruction& instruction, PlanStep& step) {
    switch (instruction.kernel) {
      case ProgramKernel::kGetOpHandler:
        return ResolveHandler(instruction, step);
      case ProgramKernel::kExecuteOp:
      case ProgramKernel::kExecuteOpSeq:
        return ResolveOp(instruction, step);
      case ProgramKernel::kConstDenseTensor:
      case ProgramKernel::kCreateDenseTensor:
      case ProgramKernel::kConstStringTensor:
        return MakeTensor(instruction, step);
      case ProgramKernel::kTransfer:
        step.handler = KnownHandler(instruction.operands[1]);
        return Status();
      default:
        return Status();
    }
  }

  // Brings the constants that the instruction takes to the device where it wants them: once, and not at each call.
  // Never waits. They are part of no request, since all calls share them.
  void MoveConstants(const ProgramInstruction& instruction, PlanStep& step) {
    if (constant_steps_.empty()) return;
    const bool is_transfer = step.kernel == ProgramKernel::kTransfer && step.handler != nullptr;
    if (!is_transfer && !step.op.IsValid()) return;
    // Before arguments: of a transfer nothing, of an op its handler and its chain.
    const size_t first = is_transfer ? 0 : step.kernel == ProgramKernel::kExecuteOpSeq ? 2 : 1;
    const size_t num_args = is_transfer ? 1 : step.operands.size() - first;
    for (size_t i = 0; i < num_args; ++i) {
      const auto found = constant_steps_.find(instruction.operands[first + i]);
      if (found == constant_steps_.end() || !found->second->tensor.IsMetadataAvailable()) continue;
      const DType dtype = found->second->tensor.metadata().dtype;
      const Device* device = nullptr;
      if (!is_transfer) {
        device = step.op.impl()->WantedDevice(i, num_args, dtype);
      } else if (dtype != DType::kString) {
        device = step.handler->device();
      }
      if (device != nullptr) step.operands[first + i].on_device = OnDevice(*found->second, *device);
    }
  }
  // Null if it is no constant of the host.
  const TensorHandle* OnDevice(const PlanStep& constant, const Device& device) {
    HostContext& host = plan_.runtime_.host();
    if (constant.tensor.device() != &host.device() || &device == &host.device()) return nullptr;
    const TensorHandle*& moved = moved_[{constant.tensor.value().value(), &device}];
    if (moved == nullptr) {
      TensorHandle there = constant.tensor.TransferTo(ExecutionContext(host, constant.location), device);
      plan_.on_devices_.push_back(std::make_unique<const TensorHandle>(std::move(there)));
      moved = plan_.on_devices_.back().get();
    }
    return moved;
  }

  // Null if it is not known before the program runs.
  OpHandler* KnownHandler(uint32_t value) const {
    return plan_.options_.op_handler != nullptr ? plan_.options_.op_handler : handlers_[value];
  }

  Status ResolveHandler(const ProgramInstruction& instruction, PlanStep& step) {
    StatusOr<OpHandler*> found = plan_.FindHandler(instruction.name);
    if (found.ok()) {
      step.handler = handlers_[instruction.results[0]] = *found;
      return Status();
    }
    // One that the program itself registers is found when it runs.
    if (registered_.contains(instruction.name)) return Status();
    return Located(found.status(), ProgramKernelName(instruction.kernel), instruction, step);
  }

  // What no call could mend.
  Status CheckArgumentCount(const ProgramInstruction& instruction, const PlanStep& step) const {
    const OpDef* const def = plan_.runtime_.registry().Find(instruction.name);
    if (def == nullptr) return Status();
    const size_t first = step.kernel == ProgramKernel::kExecuteOpSeq ? 2 : 1;
    const Status status = OpSignature(*def).CheckArgumentCount(instruction.operands.size() - first);
    return status.ok() ? status : Located(status, instruction.name, instruction, step);
  }

  Status ResolveOp(const ProgramInstruction& instruction, PlanStep& step) {
    TANDEM_RETURN_IF_ERROR(CheckArgumentCount(instruction, step));
    CoreRuntime& runtime = plan_.runtime_;
    step.handler = KnownHandler(instruction.operands[0]);
    if (step.handler == nullptr) {
      if (runtime.registry().Find(instruction.name) != nullptr) return Status();
      return Located(runtime.registry().NotFoundError(instruction.name), instruction.name, instruction, step);
    }
    StatusOr<Op> op = step.handler->MakeOp(instruction.name);
    if (!op.ok()) return Located(op.status(), instruction.name, instruction, step);
    step.op = *std::move(op);
    return Status();
  }

  Status MakeTensor(const ProgramInstruction& instruction, PlanStep& step) {
    // One tensor for all instructions that make it.
    TensorHandle& known = instruction.constant ? constants_[instruction.constant.get()] : weights_[instruction.name];
    if (!known.IsValid()) {
      StatusOr<TensorHandle> made =
          instruction.constant ? MakeConstant(*instruction.constant) : FindWeight(instruction);
      if (!made.ok()) return Located(made.status(), ProgramKernelName(instruction.kernel), instruction, step);
      known = *std::move(made);
    }
    if (!instruction.constant && known.IsMetadataAvailable() && known.metadata() != instruction.weight_metadata) {
      const Status wrong = InvalidArgument("expected the weight ", instruction.name, " to be ",
                                           instruction.weight_metadata, ", got ", known.metadata());
      return Located(wrong, ProgramKernelName(instruction.kernel), instruction, step);
    }
    step.tensor = known.CopyRef();
    return Status();
  }

  StatusOr<TensorHandle> MakeConstant(const ProgramConstant& constant) {
    HostContext& host = plan_.runtime_.host();
    const TensorMetadata& metadata = constant.metadata;
    StatusOr<Tensor> tensor = Status::OutOfMemory();
    if (metadata.dtype == DType::kString) {
      std::vector<std::string_view> strings(constant.strings.begin(), constant.strings.end());
      if (constant.is_splat) strings.resize(static_cast<size_t>(metadata.num_elements()), strings[0]);
      tensor = MakeString(metadata.shape, strings, host.device(), host.allocator());
    } else if (constant.is_splat) {
      tensor = MakeScalar(metadata, constant.bytes.data(), host.device());
    } else if (constant.bytes.size() <= Tensor::kInlineBytes) {
      tensor = MakeDense(metadata, constant.bytes, host.device(), host.allocator());
    } else {
      tensor = ShowConstant(constant);
    }
    if (!tensor.ok()) return tensor.status();
    return TensorHandle::MakeAvailable(*std::move(tensor));
  }

  // A tensor over the program's own memory.
  StatusOr<Tensor> ShowConstant(const ProgramConstant& constant) {
    void* const data = const_cast<std::byte*>(constant.bytes.data());
    TANDEM_ASSIGN_OR_RETURN(RcRef<HostBuffer> buffer,
                            ConstantBuffer::Wrap(data, constant.bytes.size(), [program = program_] {}));
    return Tensor(constant.metadata, &plan_.runtime_.host().device(), kDenseHost, data, std::move(buffer));
  }

  StatusOr<TensorHandle> FindWeight(const ProgramInstruction& instruction) {
    if (!plan_.options_.find_weight) {
      return MakeError(StatusCode::kNotFound, "expected weights, among them ", instruction.name, ", got none");
    }
    TANDEM_ASSIGN_OR_RETURN(TensorHandle weight, plan_.options_.find_weight(instruction.name));
    if (!weight.IsValid()) return InvalidArgument("expected a tensor as the weight ", instruction.name, ", got null");
    if (weight.IsError()) return weight.GetError();
    return KeepForms(weight);
  }

  // A weight on the host as a constant: what kernels keep with it goes with the runner, unless the caller's tensor is a
  // constant by itself.
  StatusOr<TensorHandle> KeepForms(TensorHandle& weight) {
    if (!weight.IsConcrete()) return weight.CopyRef();
    TANDEM_ASSIGN_OR_RETURN(Tensor constant, AsConstant(weight.tensor()));
    return TensorHandle::MakeAvailable(std::move(constant));
  }

  // Where the results of a function are, as far as that can be told without calling it.
  void FindPlaces(size_t index, int depth) {
    PlanFunction& function = plan_.functions_[index];
    if (states_[index] != State::kOpen || depth == kMaxPlaceDepth) return;
    states_[index] = State::kBusy;
    const ProgramFunction& source = *function.source;
    std::vector<PlanPlace> places(source.value_types.size(), HostPlace());
    for (uint32_t i = 0; i < source.num_parameters; ++i) places[i] = {nullptr, i};
    const std::vector<const ProgramInstruction*> instructions = InOrder(source);
    for (size_t i = 0; i < instructions.size(); ++i) {
      PlaceResults(*instructions[i], function.steps[i], places, depth);
    }
    for (const uint32_t value : source.instructions.back().operands) function.places.push_back(places[value]);
    states_[index] = State::kDone;
  }

  PlanPlace HostPlace() const { return {&plan_.runtime_.host().device(), 0}; }

  void PlaceResults(const ProgramInstruction& instruction, const PlanStep& step, std::vector<PlanPlace>& places,
                    int depth) {
    const std::span<const uint32_t> operands = instruction.operands;
    const bool is_loop = instruction.kernel == ProgramKernel::kWhile;
    const bool calls = !instruction.functions.empty() && instruction.kernel != ProgramKernel::kMakeCompositeOp;
    if (calls && !is_loop) FindPlaces(instruction.functions[0], depth + 1);
    const size_t num_own = instruction.kernel == ProgramKernel::kCall || is_loop ? 0 : 1;  // operands before arguments
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      PlanPlace place = HostPlace();
      if (step.tensor.IsValid() && step.tensor.device() != nullptr) place.device = step.tensor.device();
      if (step.handler != nullptr && step.handler->device() != nullptr) place.device = step.handler->device();
      if (is_loop) place = places[operands[i]];
      if (calls && !is_loop && i < step.functions[0]->places.size()) {
        place = step.functions[0]->places[i];
        if (place.device == nullptr) place = places[operands[num_own + place.argument]];
      }
      places[instruction.results[i]] = place;
    }
  }

  ProgramPlan& plan_;
  const RcRef<const Program>& program_;
  const std::string_view source_;
  std::set<std::string_view> registered_;  // names of op handlers
  std::vector<OpHandler*> handlers_;       // of the values of a function; null for what is none, or not known
  std::map<uint32_t, const PlanStep*> constant_steps_;  // of a function: values, and the steps that make them
  std::vector<State> states_;                           // of the places of functions
  std::map<const ProgramConstant*, TensorHandle> constants_;
  std::map<std::string_view, TensorHandle> weights_;
  std::map<std::pair<const AsyncValue*, const Device*>, const TensorHandle*> moved_;  // constants and weights
};

StatusOr<RcRef<const ProgramPlan>> ProgramPlan::Create(CoreRuntime& runtime, RcRef<const Program> program,
                                                       const ProgramRunner::Options& options) {
  ProgramRunner::Options kept = options;
  kept.source = {};  // of which the caller promises nothing beyond this call
  RcRef<ProgramPlan> plan = RcRef<ProgramPlan>::Take(new ProgramPlan(runtime, program, kept));
  TANDEM_RETURN_IF_ERROR(PlanBuilder(*plan, program, options.source).Build());
  return RcRef<const ProgramPlan>(std::move(plan));
}

const PlanFunction* ProgramPlan::Find(std::string_view function) const {
  const ProgramFunction* const source = program_->Find(function);
  return source == nullptr ? nullptr : &functions_[program_->IndexOf(*source)];
}

StatusOr<OpHandler*> ProgramPlan::FindHandler(std::string_view name) const {
  if (options_.op_handler != nullptr) return options_.op_handler;
  if (options_.find_op_handler) return options_.find_op_handler(name);
  OpHandler* const handler = runtime_.FindHandler(name);
  if (handler != nullptr) return handler;
  return runtime_.HandlerNotFoundError(name);
}

}  // namespace tandem
