// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Puts a picture through filters, in the order given, so that one can see what the ops do.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "image/drawn_picture.h"
#include "image/filters.h"
#include "image/image_file.h"
#include "image/sheet.h"

namespace image {
namespace {

using tandem::InvalidArgument;
using tandem::Status;
using tandem::StatusOr;
using tandem::eager::Runtime;
using Clock = std::chrono::steady_clock;

constexpr size_t kDrawnRows = 320;
constexpr size_t kDrawnCols = 480;
constexpr int64_t kMaxSide = 16384;

struct Step {
  std::string name;
  std::function<Picture(const Picture&)> filter;
};

struct Settings {
  std::string input;
  std::string output;
  std::string sheet;
  bool draw = false;
  size_t per_row = 3;
  int threads = 0;
  std::vector<Step> steps;
};

struct Size {
  int64_t cols = 0;
  int64_t rows = 0;
};

// "320x240", both from 1 to kMaxSide.
bool ParseSize(const std::string& text, Size* size) {
  int end = 0;
  unsigned cols = 0, rows = 0;
  if (text.find_first_not_of("0123456789x") != text.npos || text.size() > 11) return false;
  if (std::sscanf(text.c_str(), "%5ux%5u%n", &cols, &rows, &end) != 2 || text[static_cast<size_t>(end)] != '\0') {
    return false;
  }
  *size = {cols, rows};
  return size->cols >= 1 && size->rows >= 1 && size->cols <= kMaxSide && size->rows <= kMaxSide;
}

std::string CheckSize(const std::string& text) {
  Size size;
  if (ParseSize(text, &size)) return "";
  return "expected a width and a height from 1 to " + std::to_string(kMaxSide) + ", such as 320x240, got " + text;
}

void PrintLine(const std::string& what, const std::string& size, int64_t ops, double milliseconds) {
  std::printf("%-24s %-14s %4lld %-3s %9.2f ms\n", what.c_str(), size.c_str(), static_cast<long long>(ops),
              ops == 1 ? "op" : "ops", milliseconds);
}

std::string SizeOf(const Picture& picture) {
  return std::to_string(picture.cols) + "x" + std::to_string(picture.rows) + (picture.channels == 1 ? " grey" : " RGB");
}

// Calls `make`, waits for its picture, and prints how many ops that took and how long.
StatusOr<Picture> RunAndPrint(Runtime& runtime, const std::string& name,
                              const std::function<StatusOr<Picture>()>& make) {
  runtime.host().tracer().Clear();
  const Clock::time_point start = Clock::now();
  TANDEM_ASSIGN_OR_RETURN(Picture picture, make());
  TANDEM_RETURN_IF_ERROR(picture.pixels.Await());
  const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
  runtime.host().Quiesce();  // the last op's record may come after its result
  PrintLine(name, SizeOf(picture), runtime.host().tracer().num_events(), elapsed.count());
  return picture;
}

Status WriteAndPrint(const std::string& path, const Picture& picture, int depth) {
  TANDEM_ASSIGN_OR_RETURN(const Image image, ToImage(picture, depth));
  TANDEM_RETURN_IF_ERROR(WriteImage(path, image));
  std::printf("wrote %s: %s\n", path.c_str(), Describe(image).c_str());
  return Status();
}

// With --draw there is no input, and the first file named is the output.
Status SortFiles(Settings& settings) {
  if (settings.input.empty()) settings.draw = true;
  if (settings.draw && !settings.input.empty()) {
    if (!settings.output.empty()) {
      return InvalidArgument("expected one file, to write to, with --draw, got ", settings.input, " and ",
                             settings.output);
    }
    std::swap(settings.input, settings.output);
  }
  if (settings.output.empty() && settings.sheet.empty()) {
    return InvalidArgument("expected a file to write to (OUTPUT or --sheet FILE), got ",
                           settings.input.empty() ? "none" : "only " + settings.input + " to read",
                           "; --help tells more");
  }
  for (const std::string& path : {settings.output, settings.sheet}) {
    if (!path.empty()) TANDEM_RETURN_IF_ERROR(CheckExtension(path));
  }
  return Status();
}

Status Run(Settings settings) {
  TANDEM_RETURN_IF_ERROR(SortFiles(settings));
  TANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime, Runtime::Create({.num_threads = settings.threads}));
  TANDEM_ASSIGN_OR_RETURN(const Image image,
                          settings.draw ? DrawPicture(kDrawnRows, kDrawnCols) : ReadImage(settings.input));
  std::printf("%s: %s%s\n", settings.draw ? "drawn picture" : settings.input.c_str(), Describe(image).c_str(),
              image.has_alpha() ? "; what is transparent lies on white" : "");
  runtime->host().StartTracing();
  TANDEM_ASSIGN_OR_RETURN(Picture picture, RunAndPrint(*runtime, "to f32", [&] { return FromImage(*runtime, image); }));
  std::vector<Exhibit> exhibits = {{"original " + SizeOf(picture), picture}};
  for (const Step& step : settings.steps) {
    TANDEM_ASSIGN_OR_RETURN(picture, RunAndPrint(*runtime, step.name, [&] { return step.filter(picture); }));
    // Without a sheet nobody needs what is behind.
    if (!settings.sheet.empty()) exhibits.push_back({step.name, picture});
  }
  if (!settings.output.empty()) TANDEM_RETURN_IF_ERROR(WriteAndPrint(settings.output, picture, image.depth));
  if (settings.sheet.empty()) return Status();
  TANDEM_ASSIGN_OR_RETURN(const Picture sheet, RunAndPrint(*runtime, "sheet", [&] {
                            return MakeSheet(*runtime, exhibits, settings.per_row);
                          }));
  return WriteAndPrint(settings.sheet, sheet, 8);
}

// Options that are steps act as soon as they are read, which keeps their order.
class StepOptions {
 public:
  StepOptions(CLI::App& app, std::vector<Step>& steps) : app_(app), steps_(steps) {}

