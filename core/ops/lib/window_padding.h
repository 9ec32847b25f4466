// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The attributes padding and explicit_paddings of ops with windows, of images and of volumes.

#ifndef TANDEM_CORE_OPS_LIB_WINDOW_PADDING_H_
#define TANDEM_CORE_OPS_LIB_WINDOW_PADDING_H_

#include <array>
#include <cstdint>
#include <span>

#include "tandem/op_attrs.h"
#include "tandem/status.h"
#include "tandem/window_geometry.h"

namespace tandem {

// The padding; if it is explicit, what is before and after each of the dimensions of `explicit_paddings`, two or three.
StatusOr<PaddingKind> ReadPadding(const OpAttrsRef& attrs, bool channels_first,
                                  std::span<std::array<int64_t, 2>> explicit_paddings);

}  // namespace tandem

#endif  // TANDEM_CORE_OPS_LIB_WINDOW_PADDING_H_
