// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Kernels that move, gather and scatter elements, on a real device and without a fallback, against those of the CPU:
// what is larger than conformance cases are, so that blocks, words and several launches come into play.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/vulkan/vulkan_op_handler.h"

namespace tandem::vulkan {
namespace {

class MovementKernelsTest : public OpTest {
 protected:
  void SetUp() override {
    VulkanOptions options;
    options.on_message = [](std::string_view text) { ADD_FAILURE() << text; };
    options.validation = true;
    auto handler = CreateVulkanOpHandler(runtime(), options);
    if (!handler.ok()) {
      ASSERT_EQ(handler.status().code(), StatusCode::kNotFound) << handler.status().ToString();
      GTEST_SKIP() << handler.status().ToString();
    }
    gpu_ = *handler;
  }

  uint32_t Next() { return state_ = state_ * 1664525u + 1013904223u; }

  // Any bits; bool is 0 or 1.
  TensorHandle Bits(DType dtype, const TensorShape& shape) {
    std::vector<std::byte> bytes(TensorMetadata(dtype, shape).byte_size());
    for (std::byte& byte : bytes) byte = static_cast<std::byte>((Next() >> 16) & (dtype == DType::kBool ? 1 : 255));
    return Available(MakeDense({dtype, shape}, bytes, host().device(), host().allocator()));
  }
  // Numbers whose sums are rounded.
  TensorHandle Numbers(const TensorShape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.num_elements()));
    for (float& value : values) value = static_cast<float>(static_cast<int32_t>(Next())) * 0x1p-24f;
    return Dense<float>(shape, values);
  }
  template <typename Index>
  TensorHandle Indices(const TensorShape& shape, uint32_t limit) {
    std::vector<Index> values(static_cast<size_t>(shape.num_elements()));
    for (Index& value : values) value = static_cast<Index>((Next() >> 8) % limit);
    return Dense<Index>(shape, values);
  }
  TensorHandle Vector(const std::vector<int32_t>& values) {
    return Dense<int32_t>({static_cast<int64_t>(values.size())}, values);
  }

  // Runs a call on both devices, whose results must have the same bits.
  void Compare(const char* op, const std::vector<TensorHandle>& args, int num_results = 1,
               const OpAttrsRef& attrs = {}) {
    const std::vector<TensorHandle> expected = RunOn(cpu(), op, args, num_results, attrs);
    const std::vector<TensorHandle> given = RunOn(gpu_, op, args, num_results, attrs);
    for (size_t i = 0; i < expected.size(); ++i) {
      const TensorHandle there = given[i].TransferTo(ExecutionContext(host(), Location()), host().device());
      for (const TensorHandle* handle : {&expected[i], &there}) {
        const Status status = host().Await(*handle);
        ASSERT_TRUE(status.ok()) << op << " result " << i << ": " << status.ToString();
      }
      const Tensor& tensor = there.tensor();
      const auto dense = ToDense(expected[i].tensor(), host().allocator());
      ASSERT_TRUE(dense.ok());
      ASSERT_EQ(TextOf(tensor.metadata()), TextOf(dense->metadata())) << op;
      EXPECT_EQ(std::memcmp(tensor.data(), dense->data(), tensor.metadata().byte_size()), 0)
          << op << " of " << TextOf(args[0].metadata()) << ", result " << i;
    }
  }

 private:
  std::vector<TensorHandle> RunOn(OpHandler* handler, const char* op, const std::vector<TensorHandle>& args,
                                  int num_results, const OpAttrsRef& attrs) {
    std::vector<TensorHandle> copies;
    for (const TensorHandle& arg : args) copies.push_back(arg.CopyRef());
    std::vector<TensorHandle> results(static_cast<size_t>(num_results));
    runtime().Execute(op, handler, Location(), copies, attrs, results);
    return results;
  }

  shader::ShaderOpHandler* gpu_ = nullptr;
  uint32_t state_ = 1;
};

constexpr DType kDTypes[] = {DType::kU8, DType::kF16, DType::kF32, DType::kBool, DType::kI64};

std::vector<TensorHandle> List(std::initializer_list<const TensorHandle*> handles) {
  std::vector<TensorHandle> list;
  for (const TensorHandle* handle : handles) list.push_back(handle->CopyRef());
  return list;
}

TEST_F(MovementKernelsTest, Transposes) {
  struct Case {
    TensorShape shape;
    std::vector<int32_t> perm;
  };
  const Case cases[] = {
      {{64, 96}, {1, 0}},
      {{37, 41}, {1, 0}},
      {{3, 40, 36}, {0, 2, 1}},
      {{3, 37, 33}, {2, 0, 1}},
      {{2, 12, 5, 16}, {0, 2, 1, 3}},
      {{5, 9, 8, 12}, {3, 1, 0, 2}},
      {{8, 3, 12, 2}, {2, 1, 0, 3}},
      {{33, 8}, {1, 0}},
      {{2, 3, 2, 3, 2, 3, 2, 3}, {7, 5, 3, 1, 6, 4, 2, 0}},
  };
  for (const DType dtype : kDTypes) {
    for (const Case& c : cases) {
      const TensorHandle x = Bits(dtype, c.shape);
      const TensorHandle perm = Vector(c.perm);
      Compare("tf.Transpose", List({&x, &perm}));
    }
  }
}

