// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the libraries that stand in for NVIDIA's have in common: commands for the emulated stream, and elements of the
// host's memory. Each has the functions fakeOnStream, which EmulatedCuda::TakeLibrary calls, and fakeNumLive, of
// descriptions that are not destroyed.

#ifndef TANDEM_TESTS_CUDA_FAKE_LIBRARY_H_
#define TANDEM_TESTS_CUDA_FAKE_LIBRARY_H_

#include <cstdint>
#include <cstring>
#include <utility>

#define TANDEM_FAKE extern "C" __attribute__((visibility("default")))

namespace tandem::cuda {

// Puts a command into the stream, which runs it as often as it is launched, and destroys it in the end.
using IssueFake = void (*)(void (*run)(void* command), void (*destroy)(void* command), void* command);

template <typename F>
void OnStream(IssueFake issue, F command) {
  issue([](void* issued) { (*static_cast<F*>(issued))(); }, [](void* issued) { delete static_cast<F*>(issued); },
        new F(std::move(command)));
}

template <typename T>
T ElementAt(const void* from, int64_t i) {
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<const T*>(from) + i, sizeof(T));
  return value;
}

template <typename T>
void SetElement(void* to, int64_t i, const T& value) {
  std::memcpy(static_cast<void*>(static_cast<T*>(to) + i), static_cast<const void*>(&value), sizeof(T));
}

}  // namespace tandem::cuda

#endif  // TANDEM_TESTS_CUDA_FAKE_LIBRARY_H_
