// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where threads find code that threads_library.js puts into the memory that they share.

#include <cstdint>

// Address and size of the code of programs, of kernels, and of fusion, 0 before it is loaded, and of relaxed SIMD, 0 if
// there is none: for JavaScript, which has no other memory that all threads see. An instance of the module is one
// runtime, so that this is a part of it. Written before anything that is in the part is called.
extern "C" uint32_t* tandem_parts_code(void) {
  static uint32_t code[8];
  return code;
}
