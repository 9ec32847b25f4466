// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Status payloads: one allocation that holds the counts, the text and the decoded location.

#include "tandem/status.h"

#include <algorithm>
#include <atomic>
#include <new>

namespace tandem {

// The text is "[op] message" followed by the file name; it lies behind the payload, or in static storage.
//
// An error that came through ops has a payload for each of the first ones, a step: its text is the op and the file name
// alone, and `before` leads to the step before, at last to the origin. Errors share the steps that they have in common.
// One that came through more ops than are kept has another payload, with their number only, whose `before` is the last
// step that is kept. So no walk is longer than kMaxSteps + 1.
struct StatusPayload {
  std::atomic<uint32_t> refs{1};
  bool is_static = false;  // never counted nor freed
  StatusCode code = StatusCode::kOk;
  uint32_t message_size = 0;  // with the op
  uint32_t op_size = 0;       // without the brackets
  uint32_t file_size = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  size_t num_steps = 0;  // up to here
  const char* text = nullptr;
  const StatusPayload* before = nullptr;  // owned; null for an origin
  Status cause;                           // of an origin

  const StatusPayload& origin() const {
    const StatusPayload* payload = this;
    while (payload->before != nullptr) payload = payload->before;
    return *payload;
  }
  DecodedLocation location() const { return {file(), line, column}; }
  std::string_view message() const { return {text, message_size}; }
  std::string_view op() const { return op_size == 0 ? std::string_view() : std::string_view(text + 1, op_size); }
  std::string_view file() const { return {text + message_size, file_size}; }

