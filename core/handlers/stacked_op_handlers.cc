// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A text is read twice: first it is checked, then its handlers are made, the innermost first.

#include "tandem/stacked_op_handlers.h"

#include <memory>
#include <utility>

namespace tandem {

namespace {

constexpr size_t kMaxText = 4096;
constexpr int kMaxDepth = 32;
constexpr std::string_view kSpecial = ":|()";

enum class Layer { kNone, kLog, kNanGuard, kProfile, kShadow, kSubstitute };

Layer FindLayer(std::string_view name) {
  if (name == "log") return Layer::kLog;
  if (name == "nan-guard") return Layer::kNanGuard;
  if (name == "profile") return Layer::kProfile;
  if (name == "substitute") return Layer::kSubstitute;
  return name == "shadow" ? Layer::kShadow : Layer::kNone;
}

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
    if (!Skip(':')) return FindNamed(name, begin);
    const Layer layer = FindLayer(name);
    if (layer == Layer::kNone) {
      return MakeError(StatusCode::kNotFound,
                       "expected one of the layers log, nan-guard, profile, shadow and substitute, got ", Quoted{name},
                       " at offset ", begin);
    }
    std::string_view table;
    if (layer == Layer::kSubstitute) TANDEM_RETURN_IF_ERROR(ReadTable(&table));
    TANDEM_ASSIGN_OR_RETURN(OpHandler* const delegate, ReadHandler(depth + 1));
    OpHandler* reference = nullptr;
    if (layer == Layer::kShadow) {
      if (!Skip('|')) return Unexpected("'|' and the reference of the shadow");
      TANDEM_ASSIGN_OR_RETURN(reference, ReadHandler(depth + 1));
    }
    return GetOrMake(text_.substr(begin, at_ - begin), {layer, delegate, reference, table});
  }

  // The name of a table and the '|' behind it.
  Status ReadTable(std::string_view* table) {
    *table = text_.substr(at_, text_.substr(at_).find_first_of(kSpecial));
    if (table->empty()) return Unexpected("the name of a table");
    at_ += table->size();
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
    OpHandler* delegate;
    OpHandler* reference;
    std::string_view table;
  };

  StatusOr<OpHandler*> GetOrMake(std::string_view name, const Part& part) const {
    if (OpHandler* const found = runtime_.FindHandler(name)) return found;
    const size_t offset = static_cast<size_t>(name.data() - text_.data());
    if (part.layer == Layer::kProfile && !options_.profile) {
      return FailedPrecondition("expected a profile for the layer at offset ", offset, " to count in, got null");
    }
    RcRef<Substitutions> rules;
    if (part.layer == Layer::kSubstitute) {
      if (!options_.substitutions) {
        return FailedPrecondition("expected tables for the layer at offset ", offset, " to substitute by, got none");
      }
      TANDEM_ASSIGN_OR_RETURN(rules, options_.substitutions(part.table));
    }
    if (!makes_) return static_cast<OpHandler*>(nullptr);
    OpHandler* const added = runtime_.AddHandler(Make(name, part, std::move(rules)));
    // Another thread may have added one of the name first.
    OpHandler* const first = runtime_.FindHandler(name);
    return first == nullptr ? added : first;
  }

  std::unique_ptr<OpHandler> Make(std::string_view name, const Part& part, RcRef<Substitutions> rules) const {
    OpHandler& delegate = *part.delegate;
    switch (part.layer) {
      case Layer::kLog:
        return CreateLoggingOpHandler(name, runtime_, delegate, options_.logging);
      case Layer::kNanGuard:
        return CreateNanGuardOpHandler(name, runtime_, delegate, options_.nan_guard);
      case Layer::kProfile:
        return CreateProfileOpHandler(name, runtime_, delegate, options_.profile);
      case Layer::kSubstitute:
        return rules->MakeHandler(name, delegate);
      case Layer::kShadow:
      case Layer::kNone:
        break;
    }
    return CreateShadowOpHandler(name, runtime_, delegate, *part.reference, options_.shadow);
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
