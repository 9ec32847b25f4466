// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What layers find, as JSON.

#include "tandem/layer_reports.h"

#include <utility>

#include "base/json_writer.h"
#include "tandem/location.h"
#include "tandem/message.h"

namespace tandem {

namespace {

std::string TextOf(const Location& location) {
  const DecodedLocation place = location.Decode();
  MessageBuilder text;
  text.Append(place.file);
  if (place.line > 0) text.Append(':', place.line, ':', place.column);
  return std::string(text.view());
}

void Write(JsonWriter& out, std::string_view key, const ProfileTimes& times) {
  out.Key(key).Open('{');
  out.Key("count").Int(times.count);
  out.Key("total").Int(times.total.count());
  out.Key("min").Int(times.min.count());
  out.Key("max").Int(times.max.count());
  out.Close('}');
}

}  // namespace

LayerReports::LayerReports() : profile_(MakeRef<Profile>()), counts_(MakeRef<ShadowCounts>()) {}

StackedOpHandlerOptions LayerReports::MakeOptions(HostContext& host) {
  StackedOpHandlerOptions options;
  options.logging.sink = [&host](std::string_view lines) { host.Print(lines); };
  options.profile = profile_;
  options.nan_guard.sink = [this](const NanFinding& found) { Add(found); };
  options.shadow.counts = counts_;
  options.shadow.max_reports = kMaxFindings;
  options.shadow.sink = [this](const ShadowDivergence& divergence) { Add(divergence); };
  return options;
}

void LayerReports::Add(const ShadowDivergence& it) {
  Finding finding;
  finding.op = it.op;
  finding.location = TextOf(it.location);
  finding.metadata = it.metadata;
  finding.message = it.message;
  finding.result = static_cast<int64_t>(it.result);
  finding.element = it.element;
  finding.actual = it.actual;
  finding.expected = it.expected;
  finding.attrs = it.attrs;
  finding.inputs = it.inputs;
  finding.call = it.call;
  finding.num_different = it.num_different;
  finding.error = it.error;
  finding.ulp = it.ulp;
  finding.largest_error = it.largest_error;
  const std::lock_guard lock(mutex_);
  divergences_.push_back(std::move(finding));
}

void LayerReports::Add(const NanFinding& it) {
  const std::lock_guard lock(mutex_);
  if (nans_.size() == kMaxFindings) return;
  MessageBuilder metadata;
  metadata.Append(it.metadata);
  Finding& finding = nans_.emplace_back();
  finding.op = it.op;
  finding.location = TextOf(it.location);
  finding.metadata = metadata.view();
  finding.message = it.error.message();
  finding.result = static_cast<int64_t>(it.result);
  finding.element = it.element;
  finding.value = it.value;
}

std::string LayerReports::ProfileJson() {
  JsonWriter out;
  out.Open('[');
  for (const OpProfile& entry : profile_->Entries()) {
    out.Open('{');
    out.Key("op").String(entry.op);
    out.Key("dtype");
    if (entry.dtype == DType::kInvalid) {
      out.Null();
    } else {
      out.String(DTypeName(entry.dtype));
    }
    out.Key("calls").Int(entry.calls);
    out.Key("pending").Int(entry.pending);
    out.Key("errors").Int(entry.errors);
    out.Key("dropped").Int(entry.dropped);
    out.Key("result_bytes").Int(static_cast<int64_t>(entry.result_bytes));
    Write(out, "call", entry.call);
    Write(out, "results", entry.results);
    out.Close('}');
  }
  out.Close(']');
  return std::move(out).Take();
}

std::string LayerReports::ShadowJson() {
  JsonWriter out;
  out.Open('{');
  out.Key("equal").Int(counts_->equal());
  out.Key("diverged").Int(counts_->diverged());
  out.Key("pending").Int(counts_->pending());
  out.Key("skipped").Open('{');
  for (size_t i = 0; i < kNumShadowSkips; ++i) {
    const auto reason = static_cast<ShadowSkip>(i);
    if (const int64_t count = counts_->skipped(reason); count > 0) out.Key(ShadowSkipText(reason)).Int(count);
  }
  out.Close('}');
  out.Key("divergences").Open('[');
  const std::lock_guard lock(mutex_);
  for (const Finding& finding : divergences_) {
    out.Open('{');
    out.Key("op").String(finding.op);
    out.Key("location").String(finding.location);
    out.Key("call").Int(finding.call);
    out.Key("result").Int(finding.result);
    out.Key("element").Int(finding.element);
    out.Key("actual").String(finding.actual);
    out.Key("expected").String(finding.expected);
    out.Key("error").Float(finding.error);
    out.Key("ulp").Float(finding.ulp);
    out.Key("largest_error").Float(finding.largest_error);
    out.Key("num_different").Int(finding.num_different);
    out.Key("metadata").String(finding.metadata);
    out.Key("attrs").String(finding.attrs);
    out.Key("inputs").String(finding.inputs);
    out.Key("message").String(finding.message);
    out.Close('}');
  }
  out.Close(']');
  out.Close('}');
  return std::move(out).Take();
}

std::string LayerReports::NanGuardJson() {
  JsonWriter out;
  out.Open('[');
  const std::lock_guard lock(mutex_);
  for (const Finding& finding : nans_) {
    out.Open('{');
    out.Key("op").String(finding.op);
    out.Key("location").String(finding.location);
    out.Key("result").Int(finding.result);
    out.Key("metadata").String(finding.metadata);
    out.Key("element").Int(finding.element);
    out.Key("value").Float(finding.value);
    out.Key("message").String(finding.message);
    out.Close('}');
  }
  out.Close(']');
  return std::move(out).Take();
}

}  // namespace tandem
