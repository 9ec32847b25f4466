// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Texts of locations, in a table of linked entries.

#include "tandem/location_texts.h"

#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace tandem {

struct LocationTexts::Entry {
  Entry* next;
  DecodedLocation location;
  size_t size;  // of the text behind the entry
  std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), size}; }
};

LocationTexts::~LocationTexts() {
  for (Entry* entry : buckets_) {
    while (entry != nullptr) ::operator delete(std::exchange(entry, entry->next));
  }
}

namespace {

// The number behind the last colon, which is cut off with it; 0 if there is none.
uint32_t CutNumber(std::string_view* text) {
  const size_t colon = text->find_last_of(':');
  if (colon == std::string_view::npos || colon == 0 || text->size() - colon - 1 > 9) return 0;
  uint32_t number = 0;
  for (const char digit : text->substr(colon + 1)) {
    if (digit < '0' || digit > '9') return 0;
    number = number * 10 + static_cast<uint32_t>(digit - '0');
  }
  if (number > 0) *text = text->substr(0, colon);
  return number;
}

DecodedLocation ParseLocation(std::string_view text) {
  const uint32_t last = CutNumber(&text);
  const uint32_t before = last == 0 ? 0 : CutNumber(&text);
  return before == 0 ? DecodedLocation{text, last, 0} : DecodedLocation{text, before, last};
}

}  // namespace

Location LocationTexts::Intern(std::string_view text) {
  if (text.empty()) return Location();
  if (text.size() > kMaxBytes) text.remove_prefix(text.size() - kMaxBytes);
  const std::lock_guard lock(mutex_);
  Entry*& bucket = buckets_[std::hash<std::string_view>()(text) % kNumBuckets];
  Entry* entry = bucket;
  while (entry != nullptr && entry->text() != text) entry = entry->next;
  if (entry == nullptr) {
    if (size_ == kMaxTexts) return Location(this, 0);
    void* memory = ::operator new(sizeof(Entry) + text.size(), std::nothrow);
    if (memory == nullptr) return Location();
    ++size_;
    entry = new (memory) Entry{bucket, {}, text.size()};
    std::memcpy(entry + 1, text.data(), text.size());
    entry->location = ParseLocation(entry->text());
    bucket = entry;
  }
  return Location(this, reinterpret_cast<uintptr_t>(entry));
}

DecodedLocation LocationTexts::Decode(uintptr_t data) const {
  static_assert(kMaxTexts == 65536);
  if (data == 0) return {"unknown: more than 65536 locations were given", 0, 0};
  return reinterpret_cast<const Entry*>(data)->location;
}

}  // namespace tandem
