// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// From knots to smooth strokes, bent and turned, to anti-aliased pixels.

#include "digits/drawn_digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <span>

namespace digits {
namespace {

struct Point {
  float x;
  float y;
};

// A way to write a digit. Each stroke is a run of knots "x,y" in percent of a box, x to the right and y down. The pen
// passes through the knots on a smooth curve, but turns sharply at a knot marked '!'. Strokes are separated by ';'.
struct Style {
  int digit;
  const char* strokes;
};

constexpr Style kStyles[] = {
    {0, "54,4 26,14 11,48 24,86 52,97 80,82 90,48 76,14 50,4"},
    {0, "62,6 36,18 22,54 34,90 56,94 75,62 77,26 62,7 44,12"},
    {0, "40,10 16,34 14,68 40,94 72,86 86,54 72,18 44,6 30,16"},
    {1, "50,3! 50,97!"},
    {1, "30,24! 54,4! 53,97!"},
    {1, "56,3 50,50 46,97"},
    {1, "32,22! 52,4! 52,95!; 28,96! 76,96!"},
    {2, "14,26 28,8 54,3 78,15 80,36 58,62 14,95! 88,94!"},
    {2, "16,24 34,6 64,6 80,26 68,52 40,78 20,92 14,80 30,75 56,90 90,88"},
    {2, "18,18 42,4 74,12 72,40 46,68 16,94! 50,90 88,95"},
    {3, "16,14 44,3 74,14 72,38 42,48! 78,58 84,82 52,97 14,86"},
    {3, "14,6! 80,5! 44,42! 78,54 86,78 54,97 12,88"},
    {3, "20,18 46,4 72,18 64,40 42,47 72,57 78,82 46,97 16,84"},
    {4, "24,4! 14,56! 88,55!; 66,8! 63,97!"},
    {4, "62,97! 63,3! 10,66! 92,66!"},
    {4, "22,6 16,36 30,54 60,52 82,40; 78,5 70,50 66,97"},
    {5, "82,5! 28,5! 21,45! 50,38 80,54 80,84 46,97 12,88"},
    {5, "28,6! 22,46! 56,40 82,60 70,90 36,97 12,86; 28,6! 86,4!"},
    {5, "80,8 46,5 26,20 30,42 60,50 80,70 60,94 16,92"},
    {6, "70,4 36,26 14,60 24,90 54,97 80,80 72,57 44,53 18,72"},
    {6, "56,3 32,38 18,74 36,96 66,92 76,70 54,56 24,70"},
    {6, "78,12 52,4 26,26 12,62 30,94 62,95 82,74 62,54 32,60 16,78"},
    {7, "12,6! 86,6! 40,97!"},
    {7, "12,8! 86,6! 42,97!; 30,50! 78,47!"},
    {7, "14,22! 16,7! 86,7! 56,48 46,97"},
    {8, "76,16 50,3 24,16 32,38 66,56 82,78 50,97 18,80 34,56 66,38 78,16"},
    {8, "50,47 24,28 48,3 76,26 50,47!; 50,47 15,72 50,97 86,72 50,47!"},
    {8, "70,10 40,6 28,28 54,48 74,72 52,96 28,80 44,52 70,28 66,8"},
    {9, "78,22 50,4 20,22 28,48 60,46 78,22! 75,60 66,97"},
    {9, "80,26 54,4 22,20 28,50 62,46 80,10! 76,97!"},
    {9, "80,22 50,4 20,24 32,50 64,46 82,20! 84,58 64,92 28,94"},
};

// Strokes as short straight pieces; the pen is lifted after each run.
struct Drawing {
  static constexpr int kMaxPoints = 256;
  static constexpr int kMaxStrokes = 4;

  std::array<Point, kMaxPoints> points;
  std::array<int, kMaxStrokes> ends;  // of each stroke, in points
  int num_points = 0;
  int num_strokes = 0;

  void Add(Point point) {
    if (num_points < kMaxPoints) points[num_points++] = point;
  }
};

struct Stroke {
  static constexpr int kMaxKnots = 16;

