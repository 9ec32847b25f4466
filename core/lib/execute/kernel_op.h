// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// KernelOp: an op bound to a handler with kernels; carries one call from Execute to its kernel.

#ifndef TANDEM_CORE_LIB_EXECUTE_KERNEL_OP_H_
#define TANDEM_CORE_LIB_EXECUTE_KERNEL_OP_H_

#include <chrono>
#include <memory>
#include <span>

#include "defs/op_signature.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/kernel_rehearsal.h"
#include "tandem/small_array.h"

namespace tandem {

// Arguments and results beyond these counts cost a heap allocation for the arrays of the call.
inline constexpr size_t kUsualArgs = 8;
inline constexpr size_t kUsualResults = 4;

class KernelOp final : public OpImpl {
 public:
  // `fallback`, maybe null, runs the calls for whose dtype there is no kernel. Kernels of the dtypes in `own` are the
  // handler's (OwnKernels), and of these, those in `fusable` do what its fuser knows. `later`, maybe null, are kernels
  // whose code is still to come.
  KernelOp(KernelOpHandler& handler, std::shared_ptr<const OpDef> def, std::shared_ptr<const KernelsByDType> kernels,
           RcRef<const OpImpl> fallback, const KernelOpHandler::Policy& policy, DTypeSet own = {},
           DTypeSet fusable = {}, std::shared_ptr<const KernelsByDType> later = nullptr);

  void Invoke(const OpInvocation& invocation) const override;
  const Device* WantedDevice(size_t i, size_t num_args, DType dtype) const override;
  OwnKernels own_kernels() const override { return {&handler_, def_owner_, own_}; }

  const OpDef& def() const { return def_; }
  // Of an op that KernelOpHandler::MakeGroupOp has made, whatever the dtype.
  const Kernel& group_kernel() const { return (*kernels_)[0]; }
  const std::shared_ptr<const OpDef>& shared_def() const { return def_owner_; }
  const OpSignature& signature() const { return signature_; }
  const OpImpl* fallback() const { return fallback_.get(); }
  KernelOpHandler& handler() const { return handler_; }
  const Device* device() const { return device_; }
  // Where a result of this dtype is: strings stay on the host, also if the device takes other tensors from there.
  const Device* ResultDevice(const Device& host, DType dtype) const {
    return dtype == DType::kString && take_host_tensors_ ? &host : device_;
  }

  // What the metadata function and the kernel table say to one call whose metadata is known.
  struct Plan {
    const Kernel* kernel = nullptr;  // null: for the fallback
    bool is_long = false;            // goes to the work queue
    bool is_short = false;           // any thread may run it there
    bool waits = false;              // for the code of the kernel; then the rest is worked out by CompletePlan
    DType dtype = DType::kInvalid;   // by which the kernel was found
  };
  // Whether a call of this plan may be computed together with others (PR-6).
  bool CanFuse(const Plan& plan) const {
    return plan.kernel != nullptr && !plan.waits && fusable_.Contains(plan.dtype) &&
           plan.kernel == &(*kernels_)[static_cast<size_t>(plan.dtype)];
  }
  // Checks the call and fills `results` (dtypes only, if the op has no metadata function). `args` are the metadata of
  // `handles`. If the op reads_host_inputs, they are concrete, and `values`, with a place for each argument, is filled
  // with their tensors; otherwise it is empty.
  StatusOr<Plan> MakePlan(const ExecutionContext& exec, std::span<const TensorHandle> handles,
                          std::span<const TensorMetadata* const> args, std::span<const Tensor*> values,
                          const OpAttrsRef& attrs, std::span<TensorMetadata> results) const;
  // What is left of a plan once the code of its kernel is here. Without a kernel, or with one that is not for the call,
  // it becomes the fallback's, or is an error if there is none.
  Status CompletePlan(const ExecutionContext& exec, std::span<const TensorMetadata* const> args,
                      const OpAttrsRef& attrs, std::span<const TensorMetadata> results, Plan& plan) const;

  // For a call that is about to wait for some of its `args`, whose metadata is known: see KernelRehearsal.
  void Rehearse(const ExecutionContext& exec, std::span<const TensorHandle> args, const OpAttrsRef& attrs,
                const Plan& plan, std::span<const TensorMetadata> results) const;

  // Whether the content of host inputs decides on the results' metadata.
  bool reads_host_inputs() const { return def_.has_host_inputs && def_.metadata != nullptr; }

  // Arguments that are not where the op wants them are moved where the policy says so, once all that is wrong with the
  // call otherwise has been found (MD-6): host inputs when count, dtypes and attributes are right, the others when the
  // plan is made. What has been moved may be pending, or an error, which has been told.

  // Whether a host input is to be moved to the host.
  bool HasHostInputElsewhere(const ExecutionContext& exec, std::span<const TensorHandle> args) const;
  void FetchHostInputs(const ExecutionContext& exec, std::span<TensorHandle> args) const;
  // Whether any argument is not on the device; a host input may be in its place all the same.
  bool HasArgumentElsewhere(const ExecutionContext& exec, std::span<const TensorHandle> args) const;
  // Why an argument cannot be moved: it is on a device that the op has nothing to do with, or in a representation that
  // the device lacks, which can be told once the argument is there.
  Status CheckPlaces(const ExecutionContext& exec, std::span<const TensorHandle> args) const;
  void MoveHere(const ExecutionContext& exec, std::span<TensorHandle> args) const;

