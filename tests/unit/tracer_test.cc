// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The tracer: what is recorded, and that the output is JSON whatever the text (TR-2, ER-5).

#include "tandem/tracer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "failing_heap.h"

namespace tandem {
namespace {

using std::chrono::nanoseconds;
using std::string_view_literals::operator""sv;

const TraceEvent::Clock::time_point kStart = TraceEvent::Clock::time_point(std::chrono::hours(5));

TraceEvent Event(std::string_view name, int64_t called = 0, int64_t started = 0, int64_t ended = 0) {
  return {name,
          "cpu",
          "f32[2]",
          "{}",
          kStart + nanoseconds(called),
          kStart + nanoseconds(started),
          kStart + nanoseconds(ended)};
}

// A strict reader of JSON in UTF-8 that only says whether the text is some.
class JsonChecker {
 public:
  static bool IsJson(std::string_view text) {
    JsonChecker checker(text);
    return checker.Value() && (checker.Space(), checker.text_.empty());
  }

 private:
  explicit JsonChecker(std::string_view text) : text_(text) {}
  void Space() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool Take(char c) {
    Space();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool Value() {
    Space();
    if (text_.empty()) return false;
    if (text_[0] == '{') return Sequence('{', '}', true);
    if (text_[0] == '[') return Sequence('[', ']', false);
    if (text_[0] == '"') return String();
    const size_t end = text_.find_first_not_of("-0123456789.");
    if (end == 0) return false;
    text_.remove_prefix(end);
    return true;
  }
  bool Sequence(char open, char close, bool has_keys) {
    if (!Take(open)) return false;
    if (Take(close)) return true;
    do {
      if (has_keys && (Space(), !(String() && Take(':')))) return false;
      if (!Value()) return false;
    } while (Take(','));
    return Take(close);
  }
  bool String() {
    if (!Take('"')) return false;
    while (!text_.empty() && text_[0] != '"') {
      const auto byte = static_cast<unsigned char>(text_[0]);
      if (byte < 0x20) return false;
      size_t size = 1;
      if (byte == '\\') {
        size = text_.size() > 1 && text_[1] == 'u' ? 6 : 2;
      } else if (byte >= 0x80) {
        size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
        if (byte < 0xC2 || byte > 0xF4) return false;
        for (size_t i = 1; i < size; ++i) {
          if (i >= text_.size() || (static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) return false;
        }
      }
      if (text_.size() < size) return false;
      text_.remove_prefix(size);
    }
    return Take('"');
  }

  std::string_view text_;
};

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

int CountOf(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// TR-2
TEST(TracerTest, AnEmptyTraceIsJson) {
  const Tracer tracer;
  EXPECT_EQ(tracer.num_events(), 0);
  EXPECT_EQ(tracer.ToJson(), "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"droppedEvents\":0},\"traceEvents\":[\n]}\n");
  EXPECT_TRUE(JsonChecker::IsJson(tracer.ToJson()));
}

// TR-2
TEST(TracerTest, AnEventHasNamePlaceInputsAttributesAndTimes) {
  Tracer tracer;
  tracer.Record({"tf.Add", "cpu", "f32[2,3], f32[3]", "{axis = 1}", kStart, kStart + nanoseconds(1500),
                 kStart + nanoseconds(4007)});
  const std::string json = tracer.ToJson();
  EXPECT_TRUE(JsonChecker::IsJson(json)) << json;
  EXPECT_TRUE(Contains(json, R"("ph":"X")"));
  EXPECT_TRUE(Contains(json, R"("name":"tf.Add")"));
  EXPECT_TRUE(Contains(json, R"("device":"cpu")"));
  EXPECT_TRUE(Contains(json, R"("inputs":"f32[2,3], f32[3]")"));
  EXPECT_TRUE(Contains(json, R"("attrs":"{axis = 1}")"));
  EXPECT_TRUE(Contains(json, R"("ts":1.500,)")) << json;
  EXPECT_TRUE(Contains(json, R"("dur":2.507,)")) << json;
  EXPECT_TRUE(Contains(json, R"("queued_us":1.500)")) << json;
}

// TR-2
TEST(TracerTest, TimesCountFromTheFirstCall) {
  Tracer tracer;
  tracer.Record(Event("later", 5000, 6000, 7000));
  tracer.Record(Event("first", 1000, 2000, 9000));
  const std::string json = tracer.ToJson();
  EXPECT_TRUE(Contains(json, R"("name":"later","cat":"op","ts":5.000,"dur":1.000)")) << json;
  EXPECT_TRUE(Contains(json, R"("name":"first","cat":"op","ts":1.000,"dur":7.000)")) << json;
  EXPECT_EQ(tracer.num_events(), 2);
}

TEST(TracerTest, EventsAreCopied) {
  Tracer tracer;
  {
    const std::string name = "a name that is too long to be kept inside a string";
    tracer.Record(Event(name));
  }
  EXPECT_TRUE(Contains(tracer.ToJson(), "a name that is too long"));
}

TEST(TracerTest, TextMayBeMissing) {
  Tracer tracer;
  tracer.Record({{}, {}, {}, {}, kStart, kStart, kStart});
  EXPECT_TRUE(JsonChecker::IsJson(tracer.ToJson()));
  EXPECT_TRUE(Contains(tracer.ToJson(), R"("name":"")"));
}

// TR-2
TEST(TracerTest, TextIsEscaped) {
  Tracer tracer;
  tracer.Record(Event("quote \" backslash \\ newline \n nul \0 end"sv));
  const std::string json = tracer.ToJson();
  EXPECT_TRUE(JsonChecker::IsJson(json)) << json;
  EXPECT_TRUE(Contains(json, R"(quote \" backslash \\ newline \u000a nul \u0000 end)")) << json;
}

// TR-2
TEST(TracerTest, Utf8IsKept) {
  Tracer tracer;
  tracer.Record(Event("\u00e9 \u20ac \U0001F600 \U0010FFFF"));
  EXPECT_TRUE(Contains(tracer.ToJson(), "\u00e9 \u20ac \U0001F600 \U0010FFFF"));
}

// TR-2: attributes may hold any bytes, and long ones are cut anywhere.
TEST(TracerTest, BytesThatAreNotUtf8AreReplaced) {
  const std::string_view bad[] = {
      "\x80",
      "\xff",
      "\xc0\x80",
      "\xc3",
      "\xe2\x82",
      "\xf0\x9f\x98",
      "\xe0\x80\x80",
      "\xed\xa0\x80",
      "\xf4\x90\x80\x80",
      "\xf8\x88\x80\x80\x80",
  };
  for (const std::string_view text : bad) {
    Tracer tracer;
    tracer.Record(Event(std::string("<").append(text).append(">")));
    const std::string json = tracer.ToJson();
    EXPECT_TRUE(JsonChecker::IsJson(json)) << json;
    const size_t first = json.find("\"name\":\"<\\ufffd");
    EXPECT_NE(first, std::string::npos) << json;
    EXPECT_NE(json.find(">\"", first), std::string::npos) << json;
  }
}

TEST(TracerTest, ClearingForgetsEverything) {
  Tracer tracer;
  for (int i = 0; i < 10; ++i) tracer.Record(Event("x"));
  tracer.Clear();
  EXPECT_EQ(tracer.num_events(), 0);
  EXPECT_EQ(CountOf(tracer.ToJson(), "\"ph\""), 0);
  tracer.Record(Event("y"));
  EXPECT_EQ(CountOf(tracer.ToJson(), "\"ph\""), 1);
}

// ER-5
TEST(TracerTest, WithoutMemoryEventsAreDroppedAndCounted) {
  Tracer tracer;
  tracer.Record(Event("kept"));
  WithoutMemory([&] {
    tracer.Record(Event("lost"));
    tracer.Record(Event("lost"));
  });
  tracer.Record(Event("kept"));
  EXPECT_EQ(tracer.num_events(), 2);
  const std::string json = tracer.ToJson();
  EXPECT_EQ(CountOf(json, "kept"), 2);
  EXPECT_EQ(CountOf(json, "lost"), 0);
  EXPECT_TRUE(Contains(json, R"("droppedEvents":2)"));
  tracer.Clear();
  EXPECT_TRUE(Contains(tracer.ToJson(), R"("droppedEvents":0)"));
}

// The number after "tid" of the first event.
int ThreadOf(const std::string& json) {
  const size_t at = json.find("\"tid\":");
  return at == std::string::npos ? -1 : std::stoi(json.substr(at + 6));
}

// TR-2
TEST(TracerTest, EachThreadHasARowOfItsOwn) {
  Tracer here;
  Tracer here_again;
  Tracer there;
  here.Record(Event("x"));
  std::thread([&] { there.Record(Event("x")); }).join();
  here_again.Record(Event("x"));
  EXPECT_EQ(ThreadOf(here.ToJson()), ThreadOf(here_again.ToJson()));
  EXPECT_NE(ThreadOf(here.ToJson()), ThreadOf(there.ToJson()));
}

TEST(TracerTest, ThreadsRecordWhileOneWrites) {
  Tracer tracer;
  constexpr int kEvents = 500;
  std::atomic<int> recording{3};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEvents; ++n) tracer.Record(Event("x", n, n + 1, n + 2));
      --recording;
    });
  }
  while (recording > 0) ASSERT_TRUE(JsonChecker::IsJson(tracer.ToJson()));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tracer.num_events(), 3 * kEvents);
  EXPECT_EQ(CountOf(tracer.ToJson(), "\"ph\""), 3 * kEvents);
}

TEST(TracerTest, TR2_WhatDevicesExecutedHasRowsOfItsOwn) {
  Tracer tracer;
  tracer.Record(Event("tf.Add", 0, 1000, 2000));
  TraceEvent there = Event("tf.Add", 0, 3000, 4500);
  there.called = {};
  there.device = "cuda";
  there.inputs = there.attrs = "";
  tracer.Record(there);
  there.device = "vulkan";
  tracer.Record(there);
  const std::string json = tracer.ToJson();
  EXPECT_TRUE(JsonChecker::IsJson(json)) << json;
  EXPECT_NE(json.find("{\"ph\":\"X\",\"pid\":2,\"tid\":0,\"name\":\"tf.Add\",\"cat\":\"device\",\"ts\":3.000,"
                      "\"dur\":1.500,\"args\":{\"device\":\"cuda\"}}"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("{\"ph\":\"M\",\"pid\":2,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"vulkan\"}}"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace tandem
