// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What a dispatch costs in batches of 1,000: through Tandem's Vulkan queue, and recorded by hand. Prints times of the
// best round of each and their ratio.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>
#include <vector>

#include "glsl_text.h"
#include "raw_vulkan.h"
#include "spirv.h"
#include "tandem/vulkan/vulkan_op_handler.h"
#include "tandem/work_queue.h"

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCount = 1000;
constexpr int kRounds = 30;
constexpr char kShader[] = R"(
struct Parameters { n: u32, add: f32, }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> parameters: Parameters;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(global_invocation_id) gid: vec3u) {
  if (gid.x < parameters.n) { y[gid.x] = x[gid.x] + parameters.add; }
}
)";

class Silent final : public gpu::StreamListener {
  void OnBatchesFailed(uint64_t, uint64_t, const Status&) override { std::abort(); }
  void OnDeviceLost(const Status&) override { std::abort(); }
};

template <typename T>
T Value(StatusOr<T> value) {
  if (value.ok()) return std::move(*value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}

struct Times {
  double total = 1e30;  // seconds
  double issue = 1e30;
};

// Microseconds a dispatch.
double PerDispatch(double seconds) { return seconds / kCount * 1e6; }

class Ours {
 public:
  explicit Ours(uint32_t elements) : elements_(elements) {
    queue_ = Value(vulkan::CreateVulkanQueue({}));
    queue_->SetListener(listener_);
    shader::ShaderText text;
    text.name = "add";
    text.wgsl = kShader;
    text.buffers = {shader::BufferAccess::kRead, shader::BufferAccess::kReadWrite};
    text.num_parameters = 2;
    text.workgroup = {64, 1, 1};
    const auto pipeline = queue_->CreatePipeline(text);
    const AsyncValue* const value = pipeline.value();
    if (!CreateSingleThreadedWorkQueue()->Await({&value, 1}).ok() || pipeline.IsError()) std::abort();
    pipeline_ = pipeline.get();
    for (auto& buffer : buffers_) buffer = Value(queue_->CreateBuffer(uint64_t{elements} * 4, {}));
  }
  ~Ours() {
    for (auto buffer : buffers_) queue_->DestroyBuffer(buffer);
    pipeline_.reset();
  }

  shader::ShaderQueue& queue() { return *queue_; }

  float Run(bool dependent, const std::array<uint32_t, 2>& parameters, Times& times) {
    const std::vector<float> zeros(elements_);
    const Clock::time_point begin = Clock::now();
    Value(queue_->Upload(buffers_[0], zeros.data(), zeros.size() * 4, nullptr, {}));
    for (int i = 0; i < kCount; ++i) {
      const size_t from = dependent ? static_cast<size_t>(i & 1) : 0;
      const gpu::BufferRange buffers[] = {{buffers_[from]}, {buffers_[1 - from]}};
      Value(queue_->Dispatch(*pipeline_, buffers, parameters, {(elements_ + 63) / 64, 1, 1}, {}));
    }
    const Clock::time_point issued = Clock::now();
    float result = 0;
    std::promise<void> done;
    queue_->Download(buffers_[dependent ? kCount & 1 : 1], 0, &result, 4, [&](const Status&) { done.set_value(); });
    done.get_future().wait();
    times.total = std::min(times.total, std::chrono::duration<double>(Clock::now() - begin).count());
    times.issue = std::min(times.issue, std::chrono::duration<double>(issued - begin).count());
    return result;
  }

 private:
  const uint32_t elements_;
  Silent listener_;
  std::unique_ptr<shader::ShaderQueue> queue_;
  RcRef<shader::Pipeline> pipeline_;
  std::array<gpu::BufferId, 2> buffers_;
};

void Compare(const char* name, uint32_t elements, bool dependent) {
  Ours ours(elements);
  const auto glsl = Value(vulkan::TranslateToGlsl(kShader, vulkan::ParameterPlace::kPushConstants));
  RawVulkan raw(std::string(ours.queue().adapter_name()), Value(vulkan::SpirvCompiler().Compile(glsl)),
                uint64_t{elements} * 4);
  const std::array<uint32_t, 2> parameters = {elements, std::bit_cast<uint32_t>(1.0f)};
  const float expected = dependent ? kCount : 1;
  Times our_times;
  Times raw_times;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    const float raw_result = raw.Run(kCount, dependent, (elements + 63) / 64, parameters);
    raw_times.total = std::min(raw_times.total, std::chrono::duration<double>(Clock::now() - begin).count());
    if (raw_result != expected || ours.Run(dependent, parameters, our_times) != expected) {
      std::fprintf(stderr, "wrong results\n");
      std::exit(1);
    }
  }
  const double our_cost = PerDispatch(our_times.total);
  const double raw_cost = PerDispatch(raw_times.total);
  std::printf("%-12s %9u %12.2f %12.2f %12.2f %8.2f\n", name, elements, raw_cost, our_cost,
              PerDispatch(our_times.issue), our_cost / raw_cost);
}

}  // namespace
}  // namespace tandem::bench

int main() {
  std::printf("us a dispatch, in batches of %d\n", tandem::bench::kCount);
  std::printf("%-12s %9s %12s %12s %12s %8s\n", "", "elements", "by hand", "tandem", "of it issue", "ratio");
  for (uint32_t elements : {64u, 65536u}) {
    tandem::bench::Compare("dependent", elements, true);
    tandem::bench::Compare("independent", elements, false);
  }
  return 0;
}
