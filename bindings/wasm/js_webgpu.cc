// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A runtime's WebGPU device as JavaScript has it.

#include "js_webgpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "js_runtime.h"
#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/shader/shader_op_handler.h"
#include "tandem/webgpu/webgpu_queue.h"
#include "tandem_webgpu.h"

namespace tandem::js {

namespace {

using gpu::GpuBuffer;
using shader::ShaderDevice;

// The device of a tandem_js. Its queue is its handler's, which goes with the runtime.
class WebGpu final : public JsDevice, public webgpu::Executor {
 public:
  explicit WebGpu(tandem_js& js) : js_(js) {}
  ~WebGpu() override { *queue_ = nullptr; }

  void Execute(const webgpu::Batch& batch) override { tandem_js_execute(batch); }
  void RequestFlush() override { js_.events.Wake(); }
  void Flush() override {
    // Commands that were put off are in front of the queue.
    if (*queue_ != nullptr) device().queue().Flush();
  }

  Status Start(std::string_view adapter, const shader::GpuLimits& limits, bool has_timestamps,
               const shader::ShaderOpHandlerOptions& options);
  webgpu::WebGpuQueue& queue() const { return **queue_; }
  shader::ShaderOpHandler& handler() const { return *handler_; }
  const ShaderDevice& device() const { return handler_->gpu(); }
  Status TakeShaders() { return handler_->TakeUserShaders(); }
  StatusOr<Tensor> Wrap(uint32_t number, uint64_t bytes, const TensorMetadata& metadata);

