// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Trains a network to read handwritten digits, op by op, and shows how well it does.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "digits/augmentation.h"
#include "digits/device.h"
#include "digits/drawn_digits.h"
#include "digits/idx_file.h"
#include "digits/network.h"
#include "digits/predictions.h"
#include "digits/processes.h"
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

// What --model means; see MakeLayers for the words.
const std::map<std::string, std::string>& Models() {
  static const std::map<std::string, std::string> models = {
      {"cnn", "conv3:16 pool conv3:32 pool dense:128 dense:10"},
      {"deep", "conv3:32 conv3:32 pool conv3:64 conv3:64 pool dense:128 dense:10"},
      {"perceptron", "dense:128 dense:10"},
  };
  return models;
}

struct Settings {
  std::string data;
  std::string save;
  std::string load;
  std::string predictions;
  std::string trace;
  std::string device = "cpu";
  std::string model = "cnn";
  std::string layers;
  bool augment = true;
  size_t digits = SIZE_MAX;
  int64_t batch = 50;
  int epochs = 24;
  float learning_rate = 0.002f;
  uint32_t seed = 1;
  int threads = 0;
  std::string processes;
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

Status Train(Runtime& runtime, Network& network, const DigitSet& set, const Settings& settings, Processes& processes) {
  const Examples all = ToTensors(runtime, set);
  const size_t count = std::min(set.count, settings.digits);
  const size_t batch = std::min(static_cast<size_t>(settings.batch), count);
  // Of each batch, all of which are the same in all processes.
  const size_t share = batch / static_cast<size_t>(processes.count());
  if (share * static_cast<size_t>(processes.count()) != batch) {
    return MakeError(StatusCode::kInvalidArgument, "expected a --batch that ", processes.count(),
                     " processes can share equally, got ", batch);
  }
  const size_t num_batches = count / batch;
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Pcg32 random(settings.seed, 54);
  Augmentation augmentation(runtime, network.rows(), network.cols(),
                            settings.seed + 1 + static_cast<uint32_t>(processes.rank()));
  const Clock::time_point start = Clock::now();
  for (int epoch = 0; epoch < settings.epochs; ++epoch) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(static_cast<uint32_t>(i))]);
    ProgressBar bar(stdout, "epoch " + std::to_string(epoch + 1) + "/" + std::to_string(settings.epochs), count);
    double mean_loss = 0;
    for (size_t b = 0; b < num_batches; ++b) {
      const auto size = static_cast<int64_t>(share);
      const size_t first = b * batch + share * static_cast<size_t>(processes.rank());
      const Tensor rows = runtime.FromValues<int32_t>(std::span<const int32_t>(order).subspan(first, share), {size});
      Tensor pictures = gather(all.pictures, rows, 0);
      if (settings.augment) pictures = augmentation.Apply(pictures, size);
      // Smaller steps towards the end.
      const double done = (epoch + static_cast<double>(b) / static_cast<double>(num_batches)) / settings.epochs;
      const auto rate = static_cast<float>(settings.learning_rate * (1 - done));
      const Tensor loss = network.Train(pictures, gather(all.labels, rows, 0), rate, processes);
      TANDEM_ASSIGN_OR_RETURN(const float value, loss.Item<float>());
      mean_loss += (value - mean_loss) / static_cast<double>(b + 1);
      char text[64];
      std::snprintf(text, sizeof(text), "loss %.4f", mean_loss);
      bar.Update(b + 1 == num_batches ? count : (b + 1) * batch, text);
    }
  }
  const double seconds = SecondsSince(start);
  std::printf("trained %zu digits x %d epochs in %.1f s: %.0f digits/s\n", count, settings.epochs, seconds,
              static_cast<double>(count) * settings.epochs / seconds);
  return Status();
}

// What the network sees in pictures [n, rows * cols], behind what is in `predicted` already.
Status Read(Network& network, const Tensor& pictures, Predictions& predicted) {
  const Tensor logits = network.Forward(pictures);
  const Tensor probabilities = softmax(logits);
  TANDEM_ASSIGN_OR_RETURN(const std::vector<int64_t> digits, argMax(logits, 1).ToVector<int64_t>());
  TANDEM_ASSIGN_OR_RETURN(const std::vector<float> values, probabilities.ToVector<float>());
  predicted.digits.insert(predicted.digits.end(), digits.begin(), digits.end());
  predicted.probabilities.insert(predicted.probabilities.end(), values.begin(), values.end());
  return Status();
}

