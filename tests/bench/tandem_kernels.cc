// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The kernels as ops of Tandem, through its C++ face.

#include <array>
#include <memory>
#include <span>
#include <utility>

#include "kernel_bench.h"
#include "tandem/ops.h"

namespace tandem::bench {
namespace {

using eager::Runtime;
using eager::Tensor;

// One runtime per number of threads, kept until the program ends. With one thread, the caller computes.
Runtime& RuntimeOf(int threads) {
  static std::array<std::unique_ptr<Runtime>, 3> runtimes;
  std::unique_ptr<Runtime>& runtime = runtimes.at(static_cast<size_t>(threads));
  if (runtime == nullptr) {
    Runtime::Options options;
    options.work_queue = threads == 1 ? CreateSingleThreadedWorkQueue() : CreateMultiThreadedWorkQueue(threads);
    runtime = std::move(Runtime::Create(std::move(options)).value());
  }
  return *runtime;
}

struct Filling {
  float lowest = -1;
  DType dtype = DType::kF32;
};

Tensor Input(Runtime& runtime, const TensorShape& shape, const Filling& filling = {}) {
  const std::vector<float> numbers = Numbers(shape.num_elements(), filling.lowest);
  const Tensor floats = runtime.FromValues<float>(std::span<const float>(numbers), shape);
  return filling.dtype == DType::kF32 ? floats : cast(floats, filling.dtype);
}

// `call` takes a tensor of each shape.
template <size_t n, typename Call>
KernelBench Make(std::string kernel, const TensorShape (&shapes)[n], Call call, const Filling& filling = {}) {
  std::vector<TensorShape> kept(shapes, shapes + n);
  return {std::move(kernel), "tandem", [kept, call, filling](int threads) -> std::function<void()> {
            std::array<Tensor, n> inputs;
            for (size_t i = 0; i < n; ++i) inputs[i] = Input(RuntimeOf(threads), kept[i], filling);
            // An op that fails would look fast.
            if (!std::apply(call, inputs).Await().ok()) return nullptr;
            return [inputs, call] { (void)std::apply(call, inputs).Await(); };
          }};
}

using In = const Tensor&;

// An elementary function.
template <typename Call>
KernelBench Function(std::string kernel, Call call, const Filling& filling = {}) {
  KernelBench bench = Make(std::move(kernel), {{kElements}}, call, filling);
  bench.evaluate = [call](std::span<const float> x) {
    const Tensor y = call(RuntimeOf(1).FromValues<float>(x, {static_cast<int64_t>(x.size())}));
    return y.ToVector<float>().value();
  };
  return bench;
}

void ListElementwise(std::vector<KernelBench>& list) {
  list.push_back(Make("add 1M", {{kElements}, {kElements}}, [](In x, In y) { return add(x, y); }));
  list.push_back(Make("mul 1024x1024 by row", {{kSide, kSide}, {kSide}}, [](In x, In y) { return mul(x, y); }));
  list.push_back(Make("relu 1M", {{kElements}}, [](In x) { return relu(x); }));
  list.push_back(Function("exp 1M", [](In x) { return exp(x); }));
  list.push_back(Function("tanh 1M", [](In x) { return tanh(x); }));
  list.push_back(Function("sigmoid 1M", [](In x) { return sigmoid(x); }));
  list.push_back(Function("erf 1M", [](In x) { return erf(x); }));
  list.push_back(Function("gelu 1M", [](In x) { return gelu(x); }));
  list.push_back(Function("sin 1M", [](In x) { return sin(x); }));
  list.push_back(Function("cos 1M", [](In x) { return cos(x); }));
  list.push_back(Function("log 1M", [](In x) { return log(x); }, {.lowest = kPositive}));
  list.push_back(Function("rsqrt 1M", [](In x) { return rsqrt(x); }, {.lowest = kPositive}));
  list.push_back(
      Make("pow 1M", {{kElements}, {kElements}}, [](In x, In y) { return pow(x, y); }, {.lowest = kPositive}));
  list.push_back(Make("cast to i8 1M", {{kElements}}, [](In x) { return cast(x, DType::kI8); }));
  list.push_back(Make("cast to u8 1M", {{kElements}}, [](In x) { return cast(x, DType::kU8); }, {.lowest = kPositive}));
  list.push_back(Make("cast to bf16 1M", {{kElements}}, [](In x) { return cast(x, DType::kBF16); }));
  list.push_back(Make("bias add 1024x1024", {{kSide, kSide}, {kSide}}, [](In x, In y) { return biasAdd(x, y); }));
}

void ListReductions(std::vector<KernelBench>& list) {
  list.push_back(Make("sum all 1M", {{kElements}}, [](In x) { return sum(x, {0}); }));
  list.push_back(Make("sum columns 1024x1024", {{kSide, kSide}}, [](In x) { return sum(x, {0}); }));
  list.push_back(Make("sum rows 1024x1024", {{kSide, kSide}}, [](In x) { return sum(x, {1}); }));
  list.push_back(Make("max rows 1024x1024", {{kSide, kSide}}, [](In x) { return max(x, {1}); }));
  list.push_back(Make("softmax 1024x1024", {{kSide, kSide}}, [](In x) { return softmax(x); }));
  list.push_back(Make("layer norm 1024x1024", {{kSide, kSide}, {kSide}, {kSide}},
                      [](In x, In scale, In bias) { return layerNorm(x, scale, bias); }));
}

void ListConvolutions(std::vector<KernelBench>& list) {
  for (const Conv& c : kConvs) {
    list.push_back(Make(c.name, {{c.batch, c.rows, c.cols, c.in}, {c.kernel, c.kernel, c.in, c.out}},
                        [s = c.stride](In x, In filter) {
                          return conv2d(x, filter, {1, s, s, 1}, "SAME");
                        }));
  }
  for (const Conv& c : kConvGradients) {
    const TensorShape input = {c.batch, c.rows, c.cols, c.in}, filter = {c.kernel, c.kernel, c.in, c.out};
    const TensorShape output = {c.batch, c.rows, c.cols, c.out};
    list.push_back(Make(std::string("conv input gradient ") + c.name, {filter, output}, [input](In w, In gradient) {
      return conv2dBackpropInput(input.dims(), w, gradient, {1, 1, 1, 1}, "SAME");
    }));
    list.push_back(Make(std::string("conv filter gradient ") + c.name, {input, output}, [filter](In x, In gradient) {
      return conv2dBackpropFilter(x, filter.dims(), gradient, {1, 1, 1, 1}, "SAME");
    }));
  }
  for (const Conv& c : kDepthwise) {
    list.push_back(Make(c.name, {{c.batch, c.rows, c.cols, c.in}, {c.kernel, c.kernel, c.in, c.out}},
                        [s = c.stride](In x, In filter) {
                          return depthwiseConv2dNative(x, filter, {1, s, s, 1}, "SAME");
                        }));
  }
  const TensorShape picture = {kPoolBatch, kPoolSize, kPoolSize, kPoolChannels};
  list.push_back(Make("max pool 2x2 112x112x64", {picture}, [](In x) {
    return maxPool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  }));
  list.push_back(Make("max pool 3x3 112x112x64", {picture}, [](In x) {
    return maxPool(x, {1, 3, 3, 1}, {1, 2, 2, 1}, "VALID");
  }));
  list.push_back(Make("average pool 2x2 112x112x64", {picture}, [](In x) {
    return avgPool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  }));
}

void ListMovement(std::vector<KernelBench>& list) {
  list.push_back(Make("transpose 1024x1024", {{kSide, kSide}}, [](In x) { return transpose(x, {1, 0}); }));
  list.push_back(Make("transpose NHWC to NCHW", {{kImageBatch, kImageSize, kImageSize, kImageChannels}}, [](In x) {
    return transpose(x, {0, 3, 1, 2});
  }));
  list.push_back(Make("concat columns 1024x(512+512)", {{kSide, kConcatCols}, {kSide, kConcatCols}}, [](In x, In y) {
    return eager::concat({x, y}, 1);
  }));
  list.push_back({"gather 4096 rows of 256", "tandem", [](int threads) -> std::function<void()> {
                    Runtime& runtime = RuntimeOf(threads);
                    std::vector<int64_t> rows(kGathered);
                    for (int64_t i = 0; i < kGathered; ++i) rows[static_cast<size_t>(i)] = GatheredRow(i);
                    const Tensor table = Input(runtime, {kGatherRows, kGatherCols});
                    const Tensor index = runtime.FromValues<int64_t>(std::span<const int64_t>(rows), {kGathered});
                    return [table, index] { (void)gather(table, index, 0).Await(); };
                  }});
}

}  // namespace

void ListTandemKernels(std::vector<KernelBench>& list) {
  ListElementwise(list);
  ListReductions(list);
  for (const Gemm& g : kGemms) {
    list.push_back(Make(g.name, {{g.m, g.k}, {g.k, g.n}}, [](In a, In b) { return matMul(a, b); }));
  }
  list.push_back(Make(kBf16Gemm.name, {{kBf16Gemm.m, kBf16Gemm.k}, {kBf16Gemm.k, kBf16Gemm.n}},
                      [](In a, In b) { return matMul(a, b); }, {.dtype = DType::kBF16}));
  list.push_back(
      Make("batch matmul 64x(64^3)", {{64, 64, 64}, {64, 64, 64}}, [](In a, In b) { return batchMatMul(a, b); }));
  ListConvolutions(list);
  ListMovement(list);
}

}  // namespace tandem::bench
