// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Events are kept in one allocation each and written out as Chrome trace JSON.

#include "tandem/tracer.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "base/utf8.h"

namespace tandem {

struct Tracer::Entry {
  Entry* next;
  uint32_t sizes[4];  // name, device, inputs, attrs; the text lies behind the entry
  uint32_t thread;
  TraceEvent::Clock::time_point called, started, ended;
};

namespace {

// Small numbers make readable rows; a thread keeps its number for life.
uint32_t ThisThreadNumber() {
  static constinit std::atomic<uint32_t> next{0};
  thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// As a JSON string; bytes that are not UTF-8 become replacement characters.
void AppendJsonString(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const size_t size = Utf8SequenceLength(text, 0);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (size == 0) {
      out += "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      out.append(1, '\\').append(1, text[0]);
    } else if (byte < 0x20) {
      out.append("\\u00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  out += '"';
}

void AppendMicroseconds(std::string& out, TraceEvent::Clock::duration duration) {
  const int64_t nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  out += std::to_string(nanoseconds / 1000);
  std::string digits = std::to_string(1000 + nanoseconds % 1000);
  digits[0] = '.';
  out += digits;
}

// Of what devices have executed.
size_t RowOf(std::string_view device, std::vector<std::string_view>& devices) {
  const auto found = std::ranges::find(devices, device);
  const auto row = static_cast<size_t>(found - devices.begin());
  if (found == devices.end()) devices.push_back(device);
  return row;
}

// Tells apart in viewers what the host's threads and the devices did, if there is any of the latter.
void AppendRowNames(std::string& json, const std::vector<std::string_view>& devices) {
  const auto append = [&](std::string_view what, int process, size_t row, std::string_view name) {
    json.append(",\n{\"ph\":\"M\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(row));
    json.append(",\"name\":\"").append(what).append("\",\"args\":{\"name\":");
    AppendJsonString(json, name);
    json += "}}";
  };
  if (devices.empty()) return;
  append("process_name", 1, 0, "host");
  append("process_name", 2, 0, "devices");
  for (size_t row = 0; row < devices.size(); ++row) append("thread_name", 2, row, devices[row]);
}

}  // namespace

Tracer::~Tracer() { Clear(); }

void Tracer::Record(const TraceEvent& event) {
  const std::string_view texts[4] = {event.name, event.device, event.inputs, event.attrs};
  size_t size = sizeof(Entry);
  for (std::string_view text : texts) size += text.size();
  void* memory = ::operator new(size, std::nothrow);
  const std::lock_guard lock(mutex_);
  if (memory == nullptr) {
    ++num_dropped_;
    return;
  }
  auto* entry = new (memory) Entry{nullptr, {}, ThisThreadNumber(), event.called, event.started, event.ended};
  char* end = reinterpret_cast<char*>(entry + 1);
  for (int i = 0; i < 4; ++i) {
    entry->sizes[i] = static_cast<uint32_t>(texts[i].size());
    end = std::copy(texts[i].begin(), texts[i].end(), end);
  }
  (first_ == nullptr ? first_ : last_->next) = entry;
  last_ = entry;
  ++num_events_;
}

void Tracer::Clear() {
  const std::lock_guard lock(mutex_);
  while (first_ != nullptr) {
    Entry* next = first_->next;
    ::operator delete(first_);
    first_ = next;
  }
  last_ = nullptr;
  num_events_ = num_dropped_ = 0;
}

int64_t Tracer::num_events() const {
  const std::lock_guard lock(mutex_);
  return num_events_;
}

std::string Tracer::ToJson() const {
  constexpr TraceEvent::Clock::time_point kNone;
  const std::lock_guard lock(mutex_);
  TraceEvent::Clock::time_point origin = TraceEvent::Clock::time_point::max();
  for (const Entry* entry = first_; entry != nullptr; entry = entry->next) {
    origin = std::min(origin, entry->called == kNone ? entry->started : entry->called);
  }
  std::vector<std::string_view> devices;  // that have rows
  std::string json = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"droppedEvents\":" + std::to_string(num_dropped_) +
                     "},\"traceEvents\":[";
  for (const Entry* entry = first_; entry != nullptr; entry = entry->next) {
    const char* text = reinterpret_cast<const char*>(entry + 1);
    const auto take = [&](int i) {
      const std::string_view part(text, entry->sizes[i]);
      text += entry->sizes[i];
      return part;
    };
    const std::string_view name = take(0), device = take(1);
    const bool is_on_device = entry->called == kNone;
    const size_t row = is_on_device ? RowOf(device, devices) : entry->thread;
    json += entry == first_ ? "\n" : ",\n";
    json += is_on_device ? "{\"ph\":\"X\",\"pid\":2,\"tid\":" : "{\"ph\":\"X\",\"pid\":1,\"tid\":";
    json += std::to_string(row) + ",\"name\":";
    AppendJsonString(json, name);
    json += is_on_device ? ",\"cat\":\"device\",\"ts\":" : ",\"cat\":\"op\",\"ts\":";
    AppendMicroseconds(json, entry->started - origin);
    json += ",\"dur\":";
    AppendMicroseconds(json, entry->ended - entry->started);
    json += ",\"args\":{\"device\":";
    AppendJsonString(json, device);
    if (is_on_device) {
      json += "}}";
      continue;
    }
    json += ",\"inputs\":";
    AppendJsonString(json, take(2));
    json += ",\"attrs\":";
    AppendJsonString(json, take(3));
    json += ",\"queued_us\":";
    AppendMicroseconds(json, entry->started - entry->called);
    json += "}}";
  }
  AppendRowNames(json, devices);
  return json += "\n]}\n";
}

}  // namespace tandem
