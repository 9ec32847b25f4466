// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The kernels as primitives of oneDNN: made before, filters in the layout that it likes best, pictures in NHWC, results
// written to memory that is there already.

#include <omp.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>

#include "kernel_bench.h"

namespace tandem::bench {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;
using Dims = memory::dims;
using Args = std::unordered_map<int, memory>;

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

using Type = memory::data_type;

memory::desc Desc(const Dims& dims, Tag tag, Type type = Type::f32) { return {dims, type, tag}; }

memory Filled(const memory::desc& desc) {
  memory made(desc, Engine());
  if (desc.data_type() == Type::bf16) {
    // Any that are not denormal: what a product takes does not depend on them.
    auto* const data = static_cast<uint16_t*>(made.get_data_handle());
    std::fill_n(data, desc.get_size() / sizeof(uint16_t), uint16_t{0x3f80});
    return made;
  }
  if (desc.data_type() != Type::f32) return made;  // a result
  const std::vector<float> numbers = Numbers(static_cast<int64_t>(desc.get_size() / sizeof(float)));
  std::copy(numbers.begin(), numbers.end(), static_cast<float*>(made.get_data_handle()));
  return made;
}

// `make` gives the primitive and what it reads and writes.
template <typename Function>
KernelBench Make(std::string kernel, Function make) {
  return {std::move(kernel), "oneDNN", [make](int threads) -> std::function<void()> {
            omp_set_num_threads(threads);
            try {
              auto [primitive, args] = make();
              dnnl::stream stream(Engine());
              return [primitive = primitive, args = args, stream]() mutable {
                primitive.execute(stream, args);
                stream.wait();
              };
            } catch (const dnnl::error& error) {
              // It computes bf16 on processors with instructions for that alone.
              if (error.status == dnnl_unimplemented) return nullptr;
              throw;
            }
          }};
}

using Made = std::pair<dnnl::primitive, Args>;

KernelBench Binary(std::string kernel, algorithm op, const memory::desc& x, const memory::desc& y) {
  return Make(std::move(kernel), [op, x, y]() -> Made {
    const dnnl::binary::primitive_desc pd({op, x, y, x}, Engine());
    return {dnnl::binary(pd), {{DNNL_ARG_SRC_0, Filled(x)}, {DNNL_ARG_SRC_1, Filled(y)}, {DNNL_ARG_DST, Filled(x)}}};
  });
}

dnnl::eltwise_forward Eltwise(algorithm op, const memory::desc& desc) {
  return dnnl::eltwise_forward({{prop_kind::forward_inference, op, desc, 0.0f, 0.0f}, Engine()});
}

KernelBench Unary(std::string kernel, algorithm op) {
  return Make(std::move(kernel), [op]() -> Made {
    const memory::desc desc = Desc({kElements}, Tag::a);
    return {Eltwise(op, desc), {{DNNL_ARG_SRC, Filled(desc)}, {DNNL_ARG_DST, Filled(desc)}}};
  });
}

// An elementary function.
KernelBench Function(std::string kernel, algorithm op) {
  KernelBench bench = Unary(std::move(kernel), op);
  bench.evaluate = [op](std::span<const float> x) {
    const memory::desc desc = Desc({static_cast<int64_t>(x.size())}, Tag::a);
    std::vector<float> results(x.begin(), x.end());
    const memory in_place(desc, Engine(), results.data());
    dnnl::stream stream(Engine());
    Eltwise(op, desc).execute(stream, {{DNNL_ARG_SRC, in_place}, {DNNL_ARG_DST, in_place}});
    stream.wait();
    return results;
  };
  return bench;
}

KernelBench Reduce(std::string kernel, algorithm op, const memory::desc& from, const memory::desc& to) {
  return Make(std::move(kernel), [op, from, to]() -> Made {
    const dnnl::reduction::primitive_desc pd({op, from, to, 0.0f, 0.0f}, Engine());
    return {dnnl::reduction(pd), {{DNNL_ARG_SRC, Filled(from)}, {DNNL_ARG_DST, Filled(to)}}};
  });
}

KernelBench MatMul(std::string kernel, const memory::desc& a, const memory::desc& b, const memory::desc& out) {
  return Make(std::move(kernel), [a, b, out]() -> Made {
    const dnnl::matmul::primitive_desc pd({a, b, out}, Engine());
    return {dnnl::matmul(pd), {{DNNL_ARG_SRC, Filled(a)}, {DNNL_ARG_WEIGHTS, Filled(b)}, {DNNL_ARG_DST, Filled(out)}}};
  });
}

// Memory descriptors of a convolution; the filter's layout is oneDNN's choice.
struct ConvDescs {
  explicit ConvDescs(const Conv& c, bool is_depthwise = false) {
    const int64_t rows = (c.rows + c.stride - 1) / c.stride, cols = (c.cols + c.stride - 1) / c.stride;
    const int64_t out = is_depthwise ? c.in : c.out;
    x = Desc({c.batch, c.in, c.rows, c.cols}, Tag::nhwc);
    filter = is_depthwise ? Desc({c.in, 1, 1, c.kernel, c.kernel}, Tag::any)
                          : Desc({c.out, c.in, c.kernel, c.kernel}, Tag::any);
    y = Desc({c.batch, out, rows, cols}, Tag::nhwc);
    strides = {c.stride, c.stride};
    const auto total = [&](int64_t size, int64_t result) {
      return std::max<int64_t>(0, (result - 1) * c.stride + c.kernel - size);
    };
    before = {total(c.rows, rows) / 2, total(c.cols, cols) / 2};
    after = {total(c.rows, rows) - before[0], total(c.cols, cols) - before[1]};
  }
  dnnl::convolution_forward::primitive_desc Forward(prop_kind kind) const {
    return {{kind, algorithm::convolution_direct, x, filter, y, strides, before, after}, Engine()};
  }
  memory::desc x, filter, y;
  Dims strides, before, after;
};

KernelBench Convolution(std::string kernel, const Conv& c, bool is_depthwise) {
  return Make(std::move(kernel), [c, is_depthwise]() -> Made {
    const ConvDescs descs(c, is_depthwise);
    const auto pd = descs.Forward(prop_kind::forward_inference);
    return {dnnl::convolution_forward(pd),
            {{DNNL_ARG_SRC, Filled(descs.x)},
             {DNNL_ARG_WEIGHTS, Filled(pd.weights_desc())},
             {DNNL_ARG_DST, Filled(descs.y)}}};
  });
}

void ListConvolutions(std::vector<KernelBench>& list) {
  for (const Conv& c : kConvs) list.push_back(Convolution(c.name, c, false));
  for (const Conv& c : kDepthwise) list.push_back(Convolution(c.name, c, true));
  for (const Conv& c : kConvGradients) {
    list.push_back(Make(std::string("conv input gradient ") + c.name, [c]() -> Made {
      const ConvDescs d(c);
      const dnnl::convolution_backward_data::primitive_desc pd(
          {algorithm::convolution_direct, d.x, d.filter, d.y, d.strides, d.before, d.after}, Engine(),
          d.Forward(prop_kind::forward_training));
      return {dnnl::convolution_backward_data(pd),
              {{DNNL_ARG_DIFF_SRC, Filled(d.x)},
               {DNNL_ARG_WEIGHTS, Filled(pd.weights_desc())},
               {DNNL_ARG_DIFF_DST, Filled(d.y)}}};
    }));
    list.push_back(Make(std::string("conv filter gradient ") + c.name, [c]() -> Made {
      const ConvDescs d(c);
      const dnnl::convolution_backward_weights::primitive_desc pd(
          {algorithm::convolution_direct, d.x, d.filter, d.y, d.strides, d.before, d.after}, Engine(),
          d.Forward(prop_kind::forward_training));
      return {dnnl::convolution_backward_weights(pd),
              {{DNNL_ARG_SRC, Filled(d.x)},
               {DNNL_ARG_DIFF_WEIGHTS, Filled(pd.diff_weights_desc())},
               {DNNL_ARG_DIFF_DST, Filled(d.y)}}};
    }));
  }
}

KernelBench Pool(std::string kernel, algorithm op, int64_t window) {
  return Make(std::move(kernel), [op, window]() -> Made {
    const int64_t size = (kPoolSize - window) / 2 + 1;
    const memory::desc x = Desc({kPoolBatch, kPoolChannels, kPoolSize, kPoolSize}, Tag::nhwc);
    const memory::desc y = Desc({kPoolBatch, kPoolChannels, size, size}, Tag::nhwc);
    const dnnl::pooling_forward::primitive_desc pd(
        {prop_kind::forward_inference, op, x, y, {2, 2}, {window, window}, {0, 0}, {0, 0}}, Engine());
    return {dnnl::pooling_forward(pd), {{DNNL_ARG_SRC, Filled(x)}, {DNNL_ARG_DST, Filled(y)}}};
  });
}

KernelBench Reorder(std::string kernel, const memory::desc& from, const memory::desc& to) {
  return Make(std::move(kernel), [from, to]() -> Made {
    const memory source = Filled(from), destination = Filled(to);
    return {dnnl::reorder(source, destination), {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, destination}}};
  });
}