 private:
  // The state of a call's inputs: the first fault, or what is still pending.
  struct Inputs {
    Status fault;                       // the call itself is wrong
    const AsyncValue* error = nullptr;  // an input is an error
    bool pending = false;
    bool elsewhere = false;  // not on the device
  };
  Inputs Inspect(const OpInvocation& invocation) const;
  Status NullArgument(size_t i, size_t num_args) const;
  Status ForeignArgument(size_t i, const TensorHandle& arg, size_t num_args) const;
  const Device* WantedPlace(const Device& host, size_t i, size_t num_args) const {
    return signature_.IsHostInput(i, num_args) ? &host : device_;
  }

  // Of a call, about nanoseconds on one core.
  static double EstimateCost(const Kernel& kernel, std::span<const TensorMetadata* const> args,
                             std::span<const TensorMetadata> results);

  void RehearseOnce(const ExecutionContext& exec, std::span<const TensorHandle> args, const OpAttrsRef& attrs,
                    const Kernel& kernel, std::span<const TensorMetadata> results, bool is_taken_over) const;

  // Fills `values`, if it is not empty, with the host inputs' tensors; an error if one cannot be read.
  Status GetHostInputs(const ExecutionContext& exec, std::span<const TensorHandle> args,
                       std::span<const Tensor*> values) const;

  // Runs the most common calls from start to end: few available arguments of the expected dtypes, all on the handler's
  // own device, right attributes, one result, little work, nothing that needs attention. False, with nothing changed,
  // for every other call and every faulty one: those take the general path, which alone reports errors.
  bool InvokeSmall(const OpInvocation& invocation) const;

  void Dispatch(const OpInvocation& invocation, const Inputs& inputs) const;
  // Perhaps a call is wrong only for attributes whose numbers are of another type: only calls that failed pay for
  // looking.
  void FailOrConvert(const OpInvocation& invocation, const Inputs& inputs, const Status& error) const;
  // What of Dispatch is left when there is a plan.
  void Start(const OpInvocation& invocation, const Inputs& inputs, const Plan& plan, const OpAttrsRef& attrs,
             std::span<const TensorMetadata> metadata) const;
  void RunInline(const OpInvocation& invocation, const Kernel& kernel, std::span<const TensorMetadata> metadata) const;

  KernelOpHandler& handler_;
  const Device* const device_;
  const KernelRehearsal* const rehearsal_;  // null: kernels of this handler take no part
  const std::shared_ptr<const OpDef> def_owner_;
  const OpDef& def_;
  const OpSignature signature_;
  const std::shared_ptr<const KernelsByDType> kernels_;
  const std::shared_ptr<const KernelsByDType> later_;
  const RcRef<const OpImpl> fallback_;
  const bool use_work_queue_;
  const bool take_host_tensors_;
  const bool fetches_host_inputs_;  // from the device
  const DTypeSet own_;
  const DTypeSet fusable_;

  // What InvokeSmall needs to know of the definition. The arrays have one element for each input.
  static constexpr size_t kSmallArgs = 4;
  struct Small {
    bool applies = false;
    bool needs_attrs = false;  // one has neither a default nor follows from the inputs
    uint8_t num_inputs = 0;
    uint8_t sequence = 0;      // the input that is one
    uint8_t min_sequence = 0;  // how long it is at least; 0 if there is none
    uint8_t kernel_arg = 0;    // the input whose dtype selects the kernel
    uint8_t result_arg = 0;    // the input whose dtype is the result's, if `result_dtype` is not fixed
    int16_t result_attr = -1;  // or the attribute that is
    DType result_dtype = DType::kInvalid;
    bool is_host[kSmallArgs] = {};
    uint8_t like[kSmallArgs] = {};  // the earlier input, or itself, whose dtype this one must have
    DTypeSet allowed[kSmallArgs];
  };
  // The arguments of one such call.
  struct SmallArgs {
    const TensorMetadata* metadata[kSmallArgs];
    const Tensor* values[kSmallArgs];         // of host inputs; null elsewhere
    const TensorMetadata* first[kSmallArgs];  // by input
  };
  // False if the call takes the general path.
  bool InspectSmall(std::span<const TensorHandle> handles, SmallArgs& args) const;
  bool InspectSmall(const TensorHandle& arg, size_t input, size_t position, SmallArgs& args) const;
  bool DescribeSmallResult(const OpAttrsRef& attrs, const SmallArgs& args, DType* dtype) const;
  static Small DescribeSmall(const OpDef& def);
  const Small small_;
};

// Issues a call whose inputs are pending, or that is too long for the calling thread: makes its results, and takes over
// its arguments until it can run. `plan` and the results' `metadata` are given if they are known already.
void InvokePending(const KernelOp& op, const OpInvocation& invocation, const KernelOp::Plan* plan,
                   std::span<const TensorMetadata> metadata);

// Results and chain become the error of an input, which is already known to the diagnostic handler.
void PropagateError(const OpInvocation& invocation, std::string_view op_name, const AsyncValue& input);

}  // namespace tandem

#endif  // TANDEM_CORE_LIB_EXECUTE_KERNEL_OP_H_
