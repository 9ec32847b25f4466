// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "cuda_pipeline.h"

#include <cctype>
#include <span>
#include <string_view>

#include "cuda_prelude.h"
#include "cuda_text.h"
#include "tandem/gpu/heap_room.h"
#include "tandem/shader/shader_call.h"

namespace tandem::cuda {
namespace {

// "tandem_tf_AddV2" of "tf.AddV2": what profilers show.
std::string FunctionName(std::string_view name) {
  std::string text = "tandem_";
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text;
}

}  // namespace

Status CudaPipeline::Issue(StreamHandle stream, std::span<const DevicePointer> buffers,
                           std::span<const uint32_t> parameters, const std::array<uint32_t, 3>& workgroups,
                           DriverFailure& failure) const {
  std::array<void*, shader::ShaderCall::kMaxBuffers + 1> arguments;
  for (size_t i = 0; i < buffers.size(); ++i) arguments[i] = const_cast<DevicePointer*>(&buffers[i]);
  // The words are the struct's members; the driver copies them in the call.
  arguments[buffers.size()] = const_cast<uint32_t*>(parameters.data());
  failure = {driver_.LaunchKernel(function_, workgroups[0], workgroups[1], workgroups[2], block_[0], block_[1],
                                  block_[2], 0, stream, arguments.data(), nullptr),
             "cuLaunchKernel"};
  return Status();
}

CudaPipelineMaker::CudaPipelineMaker(const CudaDevice& device, Nvrtc nvrtc, std::string cache_folder,
                                     CudaPipeline::Release release)
    : device_(device),
      nvrtc_(std::move(nvrtc)),
      release_(std::move(release)),
      disk_(std::move(cache_folder), "TANDEM_CUDA_CACHE"),
      threads_([this](const shader::ShaderText& text) { return Compile(text); }, [] {}) {}

StatusOr<ModuleHandle> CudaPipelineMaker::FindModule(const std::string& source, const std::string& name,
                                                     bool contracts) const {
  const DriverFunctions& driver = device_.driver();
  // Code is for an architecture, PTX also for the driver that takes it.
  const std::string key = "tandem cuda 2 NVRTC " + nvrtc_.version() + " sm_" + std::to_string(device_.architecture()) +
                          " driver " + std::to_string(device_.driver_version()) + "\n" + source;
  ModuleHandle module = nullptr;
  if (auto found = disk_.Read("cuda", key)) {
    found->push_back(std::byte{0});  // PTX ends with it
    if (driver.ModuleLoadData(&module, found->data()) == kDriverSuccess) return module;
  }
  TANDEM_ASSIGN_OR_RETURN(const Nvrtc::Code code,
                          nvrtc_.Compile(source, name, device_.architecture(), {.contracts = contracts}));
  TANDEM_RETURN_IF_ERROR(device_.Check(driver.ModuleLoadData(&module, code.bytes.c_str()), "cuModuleLoadData"));
  disk_.Write("cuda", key, std::as_bytes(std::span(code.bytes)));
  return module;
}

StatusOr<RcRef<shader::Pipeline>> CudaPipelineMaker::Compile(const shader::ShaderText& text) {
  const auto in_shader = [&](const Status& error) {
    return MakeError(error.code(), "shader ", std::string_view(text.name), ": ", error.message());
  };
  if (!gpu::HeapHasRoom(nvrtc_.heap_bytes())) return Status::OutOfMemory();
  const std::string name = FunctionName(text.name);
  const StatusOr<std::string> translated = TranslateToCuda(text.wgsl, name);
  if (!translated.ok()) return in_shader(translated.status());
  const DriverFunctions& driver = device_.driver();
  TANDEM_RETURN_IF_ERROR(device_.Check(device_.Enter(), "cuCtxSetCurrent"));
  // Functions of f64 count on each operation being rounded by itself.
  const bool contracts = text.wgsl.find("f64") == std::string::npos;
  const StatusOr<ModuleHandle> module = FindModule(std::string(kCudaPrelude) + *translated, name, contracts);
  if (!module.ok()) return in_shader(module.status());
  FunctionHandle function = nullptr;
  const Status found = device_.Check(driver.ModuleGetFunction(&function, *module, name.c_str()), "cuModuleGetFunction");
  if (found.ok()) {
    auto pipeline = MakeRef<CudaPipeline>(driver, *module, function, text.workgroup, release_);
    if (pipeline) return RcRef<shader::Pipeline>(std::move(pipeline));
  }
  driver.ModuleUnload(*module);
  return found.ok() ? Status::OutOfMemory() : in_shader(found);
}

}  // namespace tandem::cuda
