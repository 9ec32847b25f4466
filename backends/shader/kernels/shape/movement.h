// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Elements are moved by their size, whatever their dtype: what the kernels have in common that only move them.
//
// Such a kernel has a function `element(i: u32) -> E` that gives element i of the result; E is a word or a vector of
// words. Where elements are smaller than a word E is u32, and each invocation puts whole words of the result together.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_MOVEMENT_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_MOVEMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/shader/launch.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

inline constexpr uint32_t kWordBytes = 4;
inline constexpr uint32_t kMaxElementBytes = 16;

// Bytes of an element on the GPU: 1, 2, 4 or 8.
uint32_t ElementBytes(DType dtype);

// Composes the shader of a kernel that gives its result by `element`.
class MovementShader {
 public:
  // `element_bytes`: 1, 2, 4, 8 or 16.
  MovementShader(std::string_view name, uint32_t element_bytes);

  // For further buffers, to be declared before Finish, parameters and texts.
  ShaderBuilder& builder() { return builder_; }
  // A buffer of elements that is only read, with a function `load_<name>(place: u32) -> E`.
  void Input(std::string_view name) { Input(name, element_bytes_); }
  // The same of elements of another size, one of which fills an E by being repeated.
  void Input(std::string_view name, uint32_t bytes);
  // The result `y`, and the entry point. `text` has `element`.
  ShaderText Finish(std::string_view text);
  // The same with an entry point of the kernel's own: `packed` for elements smaller than a word.
  ShaderText Finish(std::string_view text, std::string_view whole, std::string_view packed);

 private:
  ShaderBuilder builder_;
  uint32_t element_bytes_;
};

// Elements that an invocation of such a shader gives: 1, or those of a word.
uint32_t ElementsPerInvocation(uint32_t element_bytes);

// The launch of such a shader for `count` elements; the parameters that the builder has declared are to be added to it.
Launch MovementLaunch(const ShaderVariant& variant, uint32_t element_bytes, int64_t count, const GpuLimits& limits);

// The largest elements that a copy may move in place of those of `element_bytes`, if all of these numbers are multiples
// of how many they replace.
class WideElements {
 public:
  explicit WideElements(uint32_t element_bytes) : element_bytes_(element_bytes) {}
  // A number of elements, or a distance between some.
  void Include(int64_t number) { bits_ |= static_cast<uint64_t>(number); }
  // How many are moved as one: a power of two.
  uint32_t factor() const;

 private:
  uint32_t element_bytes_;
  uint64_t bits_ = 0;
};

// A word or a number of 64 bits as the 32 bits that shaders compute with. What is beyond them belongs to tensors above
// the limits of bindings, for which ShaderCall gives the error.
inline uint32_t Low(int64_t value) { return static_cast<uint32_t>(static_cast<uint64_t>(value)); }

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_SHAPE_MOVEMENT_H_
