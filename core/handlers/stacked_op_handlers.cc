// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A text is read twice: first it is checked, then its handlers are made, the innermost first.

#include "tandem/stacked_op_handlers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "../program/program_lexer.h"
#include "../program/program_number.h"

namespace tandem {

namespace {

constexpr size_t kMaxText = 4096;
constexpr int kMaxDepth = 32;
constexpr std::string_view kSpecial = ":|(){}";

// A kRecord is there, or not: whoever records makes it.
enum class Layer { kNone, kLog, kNanGuard, kProfile, kRecord, kShadow, kSubstitute };

Layer FindLayer(std::string_view name) {
  if (name == "log") return Layer::kLog;
  if (name == "nan-guard") return Layer::kNanGuard;
  if (name == "profile") return Layer::kProfile;
  if (name == "record") return Layer::kRecord;
  if (name == "substitute") return Layer::kSubstitute;
  return name == "shadow" ? Layer::kShadow : Layer::kNone;
}

// What one layer is made with.
struct LayerOptions {
  StackedOpHandlerOptions all;
  TensorTolerance tolerance{.at_larger = true};
  bool has_tolerance = false;
};

struct LayerOption {
  enum class Value { kNone, kCount, kNumber };
  Layer layer;
  std::string_view name;
  Value value;
  void (*set)(LayerOptions& options, double number);
};

constexpr LayerOption kOptions[] = {
    {Layer::kLog, "sync", LayerOption::Value::kNone,
     [](LayerOptions& to, double) { to.all.logging.synchronous = true; }},
    {Layer::kLog, "elements", LayerOption::Value::kCount,
     [](LayerOptions& to, double number) { to.all.logging.max_elements = static_cast<int>(number); }},
    {Layer::kNanGuard, "infinities", LayerOption::Value::kNone,
     [](LayerOptions& to, double) { to.all.nan_guard.infinities = true; }},
    {Layer::kNanGuard, "report", LayerOption::Value::kNone,
     [](LayerOptions& to, double) { to.all.nan_guard.fail = false; }},
    {Layer::kShadow, "fail", LayerOption::Value::kNone, [](LayerOptions& to, double) { to.all.shadow.fail = true; }},
    {Layer::kShadow, "reports", LayerOption::Value::kCount,
     [](LayerOptions& to, double number) { to.all.shadow.max_reports = static_cast<int64_t>(number); }},
    {Layer::kShadow, "ulp", LayerOption::Value::kNumber,
     [](LayerOptions& to, double number) { to.tolerance.ulp = number, to.has_tolerance = true; }},
    {Layer::kShadow, "abs", LayerOption::Value::kNumber,
     [](LayerOptions& to, double number) { to.tolerance.abs = number, to.has_tolerance = true; }},
    {Layer::kShadow, "of-largest", LayerOption::Value::kNumber,
     [](LayerOptions& to, double number) { to.tolerance.of_largest = number, to.has_tolerance = true; }},
};

class Reader {
 public:
  // Without `makes`, the handlers that are made, and what is over them, are null.
  Reader(CoreRuntime& runtime, std::string_view text, const StackedOpHandlerOptions& options, bool makes)
      : runtime_(runtime), text_(text), options_(options), makes_(makes) {}

  StatusOr<OpHandler*> Read() {
    TANDEM_ASSIGN_OR_RETURN(OpHandler* const handler, ReadHandler(/*depth=*/0));
    if (at_ < text_.size()) return Unexpected("the end of the text");
    return handler;
  }

