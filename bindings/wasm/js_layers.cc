// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Layers of op handlers for JavaScript, and what they have found.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "js_runtime.h"
#include "tandem/location.h"
#include "tandem/message.h"
#include "tandem/stacked_op_handlers.h"
#include "tandem_programs.h"

namespace tandem::js {

namespace {

constexpr int64_t kMaxReports = 64;

// Texts of several records.
class Records {
 public:
  Records& Text(std::string_view text) {
    const size_t begin = text_.size();
    text_ += text;
    std::replace_if(
        text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.end(),
        [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    text_ += '\x1f';
    return *this;
  }
  template <typename Number>
  Records& Numbers(std::initializer_list<Number> numbers) {
    for (const Number number : numbers) {
      MessageBuilder text;
      text.Append(number);
      Text(text.view());
    }
    return *this;
  }
  void End() { text_ += '\x1e'; }

  const std::string& text() const { return text_; }
  void Append(const Records& others) { text_ += others.text_; }

 private:
  std::string text_;
};

// What the layers of a runtime count in.
class Layers final : public JsPart {
 public:
  Layers() : profile_(MakeRef<Profile>()), counts_(MakeRef<ShadowCounts>()) {}
  bool has_memory() const { return profile_ && counts_; }

  StackedOpHandlerOptions MakeOptions(HostContext& host) {
    StackedOpHandlerOptions options;
    options.logging.sink = [&host](std::string_view lines) { host.Print(lines); };
    options.profile = profile_;
    options.shadow.counts = counts_;
    options.shadow.max_reports = kMaxReports;
    options.shadow.sink = [this](const ShadowDivergence& divergence) { Report(divergence); };
    return options;
  }

  Profile& profile() { return *profile_; }
  Records Shadow() {
    Records records;
    records.Numbers({counts_->equal(), counts_->diverged()});
    for (size_t i = 0; i < kNumShadowSkips; ++i) {
      const auto reason = static_cast<ShadowSkip>(i);
      records.Numbers({counts_->skipped(reason)}).Text(ShadowSkipText(reason));
    }
    records.End();
    const std::lock_guard lock(mutex_);
    records.Append(divergences_);
    return records;
  }

 private:
  void Report(const ShadowDivergence& it) {
    const DecodedLocation place = it.location.Decode();
    MessageBuilder location;
    location.Append(place.file);
    if (place.line > 0) location.Append(':', place.line, ':', place.column);
    const std::lock_guard lock(mutex_);
    divergences_.Text(it.op).Text(location.view()).Numbers({it.call, static_cast<int64_t>(it.result), it.element});
    divergences_.Text(it.actual).Text(it.expected).Numbers({it.error, it.ulp, it.largest_error});
    divergences_.Numbers({it.num_different}).Text(it.metadata).Text(it.attrs).Text(it.inputs).Text(it.message).End();
  }

  const RcRef<Profile> profile_;
  const RcRef<ShadowCounts> counts_;
  std::mutex mutex_;
  Records divergences_;
};

Layers* LayersOf(tandem_js& js) { return static_cast<Layers*>(js.layers.get()); }

void AppendTimes(Records& records, const ProfileTimes& times) {
  records.Numbers<int64_t>({times.count, times.total.count(), times.min.count(), times.max.count()});
}

}  // namespace

}  // namespace tandem::js

using namespace tandem::js;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_js_layers_add(tandem_js* js, const char* text) {
  if (js->layers == nullptr) {
    std::unique_ptr<Layers> made(new (std::nothrow) Layers);
    if (made == nullptr || !made->has_memory()) return tandem::c::ToC(tandem::Status::OutOfMemory());
    js->layers = std::move(made);
  }
  const tandem::StackedOpHandlerOptions options = LayersOf(*js)->MakeOptions(js->host());
  return tandem::c::ToC(tandem::GetOrMakeOpHandler(js->running().core, text, options).status());
}

tandem_status* tandem_js_profile(tandem_js* js, char** text, size_t* size) {
  Records records;
  if (js->layers != nullptr) {
    for (const tandem::OpProfile& entry : LayersOf(*js)->profile().Entries()) {
      const bool has_dtype = entry.dtype != tandem::DType::kInvalid;
      records.Text(entry.op).Text(has_dtype ? tandem::DTypeName(entry.dtype) : "");
      records.Numbers({entry.calls, entry.pending, entry.errors, entry.dropped});
      records.Numbers({entry.result_bytes});
      AppendTimes(records, entry.call);
      AppendTimes(records, entry.results);
      records.End();
    }
  }
  return tandem::c::GiveText(records.text(), text, size);
}

void tandem_js_profile_reset(tandem_js* js) {
  if (js->layers != nullptr) LayersOf(*js)->profile().Reset();
}

tandem_status* tandem_js_shadow(tandem_js* js, char** text, size_t* size) {
  return tandem::c::GiveText(js->layers == nullptr ? std::string() : LayersOf(*js)->Shadow().text(), text, size);
}

}  // extern "C"
