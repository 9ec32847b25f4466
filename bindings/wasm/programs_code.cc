// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Where threads find the code of programs, which threads_library.js puts into the memory that they share.

#include <cstdint>

// Address and size of the code, 0 before it is loaded: for JavaScript, which has no other memory that all threads see.
// An instance of the module is one runtime, so that this is a part of it. Written before the first program is made, and
// read by what runs programs.
extern "C" uint32_t* tandem_programs_code(void) {
  static uint32_t code[2];
  return code;
}
