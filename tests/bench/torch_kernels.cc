// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The kernels through libtorch. Pictures are in its channels-last format, which is NHWC in memory.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <array>
#include <tuple>
#include <utility>

#include "kernel_bench.h"

// libtorch leaves the number of OpenBLAS's threads alone, where that is its BLAS.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace tandem::bench {
namespace {

using In = const at::Tensor&;

struct Filling {
  float lowest = -1;
  at::ScalarType dtype = at::kFloat;
};

at::Tensor Input(at::IntArrayRef shape, const Filling& filling) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  const std::vector<float> numbers = Numbers(count, filling.lowest);
  const at::Tensor floats = at::from_blob(const_cast<float*>(numbers.data()), shape, at::kFloat);
  const at::Tensor tensor = floats.to(filling.dtype, /*non_blocking=*/false, /*copy=*/true);
  return shape.size() == 4 ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor;
}

template <size_t n, typename Call>
KernelBench Make(std::string kernel, const std::vector<int64_t> (&shapes)[n], Call call, const Filling& filling = {}) {
  std::vector<std::vector<int64_t>> kept(shapes, shapes + n);
  return {std::move(kernel), "libtorch", [kept, call, filling](int threads) -> std::function<void()> {
            const c10::InferenceMode guard;
            std::array<at::Tensor, n> inputs;
            for (size_t i = 0; i < n; ++i) inputs[i] = Input(kept[i], filling);
            at::set_num_threads(threads);
            if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
            return [inputs, call] {
              const c10::InferenceMode inner_guard;
              std::apply(call, inputs);
            };
          }};
}

// An elementary function.
template <typename Call>
KernelBench Function(std::string kernel, Call call, const Filling& filling = {}) {
  KernelBench bench = Make(std::move(kernel), {{kElements}}, call, filling);
  bench.evaluate = [call](std::span<const float> x) {
    const c10::InferenceMode guard;
    const at::Tensor y = call(at::from_blob(const_cast<float*>(x.data()), static_cast<int64_t>(x.size()), at::kFloat));
    return std::vector<float>(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  };
  return bench;
}

// What SAME means to libtorch: the same zeros on both sides, which computes as much as one more after.
int64_t Padding(const Conv& c) { return (c.kernel - 1) / 2; }

void ListConvolutions(std::vector<KernelBench>& list) {
  for (const Conv& c : kConvs) {
    list.push_back(Make(c.name, {{c.batch, c.in, c.rows, c.cols}, {c.out, c.in, c.kernel, c.kernel}},
                        [c](In x, In filter) { return at::conv2d(x, filter, {}, c.stride, Padding(c)); }));
  }
  for (const Conv& c : kConvGradients) {
    const auto gradient = [c](std::array<bool, 3> wanted) {
      return [c, wanted](In x, In w, In g) {
        const int64_t p = Padding(c);
        return at::convolution_backward(g, x, w, c10::nullopt, {1, 1}, {p, p}, {1, 1}, false, {0, 0}, 1, wanted);
      };
    };
    const std::vector<int64_t> shapes[] = {
        {c.batch, c.in, c.rows, c.cols}, {c.out, c.in, c.kernel, c.kernel}, {c.batch, c.out, c.rows, c.cols}};
    list.push_back(Make(std::string("conv input gradient ") + c.name, shapes, gradient({true, false, false})));
    list.push_back(Make(std::string("conv filter gradient ") + c.name, shapes, gradient({false, true, false})));
  }
  for (const Conv& c : kDepthwise) {
    list.push_back(Make(c.name, {{c.batch, c.in, c.rows, c.cols}, {c.in, 1, c.kernel, c.kernel}},
                        [c](In x, In filter) { return at::conv2d(x, filter, {}, c.stride, Padding(c), 1, c.in); }));
  }
  const std::vector<int64_t> picture[] = {{kPoolBatch, kPoolChannels, kPoolSize, kPoolSize}};
  list.push_back(Make("max pool 2x2 112x112x64", picture, [](In x) { return at::max_pool2d(x, {2, 2}); }));
  list.push_back(Make("max pool 3x3 112x112x64", picture, [](In x) { return at::max_pool2d(x, {3, 3}, {2, 2}); }));
  list.push_back(Make("average pool 2x2 112x112x64", picture, [](In x) { return at::avg_pool2d(x, {2, 2}); }));
}

}  // namespace

