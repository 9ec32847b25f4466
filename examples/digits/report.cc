// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lays out the confusion table and turns images into lines of text.

#include "digits/report.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace digits {
namespace {

constexpr size_t kMaxArtSize = 28;

// An image shrunk to at most 28x28; a pixel is the darkest of those it stands for, so that thin strokes survive.
class Picture {
 public:
  Picture(const DigitSet& set, size_t index)
      : rows_(std::min(set.rows, kMaxArtSize)), cols_(std::min(set.cols, kMaxArtSize)), pixels_(rows_ * cols_) {
    const std::span<const uint8_t> image = set.image(index);
    for (size_t y = 0; y < set.rows; ++y) {
      for (size_t x = 0; x < set.cols; ++x) {
        uint8_t& pixel = pixels_[y * rows_ / set.rows * cols_ + x * cols_ / set.cols];
        pixel = std::max(pixel, image[y * set.cols + x]);
      }
    }
  }

  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  // Paper outside the picture.
  int At(size_t y, size_t x) const { return y < rows_ && x < cols_ ? pixels_[y * cols_ + x] : 0; }

 private:
  size_t rows_;
  size_t cols_;
  std::vector<uint8_t> pixels_;
};

// The Braille character of the 2x4 dots at (y, x) in UTF-8; its bits number the dots as Unicode's chart does.
std::string BrailleCell(const Picture& picture, size_t y, size_t x) {
  constexpr int kInk = 96;
  constexpr unsigned kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  unsigned dots = 0;
  for (size_t dy = 0; dy < 4; ++dy) {
    for (size_t dx = 0; dx < 2; ++dx) {
      if (picture.At(y + dy, x + dx) >= kInk) dots |= kDots[dy][dx];
    }
  }
  return {'\xe2', static_cast<char>(0xa0 | dots >> 6), static_cast<char>(0x80 | (dots & 0x3f))};
}

// A shade for the 1x2 pixels at (y, x).
std::string ShadeCell(const Picture& picture, size_t y, size_t x) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  const auto ink = static_cast<size_t>(picture.At(y, x) + picture.At(y + 1, x));
  return std::string(1, kShades[ink * kShades.size() / (2 * 255 + 1)]);
}

struct CellSize {
  size_t rows;
  size_t cols;
};
constexpr CellSize kBrailleCell = {4, 2};
constexpr CellSize kShadeCell = {2, 1};

std::vector<std::string> DrawPicture(const Picture& picture, bool unicode) {
  const CellSize cell = unicode ? kBrailleCell : kShadeCell;
  std::vector<std::string> lines;
  for (size_t y = 0; y < picture.rows(); y += cell.rows) {
    std::string& line = lines.emplace_back();
    for (size_t x = 0; x < picture.cols(); x += cell.cols) {
      line += unicode ? BrailleCell(picture, y, x) : ShadeCell(picture, y, x);
    }
  }
  return lines;
}

void AppendCentred(std::string_view text, size_t columns, std::string& out) {
  const size_t space = columns - std::min(columns, text.size());
  out.append(space / 2, ' ').append(text).append(space - space / 2, ' ');
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  char text[16];
  std::snprintf(text, sizeof(text), "%.1f %%", 100 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

void AppendRight(std::string_view text, size_t columns, std::string& out) {
  out.append(columns - std::min(columns, text.size()), ' ').append(text);
}

void AppendLine(std::string line, std::string& out) {
  line.erase(line.find_last_not_of(' ') + 1);
  out.append(line).append("\n");
}

// One row of pictures and the captions below.
void AppendPictureRow(const DigitSet& set, std::span<const Misread> misreads, size_t columns, bool unicode,
                      std::string& out) {
  std::vector<std::string> lines;
  std::string captions;
  const CellSize cell = unicode ? kBrailleCell : kShadeCell;
  for (const Misread& misread : misreads) {
    const Picture picture(set, misread.index);
    const std::vector<std::string> drawn = DrawPicture(picture, unicode);
    lines.resize(drawn.size());
    const size_t padding = columns - (picture.cols() + cell.cols - 1) / cell.cols;
    for (size_t i = 0; i < drawn.size(); ++i) lines[i].append(drawn[i]).append(padding, ' ');
    char caption[32];
    std::snprintf(caption, sizeof(caption), "%d read as %d", set.label(misread.index), misread.predicted);
    AppendCentred(caption, columns - padding, captions);
    captions.append(columns - std::max(columns - padding, std::string_view(caption).size()), ' ');
  }
  for (std::string& line : lines) AppendLine(std::move(line), out);
  AppendLine(std::move(captions), out);
}

}  // namespace

uint64_t ConfusionTable::total() const {
  uint64_t sum = 0;
  for (const auto& row : counts_) {
    for (uint64_t count : row) sum += count;
  }
  return sum;
}

uint64_t ConfusionTable::correct() const {
  uint64_t sum = 0;
  for (int i = 0; i < kNumClasses; ++i) sum += counts_[i][i];
  return sum;
}

double ConfusionTable::Accuracy() const {
  return total() == 0 ? 0 : static_cast<double>(correct()) / static_cast<double>(total());
}

std::string ConfusionTable::ToString() const {
  constexpr std::string_view kLabel = "digit ";
  constexpr size_t kAccuracyColumns = 11;
  uint64_t largest = 0;
  for (const auto& row : counts_) largest = std::max(largest, *std::max_element(std::begin(row), std::end(row)));
  const size_t columns = std::max<size_t>(5, std::to_string(largest).size() + 2);

  std::string out(kLabel.size() + 1 + columns - 1, ' ');
  out += "read as\n";
  std::string line(kLabel.size() + 1, ' ');
  for (int i = 0; i < kNumClasses; ++i) AppendRight(std::to_string(i), columns, line);
  AppendRight("accuracy", kAccuracyColumns, line);
  AppendLine(std::move(line), out);
  for (int label = 0; label < kNumClasses; ++label) {
    line = std::string(kLabel) + std::to_string(label);
    uint64_t sum = 0;
    for (uint64_t count : counts_[label]) {
      AppendRight(count == 0 ? "." : std::to_string(count), columns, line);
      sum += count;
    }
    AppendRight(Percent(counts_[label][label], sum), kAccuracyColumns, line);
    AppendLine(std::move(line), out);
  }
  line = "all";
  line.append(kLabel.size() + 1 - line.size() + columns * kNumClasses, ' ');
  AppendRight(Percent(correct(), total()), kAccuracyColumns, line);
  AppendLine(std::move(line), out);
  return out;
}

std::string DrawMisreads(const DigitSet& set, std::span<const Misread> misreads, int width, bool unicode) {
  constexpr size_t kGap = 2, kCaptionColumns = 11;
  const CellSize cell = unicode ? kBrailleCell : kShadeCell;
  const size_t art_columns = (std::min(set.cols, kMaxArtSize) + cell.cols - 1) / cell.cols;
  const size_t columns = std::max(art_columns, kCaptionColumns) + kGap;
  const size_t per_row = std::max<size_t>(1, (static_cast<size_t>(std::max(width, 0)) + kGap) / columns);
  std::string out;
  for (size_t first = 0; first < misreads.size(); first += per_row) {
    if (first > 0) out += '\n';
    AppendPictureRow(set, misreads.subspan(first, std::min(per_row, misreads.size() - first)), columns, unicode, out);
  }
  return out;
}

}  // namespace digits
