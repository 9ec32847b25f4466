// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Shrinks, pads and joins the pictures; the captions are drawn.

#include "image/sheet.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "image/lettering.h"
#include "tandem/ops.h"

namespace image {
namespace {

using tandem::StatusOr;
using tandem::eager::Operand;
using tandem::eager::Runtime;
using tandem::eager::Tensor;

constexpr int64_t kMaxSide = 240;
constexpr int64_t kMargin = 8;
constexpr int64_t kCaptionRows = static_cast<int64_t>(kLetterRows) + 6;
constexpr uint8_t kPaper = 238;
constexpr Color kInk = {40, 40, 44};

// As large as it is, or shrunk until it fits.
Picture Fit(const Picture& picture) {
  const int64_t longer = std::max(picture.rows, picture.cols);
  if (longer <= kMaxSide) return ToRgb(picture);
  const auto scaled = [&](int64_t side) { return std::max<int64_t>(1, (side * kMaxSide + longer / 2) / longer); };
  return ToRgb(Resize(picture, scaled(picture.rows), scaled(picture.cols)));
}

// Pads with the colour of the paper: `left` and `above` the picture, and up to `cols` and `rows`.
Tensor PadTo(const Picture& picture, int64_t above, int64_t left, int64_t rows, int64_t cols) {
  const int32_t paddings[] = {0,
                              0,
                              static_cast<int32_t>(above),
                              static_cast<int32_t>(rows - above - picture.rows),
                              static_cast<int32_t>(left),
                              static_cast<int32_t>(cols - left - picture.cols),
                              0,
                              0};
  const Tensor where = picture.pixels.runtime()->FromValues<int32_t>(paddings, {4, 2});
  // Pad adds zeros, so that is what the paper has to be meanwhile.
  constexpr float kShade = kPaper / 255.0f;
  const Tensor visible = minimum(maximum(picture.pixels, 0), 1);
  return add(pad(sub(visible, kShade), where), kShade);
}

StatusOr<Picture> DrawCaption(Runtime& runtime, const std::string& text, int64_t cols) {
  TANDEM_ASSIGN_OR_RETURN(Image image, MakeImage(static_cast<size_t>(kCaptionRows), static_cast<size_t>(cols), 3, 8));
  std::memset(image.samples.data(), kPaper, image.samples.size());
  DrawText(text, 0, 3, 1, kInk, image);
  return FromImage(runtime, image);
}

// Joins along an axis; one picture alone stays as it is.
Tensor Join(const std::vector<Tensor>& parts, int axis) {
  if (parts.size() == 1) return parts[0];
  return concat(std::vector<Operand>(parts.begin(), parts.end()), axis);
}

}  // namespace

StatusOr<Picture> MakeSheet(Runtime& runtime, std::span<const Exhibit> exhibits, size_t per_row) {
  std::vector<Picture> pictures;
  int64_t cell_rows = 0, cell_cols = 0;
  for (const Exhibit& exhibit : exhibits) {
    const Picture& fit = pictures.emplace_back(Fit(exhibit.picture));
    const auto caption_cols = static_cast<int64_t>(exhibit.caption.size() * kLetterAdvance);
    cell_rows = std::max(cell_rows, fit.rows);
    cell_cols = std::max({cell_cols, fit.cols, std::min(caption_cols, kMaxSide)});
  }
  const size_t num_cols = std::min(per_row, exhibits.size());
  const int64_t all_rows = kMargin + cell_rows + kCaptionRows, all_cols = kMargin + cell_cols;
  std::vector<Tensor> lines;
  for (size_t first = 0; first < exhibits.size(); first += num_cols) {
    std::vector<Tensor> cells;
    for (size_t i = first; i < first + num_cols; ++i) {
      // The last line is filled up with empty cells.
      const bool empty = i >= exhibits.size();
      TANDEM_ASSIGN_OR_RETURN(const Picture caption, DrawCaption(runtime, empty ? "" : exhibits[i].caption, cell_cols));
      Picture under = {PadTo(caption, 0, kMargin, kCaptionRows, all_cols), kCaptionRows, all_cols, 3};
      if (empty) {
        cells.push_back(PadTo(under, all_rows - kCaptionRows, 0, all_rows, all_cols));
        continue;
      }
      const Tensor over = PadTo(pictures[i], kMargin, kMargin, kMargin + cell_rows, all_cols);
      cells.push_back(Join({over, under.pixels}, 1));
    }
    lines.push_back(Join(cells, 2));
  }
  const auto num_lines = static_cast<int64_t>(lines.size());
  const Picture inner = {Join(lines, 1), num_lines * all_rows, static_cast<int64_t>(num_cols) * all_cols, 3};
  const int64_t rows = inner.rows + kMargin - 3, cols = inner.cols + kMargin;
  return Picture{PadTo(inner, 0, 0, rows, cols), rows, cols, 3};
}

}  // namespace image
