// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/indexing/gather.h"

#include "kernel_texts.h"
#include "kernels/indexing/slice_numbers.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

// Values: bytes of an element; dtype of indices.
ShaderText ComposeGather(const ShaderSource& source, std::span<const int32_t> values) {
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  for (const char* name : {"slice", "indices_in_batch", "outer", "limit"}) shader.builder().Parameter(name);
  shader.Input("x");
  DeclareIndices(shader.builder(), static_cast<DType>(values[1]));
  return shader.Finish(source.text);
}

// Values: bytes of an element; dtype of indices; indices for a slice.
ShaderText ComposeGatherNd(const ShaderSource& source, std::span<const int32_t> values) {
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  shader.builder().Parameter("slice");
  shader.Input("x");
  SliceNumbers::Declare(shader.builder(), static_cast<DType>(values[1]), values[2]);
  return shader.Finish(source.text);
}

const ShaderSource kGather = {"gather", &ComposeGather, kGatherText};
const ShaderSource kGatherNd = {"gather_nd", &ComposeGatherNd, kGatherNdText};

}  // namespace

Launch GatherProgram(const TensorMetadata& params, const TensorMetadata& indices, int axis, int batch_dims,
                     const GpuLimits& limits) {
  int64_t batches = 1;
  int64_t outer = 1;
  int64_t count = 1;
  int64_t slice = 1;
  for (int i = 0; i < axis; ++i) (i < batch_dims ? batches : outer) *= params.dim(i);
  for (int i = batch_dims; i < indices.rank(); ++i) count *= indices.dim(i);
  for (int i = axis + 1; i < params.rank(); ++i) slice *= params.dim(i);
  WideElements wide(ElementBytes(params.dtype));
  wide.Include(slice);
  slice /= static_cast<int64_t>(wide.factor());
  const uint32_t bytes = ElementBytes(params.dtype) * wide.factor();
  const ShaderVariant variant(kGather, {static_cast<int32_t>(bytes), static_cast<int32_t>(indices.dtype)});
  Launch launch = MovementLaunch(variant, bytes, batches * outer * count * slice, limits);
  for (const int64_t number : {slice, count, outer, params.dim(axis)}) launch.parameters.Add(Low(number));
  return launch;
}

Launch GatherNdProgram(const TensorMetadata& params, const TensorMetadata& indices, const GpuLimits& limits) {
  const SliceNumbers numbers(indices, params.shape);
  WideElements wide(ElementBytes(params.dtype));
  wide.Include(numbers.slice_size);
  const int64_t slice = numbers.slice_size / static_cast<int64_t>(wide.factor());
  const uint32_t bytes = ElementBytes(params.dtype) * wide.factor();
  const ShaderVariant variant(kGatherNd,
                              {static_cast<int32_t>(bytes), static_cast<int32_t>(indices.dtype), numbers.depth});
  Launch launch = MovementLaunch(variant, bytes, numbers.count * slice, limits);
  launch.parameters.Add(Low(slice));
  numbers.AddParameters(launch.parameters);
  return launch;
}

std::vector<ShaderVariant> GatherVariants() {
  std::vector<ShaderVariant> variants;
  for (const DType dtype : {DType::kI16, DType::kU16, DType::kI32, DType::kI64}) {
    const auto index = static_cast<int32_t>(dtype);
    for (const int32_t bytes : {1, 2, 4, 8, 16}) {
      variants.emplace_back(kGather, std::initializer_list<int32_t>{bytes, index});
      for (const int32_t depth : {0, 1, TensorShape::kMaxRank}) {
        variants.emplace_back(kGatherNd, std::initializer_list<int32_t>{bytes, index, depth});
      }
    }
  }
  return variants;
}

}  // namespace tandem::shader
