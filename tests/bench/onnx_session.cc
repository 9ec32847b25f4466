// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ONNX Runtime, by its C interface.

#include <onnxruntime_c_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "onnx_model.h"

namespace tandem {

namespace {

// What an older library than the header offers, too.
constexpr uint32_t kApiVersion = 12;

class Session final : public OnnxSession {
 public:
  Session(const OnnxModel& model, int num_threads, const char* profile) : api_(OrtGetApiBase()->GetApi(kApiVersion)) {
    Check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &env_));
    OrtSessionOptions* options = nullptr;
    Check(api_->CreateSessionOptions(&options));
    Check(api_->SetIntraOpNumThreads(options, num_threads));
    Check(api_->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    if (profile != nullptr) Check(api_->EnableProfiling(options, profile));
    Check(api_->CreateSessionFromArray(env_, model.bytes.data(), model.bytes.size(), options, &session_));
    api_->ReleaseSessionOptions(options);
    MakeInput(model);
    OrtAllocator* allocator = nullptr;
    Check(api_->GetAllocatorWithDefaultOptions(&allocator));
    Check(api_->SessionGetOutputName(session_, 0, allocator, &output_name_));
  }
  ~Session() override {
    if (output_ != nullptr) api_->ReleaseValue(output_);
    api_->ReleaseValue(input_);
    OrtAllocator* allocator = nullptr;
    Check(api_->GetAllocatorWithDefaultOptions(&allocator));
    Check(api_->AllocatorFree(allocator, output_name_));
    api_->ReleaseSession(session_);
    api_->ReleaseEnv(env_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Run() override {
    if (output_ != nullptr) api_->ReleaseValue(output_);
    output_ = nullptr;
    const char* const input_name = "x";
    const OrtValue* const input = input_;
    const char* const output_name = output_name_;
    Check(api_->Run(session_, nullptr, &input_name, &input, 1, &output_name, 1, &output_));
  }

  std::vector<float> Result() const override {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    size_t count = 0;
    void* data = nullptr;
    Check(api_->GetTensorTypeAndShape(output_, &info));
    Check(api_->GetTensorShapeElementCount(info, &count));
    api_->ReleaseTensorTypeAndShapeInfo(info);
    Check(api_->GetTensorMutableData(output_, &data));
    const std::span<const float> values(static_cast<const float*>(data), count);
    return {values.begin(), values.end()};
  }

 private:
  void MakeInput(const OnnxModel& model) {
    OrtMemoryInfo* memory = nullptr;
    Check(api_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    numbers_ = model.input.values;
    integers_.assign(numbers_.begin(), numbers_.end());
    void* const data = model.is_integer ? static_cast<void*>(integers_.data()) : numbers_.data();
    const size_t bytes = numbers_.size() * (model.is_integer ? sizeof(int64_t) : sizeof(float));
    Check(api_->CreateTensorWithDataAsOrtValue(
        memory, data, bytes, model.input.shape.data(), model.input.shape.size(),
        model.is_integer ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input_));
    api_->ReleaseMemoryInfo(memory);
  }

  void Check(OrtStatus* status) const {
    if (status == nullptr) return;
    std::fprintf(stderr, "bench: ONNX Runtime: %s\n", api_->GetErrorMessage(status));
    std::exit(1);
  }

  const OrtApi* const api_;
  OrtEnv* env_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtValue* input_ = nullptr;
  OrtValue* output_ = nullptr;
  char* output_name_ = nullptr;
  std::vector<float> numbers_;
  std::vector<int64_t> integers_;
};

}  // namespace

std::unique_ptr<OnnxSession> MakeOnnxSession(const OnnxModel& model, int num_threads, const char* profile) {
  return std::make_unique<Session>(model, num_threads, profile);
}

}  // namespace tandem
