// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Ops of JavaScript: their calls are events, and end when JavaScript says so.

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "deferred_call.h"
#include "js_runtime.h"
#include "tandem/attrs_json.h"
#include "tandem/kernel_parameter.h"
#include "tandem/op_library.h"
#include "tandem/shader_op.h"
#include "tandem/shape_rule.h"
#include "tandem_programs.h"

namespace tandem::js {
namespace {

class OpenCalls;

// What calls of a kernel need of it.
struct JsKernel {
  std::shared_ptr<const void> in_use;  // ends last
  std::shared_ptr<OpenCalls> calls;
  uint32_t id;
};

}  // namespace
}  // namespace tandem::js

// A call that JavaScript has been told of, or will be.
struct tandem_js_call {
  tandem_plugin_call* call = nullptr;
  std::shared_ptr<const tandem::OpDef> def;
  std::shared_ptr<tandem::js::OpenCalls> owner;
  tandem_runtime* runtime = nullptr;
  tandem_js_call* previous = nullptr;
  tandem_js_call* next = nullptr;
};

namespace tandem::js {
namespace {

// The calls that have not ended. Thread-safe.
class OpenCalls {
 public:
  OpenCalls(EventList& events, tandem_runtime& runtime) : events_(events), runtime_(runtime) {}

  Status Start(KernelFrame& frame, const JsKernel& kernel) {
    std::unique_ptr<Event> event(new (std::nothrow) Event(TANDEM_JS_CALL, kernel.id));
    std::unique_ptr<tandem_js_call> call(new (std::nothrow) tandem_js_call);
    if (event == nullptr || call == nullptr) return Status::OutOfMemory();
    const std::lock_guard lock(mutex_);
    if (is_closed_) return MakeError(StatusCode::kCancelled, "the runtime is about to end");
    TANDEM_ASSIGN_OR_RETURN(call->call, plugin::MakeDeferredCall(frame, kernel.in_use));
    call->def = frame.def().Share();
    call->owner = kernel.calls;
    call->runtime = &runtime_;
    call->next = first_;
    if (first_ != nullptr) first_->previous = call.get();
    first_ = call.release();
    event->set_data(first_, 0);
    events_.Post(*event.release());
    return Status();
  }

  void Finish(tandem_js_call* ended, Status error) {
    const std::unique_ptr<tandem_js_call> call(ended);
    {
      const std::lock_guard lock(mutex_);
      Unlink(*call);
    }
    call->call->Finish(std::move(error));
  }

  // Ends all calls, and takes no more. JavaScript is not there any more.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    while (first_ != nullptr) Finish(first_, MakeError(StatusCode::kCancelled, "the runtime has been destroyed"));
  }

 private:
  void Unlink(tandem_js_call& call) {
    (call.previous == nullptr ? first_ : call.previous->next) = call.next;
    if (call.next != nullptr) call.next->previous = call.previous;
  }

  EventList& events_;
  tandem_runtime& runtime_;
  std::mutex mutex_;
  tandem_js_call* first_ = nullptr;
  bool is_closed_ = false;
};

Status RunInJavaScript(const void* closure, KernelFrame& frame) {
  const auto& kernel = *static_cast<const JsKernel*>(closure);
  for (size_t i = 0; i < frame.num_args(); ++i) TANDEM_RETURN_IF_ERROR(internal::CheckReadable(frame, i));
  return kernel.calls->Start(frame, kernel);
}

// The ops of a runtime.
class JsOps final : public JsPart {
 public:
  explicit JsOps(tandem_js& js) : js_(js), calls_(std::make_shared<OpenCalls>(js.events, *js.runtime)) {}
  ~JsOps() override { calls_->Close(); }

  Status Register(const tandem_js_op_def& def);

 private:
  Status AddKernel(OpLibrary& library, const tandem_js_op_def& def);
  Status AddShader(OpLibrary& library, const tandem_js_op_def& def);

