// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Launch: one run of a shader, as a program (a pure function of metadata, attributes and limits) describes it.

#ifndef TANDEM_SHADER_LAUNCH_H_
#define TANDEM_SHADER_LAUNCH_H_

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "tandem/shader/shader_queue.h"
#include "tandem/shader/shader_source.h"

namespace tandem::shader {

// The words of a launch's parameters, in the order in which the shader declares them.
class LaunchParameters {
 public:
  LaunchParameters() = default;
  LaunchParameters(std::initializer_list<uint32_t> words) {
    for (uint32_t word : words) Add(word);
  }
  void Add(uint32_t word) {
    assert(size_ < kMaxParameters);
    words_[size_++] = word;
  }
  void AddSigned(int32_t value) { Add(static_cast<uint32_t>(value)); }
  void AddFloat(float value) { Add(std::bit_cast<uint32_t>(value)); }
  std::span<const uint32_t> words() const { return {words_.data(), size_}; }

 private:
  std::array<uint32_t, kMaxParameters> words_;
  size_t size_ = 0;
};

struct Launch {
  ShaderVariant variant;
  LaunchParameters parameters;
  std::array<uint32_t, 3> workgroups = {1, 1, 1};

  bool IsEmpty() const { return workgroups[0] == 0 || workgroups[1] == 0 || workgroups[2] == 0; }
};

// The workgroups of a launch with one invocation for each of `items`, `workgroup_size` of them in a workgroup: in x,
// and further rows in y where x alone may not have as many. A shader finds its item as
// `(wid.y * nwg.x + wid.x) * workgroup_size + lidx`, and has to leave out those beyond the last.
TANDEM_EXPORT std::array<uint32_t, 3> LinearWorkgroups(uint64_t items, uint32_t workgroup_size,
                                                       const GpuLimits& limits);

}  // namespace tandem::shader

#endif  // TANDEM_SHADER_LAUNCH_H_
