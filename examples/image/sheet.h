// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A contact sheet: pictures side by side, each over its caption.

#ifndef TANDEM_EXAMPLES_IMAGE_SHEET_H_
#define TANDEM_EXAMPLES_IMAGE_SHEET_H_

#include <span>
#include <string>

#include "image/filters.h"
#include "tandem/status.h"

namespace image {

struct Exhibit {
  std::string caption;
  Picture picture;
};

// RGB, of at most `per_row` pictures a row (at least 1). Pictures larger than 240x240 are shrunk to fit, so that sizes
// relative to each other show only below that. Exhibits must not be empty.
tandem::StatusOr<Picture> MakeSheet(tandem::eager::Runtime& runtime, std::span<const Exhibit> exhibits, size_t per_row);

}  // namespace image

#endif  // TANDEM_EXAMPLES_IMAGE_SHEET_H_