  tandem_js& js_;
  const std::shared_ptr<OpenCalls> calls_;
  std::vector<std::unique_ptr<OpLibrary>> libraries_;
};

Status JsOps::Register(const tandem_js_op_def& def) {
  OpDefBuilder builder{std::string_view(def.name)};
  for (uint32_t i = 0; i < def.num_inputs; ++i) builder.Input(std::string_view(def.inputs[i]));
  for (uint32_t i = 0; i < def.num_outputs; ++i) builder.Output(std::string_view(def.outputs[i]));
  for (uint32_t i = 0; i < def.num_attrs; ++i) builder.Attr(std::string_view(def.attrs[i]));
  if (def.doc != nullptr) builder.Doc(std::string_view(def.doc));
  if (def.side_effects != 0) builder.SideEffects();
  if (def.num_shapes > 0) {
    TANDEM_RETURN_IF_ERROR(SetShapes(builder, std::vector<std::string>(def.shapes, def.shapes + def.num_shapes)));
  }
  auto library = std::make_unique<OpLibrary>(js_.running().core);
  // What was added of it goes with the library if the rest fails.
  TANDEM_RETURN_IF_ERROR(library->Define(builder));
  if (def.has_kernel != 0) TANDEM_RETURN_IF_ERROR(AddKernel(*library, def));
  if (def.wgsl != nullptr) TANDEM_RETURN_IF_ERROR(AddShader(*library, def));
  libraries_.push_back(std::move(library));
  return Status();
}

Status JsOps::AddKernel(OpLibrary& library, const tandem_js_op_def& def) {
  const auto closure = std::make_shared<const JsKernel>(JsKernel{library.in_use(), calls_, def.id});
  const auto defined = js_.running().core.registry().FindShared(def.name);
  DTypeSet dtypes = {DType::kInvalid};
  if (defined->kernel_type_attr >= 0) dtypes = defined->attrs[defined->kernel_type_attr].allowed_dtypes;
  // It is only noted here.
  Kernel kernel = Kernel(&RunInJavaScript, closure, KernelSignature()).WithCost(0.0f);
  return library.AddKernel(static_cast<KernelOpHandler&>(*js_.running().cpu), def.name, dtypes, std::move(kernel));
}

Status JsOps::AddShader(OpLibrary& library, const tandem_js_op_def& def) {
  OpHandler* const handler = js_.running().core.FindHandler("webgpu");
  if (handler == nullptr) return Status();
  ShaderKernel kernel;
  kernel.wgsl = def.wgsl;
  for (size_t i = 0; i < 3; ++i) kernel.workgroup[i] = def.workgroup[i];
  kernel.invocations.assign(def.invocations, def.invocations + def.num_invocations);
  for (uint32_t i = 0; i < def.num_parameters; ++i) {
    kernel.parameters.push_back({def.parameters[2 * i], def.parameters[2 * i + 1]});
  }
  return AddShaderKernel(library, *handler, def.name, kernel);
}

}  // namespace
}  // namespace tandem::js

using namespace tandem::js;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_js_op_register(tandem_js* js, const tandem_js_op_def* def) {
  if (js->ops == nullptr) js->ops = std::make_unique<JsOps>(*js);
  return tandem::c::ToC(static_cast<JsOps&>(*js->ops).Register(*def));
}

uint32_t tandem_js_call_num_inputs(const tandem_js_call* call) { return static_cast<uint32_t>(call->call->num_inputs); }

uint32_t tandem_js_call_num_results(const tandem_js_call* call) {
  return static_cast<uint32_t>(call->call->num_results);
}

tandem_status* tandem_js_call_input(tandem_js_call* call, uint32_t index, tandem_tensor** tensor) {
  *tensor = nullptr;
  const auto input = call->call->Input(index);
  if (!input.ok()) return tandem::c::ToC(input.status());
  auto handle = tandem::TensorHandle::MakeAvailable(**input);
  if (handle.IsError()) return tandem::c::ToC(handle.GetError());
  *tensor = new (std::nothrow) tandem_tensor(*call->runtime, std::move(handle));
  return *tensor == nullptr ? tandem::c::ToC(tandem::Status::OutOfMemory()) : nullptr;
}

void tandem_js_call_known(const tandem_js_call* call, uint32_t index, tandem_js_description* description) {
  const tandem::TensorMetadata known = call->call->ResultMetadata(index);
  *description = {};
  description->dtype = static_cast<int32_t>(known.dtype);
  description->rank = call->def->metadata == nullptr ? -1 : known.rank();
  for (int i = 0; i < description->rank; ++i) description->dims[i] = static_cast<double>(known.dim(i));
}

tandem_status* tandem_js_call_attrs(const tandem_js_call* call, char** text, size_t* size) {
  return tandem::c::GiveText(tandem::AttrsToJson(*call->def, call->call->attrs()), text, size);
}

tandem_status* tandem_js_call_set_result(tandem_js_call* call, uint32_t index, const tandem_tensor* tensor) {
  return tandem::c::ToC(call->call->Set(index, tensor->handle.tensor()));
}

uint32_t tandem_js_call_is_cancelled(tandem_js_call* call) { return call->call->IsCancelled() ? 1 : 0; }

void tandem_js_call_finish(tandem_js_call* call, tandem_code code, const char* message) {
  const std::shared_ptr<OpenCalls> owner = call->owner;
  owner->Finish(
      call, code == TANDEM_OK ? tandem::Status() : tandem::MakeError(static_cast<tandem::StatusCode>(code), message));
}

}  // extern "C"
