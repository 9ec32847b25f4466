// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One function from a place to its colour, sampled four times a pixel so that edges are smooth; then letters.

#include "image/drawn_picture.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "image/lettering.h"

namespace image {
namespace {

struct Rgb {
  float red;
  float green;
  float blue;
};

Rgb Mix(Rgb a, Rgb b, float t) {
  return {a.red + (b.red - a.red) * t, a.green + (b.green - a.green) * t, a.blue + (b.blue - a.blue) * t};
}

float Distance(float x, float y, float cx, float cy) { return std::hypot(x - cx, y - cy); }

Rgb SkyAt(float x, float y) {
  const Rgb sky = Mix({0.16f, 0.32f, 0.68f}, {0.98f, 0.78f, 0.56f}, std::clamp(y / 0.72f, 0.0f, 1.0f));
  const float sun = Distance(x, y, 0.98f, 0.26f);
  if (sun < 0.12f) return Mix({1.0f, 0.98f, 0.82f}, {1.0f, 0.84f, 0.38f}, sun / 0.12f);
  return Mix({1.0f, 0.9f, 0.6f}, sky, std::clamp((sun - 0.12f) / 0.14f, 0.0f, 1.0f));
}

// Rings whose distance shrinks outwards, in grey.
Rgb RingsAt(float distance, float radius) {
  const float shade = 0.5f + 0.5f * std::cos(distance * distance / (radius * radius) * 24 * std::numbers::pi_v<float>);
  return {shade, shade, shade};
}

// The colour at (x, y), both in units of the picture's height; `width` is that of the picture.
Rgb ColorAt(float x, float y, float width) {
  constexpr float kRings = 0.17f;
  const float rings = Distance(x, y, width - 0.26f, 0.75f);
  if (rings < kRings) return RingsAt(rings, kRings);
  if (rings < kRings + 0.012f) return {0.1f, 0.1f, 0.12f};

  // Disks that overlap, of the primary colours.
  constexpr struct {
    float x, y, radius;
    Rgb color;
  } kDisks[] = {{0.16f, 0.78f, 0.09f, {0.85f, 0.15f, 0.15f}},
                {0.27f, 0.84f, 0.09f, {0.15f, 0.6f, 0.2f}},
                {0.22f, 0.70f, 0.07f, {0.15f, 0.25f, 0.8f}}};
  for (const auto& disk : kDisks) {
    if (Distance(x, y, disk.x, disk.y) < disk.radius) return disk.color;
  }
  if (x > 0.42f && x < 0.74f && y > 0.70f && y < 0.94f) {
    const bool dark = (static_cast<int>(x / 0.04f) + static_cast<int>(y / 0.04f)) % 2 == 0;
    return dark ? Rgb{0.08f, 0.08f, 0.1f} : Rgb{0.95f, 0.95f, 0.92f};
  }
  const float near_hill = 0.64f + 0.05f * std::sin(5.0f * x + 0.6f);
  if (y > near_hill) return Mix({0.24f, 0.46f, 0.22f}, {0.12f, 0.26f, 0.14f}, (y - near_hill) / 0.4f);
  const float far_hill = 0.52f + 0.07f * std::sin(3.1f * x + 2.0f) + 0.02f * std::sin(11.0f * x);
  if (y > far_hill) return Mix({0.42f, 0.46f, 0.62f}, {0.34f, 0.44f, 0.48f}, (y - far_hill) / 0.15f);
  return SkyAt(x, y);
}

uint8_t ToByte(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255 + 0.5f); }

}  // namespace

tandem::StatusOr<Image> DrawPicture(size_t rows, size_t cols) {
  TANDEM_ASSIGN_OR_RETURN(Image image, MakeImage(rows, cols, 3, 8));
  const float unit = 1 / static_cast<float>(rows);
  const float width = static_cast<float>(cols) * unit;
  uint8_t* out = image.samples.data();
  for (size_t row = 0; row < rows; ++row) {
    for (size_t col = 0; col < cols; ++col) {
      Rgb sum = {0, 0, 0};
      for (float dy : {0.25f, 0.75f}) {
        for (float dx : {0.25f, 0.75f}) {
          const Rgb color =
              ColorAt((static_cast<float>(col) + dx) * unit, (static_cast<float>(row) + dy) * unit, width);
          sum = {sum.red + color.red, sum.green + color.green, sum.blue + color.blue};
        }
      }
      *out++ = ToByte(sum.red / 4);
      *out++ = ToByte(sum.green / 4);
      *out++ = ToByte(sum.blue / 4);
    }
  }
  const size_t margin = rows / 16;
  const size_t scale = std::max<size_t>(1, rows / 60);
  DrawText("Tandem", margin, margin, scale, {250, 250, 245}, image);
  DrawText("op by op", margin, margin + (kLetterRows + 2) * scale, std::max<size_t>(1, scale / 2), {250, 250, 245},
           image);
  return image;
}

}  // namespace image