// What the network sees in each picture. A part at a time: activations of all of them need much memory.
StatusOr<Predictions> Predict(Runtime& runtime, Network& network, const DigitSet& set) {
  constexpr int64_t kPart = 250;
  const Tensor pictures = ToTensors(runtime, set).pictures;
  const auto count = static_cast<int64_t>(set.count);
  Predictions predicted;
  for (int64_t begin = 0; begin < count; begin += kPart) {
    const Tensor part = slice(pictures, {begin, 0}, {std::min(kPart, count - begin), -1});
    TANDEM_RETURN_IF_ERROR(Read(network, part, predicted));
  }
  return predicted;
}

Status Evaluate(Runtime& runtime, Network& network, const DigitSet& set, const Settings& settings) {
  const Clock::time_point start = Clock::now();
  TANDEM_ASSIGN_OR_RETURN(const Predictions predicted, Predict(runtime, network, set));
  const double seconds = SecondsSince(start);
  ConfusionTable table;
  std::vector<Misread> misreads;
  for (size_t i = 0; i < set.count; ++i) {
    const int digit = static_cast<int>(predicted.digits[i]);
    table.Add(set.label(i), digit);
    if (digit != set.label(i)) misreads.push_back({i, digit});
  }
  std::printf("\n%s\n", table.ToString().c_str());
  if (!misreads.empty()) {
    const size_t shown = std::min<size_t>(misreads.size(), 5);
    std::printf("%zu of the %zu misread ones:\n%s\n", shown, misreads.size(),
                DrawMisreads(set, std::span(misreads).first(shown), TerminalWidth(stdout), LocaleIsUtf8()).c_str());
  }
  std::printf("test accuracy: %.2f %% (%llu of %llu), %.0f digits/s\n", 100 * table.Accuracy(),
              static_cast<unsigned long long>(table.correct()), static_cast<unsigned long long>(table.total()),
              static_cast<double>(set.count) / seconds);
  if (settings.predictions.empty()) return Status();
  TANDEM_RETURN_IF_ERROR(WritePredictions(settings.predictions, set, predicted));
  std::printf("wrote the predictions to %s\n", settings.predictions.c_str());
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
  std::printf("wrote the trace to %s\n", path.c_str());
  return Status();
}

// Of reading one digit. It is read before, too: the first time pays for what later ones have at hand.
Status TraceReading(Runtime& runtime, Network& network, const DigitSet& set, const std::string& path) {
  const Tensor picture = slice(ToTensors(runtime, set).pictures, {0, 0}, {1, -1});
  Predictions predicted;
  TANDEM_RETURN_IF_ERROR(Read(network, picture, predicted));
  runtime.host().StartTracing();
  const Status status = Read(network, picture, predicted);
  runtime.host().StopTracing();
  TANDEM_RETURN_IF_ERROR(status);
  return WriteTrace(runtime, path);
}

StatusOr<Network> LoadOrCreate(Runtime& runtime, const DigitFolder& digits, const Settings& settings) {
  const auto rows = static_cast<int64_t>(digits.train.rows);
  const auto cols = static_cast<int64_t>(digits.train.cols);
  TANDEM_ASSIGN_OR_RETURN(
      Network network,
      settings.load.empty()
          ? Network::Create(runtime, settings.layers.empty() ? Models().at(settings.model) : settings.layers, rows,
                            cols, settings.seed)
          : Network::Load(runtime, settings.load));
  if (network.rows() != rows || network.cols() != cols || network.num_classes() != kNumClasses) {
    return MakeError(StatusCode::kInvalidArgument, "the network must take pictures of ", rows, "x", cols, " and give ",
                     kNumClasses, " classes, got ", network.rows(), "x", network.cols(), " and ",
                     network.num_classes());
  }
  std::printf("%s: %lld parameters\n", network.layers().c_str(), static_cast<long long>(network.num_parameters()));
  return network;
}

