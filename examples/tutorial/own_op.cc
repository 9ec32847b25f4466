// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Tutorial, part 1: an op of one's own, with its definition, metadata function, CPU kernel and typed function.

#include <cmath>
#include <cstdio>

#include "tandem/kernel_op_handler.h"
#include "tandem/ops.h"

using tandem::eager::Operand;
using tandem::eager::Runtime;
using tandem::eager::Tensor;

// The metadata function: dtype and shape of the result, from those of the arguments and the attributes. Every device
// uses this one; a kernel runs only after it has accepted the call.
static tandem::StatusOr<tandem::TensorMetadata> DistancesMetadata(const tandem::TensorMetadata& a,
                                                                  const tandem::TensorMetadata& b) {
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(1)) {
    return tandem::InvalidArgument("points must be matrices with the same number of columns, got a: ", a, ", b: ", b);
  }
  return tandem::TensorMetadata(a.dtype, {a.dim(0), b.dim(0)});
}

// The CPU kernel: shapes are known to be right by now. Rows are independent of each other, so they are spread over the
// work queue; the second argument of ParallelFor says what one of them costs, in nanoseconds.
template <typename T>
static tandem::Status DistancesKernel(tandem::DenseArg a, tandem::DenseArg b, const tandem::OpAttrsRef& attrs,
                                      tandem::KernelFrame& frame) {
  T* distances = frame.AllocateResult<T>(0);
  if (distances == nullptr) return tandem::Status();  // out of memory: already the result's error
  const int64_t columns = a.shape().dim(1);
  const int64_t others = b.shape().dim(0);
  const bool squared = attrs.GetOr<bool>("squared", false);
  frame.ParallelFor(a.shape().dim(0), static_cast<double>(others * columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < others; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < columns; ++k) {
          const T difference = a.data<T>()[i * columns + k] - b.data<T>()[j * columns + k];
          sum += difference * difference;
        }
        distances[i * others + j] = squared ? sum : std::sqrt(sum);
      }
    }
  });
  return tandem::Status();
}

// The definition, in the grammar of TensorFlow's op definitions. From here on, calls by name know the op.
static tandem::Status AddDistances(Runtime& rt) {
  TANDEM_RETURN_IF_ERROR(rt.core().registry().Register(tandem::OpDefBuilder("tutorial.Distances")
                                                           .Input("a: T")
                                                           .Input("b: T")
                                                           .Output("distances: T")
                                                           .Attr("T: {float, double}")
                                                           .Attr("squared: bool = false")
                                                           .Metadata<&DistancesMetadata>()
                                                           .Doc("Euclidean distance of each point to each other.")));
  auto& cpu = dynamic_cast<tandem::KernelOpHandler&>(rt.handler());
  TANDEM_RETURN_IF_ERROR(
      cpu.AddKernel("tutorial.Distances", {tandem::DType::kF32}, tandem::MakeKernel<&DistancesKernel<float>>()));
  return cpu.AddKernel("tutorial.Distances", {tandem::DType::kF64}, tandem::MakeKernel<&DistancesKernel<double>>());
}

// The typed function, as tandem/ops.h has them: the default argument is how an error knows the line of the call.
static Tensor Distances(Operand a, Operand b, bool squared = false,
                        std::source_location where = std::source_location::current()) {
  tandem::OpAttrs attrs;
  attrs.Set("squared", squared);
  return tandem::eager::Call("tutorial.Distances", {&a, &b}, attrs, where);
}

static tandem::Status Run() {
  TANDEM_ASSIGN_OR_RETURN(auto runtime, Runtime::Create());
  Runtime& rt = *runtime;
  TANDEM_RETURN_IF_ERROR(AddDistances(rt));

  const Tensor points = rt.FromValues<float>({0, 0, 3, 4, 6, 8}, {3, 2});
  const Tensor distances = Distances(points, points);
  std::printf("distances: %s\n", distances.ToString().c_str());
  std::printf("nearest: %s\n",
              argMin(Distances(points, rt.FromValues<float>({3, 3}, {1, 2}), true), 0).ToString().c_str());

  const Tensor wrong = Distances(points, rt.FromValues<float>({1, 2, 3}, {1, 3}));
  std::printf("error: %s\n", wrong.ToString().c_str());
  return distances.Await();
}

int main() {
  const tandem::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