void ListTorchKernels(std::vector<KernelBench>& list) {
  list.push_back(Make("add 1M", {{kElements}, {kElements}}, [](In x, In y) { return at::add(x, y); }));
  list.push_back(Make("mul 1024x1024 by row", {{kSide, kSide}, {kSide}}, [](In x, In y) { return at::mul(x, y); }));
  list.push_back(Make("relu 1M", {{kElements}}, [](In x) { return at::relu(x); }));
  list.push_back(Function("exp 1M", [](In x) { return at::exp(x); }));
  list.push_back(Function("tanh 1M", [](In x) { return at::tanh(x); }));
  list.push_back(Function("sigmoid 1M", [](In x) { return at::sigmoid(x); }));
  list.push_back(Function("erf 1M", [](In x) { return at::erf(x); }));
  list.push_back(Function("gelu 1M", [](In x) { return at::gelu(x); }));
  list.push_back(Function("sin 1M", [](In x) { return at::sin(x); }));
  list.push_back(Function("cos 1M", [](In x) { return at::cos(x); }));
  list.push_back(Function("log 1M", [](In x) { return at::log(x); }, {kPositive}));
  list.push_back(Function("rsqrt 1M", [](In x) { return at::rsqrt(x); }, {kPositive}));
  list.push_back(Make("pow 1M", {{kElements}, {kElements}}, [](In x, In y) { return at::pow(x, y); }, {kPositive}));
  list.push_back(Make("cast to i8 1M", {{kElements}}, [](In x) { return x.to(at::kChar); }));
  list.push_back(Make("cast to u8 1M", {{kElements}}, [](In x) { return x.to(at::kByte); }, {kPositive}));
  list.push_back(Make("cast to bf16 1M", {{kElements}}, [](In x) { return x.to(at::kBFloat16); }));
  list.push_back(Make("bias add 1024x1024", {{kSide, kSide}, {kSide}}, [](In x, In y) { return at::add(x, y); }));
  list.push_back(Make("sum all 1M", {{kElements}}, [](In x) { return at::sum(x); }));
  list.push_back(Make("sum columns 1024x1024", {{kSide, kSide}}, [](In x) { return at::sum(x, {0}); }));
  list.push_back(Make("sum rows 1024x1024", {{kSide, kSide}}, [](In x) { return at::sum(x, {1}); }));
  list.push_back(Make("max rows 1024x1024", {{kSide, kSide}}, [](In x) { return at::amax(x, {1}); }));
  list.push_back(Make("softmax 1024x1024", {{kSide, kSide}}, [](In x) { return at::softmax(x, 1); }));
  list.push_back(Make("layer norm 1024x1024", {{kSide, kSide}, {kSide}, {kSide}},
                      [](In x, In scale, In bias) { return at::layer_norm(x, {kSide}, scale, bias); }));
  for (const Gemm& g : kGemms) {
    list.push_back(Make(g.name, {{g.m, g.k}, {g.k, g.n}}, [](In a, In b) { return at::mm(a, b); }));
  }
  list.push_back(Make(kBf16Gemm.name, {{kBf16Gemm.m, kBf16Gemm.k}, {kBf16Gemm.k, kBf16Gemm.n}},
                      [](In a, In b) { return at::mm(a, b); }, {-1, at::kBFloat16}));
  list.push_back(
      Make("batch matmul 64x(64^3)", {{64, 64, 64}, {64, 64, 64}}, [](In a, In b) { return at::bmm(a, b); }));
  ListConvolutions(list);
  list.push_back(Make("transpose 1024x1024", {{kSide, kSide}}, [](In x) { return x.t().contiguous(); }));
  list.push_back(Make("transpose NHWC to NCHW", {{kImageBatch, kImageChannels, kImageSize, kImageSize}},
                      [](In x) { return x.contiguous(at::MemoryFormat::Contiguous); }));
  list.push_back(Make("concat columns 1024x(512+512)", {{kSide, kConcatCols}, {kSide, kConcatCols}}, [](In x, In y) {
    return at::cat({x, y}, 1);
  }));
  list.push_back(Make("gather 4096 rows of 256", {{kGatherRows, kGatherCols}}, [](In table) {
    static const at::Tensor rows = at::arange(kGathered, at::kLong).mul(7919).remainder(kGatherRows);
    return at::index_select(table, 0, rows);
  }));
}

}  // namespace tandem::bench