  std::array<Point, kMaxKnots> knots;
  std::array<bool, kMaxKnots> is_corner;
  int size = 0;
};

int ParseNumber(const char** text) {
  int value = 0;
  while (**text >= '0' && **text <= '9') value = 10 * value + (*(*text)++ - '0');
  return value;
}

// Reads one stroke, each knot moved a little as a hand would, and steps over the ';' behind it.
Stroke ParseStroke(const char** text, float wobble, Pcg32& random) {
  Stroke stroke;
  while (**text != '\0' && **text != ';' && stroke.size < Stroke::kMaxKnots) {
    const float x = static_cast<float>(ParseNumber(text)) / 100;
    ++*text;  // ','
    const float y = static_cast<float>(ParseNumber(text)) / 100;
    stroke.is_corner[stroke.size] = **text == '!';
    if (**text == '!') ++*text;
    stroke.knots[stroke.size++] = {x + random.Normal(wobble), y + random.Normal(wobble)};
    while (**text == ' ') ++*text;
  }
  if (**text == ';') ++*text;
  while (**text == ' ') ++*text;
  return stroke;
}

// The uniform Catmull-Rom curve (E. Catmull, R. Rom, 1974) from b to c, at t in [0, 1].
float CatmullRom(float a, float b, float c, float d, float t) {
  return b + 0.5f * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

void AddSmoothed(const Stroke& stroke, Drawing& drawing) {
  constexpr int kSteps = 7;
  drawing.Add(stroke.knots[0]);
  for (int i = 0; i + 1 < stroke.size; ++i) {
    // A corner is an end of the curve on both its sides.
    const Point b = stroke.knots[i];
    const Point c = stroke.knots[i + 1];
    const Point a = i == 0 || stroke.is_corner[i] ? b : stroke.knots[i - 1];
    const Point d = i + 2 == stroke.size || stroke.is_corner[i + 1] ? c : stroke.knots[i + 2];
    for (int step = 1; step <= kSteps; ++step) {
      const float t = static_cast<float>(step) / kSteps;
      drawing.Add({CatmullRom(a.x, b.x, c.x, d.x, t), CatmullRom(a.y, b.y, c.y, d.y, t)});
    }
  }
  drawing.ends[drawing.num_strokes++] = drawing.num_points;
}

Drawing DrawStrokes(const Style& style, Pcg32& random) {
  Drawing drawing;
  const float wobble = random.Uniform(0.01f, 0.035f);
  const char* text = style.strokes;
  while (*text != '\0' && drawing.num_strokes < Drawing::kMaxStrokes) {
    AddSmoothed(ParseStroke(&text, wobble, random), drawing);
  }
  return drawing;
}

// A slow wave of displacement over the box.
struct Wave {
  explicit Wave(Pcg32& random)
      : fx(random.Uniform(-0.9f, 0.9f)),
        fy(random.Uniform(-0.9f, 0.9f)),
        phase(random.Uniform(0, 1)),
        amplitude(random.Uniform(0, 0.06f)) {}
  float At(Point p) const {
    return amplitude * std::sin(2 * std::numbers::pi_v<float> * (fx * p.x + fy * p.y + phase));
  }

  float fx;
  float fy;
  float phase;
  float amplitude;
};

// Bends the drawing (elastic distortion), then turns, slants, scales and shifts it from the box into pixels.
void Distort(Drawing& drawing, Pcg32& random) {
  const Wave bend_x(random), bend_y(random), bend_x2(random), bend_y2(random);
  const float angle = random.Normal(0.12f);
  const float slant = 0.12f + random.Normal(0.18f);
  const float height = 20 * random.Uniform(0.78f, 1.06f);
  const float width = height * random.Uniform(0.6f, 0.95f);
  const float cosine = std::cos(angle), sine = std::sin(angle);

  Point low = {1e9f, 1e9f}, high = {-1e9f, -1e9f};
  for (Point& p : std::span(drawing.points.data(), static_cast<size_t>(drawing.num_points))) {
    const float y = (p.y + bend_y.At(p) + bend_y2.At(p) - 0.5f) * height;
    const float x = (p.x + bend_x.At(p) + bend_x2.At(p) - 0.5f) * width - slant * y;
    p = {x * cosine - y * sine, x * sine + y * cosine};
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  // As in MNIST the digit lies near the middle, wherever its style put it in the box.
  const float middle = static_cast<float>(kDrawnSize) / 2;
  const Point shift = {middle - (low.x + high.x) / 2 + random.Normal(0.9f),
                       middle - (low.y + high.y) / 2 + random.Normal(0.9f)};
  for (Point& p : std::span(drawing.points.data(), static_cast<size_t>(drawing.num_points))) {
    p = {p.x + shift.x, p.y + shift.y};
  }
}

float DistanceToSegment(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float length2 = dx * dx + dy * dy;
  const float t = length2 > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2, 0.0f, 1.0f) : 0.0f;
  return std::hypot(a.x + t * dx - p.x, a.y + t * dy - p.y);
}

using Coverage = std::array<float, kDrawnSize * kDrawnSize>;

// Inks every pixel whose centre is within `radius` of the segment, fading over `softness` pixels at the edge.
void InkSegment(Point a, Point b, float radius, float softness, Coverage& ink) {
  const float reach = radius + softness;
  const auto first = [&](float v) {
    return std::clamp(static_cast<int>(std::floor(v - reach)), 0, static_cast<int>(kDrawnSize));
  };
  const auto last = [&](float v) {
    return std::clamp(static_cast<int>(std::ceil(v + reach)), 0, static_cast<int>(kDrawnSize));
  };
  for (int y = first(std::min(a.y, b.y)); y < last(std::max(a.y, b.y)); ++y) {
    for (int x = first(std::min(a.x, b.x)); x < last(std::max(a.x, b.x)); ++x) {
      const Point centre = {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
      const float distance = DistanceToSegment(centre, a, b);
      const float value = std::clamp((radius - distance) / softness + 0.5f, 0.0f, 1.0f);
      float& pixel = ink[static_cast<size_t>(y) * kDrawnSize + static_cast<size_t>(x)];
      pixel = std::max(pixel, value);
    }
  }
}

void Render(const Drawing& drawing, Pcg32& random, uint8_t* image) {
  Coverage ink = {};
  const float radius = random.Uniform(0.75f, 1.75f);
  const float taper = random.Uniform(-0.25f, 0.25f);  // how much wider the pen ends than it starts
  const float softness = random.Uniform(0.9f, 1.5f);
  int begin = 0;
  for (int end : std::span(drawing.ends.data(), static_cast<size_t>(drawing.num_strokes))) {
    for (int i = begin; i + 1 < end; ++i) {
      const float along = static_cast<float>(i - begin) / static_cast<float>(end - begin) - 0.5f;
      InkSegment(drawing.points[i], drawing.points[i + 1], radius * (1 + taper * along), softness, ink);
    }
    begin = end;
  }
  const float darkness = random.Uniform(205, 255);
  for (size_t i = 0; i < ink.size(); ++i) {
    const float noise = random.Normal(3 + 9 * ink[i]);
    image[i] = static_cast<uint8_t>(std::clamp(ink[i] * darkness + noise, 0.0f, 255.0f));
  }
}

void DrawDigit(int digit, Pcg32& random, uint8_t* image) {
  const auto is_of_digit = [&](const Style& style) { return style.digit == digit; };
  const auto choices = static_cast<uint32_t>(std::count_if(std::begin(kStyles), std::end(kStyles), is_of_digit));
  const Style* style = std::find_if(std::begin(kStyles), std::end(kStyles), is_of_digit) + random.Below(choices);
  Drawing drawing = DrawStrokes(*style, random);
  Distort(drawing, random);
  Render(drawing, random, image);
}

}  // namespace

tandem::StatusOr<DigitSet> DrawDigits(uint32_t count, uint64_t seed) {
  constexpr size_t kPixels = kDrawnSize * kDrawnSize;
  DigitSet set;
  TANDEM_ASSIGN_OR_RETURN(set.labels, files::ByteBuffer::Allocate(count));
  TANDEM_ASSIGN_OR_RETURN(set.images, files::ByteBuffer::Allocate(uint64_t{count} * kPixels));
  set.count = count;
  set.rows = set.cols = kDrawnSize;
  uint8_t* labels = set.labels.data();
  for (size_t i = 0; i < count; ++i) labels[i] = static_cast<uint8_t>(i % kNumClasses);
  Pcg32 order(seed, 0);
  for (uint32_t i = count; i > 1; --i) std::swap(labels[i - 1], labels[order.Below(i)]);
  for (size_t i = 0; i < count; ++i) {
    Pcg32 random(seed, i + 1);
    DrawDigit(labels[i], random, set.images.data() + i * kPixels);
  }
  return set;
}

}  // namespace digits