  void Free() const {
    this->~StatusPayload();
    ::operator delete(const_cast<StatusPayload*>(this));
  }
};

namespace {

constexpr std::string_view kOutOfMemoryText = "out of memory";

// Constants, also in their destruction: nothing of them runs before main or at exit.
constexpr StatusPayload kOutOfMemoryPayload = {
    .is_static = true,
    .code = StatusCode::kResourceExhausted,
    .message_size = kOutOfMemoryText.size(),
    .text = kOutOfMemoryText.data(),
    .before = nullptr,
    .cause = Status(),
};

constexpr Status kOkStatus;

struct Parts {
  StatusCode code;
  std::string_view op;
  std::string_view detail;
  DecodedLocation location;
};

// With room for a text of that many bytes; null if memory is exhausted.
StatusPayload* AllocatePayload(size_t text_size) {
  if (text_size > UINT32_MAX / 2) return nullptr;
  void* memory = ::operator new(sizeof(StatusPayload) + text_size, std::nothrow);
  return memory == nullptr ? nullptr : new (memory) StatusPayload;
}

StatusPayload* NewPayload(const Parts& parts, Status cause) {
  const size_t op_space = parts.op.empty() ? 0 : parts.op.size() + 3;
  StatusPayload* payload = AllocatePayload(op_space + parts.detail.size() + parts.location.file.size());
  if (payload == nullptr) return nullptr;
  char* text = reinterpret_cast<char*>(payload + 1);
  payload->text = text;
  const auto append = [&text](std::string_view part) { text = std::copy(part.begin(), part.end(), text); };
  if (!parts.op.empty()) {
    append("[");
    append(parts.op);
    append("] ");
  }
  append(parts.detail);
  append(parts.location.file);
  payload->code = parts.code;
  payload->op_size = static_cast<uint32_t>(parts.op.size());
  payload->message_size = static_cast<uint32_t>(op_space + parts.detail.size());
  payload->file_size = static_cast<uint32_t>(parts.location.file.size());
  payload->line = parts.location.line;
  payload->column = parts.location.column;
  payload->cause = std::move(cause);
  return payload;
}

// A step through `op`, or one more of those that are only counted.
StatusPayload* NewStep(const StatusPayload& before, std::string_view op, const Location& location) {
  const bool is_kept = before.num_steps < Status::kMaxSteps;
  const DecodedLocation place = is_kept ? location.Decode() : DecodedLocation();
  if (!is_kept) op = {};
  StatusPayload* payload = AllocatePayload(op.size() + place.file.size());
  if (payload == nullptr) return nullptr;
  char* text = reinterpret_cast<char*>(payload + 1);
  payload->text = text;
  std::copy(place.file.begin(), place.file.end(), std::copy(op.begin(), op.end(), text));
  payload->message_size = static_cast<uint32_t>(op.size());
  payload->file_size = static_cast<uint32_t>(place.file.size());
  payload->line = place.line;
  payload->column = place.column;
  payload->num_steps = before.num_steps + 1;
  return payload;
}

using Write = FunctionRef<void(std::string_view)>;

void WriteLocation(Write write, const DecodedLocation& at) {
  if (!at.IsKnown()) return;
  MessageBuilder numbers;
  if (at.line > 0) numbers.Append(':', at.line);
  if (at.line > 0 && at.column > 0) numbers.Append(':', at.column);
  write(" (");
  write(at.file);
  write(numbers.view());
  write(")");
}

}  // namespace

std::string_view StatusCodeName(StatusCode code) {
  static constexpr std::string_view kNames[] = {
      "Ok",
      "Cancelled",
      "Unknown",
      "InvalidArgument",
      "DeadlineExceeded",
      "NotFound",
      "AlreadyExists",
      "ResourceExhausted",
      "FailedPrecondition",
      "OutOfRange",
      "Unimplemented",
      "Internal",
      "Unavailable",
      "DataLoss",
  };
  const auto i = static_cast<size_t>(code);
  return i < std::size(kNames) ? kNames[i] : "Unknown";
}

Status Status::Error(StatusCode code, std::string_view message, std::string_view op, Location location, Status cause) {
  assert(code != StatusCode::kOk);
  const StatusPayload* payload = NewPayload({code, op, message, location.Decode()}, std::move(cause));
  return payload != nullptr ? Status(payload) : OutOfMemory();
}

Status Status::OutOfMemory() { return Status(&kOutOfMemoryPayload); }

void Status::AddRefSlow() const {
  if (!payload_->is_static) const_cast<StatusPayload*>(payload_)->refs.fetch_add(1, std::memory_order_relaxed);
}

void Status::DropRefSlow() {
  // A long chain of causes is taken apart in a loop, not by recursion. A payload has a cause or a step before it.
  const StatusPayload* payload = payload_;
  while (payload != nullptr && !payload->is_static) {
    auto* mutable_payload = const_cast<StatusPayload*>(payload);
    if (mutable_payload->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const StatusPayload* next =
        payload->before != nullptr ? payload->before : std::exchange(mutable_payload->cause.payload_, nullptr);
    payload->Free();
    payload = next;
  }
}

bool Status::HasOriginOf(const Status& other) const {
  return !ok() && !other.ok() && &payload_->origin() == &other.payload_->origin();
}

StatusCode Status::code() const { return ok() ? StatusCode::kOk : payload_->origin().code; }
std::string_view Status::message() const { return ok() ? std::string_view() : payload_->origin().message(); }
std::string_view Status::op() const { return ok() ? std::string_view() : payload_->origin().op(); }

std::string_view Status::detail() const {
  if (ok()) return {};
  const StatusPayload& origin = payload_->origin();
  std::string_view text = origin.message();
  if (origin.op_size > 0) text.remove_prefix(origin.op_size + 3);
  return text;
}

DecodedLocation Status::location() const { return ok() ? DecodedLocation() : payload_->origin().location(); }

const Status& Status::cause() const { return ok() ? kOkStatus : payload_->origin().cause; }

Status Status::WithContext(std::string_view op, Location location) const {
  // What has come through an op has all that is known of its origin.
  if (ok() || payload_->before != nullptr) return *this;
  const bool adds_op = payload_->op_size == 0 && !op.empty();
  DecodedLocation place = this->location();
  const bool lacks_location = !place.IsKnown();
  if (lacks_location) place = location.Decode();
  if (!adds_op && !(lacks_location && place.IsKnown())) return *this;
  const Parts parts = {payload_->code, adds_op ? op : this->op(), detail(), place};
  const StatusPayload* payload = NewPayload(parts, payload_->cause);
  return payload != nullptr ? Status(payload) : *this;
}

Status Status::WithCause(Status cause) const {
  if (ok() || cause.ok() || payload_->before != nullptr || !payload_->cause.ok()) return *this;
  const StatusPayload* payload = NewPayload({payload_->code, op(), detail(), location()}, std::move(cause));
  return payload != nullptr ? Status(payload) : *this;
}

Status internal::MissingValueError() {
  return Status::Error(StatusCode::kInternal, "expected a value or an error, got an ok status");
}

Status Status::Through(std::string_view op, Location location) const {
  if (ok()) return *this;
  StatusPayload* step = NewStep(*payload_, op, location);
  if (step == nullptr) return *this;
  // Of the steps that are only counted, one is enough: it takes the place of the one before.
  const StatusPayload* before = payload_->num_steps > kMaxSteps ? payload_->before : payload_;
  if (!before->is_static) const_cast<StatusPayload*>(before)->refs.fetch_add(1, std::memory_order_relaxed);
  step->before = before;
  return Status(step);
}

size_t Status::num_steps() const { return ok() ? 0 : payload_->num_steps; }

Status::Step Status::step(size_t i) const {
  assert(i < num_steps() && i < kMaxSteps);
  const StatusPayload* payload = payload_;
  while (payload->num_steps > i + 1) payload = payload->before;
  return {payload->message(), payload->location()};
}

void Status::WriteSteps(Write write, std::string_view before, std::string_view after) const {
  const size_t num_kept = std::min(num_steps(), kMaxSteps);
  for (size_t i = 0; i < num_kept; ++i) {
    const Step at = step(i);
    write(before);
    write(at.op);
    WriteLocation(write, at.location);
    write(after);
  }
  if (const size_t others = num_steps() - num_kept; others > 0) {
    MessageBuilder text;
    text.Append(others, " more op", others == 1 ? "" : "s");
    write(before);
    write(text.view());
    write(after);
  }
}

void Status::WriteText(Write write) const {
  if (ok()) return write("Ok");
  for (const Status* error = this; !error->ok(); error = &error->cause()) {
    if (error != this) write("\n  caused by ");
    write(StatusCodeName(error->code()));
    write(": ");
    // A message may show something on lines of its own.
    const std::string_view message = error->message();
    const size_t end = std::min(message.find('\n'), message.size());
    write(message.substr(0, end));
    WriteLocation(write, error->location());
    write(message.substr(end));
    error->WriteSteps(write, "\n  through ", "");
  }
}

std::string Status::ToString() const {
  std::string text;
  WriteText([&text](std::string_view part) { text.append(part); });
  return text;
}

}  // namespace tandem
