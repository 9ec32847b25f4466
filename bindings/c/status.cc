// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Errors: each one block of memory with its texts, and one for when there is none.

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "objects.h"
#include "tandem/message.h"

// The texts lie behind the object.
struct tandem_status {
  tandem_code code;
  const char* message;
  const char* op;
  const char* location;
  const char* text;
  const char* way;
  tandem::Status cause;
};

namespace tandem::c {

namespace {

static_assert(int{TANDEM_DATA_LOSS} == static_cast<int>(StatusCode::kDataLoss));

constexpr tandem_status kOutOfMemory = {
    TANDEM_RESOURCE_EXHAUSTED, "out of memory", "", "", "ResourceExhausted: out of memory", "", Status()};

// Copies texts to `to`, or counts their bytes where that is null.
class TextWriter {
 public:
  explicit TextWriter(char* to) : to_(to) {}
  size_t size() const { return size_; }
  // Ends a text, and gives where it begins.
  const char* End() {
    Append(std::string_view("", 1));
    return to_ == nullptr ? nullptr : to_ + std::exchange(begin_, size_);
  }
  void Append(std::string_view text) {
    if (to_ != nullptr) std::copy(text.begin(), text.end(), to_ + size_);
    size_ += text.size();
  }
  void Append(const DecodedLocation& location) {
    MessageBuilder numbers;
    if (location.line > 0) numbers.Append(':', location.line);
    if (location.line > 0 && location.column > 0) numbers.Append(':', location.column);
    Append(location.file);
    Append(numbers.view());
  }

 private:
  char* to_;
  size_t size_ = 0;
  size_t begin_ = 0;
};

size_t WriteTexts(const Status& status, char* to, tandem_status* result) {
  TextWriter writer(to);
  writer.Append(status.message());
  result->message = writer.End();
  writer.Append(status.op());
  result->op = writer.End();
  writer.Append(status.location());
  result->location = writer.End();
  const auto append = [&writer](std::string_view text) { writer.Append(text); };
  status.WriteText(append);
  result->text = writer.End();
  status.WriteSteps(append, "", "\n");
  result->way = writer.End();
  return writer.size();
}

}  // namespace

tandem_status* ToC(const Status& status) {
  if (status.ok()) return nullptr;
  tandem_status parts = {
      static_cast<tandem_code>(status.code()), nullptr, nullptr, nullptr, nullptr, nullptr, status.cause()};
  const size_t size = WriteTexts(status, nullptr, &parts);
  void* memory = std::malloc(sizeof(tandem_status) + size);
  if (memory == nullptr) return const_cast<tandem_status*>(&kOutOfMemory);
  auto* result = new (memory) tandem_status(std::move(parts));
  WriteTexts(status, static_cast<char*>(memory) + sizeof(tandem_status), result);
  return result;
}

}  // namespace tandem::c

extern "C" {

tandem_code tandem_status_code(const tandem_status* status) { return status == nullptr ? TANDEM_OK : status->code; }
const char* tandem_status_message(const tandem_status* status) { return status == nullptr ? "" : status->message; }
const char* tandem_status_op(const tandem_status* status) { return status == nullptr ? "" : status->op; }
const char* tandem_status_location(const tandem_status* status) { return status == nullptr ? "" : status->location; }
const char* tandem_status_text(const tandem_status* status) { return status == nullptr ? "" : status->text; }

const char* tandem_status_way(const tandem_status* status) { return status == nullptr ? "" : status->way; }

tandem_status* tandem_status_cause(const tandem_status* status) {
  return status == nullptr ? nullptr : tandem::c::ToC(status->cause);
}

void tandem_status_release(tandem_status* status) {
  if (status == nullptr || status == &tandem::c::kOutOfMemory) return;
  status->~tandem_status();
  std::free(status);
}

const char* tandem_code_name(tandem_code code) {
  // The names are literals.
  return tandem::StatusCodeName(static_cast<tandem::StatusCode>(code < 0 || code > 255 ? 255 : code)).data();
}

void tandem_free(void* memory) { std::free(memory); }

}  // extern "C"