  void Flag(const std::string& name, const std::string& about, Picture (*filter)(const Picture&)) {
    app_.add_flag_callback(
            "--" + name,
            [this, name, filter] {
              steps_.push_back({name, filter});
            },
            about)
        ->trigger_on_parse()
        ->group(kGroup);
  }

  void Sized(const std::string& name, const std::string& about,
             Picture (*filter)(const Picture&, int64_t rows, int64_t cols)) {
    const auto add = [this, name, filter](const std::string& text) {
      Size size;
      ParseSize(text, &size);
      steps_.push_back(
          {name + " " + text, [size, filter](const Picture& p) { return filter(p, size.rows, size.cols); }});
    };
    app_.add_option_function<std::string>("--" + name, add, about)
        ->check(CheckSize)
        ->option_text("WxH")
        ->trigger_on_parse()
        ->group(kGroup);
  }

  // With a number from `low` to `high`.
  template <typename T>
  void Number(const std::string& name, const std::string& about, T low, T high, Picture (*filter)(const Picture&, T)) {
    const auto add = [this, name, filter](const T& number) {
      char text[64];
      std::snprintf(text, sizeof(text), "%s %g", name.c_str(), static_cast<double>(number));
      steps_.push_back({text, [number, filter](const Picture& p) { return filter(p, number); }});
    };
    // CLI::Range would let NaN pass.
    const auto check = [low, high](const std::string& text) {
      T number;
      if (CLI::detail::lexical_cast(text, number) && number >= low && number <= high) return std::string();
      std::ostringstream message;
      message << "expected a" << (std::is_integral_v<T> ? " whole" : "") << " number from " << low << " to " << high
              << ", got " << text;
      return message.str();
    };
    app_.add_option_function<T>("--" + name, add, about)
        ->check(check)
        ->option_text("NUMBER")
        ->trigger_on_parse()
        ->group(kGroup);
  }

 private:
  static constexpr const char* kGroup = "Steps, done in the order given; each may be given several times";
  CLI::App& app_;
  std::vector<Step>& steps_;
};

void AddSteps(StepOptions& steps) {
  steps.Sized("resize", "interpolate linearly; an axis that shrinks is blurred before (ResizeBilinear)", Resize);
  steps.Sized("resize-nearest", "take the nearest pixel (ResizeNearestNeighbor)", ResizeNearest);
  steps.Number<float>("blur", "Gaussian of this deviation in pixels, 0.1 to 200 (GatherV2, DepthwiseConv2dNative)",
                      0.1f, 200, [](const Picture& picture, float sigma) { return Blur(picture, sigma, sigma); });
  steps.Number<float>("sharpen", "add this much, 0 to 20, of the difference to a blurred picture (Sub, Mul, AddV2)", 0,
                      20, Sharpen);
  steps.Flag("edges", "size of the gradient, by Sobel's filters (Conv2D, Square, Sum, Sqrt)", Edges);
  steps.Flag("grayscale", "light alone (Conv2D)", Grayscale);
  steps.Flag("invert", "light and dark change places (Sub)", Invert);
  steps.Number<int64_t>("pixelate", "squares of so many pixels, 2 to 1024 (AvgPool, ResizeNearestNeighbor, Slice)", 2,
                        1024, Pixelate);
  steps.Flag("flip-h", "left and right change places (Range, GatherV2)", FlipHorizontally);
  steps.Flag("flip-v", "top and bottom change places (Range, GatherV2)", FlipVertically);
  steps.Flag("rotate", "a quarter turn clockwise (Transpose, GatherV2)", Rotate);
}

}  // namespace
}  // namespace image

int main(int argc, char** argv) {
  image::Settings settings;
  CLI::App app(
      "Puts a picture through filters, every one of them a few op calls, and writes the result.\n"
      "Example: image in.png out.png --resize 320x240 --blur 2.5 --edges --sheet steps.png\n"
      "Reads and writes PNG, PPM and PGM; what is written the extension says. 16 bits a sample stay 16.",
      "image");
  app.add_option("INPUT", settings.input, "picture to read; without one (or with --draw) the picture is drawn here");
  app.add_option("OUTPUT", settings.output, "file to write the result to");
  app.add_flag("--draw", settings.draw, "draw the picture; the one file named is then the output");
  app.add_option("--sheet", settings.sheet, "file to write the original and the result of each step to, side by side");
  app.add_option("--per-row", settings.per_row, "pictures in a row of the sheet")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  app.add_option("--threads", settings.threads, "0: one per core")->capture_default_str()->check(CLI::Range(0, 1024));
  image::StepOptions options(app, settings.steps);
  image::AddSteps(options);
  CLI11_PARSE(app, argc, argv);
  if (const tandem::Status status = image::Run(std::move(settings)); !status.ok()) {
    std::fprintf(stderr, "image: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
