// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Trains a perceptron to read handwritten digits, op by op, and shows how well it does.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "digits/drawn_digits.h"
#include "digits/idx_file.h"
#include "digits/perceptron.h"
#include "digits/progress_bar.h"
#include "digits/report.h"
#include "digits/terminal.h"
#include "tandem/ops.h"

namespace digits {
namespace {

using tandem::MakeError;
using tandem::Status;
using tandem::StatusCode;
using tandem::StatusOr;
using tandem::TensorShape;
using tandem::eager::Runtime;
using tandem::eager::Tensor;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::string data;
  std::string save;
  std::string load;
  std::string trace;
  int64_t hidden = 128;
  int64_t batch = 50;
  int epochs = 8;
  float learning_rate = 0.1f;
  float momentum = 0.9f;
  uint32_t seed = 1;
  int threads = 0;
};

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The pictures as f32 [n, rows * cols] in [0, 1], the labels as i32 [n].
struct Examples {
  Tensor pictures;
  Tensor labels;
};

Examples ToTensors(Runtime& runtime, const DigitSet& set) {
  const TensorShape flat = {static_cast<int64_t>(set.count), static_cast<int64_t>(set.rows * set.cols)};
  const Tensor pictures = runtime.FromBytes(tandem::DType::kU8, std::as_bytes(set.images.bytes()), flat);
  const Tensor labels =
      runtime.FromBytes(tandem::DType::kU8, std::as_bytes(set.labels.bytes()), {static_cast<int64_t>(set.count)});
  return {mul(cast(pictures, tandem::DType::kF32), 1.0f / 255.0f), cast(labels, tandem::DType::kI32)};
}

Status Train(Runtime& runtime, Perceptron& model, const DigitSet& set, const Settings& settings) {
  const Examples all = ToTensors(runtime, set);
  std::vector<int32_t> order(set.count);
  std::iota(order.begin(), order.end(), 0);
  Pcg32 random(settings.seed, 54);
  const Clock::time_point start = Clock::now();
  const int64_t ops_before = model.num_ops();
  const size_t batch = std::min(static_cast<size_t>(settings.batch), set.count);
  const size_t num_batches = set.count / batch;
  int64_t batch_ops = 0;
  for (int epoch = 0; epoch < settings.epochs; ++epoch) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(static_cast<uint32_t>(i))]);
    // Smaller steps towards the end.
    const float rate =
        settings.learning_rate * static_cast<float>(settings.epochs - epoch) / static_cast<float>(settings.epochs);
    ProgressBar bar(stdout, "epoch " + std::to_string(epoch + 1) + "/" + std::to_string(settings.epochs), set.count);
    double mean_loss = 0;
    for (size_t b = 0; b < num_batches; ++b) {
      const Tensor rows = runtime.FromValues<int32_t>(std::span<const int32_t>(order).subspan(b * batch, batch),
                                                      {static_cast<int64_t>(batch)});
      const Tensor loss =
          model.Train(gather(all.pictures, rows, 0), gather(all.labels, rows, 0), rate, settings.momentum);
      batch_ops += 2;
      TANDEM_ASSIGN_OR_RETURN(const float value, loss.Item<float>());
      mean_loss += (value - mean_loss) / static_cast<double>(b + 1);
      char text[64];
      std::snprintf(text, sizeof(text), "loss %.4f", mean_loss);
      bar.Update(b + 1 == num_batches ? set.count : (b + 1) * batch, text);
    }
  }
  const double seconds = SecondsSince(start);
  const int64_t ops = model.num_ops() - ops_before + batch_ops;
  std::printf("trained %zu digits x %d epochs in %.1f s: %lld ops, %.0f ops/s\n", set.count, settings.epochs, seconds,
              static_cast<long long>(ops), static_cast<double>(ops) / seconds);
  return Status();
}

Status Evaluate(Runtime& runtime, Perceptron& model, const DigitSet& set) {
  const Examples all = ToTensors(runtime, set);
  TANDEM_ASSIGN_OR_RETURN(const std::vector<int64_t> predicted,
                          argMax(model.Forward(all.pictures), 1).ToVector<int64_t>());
  ConfusionTable table;
  std::vector<Misread> misreads;
  for (size_t i = 0; i < set.count; ++i) {
    const int digit = static_cast<int>(predicted[i]);
    table.Add(set.label(i), digit);
    if (digit != set.label(i)) misreads.push_back({i, digit});
  }
  std::printf("\n%s\n", table.ToString().c_str());
  if (!misreads.empty()) {
    const size_t shown = std::min<size_t>(misreads.size(), 5);
    std::printf("some of the %zu misread ones:\n%s\n", misreads.size(),
                DrawMisreads(set, std::span(misreads).first(shown), TerminalWidth(stdout), LocaleIsUtf8()).c_str());
  }
  std::printf("test accuracy: %.2f %% (%llu of %llu)\n", 100 * table.Accuracy(),
              static_cast<unsigned long long>(table.correct()), static_cast<unsigned long long>(table.total()));
  return Status();
}

