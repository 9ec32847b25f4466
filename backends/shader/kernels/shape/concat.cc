// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "kernels/shape/concat.h"

#include <cassert>
#include <string>

#include "kernel_texts.h"
#include "kernels/shape/movement.h"

namespace tandem::shader {

namespace {

std::string Numbered(std::string_view name, int i) { return std::string(name) + std::to_string(i); }

// Values: bytes of an element; matrices.
ShaderText ComposeConcat(const ShaderSource& source, std::span<const int32_t> values) {
  const int count = values[1];
  MovementShader shader(source.name, static_cast<uint32_t>(values[0]));
  shader.builder().Parameter("row").Parameter("first").Parameter("window");
  std::string text =
      "fn element(i: u32) -> E {\n"
      "let row: u32 = i / parameters.window;\n"
      "var col: u32 = i % parameters.window;\n";
  for (int k = 0; k < count; ++k) {
    const std::string width = Numbered("width", k);
    shader.builder().Parameter(width);
    shader.Input(Numbered("x", k));
    const std::string load = "return load_" + Numbered("x", k) + "(row * parameters." + width + " + col);\n";
    text += k + 1 == count
                ? load
                : "if (col < parameters." + width + ") {\n" + load + "}\ncol = col - parameters." + width + ";\n";
  }
  return shader.Finish(text + "}", source.text, kConcatPackedText);
}

const ShaderSource kConcat = {"concat", &ComposeConcat, kConcatText};

}  // namespace

Launch ConcatProgram(const ConcatPart& part, uint32_t element_bytes, const GpuLimits& limits) {
  assert(!part.widths.empty() && part.widths.size() <= kMaxConcatParts);
  int64_t window = 0;
  WideElements wide(element_bytes);
  wide.Include(part.row_size | part.first);
  for (const int64_t width : part.widths) {
    window += width;
    wide.Include(width);
  }
  const auto factor = static_cast<int64_t>(wide.factor());
  element_bytes *= wide.factor();
  const int64_t row_size = part.row_size / factor;
  window /= factor;
  const ShaderVariant variant(kConcat, {static_cast<int32_t>(element_bytes), static_cast<int32_t>(part.widths.size())});
  const int64_t count = part.rows * (element_bytes < kWordBytes ? row_size : window);
  Launch launch = MovementLaunch(variant, element_bytes, count, limits);
  launch.parameters.Add(Low(row_size));
  launch.parameters.Add(Low(part.first / factor));
  launch.parameters.Add(Low(window));
  for (const int64_t width : part.widths) launch.parameters.Add(Low(width / factor));
  return launch;
}

std::vector<ShaderVariant> ConcatVariants() {
  std::vector<ShaderVariant> variants;
  for (const int32_t bytes : {1, 2, 4, 8, 16}) {
    for (const int32_t count : {1, 2, static_cast<int32_t>(kMaxConcatParts)}) {
      variants.emplace_back(kConcat, std::initializer_list<int32_t>{bytes, count});
    }
  }
  return variants;
}

}  // namespace tandem::shader