KernelBench Concat() {
  return Make("concat columns 1024x(512+512)", []() -> Made {
    const memory::desc part = Desc({kSide, kConcatCols}, Tag::ab);
    const dnnl::concat::primitive_desc pd(Desc({kSide, 2 * kConcatCols}, Tag::ab), 1, {part, part}, Engine());
    return {dnnl::concat(pd),
            {{DNNL_ARG_MULTIPLE_SRC, Filled(part)},
             {DNNL_ARG_MULTIPLE_SRC + 1, Filled(part)},
             {DNNL_ARG_DST, Filled(pd.dst_desc())}}};
  });
}

void ListRows(std::vector<KernelBench>& list, const memory::desc& matrix) {
  list.push_back(Make("softmax 1024x1024", [matrix]() -> Made {
    const dnnl::softmax_forward::primitive_desc pd({prop_kind::forward_inference, matrix, 1}, Engine());
    return {dnnl::softmax_forward(pd), {{DNNL_ARG_SRC, Filled(matrix)}, {DNNL_ARG_DST, Filled(matrix)}}};
  }));
  list.push_back(Make("layer norm 1024x1024", [matrix]() -> Made {
    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::primitive_desc pd({prop_kind::forward_inference, matrix, 1e-5f, flags},
                                                               Engine());
    const memory::desc row = Desc({kSide}, Tag::a);
    return {dnnl::layer_normalization_forward(pd),
            {{DNNL_ARG_SRC, Filled(matrix)},
             {DNNL_ARG_SCALE, Filled(row)},
             {DNNL_ARG_SHIFT, Filled(row)},
             {DNNL_ARG_DST, Filled(matrix)}}};
  }));
}

}  // namespace

