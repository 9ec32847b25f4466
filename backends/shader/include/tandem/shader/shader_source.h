// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ShaderSource: a kernel's text and how it is specialised; ShaderVariant: one specialisation, the key of a pipeline.

#ifndef TANDEM_SHADER_SHADER_SOURCE_H_
#define TANDEM_SHADER_SHADER_SOURCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tandem/export.h"
#include "tandem/shader/shader_queue.h"

namespace tandem::shader {

// Puts a complete shader together out of declarations and texts. See kernels/README.md for the language.
class TANDEM_EXPORT ShaderBuilder {
 public:
  explicit ShaderBuilder(std::string_view name) { text_.name = name; }

  // The next storage buffer: `array<element>`, named in the kernel's text. `element` is a type of WGSL or an alias. All
  // that are written come behind those that are only read.
  ShaderBuilder& Buffer(std::string_view name, BufferAccess access, std::string_view element);
  // The next parameter, `parameters.name` in the text; `type` is u32, i32 or f32.
  ShaderBuilder& Parameter(std::string_view name, std::string_view type = "u32");
  // `const name: type = value;`
  ShaderBuilder& Constant(std::string_view name, uint32_t value) {
    return Constant(name, "u32", std::to_string(value) + "u");
  }
  ShaderBuilder& Constant(std::string_view name, std::string_view type, std::string_view value);
  // `alias name = type;`
  ShaderBuilder& Alias(std::string_view name, std::string_view type);
  ShaderBuilder& Workgroup(uint32_t x, uint32_t y = 1, uint32_t z = 1);
  ShaderBuilder& UseF16() { return uses_f16_ = true, *this; }
  ShaderBuilder& UseSubgroups() { return uses_subgroups_ = true, *this; }
  // Functions, constants and workgroup variables, in order.
  ShaderBuilder& Text(std::string_view text);

  // With the text that has `fn main(...)`; called once.
  ShaderText Finish(std::string_view body);

 private:
  ShaderText text_;
  std::string declarations_;
  std::string parameters_;
  std::string body_;
  bool uses_f16_ = false;
  bool uses_subgroups_ = false;
};

// One kernel. `compose` is a pure function of the values. Lives as long as the devices that have run it.
struct ShaderSource {
  std::string_view name;
  ShaderText (*compose)(const ShaderSource& source, std::span<const int32_t> values);
  std::string_view text;  // of kernels/<name>.wgsl
};

// Small enough to be made for each call.
struct ShaderVariant {
  static constexpr size_t kMaxValues = 12;

  ShaderVariant() = default;
  explicit ShaderVariant(const ShaderSource& source, std::initializer_list<int32_t> list = {}) : source(&source) {
    std::copy(list.begin(), list.end(), values.begin());
  }

  ShaderText Compose() const { return source->compose(*source, values); }
  friend bool operator==(const ShaderVariant&, const ShaderVariant&) = default;
  struct Hash {
    size_t operator()(const ShaderVariant& variant) const {
      uint64_t hash = reinterpret_cast<uintptr_t>(variant.source);
      for (int32_t value : variant.values) hash = (hash ^ static_cast<uint32_t>(value)) * 0x9E3779B97F4A7C15u;
      return static_cast<size_t>(hash ^ (hash >> 32));
    }
  };

  const ShaderSource* source = nullptr;
  std::array<int32_t, kMaxValues> values = {};  // what they mean is the source's business; unused ones are 0
};

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_SHADER_SOURCE_H_
