// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The kernels as expressions of Eigen's tensors, compiled for this machine's processor. Results are written to memory
// that is there already. Depthwise convolutions and gradients have no expression there.

#define EIGEN_USE_THREADS

#include <array>
#include <memory>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

#include "kernel_bench.h"

namespace tandem::bench {
namespace {

using Eigen::Index;
template <int rank>
using Tensor = Eigen::Tensor<float, rank, Eigen::RowMajor>;
template <int rank>
using Dims = Eigen::DSizes<Index, rank>;
using Pair = Eigen::IndexPair<Index>;

template <int rank>
Tensor<rank> Input(const Dims<rank>& dims, float lowest = -1) {
  Tensor<rank> tensor(dims);
  const std::vector<float> numbers = Numbers(tensor.size(), lowest);
  std::copy(numbers.begin(), numbers.end(), tensor.data());
  return tensor;
}

// Threads that stay with the function that computes on them.
struct Device {
  explicit Device(int threads) : pool(threads), device(&pool, threads) {}
  Eigen::ThreadPool pool;
  Eigen::ThreadPoolDevice device;
};

// `call(out, device)` writes out = an expression, given the device: its own thread alone, or a pool.
template <int rank, typename Call>
KernelBench Make(std::string kernel, Dims<rank> out_dims, Call call) {
  return {std::move(kernel), "Eigen", [out_dims, call](int threads) -> std::function<void()> {
            auto out = std::make_shared<Tensor<rank>>(out_dims);
            if (threads == 1) {
              return [out, call] {
                Eigen::DefaultDevice device;
                call(*out, device);
              };
            }
            auto pool = std::make_shared<Device>(threads);
            return [out, call, pool] { call(*out, pool->device); };
          }};
}

template <typename Call>
KernelBench Unary(std::string kernel, Call call, float lowest = -1) {
  return Make<1>(
      std::move(kernel), Dims<1>(kElements),
      [x = Input<1>(Dims<1>(kElements), lowest), call](auto& out, auto& device) { out.device(device) = call(x); });
}

// An elementary function.
template <typename Call>
KernelBench Function(std::string kernel, Call call, float lowest = -1) {
  KernelBench bench = Unary(std::move(kernel), call, lowest);
  bench.evaluate = [call](std::span<const float> x) {
    const auto count = static_cast<Index>(x.size());
    const Eigen::TensorMap<const Tensor<1>> from(x.data(), count);
    std::vector<float> results(x.size());
    Eigen::TensorMap<Tensor<1>>(results.data(), count) = call(from);
    return results;
  };
  return bench;
}

// A kernel on a matrix.
template <int out_rank, typename Call>
KernelBench OfMatrix(std::string kernel, Dims<out_rank> out_dims, Call call) {
  return Make<out_rank>(std::move(kernel), out_dims,
                        [x = Input<2>(Dims<2>(kSide, kSide)), call](auto& out, auto& device) { call(x, out, device); });
}

void ListElementwise(std::vector<KernelBench>& list) {
  list.push_back(Make<1>("add 1M", Dims<1>(kElements),
                         [x = Input<1>(Dims<1>(kElements)), y = Input<1>(Dims<1>(kElements))](auto& out, auto& device) {
                           out.device(device) = x + y;
                         }));
  for (const auto& [name, is_sum] : {std::pair("mul 1024x1024 by row", false), std::pair("bias add 1024x1024", true)}) {
    list.push_back(
        OfMatrix<2>(name, Dims<2>(kSide, kSide),
                    [row = Input<2>(Dims<2>(1, kSide)), is_sum = is_sum](const auto& x, auto& out, auto& device) {
                      const auto rows = row.broadcast(Dims<2>(kSide, 1));
                      if (is_sum) {
                        out.device(device) = x + rows;
                      } else {
                        out.device(device) = x * rows;
                      }
                    }));
  }
  list.push_back(Unary("relu 1M", [](const auto& x) { return x.cwiseMax(0.0f); }));
  list.push_back(Function("exp 1M", [](const auto& x) { return x.exp(); }));
  list.push_back(Function("tanh 1M", [](const auto& x) { return x.tanh(); }));
  list.push_back(Function("sigmoid 1M", [](const auto& x) { return x.sigmoid(); }));
  list.push_back(Function("erf 1M", [](const auto& x) { return x.erf(); }));
  list.push_back(Function("gelu 1M", [](const auto& x) { return x * 0.5f * ((x * 0.70710678f).erf() + 1.0f); }));
  list.push_back(
      Function("sin 1M", [](const auto& x) { return x.unaryExpr(Eigen::internal::scalar_sin_op<float>()); }));
  list.push_back(
      Function("cos 1M", [](const auto& x) { return x.unaryExpr(Eigen::internal::scalar_cos_op<float>()); }));
  list.push_back(Function(
      "log 1M", [](const auto& x) { return x.log(); }, kPositive));
  list.push_back(Function(
      "rsqrt 1M", [](const auto& x) { return x.rsqrt(); }, kPositive));
  const Dims<1> dims(kElements);
  const auto power = [x = Input<1>(dims, kPositive), y = Input<1>(dims, kPositive)](auto& out, auto& device) {
    out.device(device) = x.binaryExpr(y, Eigen::internal::scalar_pow_op<float, float>());
  };
  list.push_back(Make<1>("pow 1M", dims, power));
}

void ListReductions(std::vector<KernelBench>& list) {
  list.push_back(Make<0>("sum all 1M", Dims<0>(), [x = Input<1>(Dims<1>(kElements))](auto& out, auto& device) {
    out.device(device) = x.sum();
  }));
  const auto sum = [](Index axis) {
    return [axis](const auto& x, auto& out, auto& device) { out.device(device) = x.sum(std::array<Index, 1>{axis}); };
  };
  list.push_back(OfMatrix<1>("sum columns 1024x1024", Dims<1>(kSide), sum(0)));
  list.push_back(OfMatrix<1>("sum rows 1024x1024", Dims<1>(kSide), sum(1)));
  list.push_back(OfMatrix<1>("max rows 1024x1024", Dims<1>(kSide), [](const auto& x, auto& out, auto& device) {
    out.device(device) = x.maximum(std::array<Index, 1>{1});
  }));
  list.push_back(OfMatrix<2>("softmax 1024x1024", Dims<2>(kSide, kSide), [](const auto& x, auto& out, auto& device) {
    const Dims<2> column(kSide, 1), repeated(1, kSide);
    const std::array<Index, 1> rows = {1};
    out.device(device) = (x - x.maximum(rows).eval().reshape(column).broadcast(repeated)).exp();
    out.device(device) = out * out.sum(rows).inverse().eval().reshape(column).broadcast(repeated);
  }));
  list.push_back(OfMatrix<2>(
      "layer norm 1024x1024", Dims<2>(kSide, kSide),
      [scale = Input<2>(Dims<2>(1, kSide)), bias = Input<2>(Dims<2>(1, kSide))](const auto& x, auto& out,
                                                                                auto& device) {
        const Dims<2> column(kSide, 1), to_rows(1, kSide), to_columns(kSide, 1);
        const std::array<Index, 1> rows = {1};
        out.device(device) = x - x.mean(rows).eval().reshape(column).broadcast(to_rows);
        out.device(device) = out * (out.square().mean(rows) + 1e-5f).rsqrt().eval().reshape(column).broadcast(to_rows) *
                                 scale.broadcast(to_columns) +
                             bias.broadcast(to_columns);
      }));
}

KernelBench MakeGemm(const Gemm& g) {
  return Make<2>(g.name, Dims<2>(g.m, g.n),
                 [a = Input<2>(Dims<2>(g.m, g.k)), b = Input<2>(Dims<2>(g.k, g.n))](auto& out, auto& device) {
                   out.device(device) = a.contract(b, std::array<Pair, 1>{Pair(1, 0)});
                 });
}

// Patches of the picture by the filter, as TensorFlow's CPU kernel writes it.
KernelBench MakeConv(const Conv& c) {
  const Index rows = (c.rows + c.stride - 1) / c.stride, cols = (c.cols + c.stride - 1) / c.stride;
  return Make<4>(c.name, Dims<4>(c.batch, rows, cols, c.out),
                 [c, rows, cols, x = Input<4>(Dims<4>(c.batch, c.rows, c.cols, c.in)),
                  filter = Input<2>(Dims<2>(c.kernel * c.kernel * c.in, c.out))](auto& out, auto& device) {
                   const Dims<2> patches(c.batch * rows * cols, c.kernel * c.kernel * c.in);
                   out.device(device) =
                       x.extract_image_patches(c.kernel, c.kernel, c.stride, c.stride, 1, 1, Eigen::PADDING_SAME)
                           .reshape(patches)
                           .contract(filter, std::array<Pair, 1>{Pair(1, 0)})
                           .reshape(out.dimensions());
                 });
}

KernelBench MakePool(std::string name, bool is_max) {
  constexpr Index kHalf = kPoolSize / 2;
  return Make<4>(
      std::move(name), Dims<4>(kPoolBatch, kHalf, kHalf, kPoolChannels),
      [is_max, x = Input<4>(Dims<4>(kPoolBatch, kPoolSize, kPoolSize, kPoolChannels))](auto& out, auto& device) {
        const auto windows = x.reshape(Dims<6>(kPoolBatch, kHalf, 2, kHalf, 2, kPoolChannels));
        const std::array<Index, 2> inside = {2, 4};
        if (is_max) {
          out.device(device) = windows.maximum(inside);
        } else {
          out.device(device) = windows.mean(inside);
        }
      });
}

void ListMovement(std::vector<KernelBench>& list) {
  list.push_back(OfMatrix<2>("transpose 1024x1024", Dims<2>(kSide, kSide), [](const auto& x, auto& out, auto& device) {
    out.device(device) = x.shuffle(std::array<Index, 2>{1, 0});
  }));
  list.push_back(
      Make<4>("transpose NHWC to NCHW", Dims<4>(kImageBatch, kImageChannels, kImageSize, kImageSize),
              [x = Input<4>(Dims<4>(kImageBatch, kImageSize, kImageSize, kImageChannels))](auto& out, auto& device) {
                out.device(device) = x.shuffle(std::array<Index, 4>{0, 3, 1, 2});
              }));
  list.push_back(Make<2>("concat columns 1024x(512+512)", Dims<2>(kSide, 2 * kConcatCols),
                         [x = Input<2>(Dims<2>(kSide, kConcatCols)), y = Input<2>(Dims<2>(kSide, kConcatCols))](
                             auto& out, auto& device) { out.device(device) = x.concatenate(y, 1); }));
  list.push_back(Make<2>("gather 4096 rows of 256", Dims<2>(kGathered, kGatherCols),
                         [x = Input<2>(Dims<2>(kGatherRows, kGatherCols))](auto& out, auto& device) {
                           for (Index i = 0; i < kGathered; ++i) {
                             out.template chip<0>(i).device(device) = x.template chip<0>(GatheredRow(i));
                           }
                         }));
}

}  // namespace

void ListEigenKernels(std::vector<KernelBench>& list) {
  ListElementwise(list);
  ListReductions(list);
  for (const Gemm& g : kGemms) list.push_back(MakeGemm(g));
  for (const Conv& c : kConvs) list.push_back(MakeConv(c));
  list.push_back(MakePool("max pool 2x2 112x112x64", true));
  list.push_back(MakePool("average pool 2x2 112x112x64", false));
  ListMovement(list);
}

}  // namespace tandem::bench
