// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers of the text of programs as elements of tensors and values of attributes.

#ifndef TANDEM_CORE_PROGRAM_PROGRAM_NUMBER_H_
#define TANDEM_CORE_PROGRAM_PROGRAM_NUMBER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem/dtype.h"
#include "tandem/message.h"

namespace tandem {

enum class ProgramNumberFit : uint8_t {
  kFits,
  kNoInteger,   // a fraction, a power of ten, nan or inf for an integer
  kOutOfRange,  // also of what rounds to more than the largest number
};

// Writes a number as one element of `dtype`, which is none of strings or complex numbers, in the order of bytes of the
// host. `text` is a token: "-12", "1.5e-3", "0x1f", "nan", "inf" or "-inf". Decimal text becomes the nearest number of
// the dtype, of two equally near ones the even one, in one step from however many digits there are, and independent of
// the locale. What is hexadecimal is an integer, and of a floating-point number its bits. Of bool there are 0 and 1.
// Nothing is written if it does not fit.
ProgramNumberFit ParseProgramNumber(std::string_view text, DType dtype, std::byte* element);

// Whether it is none of i64 but an f32 if nothing says what it is.
bool IsFractional(std::string_view number);

// "-128 to 127", "a number that f32 can hold"
void AppendProgramNumberRange(MessageBuilder& out, DType dtype);

}  // namespace tandem

#endif  // TANDEM_CORE_PROGRAM_PROGRAM_NUMBER_H_
