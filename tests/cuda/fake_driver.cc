// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A library with what any CUDA driver has, which says that it is as old as TANDEM_FAKE_DRIVER_VERSION, and has nothing
// else.

#include <cstdlib>

#define TANDEM_FAKE extern "C" __attribute__((visibility("default")))

TANDEM_FAKE int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_OF_A_TEST";
  return 0;
}
TANDEM_FAKE int cuGetErrorString(int, const char** text) {
  *text = "an error of a test";
  return 0;
}
TANDEM_FAKE int cuInit(unsigned) { return 0; }
TANDEM_FAKE int cuDriverGetVersion(int* version) {
  const char* const text = std::getenv("TANDEM_FAKE_DRIVER_VERSION");
  if (text == nullptr) return 1;
  *version = std::atoi(text);
  return 0;
}