 private:
  StatusOr<OpHandler*> ReadHandler(int depth) {
    if (depth == kMaxDepth) {
      return InvalidArgument("expected at most ", kMaxDepth, " handlers inside one another, got more at offset ", at_);
    }
    if (Skip('(')) {
      TANDEM_ASSIGN_OR_RETURN(OpHandler* const inner, ReadHandler(depth + 1));
      if (!Skip(')')) return Unexpected("')'");
      return inner;
    }
    const size_t begin = at_;
    const std::string_view name = text_.substr(begin, text_.substr(begin).find_first_of(kSpecial));
    if (name.empty()) return Unexpected("the name of an op handler or a layer");
    at_ += name.size();
    const bool has_options = Skip('{');
    if (!has_options && !Skip(':')) return FindNamed(name, begin);
    const Layer layer = FindLayer(name);
    if (layer == Layer::kNone) {
      return MakeError(StatusCode::kNotFound,
                       "expected one of the layers log, nan-guard, profile, shadow and substitute, got ", Quoted{name},
                       " at offset ", begin);
    }
    LayerOptions options{.all = options_};
    if (has_options) {
      TANDEM_RETURN_IF_ERROR(ReadOptions(layer, options));
      if (!Skip(':')) return Unexpected("':'");
    }
    std::string_view table;
    if (layer == Layer::kSubstitute) TANDEM_RETURN_IF_ERROR(ReadTable(&table));
    TANDEM_ASSIGN_OR_RETURN(OpHandler* const delegate, ReadHandler(depth + 1));
    OpHandler* reference = nullptr;
    if (layer == Layer::kShadow) {
      if (!Skip('|')) return Unexpected("'|' and the reference of the shadow");
      TANDEM_ASSIGN_OR_RETURN(reference, ReadHandler(depth + 1));
    }
    return GetOrMake(text_.substr(begin, at_ - begin), {layer, options.all, delegate, reference, table});
  }

  // Those of a layer, behind their '{'.
  Status ReadOptions(Layer layer, LayerOptions& options) {
    do {
      TANDEM_RETURN_IF_ERROR(ReadOption(layer, options));
    } while (Skip(','));
    if (!Skip('}')) return Unexpected("',' or '}'");
    if (options.has_tolerance) {
      options.all.shadow.tolerance = [tolerance = options.tolerance](const OpDef&, DType) { return tolerance; };
    }
    return Status();
  }

  Status ReadOption(Layer layer, LayerOptions& options) {
    const size_t begin = at_;
    const std::string_view name = ReadUpTo("=,}");
    const LayerOption* const option = std::ranges::find_if(
        kOptions, [&](const LayerOption& each) { return each.layer == layer && each.name == name; });
    if (option == std::end(kOptions)) {
      MessageBuilder known;
      for (const LayerOption& each : kOptions) {
        if (each.layer == layer) known.Append(known.view().empty() ? "one of the options " : ", ", each.name);
      }
      return InvalidArgument("expected ", known.view().empty() ? "no options of this layer" : known.view(), ", got ",
                             Quoted{name}, " at offset ", begin);
    }
    double number = 0;
    if (option->value != LayerOption::Value::kNone) {
      if (!Skip('=')) return Unexpected("'=' and a number");
      const size_t number_begin = at_;
      const std::string_view text = ReadUpTo(",}");
      if (!ReadNumber(text, option->value == LayerOption::Value::kCount, number)) {
        return InvalidArgument(
            "expected ", option->value == LayerOption::Value::kCount ? "a count" : "a number that is not negative",
            " as the option ", option->name, ", got ", Quoted{text}, " at offset ", number_begin);
      }
    }
    option->set(options, number);
    return Status();
  }

  static bool ReadNumber(std::string_view text, bool is_count, double& number) {
    const ProgramTokens tokens(text, {});
    const bool is_number = tokens.Is(ProgramToken::Kind::kNumber) && tokens.token().text == text;
    if (!is_number || text.starts_with('-') || text.starts_with("0x")) return false;
    int32_t count = 0;
    std::byte* const to = reinterpret_cast<std::byte*>(is_count ? static_cast<void*>(&count) : &number);
    if (ParseProgramNumber(text, is_count ? DType::kI32 : DType::kF64, to) != ProgramNumberFit::kFits) return false;
    if (is_count) number = count;
    return true;
  }

  std::string_view ReadUpTo(std::string_view ends) {
    const std::string_view read = text_.substr(at_, text_.substr(at_).find_first_of(ends));
    at_ += read.size();
    return read;
  }

  // The name of a table and the '|' behind it.
  Status ReadTable(std::string_view* table) {
    *table = ReadUpTo(kSpecial);
    if (table->empty()) return Unexpected("the name of a table");
    return Skip('|') ? Status() : Unexpected("'|' and the handler that is substituted on");
  }

