// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Unrolled texts of kernels: what shader compilers would have to keep in memory as an array is written out as
// variables.

#ifndef TANDEM_BACKENDS_SHADER_KERNELS_UNROLLED_TEXT_H_
#define TANDEM_BACKENDS_SHADER_KERNELS_UNROLLED_TEXT_H_

#include <initializer_list>
#include <string>
#include <string_view>

namespace tandem::shader {

struct TextValue {
  std::string_view name;
  int value;
};

// The text with its directives carried out, each a line of its own:
//   #for i ROWS ... #end        the lines between ROWS times; `${i}` in them is 0, 1, ...
//   #if NAME ... #else ... #end the first lines if NAME is not 0, else the second, which may be left out
// `${NAME}` is the value anywhere. Names are those of `values` and of the loops around; numbers, products and sums of
// products without spaces, as `i*4+j`, may stand for them.
std::string Unroll(std::string_view text, std::initializer_list<TextValue> values);

}  // namespace tandem::shader

#endif  // TANDEM_BACKENDS_SHADER_KERNELS_UNROLLED_TEXT_H_