 private:
  tandem_js& js_;
  shader::ShaderOpHandler* handler_ = nullptr;
  // Null once there is none. What wraps foreign buffers may live longer.
  const std::shared_ptr<webgpu::WebGpuQueue*> queue_ = std::make_shared<webgpu::WebGpuQueue*>(nullptr);
};

Status WebGpu::Start(std::string_view adapter, const shader::GpuLimits& limits, bool has_timestamps,
                     const shader::ShaderOpHandlerOptions& options) {
  auto queue = std::make_unique<webgpu::WebGpuQueue>(*this, adapter, limits);
  if (has_timestamps) queue->ShowTimes(js_.host());
  *queue_ = queue.get();
  auto handler = shader::CreateShaderOpHandler(js_.running().core, std::move(queue), options);
  if (!handler.ok()) {
    *queue_ = nullptr;
    return handler.status();
  }
  handler_ = *handler;
  return Status();
}

StatusOr<Tensor> WebGpu::Wrap(uint32_t number, uint64_t bytes, const TensorMetadata& metadata) {
  const auto release = [queue = queue_, number] {
    if (*queue != nullptr) (*queue)->DestroyBuffer(number);
  };
  TANDEM_ASSIGN_OR_RETURN(RcRef<gpu::GpuBuffer> buffer, device().memory().WrapExternal(number, bytes, release));
  if (shader::GpuByteSize(metadata) > bytes) {
    return InvalidArgument("expected a buffer of at least ", shader::GpuByteSize(metadata), " bytes for ", metadata,
                           ", got one of ", bytes);
  }
  return Tensor(metadata, &device(), gpu::kDenseGpu, nullptr, std::move(buffer));
}

WebGpu& DeviceOf(tandem_js* js) { return static_cast<WebGpu&>(*js->device); }

// The tensor, if it is concrete and on a GPU; else null.
const Tensor* OnGpu(const tandem_tensor* tensor) {
  if (!tensor->handle.IsConcrete() || !tensor->handle.tensor().IsA(gpu::kDenseGpu)) return nullptr;
  return &tensor->handle.tensor();
}

uint32_t ToU32(double value) {
  return static_cast<uint32_t>(std::clamp(value, 0.0, double{std::numeric_limits<uint32_t>::max()}));
}
// Sizes in records have 32 bits.
uint64_t ToBytes(double value) { return std::min(ToU32(value), UINT32_MAX - 3); }

shader::GpuLimits ToLimits(const tandem_webgpu_options& from) {
  shader::GpuLimits limits;
  limits.max_storage_buffers = ToU32(from.max_storage_buffers);
  limits.max_binding_bytes = ToBytes(from.max_binding_bytes);
  limits.max_buffer_bytes = ToBytes(from.max_buffer_bytes);
  limits.max_workgroups = ToU32(from.max_workgroups);
  limits.max_invocations = ToU32(from.max_invocations);
  limits.max_workgroup_z = ToU32(from.max_workgroup_z);
  limits.max_workgroup_bytes = ToU32(from.max_workgroup_bytes);
  limits.has_f16 = from.has_f16 != 0;
  limits.has_subgroups = from.has_subgroups != 0;
  limits.min_subgroup_size = ToU32(from.min_subgroup_size);
  limits.max_subgroup_size = ToU32(from.max_subgroup_size);
  limits.is_software = from.is_software != 0;
  return limits;
}

tandem_status* Give(tandem_js* js, TensorHandle handle, tandem_tensor** tensor) {
  if (handle.IsError()) return c::ToC(handle.GetError());
  *tensor = new (std::nothrow) tandem_tensor(*js->runtime, std::move(handle));
  return *tensor == nullptr ? c::ToC(Status::OutOfMemory()) : nullptr;
}

std::string_view View(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

}  // namespace

void EnableProgramFusion(tandem_js& js) {
  tandem::EnableProgramFusion(*js.running().cpu, &tandem_js_run_code);
  if (js.device != nullptr) shader::EnableProgramFusion(DeviceOf(&js).handler());
}

void EnableCallFusion(tandem_js& js) {
  tandem::EnableCallFusion(*js.running().cpu, &tandem_js_run_code);
  if (js.device != nullptr) shader::EnableCallFusion(DeviceOf(&js).handler());
}

}  // namespace tandem::js

using namespace tandem::js;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_webgpu_create(tandem_js* js, const char* adapter, const tandem_webgpu_options* options) {
  if (js->device != nullptr) return tandem::c::WrongArgument("expected a runtime without a device, got one with one");
  auto device = std::make_unique<WebGpu>(*js);
  tandem::shader::ShaderOpHandlerOptions handler = {
      .name = "webgpu", .memory = {}, .asks_ahead = true, .want_call_fusion = PostEvent{js, TANDEM_JS_FUSION}};
  if (options->memory_limit > 0) handler.memory.memory_limit = static_cast<uint64_t>(options->memory_limit);
  handler.memory.cache_limit = static_cast<uint64_t>(std::max(options->cache_limit, 0.0));
  if (options->has_fallback != 0) handler.fallback = js->running().cpu;
  const bool has_timestamps = options->has_timestamps != 0;
  TANDEM_C_RETURN_IF_ERROR(device->Start(View(adapter), ToLimits(*options), has_timestamps, handler));
  js->device = std::move(device);
  return nullptr;
}

tandem_status* tandem_webgpu_take_shaders(tandem_js* js) { return tandem::c::ToC(DeviceOf(js).TakeShaders()); }

void tandem_webgpu_batch_done(tandem_js* js, uint32_t batch) { DeviceOf(js).queue().OnBatchDone(batch); }

void tandem_webgpu_buffer_failed(tandem_js* js, uint32_t buffer, const char* text) {
  DeviceOf(js).queue().OnBufferFailed(buffer, View(text));
}

void tandem_webgpu_batch_failed(tandem_js* js, uint32_t batch, uint32_t word, tandem_code code, const char* text) {
  DeviceOf(js).queue().OnBatchFailed(batch, word, static_cast<tandem::StatusCode>(code), View(text));
}

void tandem_webgpu_pipeline_done(tandem_js* js, uint32_t pipeline, tandem_code code, const char* text) {
  DeviceOf(js).queue().OnPipelineDone(pipeline, static_cast<tandem::StatusCode>(code), View(text));
}

void tandem_webgpu_end_done(tandem_js* js, uint32_t end, tandem_code code, const char* text) {
  DeviceOf(js).queue().OnEnd(end, static_cast<tandem::StatusCode>(code), View(text));
}

void tandem_webgpu_device_lost(tandem_js* js, const char* text) { DeviceOf(js).queue().OnDeviceLost(View(text)); }

void tandem_webgpu_flush(tandem_js* js) { DeviceOf(js).Flush(); }

int32_t tandem_webgpu_is_on_device(const tandem_tensor* tensor) {
  const tandem::Device* device = tensor->handle.device();
  return device != nullptr && &device->dense_type() == &tandem::gpu::kDenseGpu ? 1 : 0;
}

tandem_status* tandem_webgpu_transfer(tandem_js* js, const tandem_tensor* tensor, int32_t to_host, const char* location,
                                      tandem_tensor** result) {
  *result = nullptr;
  const tandem::ExecutionContext exec(js->host(), js->runtime->LocationOf(location));
  const tandem::TensorHandle& handle = tensor->handle;
  const bool is_text = handle.IsMetadataAvailable() && handle.metadata().dtype == tandem::DType::kString;
  if (is_text) return Give(js, handle.CopyRef(), result);
  const tandem::Device& target = to_host != 0 ? js->host().device() : DeviceOf(js).device();
  return Give(js, handle.TransferTo(exec, target), result);
}

tandem_status* tandem_webgpu_check(const tandem_tensor* tensor) {
  const tandem::Tensor* found = OnGpu(tensor);
  if (found == nullptr) return nullptr;
  const auto& device = static_cast<const ShaderDevice&>(*found->device());
  return tandem::c::ToC(device.CheckUsable(ShaderDevice::BufferOf(*found)));
}

uint32_t tandem_webgpu_buffer(const tandem_tensor* tensor) {
  const tandem::Tensor* found = OnGpu(tensor);
  return found == nullptr ? 0 : static_cast<uint32_t>(ShaderDevice::BufferOf(*found).id());
}

tandem_status* tandem_webgpu_adopt(tandem_js* js, double bytes, uint32_t* buffer) {
  const auto number = DeviceOf(js).queue().AdoptBuffer(ToBytes(bytes));
  if (!number.ok()) return tandem::c::ToC(number.status());
  *buffer = static_cast<uint32_t>(*number);
  return nullptr;
}

tandem_status* tandem_webgpu_wrap(tandem_js* js, uint32_t buffer, double bytes, tandem_dtype dtype, const int64_t* dims,
                                  uint32_t rank, tandem_tensor** tensor) {
  *tensor = nullptr;
  tandem::TensorMetadata metadata;
  tandem::Status wrong = tandem::c::CheckShape(dims, rank, &metadata.shape);
  if (wrong.ok()) wrong = tandem::c::CheckDType(dtype);
  metadata.dtype = static_cast<tandem::DType>(dtype);
  if (wrong.ok() && metadata.dtype == tandem::DType::kString) {
    wrong = tandem::InvalidArgument("expected a dtype of numbers, got ", metadata.dtype);
  }
  if (!wrong.ok()) {
    DeviceOf(js).queue().DestroyBuffer(buffer);
    return tandem::c::ToC(wrong);
  }
  auto made = DeviceOf(js).Wrap(buffer, ToBytes(bytes), metadata);
  if (!made.ok()) return tandem::c::ToC(js->host().EmitError(made.status()));
  return Give(js, tandem::TensorHandle::MakeAvailable(std::move(*made)), tensor);
}

void tandem_webgpu_describe(tandem_js* js, tandem_webgpu_info* info) {
  const WebGpu& device = DeviceOf(js);
  const tandem::gpu::GpuMemory::Stats memory = device.device().memory().stats();
  const tandem::shader::ShaderQueue::Counters counters = device.queue().counters();
  *info = {static_cast<double>(memory.bytes_in_use),   static_cast<double>(memory.peak_bytes_in_use),
           static_cast<double>(memory.bytes_cached),   static_cast<double>(memory.num_allocations),
           static_cast<double>(memory.num_cache_hits), static_cast<double>(counters.submits),
           static_cast<double>(counters.dispatches),   static_cast<double>(counters.crossings)};
}

}  // extern "C"
