// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// How long a running kernel takes to end once its request is cancelled (CA-4), of ops that take much longer.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/eager.h"
#include "tandem/host_tensors.h"
#include "tandem/request_context.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 15;
constexpr double kAtMost = 20;  // milliseconds

double Milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// An op call whose arguments are all ones.
struct Work {
  const char* name;
  const char* op;
  DType dtype;
  std::vector<TensorShape> shapes;
  std::vector<int32_t> sizes = {};  // what takes the place of the first or second argument in gradients
  size_t sizes_at = 0;
  const char* padding = nullptr;  // of a convolution
};

class Bench {
 public:
  explicit Bench(int num_threads) : runtime_(std::move(eager::Runtime::Create({.num_threads = num_threads}).value())) {}

  // Prints how long the whole op takes, and in the median and the longest case its end after it is cancelled.
  void Measure(const Work& work) {
    std::vector<TensorHandle> args;
    for (const TensorShape& shape : work.shapes) args.push_back(Ones({work.dtype, shape}));
    if (!work.sizes.empty()) args.insert(args.begin() + static_cast<ptrdiff_t>(work.sizes_at), Sizes(work.sizes));
    OpAttrs attrs;
    if (work.padding != nullptr) {
      const int64_t strides[] = {1, 1, 1, 1};
      attrs.SetArray("strides", std::span<const int64_t>(strides));
      attrs.Set("padding", std::string_view(work.padding));
    }
    const Clock::time_point begin = Clock::now();
    Await(Call(work, args, attrs, nullptr));
    const Clock::duration whole = Clock::now() - begin;
    std::vector<double> times;
    for (int i = 0; i < kRounds; ++i) {
      RcRef<RequestContext> request = RequestContext::Create(runtime_->host(), {}).value();
      const TensorHandle result = Call(work, args, attrs, request);
      std::this_thread::sleep_for(whole * (i + 1) / (kRounds + 2));  // at any moment of it
      const Clock::time_point cancelled = Clock::now();
      request->Cancel("enough");
      Await(result);
      times.push_back(Milliseconds(Clock::now() - cancelled));
    }
    std::sort(times.begin(), times.end());
    std::printf("%-36s %10.1f %10.2f %10.2f%s\n", work.name, Milliseconds(whole), times[times.size() / 2], times.back(),
                times.back() > kAtMost ? "  more than 20" : "");
  }

 private:
  TensorHandle Ones(const TensorMetadata& metadata) {
    Tensor tensor = AllocateDense(metadata, runtime_->host().device(), runtime_->host().allocator()).value();
    // The bytes of a small number in every dtype here.
    std::fill_n(static_cast<unsigned char*>(tensor.mutable_data()), metadata.byte_size(),
                static_cast<unsigned char>(1));
    return TensorHandle::MakeAvailable(std::move(tensor));
  }
  TensorHandle Sizes(const std::vector<int32_t>& sizes) {
    return TensorHandle::MakeAvailable(MakeDense({DType::kI32, {static_cast<int64_t>(sizes.size())}},
                                                 std::as_bytes(std::span(sizes)), runtime_->host().device(),
                                                 runtime_->host().allocator())
                                           .value());
  }
  TensorHandle Call(const Work& work, const std::vector<TensorHandle>& args, const OpAttrs& attrs,
                    RcRef<RequestContext> request) {
    std::vector<TensorHandle> copies;
    for (const TensorHandle& arg : args) copies.push_back(arg.CopyRef());
    TensorHandle result;
    runtime_->core().Execute(ExecutionContext(runtime_->host(), Location::Current(), std::move(request)), work.op,
                             &runtime_->handler(), copies, attrs, {&result, 1}, nullptr);
    return result;
  }
  void Await(const TensorHandle& result) { static_cast<void>(runtime_->host().Await(result)); }

  std::unique_ptr<eager::Runtime> runtime_;
};

int Run() {
  const TensorShape square = {3000, 3000};
  const TensorShape image = {1, 56, 56, 256};
  const TensorShape filter = {3, 3, 256, 256};
  const std::vector<Work> works = {
      {"MatMul 3000x3000 f32", "tf.MatMul", DType::kF32, {square, square}},
      {"MatMul 3000x3000 f64", "tf.MatMul", DType::kF64, {square, square}},
      {"MatMul 3000x3000 bf16", "tf.MatMul", DType::kBF16, {square, square}},
      {"MatMul 1500x1500 i64", "tf.MatMul", DType::kI64, {{1500, 1500}, {1500, 1500}}},
      {"Conv2D 56x56x256, 3x3, f32", "tf.Conv2D", DType::kF32, {image, filter}, {}, 0, "SAME"},
      {"Conv2D 56x56x256, 3x3, f64", "tf.Conv2D", DType::kF64, {image, filter}, {}, 0, "SAME"},
      {"Conv2DBackpropInput, the same, f32",
       "tf.Conv2DBackpropInput",
       DType::kF32,
       {filter, image},
       {1, 56, 56, 256},
       0,
       "SAME"},
      {"Conv2DBackpropFilter, the same, f32",
       "tf.Conv2DBackpropFilter",
       DType::kF32,
       {image, image},
       {3, 3, 256, 256},
       1,
       "SAME"},
  };
  for (const int num_threads : {1, 2}) {
    Bench bench(num_threads);
    std::printf("\n%-36s %10s %10s %10s   (milliseconds, %d thread%s)\n", "", "whole", "cancelled", "at worst",
                num_threads, num_threads == 1 ? "" : "s");
    for (const Work& work : works) bench.Measure(work);
  }
  return 0;
}

}  // namespace
}  // namespace tandem

int main() { return tandem::Run(); }
