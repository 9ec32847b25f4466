// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The reader of conformance cases: a case or an exception that says what is wrong.

#include <exception>
#include <string_view>

#include "case_attrs.h"
#include "conformance_case.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const tandem::conformance::ConformanceCase one =
        tandem::conformance::ParseCase({reinterpret_cast<const char*>(data), size});
    tandem::OpAttrs attrs;
    tandem::conformance::SetAttrs(one.attrs, nullptr, attrs);
  } catch (const std::exception&) {
  }
  return 0;
}
