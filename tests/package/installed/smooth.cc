// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's program: smooths a series with an op of its own among Tandem's, and shows what an error looks like.

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "casts.h"
#include "devices.h"
#include "tandem/kernel_op_handler.h"
#include "tandem/ops.h"
#include "tandem/version.h"

namespace {

using tandem::eager::Runtime;
using tandem::eager::Tensor;

tandem::StatusOr<tandem::TensorMetadata> MovingAverageMetadata(const tandem::TensorMetadata& x,
                                                               const tandem::OpAttrsRef& attrs) {
  const auto window = attrs.GetOr<int64_t>("window", 1);
  if (x.rank() != 1 || x.dim(0) < window) {
    return tandem::InvalidArgument("x must be a series of at least ", window, " numbers, got ", x);
  }
  return tandem::TensorMetadata(x.dtype, {x.dim(0) - window + 1});
}

template <typename T>
tandem::Status MovingAverageKernel(tandem::DenseArg x, const tandem::OpAttrsRef& attrs, tandem::KernelFrame& frame) {
  const auto window = attrs.GetOr<int64_t>("window", 1);
  T* y = frame.AllocateResult<T>(0);
  if (y == nullptr) return tandem::Status();
  const T* from = x.data<T>();
  frame.ParallelFor(frame.result_metadata(0).num_elements(), 1.0, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T sum = 0;
      for (int64_t k = 0; k < window; ++k) sum += from[i + k];
      y[i] = sum / static_cast<T>(window);
    }
  });
  return tandem::Status();
}

void OrThrow(const tandem::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

void DefineMovingAverage(Runtime& runtime) {
  OrThrow(runtime.core().registry().Register(tandem::OpDefBuilder("smooth.MovingAverage")
                                                 .Input("x: T")
                                                 .Output("y: T")
                                                 .Attr("T: {float, double}")
                                                 .Attr("window: int >= 1 = 3")
                                                 .Metadata<&MovingAverageMetadata>()
                                                 .Doc("Means of as many neighbours as the window is wide.")));
  auto& cpu = dynamic_cast<tandem::KernelOpHandler&>(runtime.handler());
  const char* op = "smooth.MovingAverage";
  OrThrow(cpu.AddKernel(op, {tandem::DType::kF32}, tandem::MakeKernel<&MovingAverageKernel<float>>()));
  OrThrow(cpu.AddKernel(op, {tandem::DType::kF64}, tandem::MakeKernel<&MovingAverageKernel<double>>()));
}

Tensor MovingAverage(Runtime& runtime, const Tensor& x, int64_t window,
                     std::source_location where = std::source_location::current()) {
  tandem::OpAttrs attrs;
  attrs.Set("window", window);
  tandem::eager::Operand operand(x);
  return runtime.Execute("smooth.MovingAverage", {&operand}, attrs, where);
}

void Expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("unexpected: " + what);
}

void Run() {
  Expect(std::strcmp(tandem::Version(), TANDEM_VERSION_STRING) == 0, tandem::Version());
  auto created = Runtime::Create();
  OrThrow(created.status());
  Runtime& runtime = **created;
  DefineMovingAverage(runtime);

  const Tensor series = runtime.FromValues<float>({1, 2, 3, 4, 5, 9}, {6});
  const Tensor smoothed = mul(MovingAverage(runtime, series, 3), 2);
  auto values = smoothed.Values<float>();
  OrThrow(values.status());
  Expect(std::vector<float>(values->begin(), values->end()) == std::vector<float>{4, 6, 8, 12}, smoothed.ToString());
  std::printf("%s\n", smoothed.ToString().c_str());

  // The identity of a tensor type is the same here and in the library.
  Expect(smoothed.handle().tensor().IsA(tandem::kDenseHost), "type of a result");

  const Tensor wrong = relu(MovingAverage(runtime, runtime.FromValues<float>({1, 2}, {2}), 3));
  const std::string message = wrong.Await().ToString();
  std::printf("%s\n", message.c_str());
  Expect(message.starts_with("InvalidArgument: [smooth.MovingAverage] x must be a series of at least 3 numbers, got "
                             "f32[2] (") &&
             message.find("smooth.cc:") != std::string::npos,
         message);

  RunOnDevices(runtime.core());
  CheckCasts(runtime.core());
}

}  // namespace

int main() {
  try {
    Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("smooth: ok\n");
}