Status Run(const Settings& settings) {
  TANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime, Runtime::Create({.num_threads = settings.threads}));
  TANDEM_RETURN_IF_ERROR(UseDevice(*runtime, settings.device));
  Processes processes;
  if (!settings.processes.empty()) {
    TANDEM_RETURN_IF_ERROR(processes.Join(*runtime, settings.processes));
    std::printf("process %d of %d\n", processes.rank(), processes.count());
  }
  TANDEM_ASSIGN_OR_RETURN(const DigitFolder digits, ReadOrDraw(settings));
  std::printf("%s: %zu digits to train on, %zu to test on\n",
              settings.data.empty() ? "digits drawn from strokes" : settings.data.c_str(), digits.train.count,
              digits.test.count);
  TANDEM_ASSIGN_OR_RETURN(Network network, LoadOrCreate(*runtime, digits, settings));
  if (settings.load.empty()) {
    if (!settings.trace.empty()) runtime->host().StartTracing();
    TANDEM_RETURN_IF_ERROR(Train(*runtime, network, digits.train, settings, processes));
    if (!settings.trace.empty()) {
      runtime->host().StopTracing();
      TANDEM_RETURN_IF_ERROR(WriteTrace(*runtime, settings.trace));
    }
  } else if (!settings.trace.empty()) {
    TANDEM_RETURN_IF_ERROR(TraceReading(*runtime, network, digits.test, settings.trace));
  }
  TANDEM_RETURN_IF_ERROR(Evaluate(*runtime, network, digits.test, settings));
  if (settings.save.empty()) return Status();
  // Processes may share a folder.
  const std::string save = settings.save + (processes.count() > 1 ? "." + std::to_string(processes.rank()) : "");
  TANDEM_RETURN_IF_ERROR(network.Store(save));
  std::printf("wrote the weights to %s\n", save.c_str());
  return Status();
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  digits::Settings settings;
  CLI::App app("Trains a network to read handwritten digits, every step an op call.", "digits");
  app.add_option("--data", settings.data, "folder with digits in MNIST's IDX format; default: digits drawn here");
  app.add_option("--save", settings.save, "file to write the weights to (safetensors)");
  app.add_option("--load", settings.load, "weights to test instead of training");
  app.add_option("--predictions", settings.predictions, "file to write what it reads in each test digit to (CSV)");
  app.add_option("--trace", settings.trace,
                 "file to write a trace to (Chrome trace JSON): of the training, or with --load of reading one digit");
  app.add_option("--device", settings.device, "where ops run: on the CPU, or on a GPU by Vulkan or CUDA")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "vulkan", "cuda"}));
  app.add_option("--model", settings.model, "a convolutional network, a deeper and slower one, or a perceptron")
      ->capture_default_str()
      ->check(CLI::IsMember(digits::Models()));
  app.add_option("--layers", settings.layers, "layers of your own, such as 'conv5:8 pool dense:10'");
  app.add_flag("!--no-augment", settings.augment, "train on the digits as they are, not turned, scaled and shifted");
  app.add_option("--digits", settings.digits, "train on so many digits at most")
      ->check(CLI::Range(size_t{1}, SIZE_MAX));
  app.add_option("--batch", settings.batch, "digits a step")->capture_default_str()->check(CLI::Range(1, 65536));
  app.add_option("--epochs", settings.epochs, "rounds over the digits")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--learning-rate", settings.learning_rate, "of Adam, at the start")->capture_default_str();
  app.add_option("--seed", settings.seed, "of weights, order and drawn digits")->capture_default_str();
  app.add_option("--threads", settings.threads, "0: one per core")->capture_default_str()->check(CLI::Range(0, 1024));
  app.add_option(
      "--processes", settings.processes,
      "path of libtandem_mpi.so: train with all processes that mpirun started, each on its share of a batch, "
      "and write the weights of each to SAVE.RANK");
  CLI11_PARSE(app, argc, argv);
  if (const tandem::Status status = digits::Run(settings); !status.ok()) {
    std::fprintf(stderr, "digits: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