void ListDnnlKernels(std::vector<KernelBench>& list) {
  const memory::desc vector = Desc({kElements}, Tag::a);
  const memory::desc matrix = Desc({kSide, kSide}, Tag::ab);
  const memory::desc row = Desc({1, kSide}, Tag::ab), column = Desc({kSide, 1}, Tag::ab);
  list.push_back(Binary("add 1M", algorithm::binary_add, vector, vector));
  list.push_back(Binary("mul 1024x1024 by row", algorithm::binary_mul, matrix, row));
  list.push_back(Binary("bias add 1024x1024", algorithm::binary_add, matrix, row));
  list.push_back(Unary("relu 1M", algorithm::eltwise_relu));
  list.push_back(Function("exp 1M", algorithm::eltwise_exp));
  list.push_back(Function("tanh 1M", algorithm::eltwise_tanh));
  list.push_back(Function("sigmoid 1M", algorithm::eltwise_logistic));
  list.push_back(Function("gelu 1M", algorithm::eltwise_gelu_erf));
  for (const auto& [name, type] : {std::pair("cast to i8 1M", Type::s8), std::pair("cast to bf16 1M", Type::bf16)}) {
    list.push_back(Reorder(name, vector, Desc({kElements}, Tag::a, type)));
  }
  list.push_back(Reduce("sum all 1M", algorithm::reduction_sum, vector, Desc({1}, Tag::a)));
  list.push_back(Reduce("sum columns 1024x1024", algorithm::reduction_sum, matrix, row));
  list.push_back(Reduce("sum rows 1024x1024", algorithm::reduction_sum, matrix, column));
  list.push_back(Reduce("max rows 1024x1024", algorithm::reduction_max, matrix, column));
  ListRows(list, matrix);
  for (const Gemm& g : kGemms) {
    list.push_back(MatMul(g.name, Desc({g.m, g.k}, Tag::ab), Desc({g.k, g.n}, Tag::ab), Desc({g.m, g.n}, Tag::ab)));
  }
  const auto bf16 = [](int64_t rows, int64_t cols) { return Desc({rows, cols}, Tag::ab, Type::bf16); };
  const Gemm& g = kBf16Gemm;
  list.push_back(MatMul(g.name, bf16(g.m, g.k), bf16(g.k, g.n), bf16(g.m, g.n)));
  const memory::desc batch = Desc({64, 64, 64}, Tag::abc);
  list.push_back(MatMul("batch matmul 64x(64^3)", batch, batch, batch));
  ListConvolutions(list);
  list.push_back(Pool("max pool 2x2 112x112x64", algorithm::pooling_max, 2));
  list.push_back(Pool("max pool 3x3 112x112x64", algorithm::pooling_max, 3));
  list.push_back(Pool("average pool 2x2 112x112x64", algorithm::pooling_avg, 2));
  list.push_back(Reorder("transpose 1024x1024", matrix, Desc({kSide, kSide}, Tag::ba)));
  const Dims images = {kImageBatch, kImageChannels, kImageSize, kImageSize};
  list.push_back(Reorder("transpose NHWC to NCHW", Desc(images, Tag::nhwc), Desc(images, Tag::nchw)));
  list.push_back(Concat());
}

}  // namespace tandem::bench
