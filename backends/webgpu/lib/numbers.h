// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Numbers: the small numbers by which records name objects.

#ifndef TANDEM_BACKENDS_WEBGPU_LIB_NUMBERS_H_
#define TANDEM_BACKENDS_WEBGPU_LIB_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tandem/growing_array.h"

namespace tandem::webgpu {

// Numbers from 1 on; 0 is none. A number that was taken may be put into one list, which is known by its first number:
// the links are here, so that lists need no memory. One that is given back is taken again.
class Numbers {
 public:
  // Room for the one that is taken next. False if memory is exhausted.
  [[nodiscard]] bool Reserve() { return free_ != 0 || links_.Reserve(links_.size() + 1); }
  // There is room.
  uint32_t Take() {
    if (free_ != 0) return std::exchange(free_, Next(free_));
    static_cast<void>(links_.Append(0));
    return static_cast<uint32_t>(links_.size());
  }
  void Put(uint32_t number, uint32_t& list) { links_[number - 1] = std::exchange(list, number); }
  // Behind it in its list; 0 if it is the last one.
  uint32_t Next(uint32_t number) const { return links_[number - 1]; }
  // All of a list.
  void GiveBack(uint32_t list) {
    while (list != 0) {
      const uint32_t number = std::exchange(list, Next(list));
      Put(number, free_);
    }
  }

 private:
  GrowingArray<uint32_t> links_;  // by number, less one
  uint32_t free_ = 0;             // a list
};

}  // namespace tandem::webgpu

#endif  // TANDEM_BACKENDS_WEBGPU_LIB_NUMBERS_H_