  StatusOr<OpHandler*> FindNamed(std::string_view name, size_t begin) const {
    if (OpHandler* const found = runtime_.FindHandler(name)) return found;
    return MakeError(StatusCode::kNotFound,
                     "expected the name of an op handler, or a layer (log, nan-guard, profile, "
                     "shadow, substitute) and ':', got ",
                     Quoted{name}, " at offset ", begin);
  }

  struct Part {
    Layer layer;
    const StackedOpHandlerOptions& options;
    OpHandler* delegate;
    OpHandler* reference;
    std::string_view table;
  };

  StatusOr<OpHandler*> GetOrMake(std::string_view name, const Part& part) const {
    if (OpHandler* const found = runtime_.FindHandler(name)) return found;
    const size_t offset = static_cast<size_t>(name.data() - text_.data());
    if (part.layer == Layer::kRecord) {
      return MakeError(StatusCode::kNotFound, "expected a recording that was made over the op handler, got ",
                       Quoted{name}, " at offset ", offset);
    }
    if (part.layer == Layer::kProfile && !part.options.profile) {
      return FailedPrecondition("expected a profile for the layer at offset ", offset, " to count in, got null");
    }
    RcRef<Substitutions> rules;
    if (part.layer == Layer::kSubstitute) {
      if (!part.options.substitutions) {
        return FailedPrecondition("expected tables for the layer at offset ", offset, " to substitute by, got none");
      }
      TANDEM_ASSIGN_OR_RETURN(rules, part.options.substitutions(part.table));
    }
    if (!makes_) return static_cast<OpHandler*>(nullptr);
    OpHandler* const added = runtime_.AddHandler(Make(name, part, std::move(rules)));
    // Another thread may have added one of the name first.
    OpHandler* const first = runtime_.FindHandler(name);
    return first == nullptr ? added : first;
  }

  std::unique_ptr<OpHandler> Make(std::string_view name, const Part& part, RcRef<Substitutions> rules) const {
    OpHandler& delegate = *part.delegate;
    const StackedOpHandlerOptions& options = part.options;
    switch (part.layer) {
      case Layer::kLog:
        return CreateLoggingOpHandler(name, runtime_, delegate, options.logging);
      case Layer::kNanGuard:
        return CreateNanGuardOpHandler(name, runtime_, delegate, options.nan_guard);
      case Layer::kProfile:
        return CreateProfileOpHandler(name, runtime_, delegate, options.profile);
      case Layer::kSubstitute:
        return rules->MakeHandler(name, delegate);
      case Layer::kShadow:
      case Layer::kRecord:
      case Layer::kNone:
        break;
    }
    return CreateShadowOpHandler(name, runtime_, delegate, *part.reference, options.shadow);
  }

  bool Skip(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  struct Quoted {
    std::string_view text;
    friend void AppendTo(MessageBuilder& out, const Quoted& quoted) { AppendQuoted(out, quoted.text); }
  };

  Status Unexpected(std::string_view expected) const {
    if (at_ == text_.size())
      return InvalidArgument("expected ", expected, " at offset ", at_, ", got the end of the text");
    return InvalidArgument("expected ", expected, " at offset ", at_, ", got '", text_[at_], "'");
  }

  CoreRuntime& runtime_;
  const std::string_view text_;
  const StackedOpHandlerOptions& options_;
  const bool makes_;
  size_t at_ = 0;
};

}  // namespace

StatusOr<OpHandler*> GetOrMakeOpHandler(CoreRuntime& runtime, std::string_view text,
                                        const StackedOpHandlerOptions& options) {
  if (text.size() > kMaxText) {
    return InvalidArgument("expected a text of at most ", kMaxText, " bytes, got ", text.size());
  }
  if (OpHandler* const found = runtime.FindHandler(text)) return found;
  TANDEM_RETURN_IF_ERROR(Reader(runtime, text, options, /*makes=*/false).Read().status());
  return Reader(runtime, text, options, /*makes=*/true).Read();
}

}  // namespace tandem
