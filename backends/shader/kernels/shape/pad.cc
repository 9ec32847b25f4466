// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/shape/pad.h"

#include <string>

#include "kernel_texts.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

enum class Filling : int32_t { kZero, kValue, kMirror };

struct PaddedDim {
  int64_t before;
  int64_t in;
  int64_t out;

  bool IsWhole() const { return in == out; }
};

// Innermost first. Neighbours without padding are one; a dimension with padding takes those inside it in, unless it is
// mirrored.
struct PaddedDims {
  PaddedDims(bool mirrors, const TensorShape& in, const TensorShape& out, const HostInput& paddings) {
    for (int i = in.rank(); i-- > 0;) {
      const PaddedDim dim = {paddings.Int(2 * i), in.dim(i), out.dim(i)};
      if (rank > 0 && dims[rank - 1].IsWhole() && (dim.IsWhole() || !mirrors)) {
        PaddedDim& last = dims[rank - 1];
        last = {dim.before * last.out, dim.in * last.out, dim.out * last.out};
      } else {
        dims[rank++] = dim;
      }
    }
  }

  int rank = 0;
  PaddedDim dims[TensorShape::kMaxRank];
};

// Values: bytes of an element; dimensions; Filling; bytes of the value.
ShaderText ComposePad(const ShaderSource& source, std::span<const int32_t> values) {
  const int rank = values[1];
  const auto filling = static_cast<Filling>(values[2]);
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  shader.builder().Parameter("edge");
  shader.Input("x");
  std::string text = "fn element(i: u32) -> E {\nvar rest: u32 = i;\nvar place: u32 = 0u;\nvar stride: u32 = 1u;\n";
  for (int d = 0; d < rank; ++d) {
    const std::string n = std::to_string(d);
    shader.builder().Parameter("before" + n).Parameter("in" + n).Parameter("out" + n);
    const std::string at = "rest % parameters.out" + n;
    const std::string position = "let position" + n + ": u32 = ";
    if (filling == Filling::kMirror) {
      text += position + "mirrored(" + at + ", parameters.before" + n + ", parameters.in" + n + ");\n";
    } else {
      text += position + at + " - parameters.before" + n + ";\nif (position" + n + " >= parameters.in" + n +
              ") {\nreturn filling();\n}\n";
    }
    text += "place = place + position" + n + " * stride;\n";
    text += "stride = stride * parameters.in" + n + ";\nrest = rest / parameters.out" + n + ";\n";
  }
  text += "return load_x(place);\n}";
  if (filling == Filling::kValue) {
    shader.Input("value", static_cast<uint32_t>(values[3]));
    shader.builder().Text("fn filling() -> E {\nreturn load_value(0u);\n}");
  } else if (filling == Filling::kZero) {
    shader.builder().Text("fn filling() -> E {\nreturn E(0u);\n}");
  } else {
    shader.builder().Text(source.text);
  }
  return shader.Finish(text);
}

const ShaderSource kPad = {"pad", &ComposePad, kPadText};

}  // namespace

Launch PadProgram(PadMode mode, const TensorShape& in, const TensorShape& out, const HostInput& paddings,
                  uint32_t element_bytes, const GpuLimits& limits) {
  const bool mirrors = mode == PadMode::kReflect || mode == PadMode::kSymmetric;
  const Filling filling = mirrors ? Filling::kMirror : mode == PadMode::kValue ? Filling::kValue : Filling::kZero;
  PaddedDims padded(mirrors, in, out, paddings);
  const auto value_bytes = static_cast<int32_t>(mode == PadMode::kValue ? element_bytes : 0);
  int64_t count = out.num_elements();
  if (padded.rank > 0 && (!mirrors || padded.dims[0].IsWhole())) {
    PaddedDim& row = padded.dims[0];
    WideElements wide(element_bytes);
    wide.Include(row.before | row.in | row.out);
    const auto factor = static_cast<int64_t>(wide.factor());
    element_bytes *= wide.factor();
    row = {row.before / factor, row.in / factor, row.out / factor};
    count /= factor;
  }
  const ShaderVariant variant(
      kPad, {static_cast<int32_t>(element_bytes), padded.rank, static_cast<int32_t>(filling), value_bytes});
  Launch launch = MovementLaunch(variant, element_bytes, count, limits);
  launch.parameters.Add(mode == PadMode::kReflect ? 1 : 0);
  for (int d = 0; d < padded.rank; ++d) {
    for (const int64_t number : {padded.dims[d].before, padded.dims[d].in, padded.dims[d].out}) {
      launch.parameters.Add(Low(number));
    }
  }
  return launch;
}

std::vector<ShaderVariant> PadVariants() {
  std::vector<ShaderVariant> variants;
  for (const int32_t bytes : {1, 2, 4, 8, 16}) {
    for (const int32_t rank : {1, 2, TensorShape::kMaxRank}) {
      const auto add = [&](Filling filling, int32_t value_bytes) {
        variants.emplace_back(kPad,
                              std::initializer_list<int32_t>{bytes, rank, static_cast<int32_t>(filling), value_bytes});
      };
      add(Filling::kZero, 0);
      add(Filling::kMirror, 0);
      for (const int32_t value_bytes : {1, 2, 4, 8}) {
        if (value_bytes <= bytes) add(Filling::kValue, value_bytes);
      }
    }
  }
  return variants;
}

}  // namespace tandem::shader