StatusOr<DigitFolder> ReadOrDraw(const Settings& settings) {
  if (!settings.data.empty()) return ReadDigitFolder(settings.data);
  DigitFolder drawn;
  TANDEM_ASSIGN_OR_RETURN(drawn.train, DrawDigits(8000, settings.seed));
  TANDEM_ASSIGN_OR_RETURN(drawn.test, DrawDigits(1000, settings.seed + 1'000'003ull));
  return drawn;
}

Status WriteTrace(Runtime& runtime, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return MakeError(StatusCode::kNotFound, "cannot write the trace to ", path);
  const std::string json = runtime.host().tracer().ToJson();
  const bool written = std::fwrite(json.data(), 1, json.size(), file) == json.size();
  if (std::fclose(file) != 0 || !written) return MakeError(StatusCode::kDataLoss, "cannot write all of ", path);
  return Status();
}

Status Run(const Settings& settings) {
  TANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime, Runtime::Create({.num_threads = settings.threads}));
  TANDEM_ASSIGN_OR_RETURN(const DigitFolder digits, ReadOrDraw(settings));
  const auto inputs = static_cast<int64_t>(digits.train.rows * digits.train.cols);
  std::printf("%s: %zu digits to train on, %zu to test on\n",
              settings.data.empty() ? "digits drawn from strokes" : settings.data.c_str(), digits.train.count,
              digits.test.count);
  if (!settings.load.empty()) {
    TANDEM_ASSIGN_OR_RETURN(Perceptron model, Perceptron::Load(*runtime, settings.load));
    if (model.widths().front() != inputs || model.widths().back() != kNumClasses) {
      return MakeError(StatusCode::kInvalidArgument, "weights of ", settings.load, " must take ", inputs,
                       " inputs and give ", kNumClasses, " classes, got ", std::span<const int64_t>(model.widths()));
    }
    return Evaluate(*runtime, model, digits.test);
  }
  Perceptron model(*runtime, {inputs, settings.hidden, kNumClasses}, settings.seed);
  std::printf("perceptron %lld-%lld-%d, %lld parameters\n", static_cast<long long>(inputs),
              static_cast<long long>(settings.hidden), kNumClasses, static_cast<long long>(model.num_parameters()));
  if (!settings.trace.empty()) runtime->host().StartTracing();
  TANDEM_RETURN_IF_ERROR(Train(*runtime, model, digits.train, settings));
  if (!settings.trace.empty()) {
    runtime->host().StopTracing();
    TANDEM_RETURN_IF_ERROR(WriteTrace(*runtime, settings.trace));
    std::printf("wrote the trace to %s\n", settings.trace.c_str());
  }
  TANDEM_RETURN_IF_ERROR(Evaluate(*runtime, model, digits.test));
  if (settings.save.empty()) return Status();
  TANDEM_RETURN_IF_ERROR(model.Store(settings.save));
  std::printf("wrote the weights to %s\n", settings.save.c_str());
  return Status();
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  digits::Settings settings;
  CLI::App app("Trains a perceptron to read handwritten digits, every step an op call.", "digits");
  app.add_option("--data", settings.data, "folder with digits in MNIST's IDX format; default: digits drawn here");
  app.add_option("--save", settings.save, "file to write the weights to (safetensors)");
  app.add_option("--load", settings.load, "weights to test instead of training");
  app.add_option("--trace", settings.trace, "file to write a trace of the training to (Chrome trace JSON)");
  app.add_option("--hidden", settings.hidden, "width of the hidden layer")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  app.add_option("--batch", settings.batch, "digits a step")->capture_default_str()->check(CLI::Range(1, 65536));
  app.add_option("--epochs", settings.epochs, "rounds over the digits")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--learning-rate", settings.learning_rate, "step size at the start")->capture_default_str();
  app.add_option("--momentum", settings.momentum, "share of the last step kept")->capture_default_str();
  app.add_option("--seed", settings.seed, "of weights, order and drawn digits")->capture_default_str();
  app.add_option("--threads", settings.threads, "0: one per core")->capture_default_str()->check(CLI::Range(0, 1024));
  CLI11_PARSE(app, argc, argv);
  if (const tandem::Status status = digits::Run(settings); !status.ok()) {
    std::fprintf(stderr, "digits: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
