// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's program: for each of some points the nearest of others, by an op of its own for their distances.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tandem/cpu/cpu_op_handler.h"
#include "tandem/ops.h"
#include "tandem/version.h"

#if TANDEM_VERSION_MAJOR != 0
#error "written for Tandem 0"
#endif

namespace {

using tandem::DType;
using tandem::Status;
using tandem::TensorMetadata;
using tandem::eager::Runtime;
using tandem::eager::Tensor;

tandem::StatusOr<TensorMetadata> DistancesMetadata(const TensorMetadata& a, const TensorMetadata& b) {
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(1)) {
    return tandem::InvalidArgument("points must be rows of the same length, got a: ", a, ", b: ", b);
  }
  return TensorMetadata(a.dtype, {a.dim(0), b.dim(0)});
}

Status DistancesKernel(tandem::DenseArg a, tandem::DenseArg b, tandem::KernelFrame& frame) {
  auto* out = frame.AllocateResult<float>(0);
  if (out == nullptr) return Status();
  const int64_t size = a.shape().dim(1);
  const int64_t count = b.shape().dim(0);
  frame.ParallelFor(a.shape().dim(0), static_cast<double>(size * count), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < count; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < size; ++k) {
          const float d = a.data<float>()[i * size + k] - b.data<float>()[j * size + k];
          sum += d * d;
        }
        out[i * count + j] = std::sqrt(sum);
      }
    }
  });
  return Status();
}

Status DefineDistances(Runtime& runtime) {
  TANDEM_RETURN_IF_ERROR(runtime.core().registry().Register(tandem::OpDefBuilder("nearest.Distances")
                                                                .Input("a: float")
                                                                .Input("b: float")
                                                                .Output("distances: float")
                                                                .Metadata<&DistancesMetadata>()
                                                                .Doc("Distances of points to points.")));
  auto& cpu = static_cast<tandem::KernelOpHandler&>(runtime.handler());
  return cpu.AddKernel("nearest.Distances", tandem::MakeKernel<&DistancesKernel>());
}

Tensor Distances(const Tensor& a, const Tensor& b, std::source_location where = std::source_location::current()) {
  tandem::eager::Operand operands[] = {a, b};
  return tandem::eager::Call("nearest.Distances", {&operands[0], &operands[1]}, tandem::OpAttrs(), where);
}

Status Run() {
  std::vector<std::string> told;
  Runtime::Options options;
  options.num_threads = 2;
  options.on_diagnostic = [&told](const Status& error) { told.push_back(error.ToString()); };
  TANDEM_ASSIGN_OR_RETURN(auto runtime, Runtime::Create(std::move(options)));
  TANDEM_RETURN_IF_ERROR(DefineDistances(*runtime));

  const Tensor points = runtime->FromValues<float>({0, 0, 10, 10, 3, 5}, {3, 2});
  const Tensor places = runtime->FromValues<float>({3, 4, 9, 9}, {2, 2});
  const Tensor distances = Distances(points, places);
  TANDEM_ASSIGN_OR_RETURN(const auto values, distances.Values<float>());
  if (values[0] != 5 || values[5] != std::sqrt(52.0f)) return tandem::Internal("got ", distances.ToString());
  TANDEM_ASSIGN_OR_RETURN(const auto nearest, argMin(distances, 1).ToVector<int64_t>());
  if (nearest != std::vector<int64_t>{0, 1, 0}) return tandem::Internal("got ", argMin(distances, 1).ToString());
  std::printf("nearest: %s\n", argMin(distances, 1).ToString().c_str());

  const Tensor wrong = Distances(points, runtime->FromValues<float>({1, 2, 3}, {1, 3}));
  const std::string message = wrong.Await().ToString();
  std::printf("%s\n", message.c_str());
  if (!message.starts_with("InvalidArgument: [nearest.Distances] points must be rows of the same length, got a: "
                           "f32[3,2], b: f32[1,3] (") ||
      told != std::vector<std::string>{message}) {
    return tandem::Internal("told of ", told.size(), " errors, got ", message);
  }
  return Status();
}

}  // namespace

int main() {
  const Status status = Run();
  std::printf("Tandem %s: %s\n", tandem::Version(), status.ok() ? "ok" : status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