TEST_F(MovementKernelsTest, JoinsAnyNumberOfTensors) {
  for (const DType dtype : kDTypes) {
    for (const int64_t width : {1, 3, 8}) {
      for (const int count : {2, 7, 8, 23}) {
        std::vector<TensorHandle> args;
        for (int i = 0; i < count; ++i) args.push_back(Bits(dtype, {5, i == 1 ? width + 2 : i == 2 ? 0 : width, 3}));
        args.push_back(Scalar<int32_t>(1));
        Compare("tf.ConcatV2", args, 1, Attrs("N", count));
        args.clear();
        for (int i = 0; i < count; ++i) args.push_back(Bits(dtype, {5, width}));
        for (const int axis : {0, 1, 2}) Compare("tf.Pack", args, 1, Attrs("N", count, "axis", axis));
      }
    }
  }
}

TEST_F(MovementKernelsTest, CutsOutLongStretches) {
  for (const DType dtype : kDTypes) {
    const TensorHandle x = Bits(dtype, {300, 1001});
    const TensorHandle axis = Scalar<int32_t>(0);
    Compare("tf.Split", List({&axis, &x}), 3, Attrs("num_split", 3));
    Compare("tf.Unpack", List({&x}), 300, Attrs("num", 300));
    const TensorHandle begin = Vector({1, 1});
    const TensorHandle size = Vector({297, 1000});
    Compare("tf.Slice", List({&x, &begin, &size}));
  }
}

TEST_F(MovementKernelsTest, PadsWithAValue) {
  for (const DType dtype : kDTypes) {
    const TensorHandle value = Bits(dtype, {});
    for (const int64_t channels : {1, 2, 6, 16}) {
      const TensorHandle x = Bits(dtype, {2, 9, 7, channels});
      const TensorHandle paddings = Dense<int32_t>({4, 2}, {0, 0, 1, 2, 3, 0, 0, 0});
      Compare("tf.PadV2", List({&x, &paddings, &value}));
      Compare("tf.Pad", List({&x, &paddings}));
      Compare("tf.MirrorPad", List({&x, &paddings}), 1, Attrs("mode", "REFLECT"));
    }
  }
}

TEST_F(MovementKernelsTest, AddsManyUpdatesInTheirOrder) {
  // Sums of floats have these bits in one order only.
  const TensorHandle updates = Numbers({5000, 6});
  for (const uint32_t limit : {3u, 700u, 3000u}) {
    const TensorHandle indices = Indices<int32_t>({5000, 1}, limit);
    const TensorHandle shape = Vector({3000, 6});
    Compare("tf.ScatterNd", List({&indices, &updates, &shape}));
    const TensorHandle tensor = Numbers({3000, 6});
    Compare("tf.TensorScatterAdd", List({&tensor, &indices, &updates}));
    const TensorHandle pairs = Indices<int64_t>({5000, 2}, 50);
    const TensorHandle plane = Numbers({55, 60, 6});
    Compare("tf.TensorScatterAdd", List({&plane, &pairs, &updates}));
  }
}

TEST_F(MovementKernelsTest, AddsUpSegments) {
  const TensorHandle data = Numbers({40000, 3});
  for (const uint32_t count : {10u, 30000u}) {
    const TensorHandle ids = Indices<int32_t>({40000}, count);
    const TensorHandle num_segments = Scalar<int32_t>(static_cast<int32_t>(count));
    Compare("tf.UnsortedSegmentSum", List({&data, &ids, &num_segments}));
  }
}

TEST_F(MovementKernelsTest, TheLastOfManyUpdatesCounts) {
  for (const DType dtype : kDTypes) {
    for (const int64_t size : {1, 3, 4}) {
      const TensorHandle tensor = Bits(dtype, {700, size});
      const TensorHandle indices = Indices<int32_t>({3000, 1}, 650);
      const TensorHandle updates = Bits(dtype, {3000, size});
      Compare("tf.TensorScatterUpdate", List({&tensor, &indices, &updates}));
    }
  }
}

TEST_F(MovementKernelsTest, GathersSlicesOfAnySize) {
  for (const DType dtype : kDTypes) {
    for (const int64_t size : {1, 3, 4, 16}) {
      const TensorHandle params = Bits(dtype, {4, 50, size});
      const TensorHandle indices = Indices<int64_t>({4, 300}, 50);
      const TensorHandle axis = Scalar<int32_t>(1);
      Compare("tf.GatherV2", List({&params, &indices, &axis}), 1, Attrs("batch_dims", 1));
      Compare("tf.GatherV2", List({&params, &indices, &axis}));
      const TensorHandle pairs = Indices<int32_t>({7, 100, 2}, 4);
      Compare("tf.GatherNd", List({&params, &pairs}));
    }
  }
}

}  // namespace
}  // namespace tandem::vulkan
