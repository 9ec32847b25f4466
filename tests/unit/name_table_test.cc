// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// NameTable: finding, adding, growing, and readers that run while others add.

#include "tandem/name_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"

namespace tandem {
namespace {

class Entry : public RefCounted<Entry> {
 public:
  static inline std::atomic<int> live{0};
  explicit Entry(std::string name) : name_(std::move(name)), tag(name_.size()) { ++live; }
  ~Entry() { --live; }
  std::string_view name() const { return name_; }

 private:
  const std::string name_;

 public:
  const size_t tag;  // read by threads that found the entry
};

TEST(NameTableTest, AnEmptyTableHasNothing) {
  const NameTable<Entry> table;
  EXPECT_EQ(table.Find("tf.Add"), nullptr);
  EXPECT_EQ(table.Find(""), nullptr);
}

TEST(NameTableTest, FindsWhatWasInserted) {
  NameTable<Entry> table;
  Entry* add = table.Insert(MakeRef<Entry>("tf.Add"));
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->name(), "tf.Add");
  EXPECT_EQ(table.Find("tf.Add"), add);
  EXPECT_EQ(table.Find("tf.Ad"), nullptr);
  EXPECT_EQ(table.Find("tf.AddV2"), nullptr);
  EXPECT_EQ(table.Find(std::string_view("tf.Add\0", 7)), nullptr);
}

TEST(NameTableTest, TheFirstOfANameStays) {
  NameTable<Entry> table;
  Entry* first = table.Insert(MakeRef<Entry>("x"));
  RcRef<Entry> second = MakeRef<Entry>("x");
  EXPECT_EQ(table.Insert(second), first);
  EXPECT_TRUE(second->IsUnique());
}

TEST(NameTableTest, SharesOwnershipAndDropsItAtTheEnd) {
  const RcRef<Entry> kept = MakeRef<Entry>("kept");
  {
    NameTable<Entry> table;
    table.Insert(kept);
    table.Insert(MakeRef<Entry>("owned"));
    EXPECT_EQ(Entry::live, 2);
    EXPECT_FALSE(kept->IsUnique());
  }
  EXPECT_EQ(Entry::live, 1);
  EXPECT_TRUE(kept->IsUnique());
}

// Names of every length, among them many that begin and end alike.
std::vector<std::string> AwkwardNames() {
  std::vector<std::string> names = {""};
  for (int length = 1; length <= 64; ++length) {
    names.push_back(std::string(length, 'a'));
    names.push_back(std::string(length, '\xff'));
    names.push_back(std::string(length, '\0'));
  }
  for (int i = 0; i < 2000; ++i) names.push_back("test.op_" + std::to_string(100000 + i) + "_variant");
  for (int i = 0; i < 256; ++i) names.push_back(std::string(1, static_cast<char>(i)) + "b");
  return names;
}

TEST(NameTableTest, GrowsAndKeepsEverything) {
  NameTable<Entry> table;
  const std::vector<std::string> names = AwkwardNames();
  std::vector<Entry*> entries;
  for (const std::string& name : names) entries.push_back(table.Insert(MakeRef<Entry>(name)));
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_NE(entries[i], nullptr);
    ASSERT_EQ(table.Find(names[i]), entries[i]) << i;
    ASSERT_EQ(entries[i]->name(), names[i]);
    ASSERT_EQ(table.Find(names[i] + "?"), nullptr);
  }
}

TEST(NameTableTest, HashingReadsNothingBesideTheName) {
  // On the heap and of exact size, so that a sanitizer sees any byte too many.
  for (size_t length = 0; length <= 40; ++length) {
    const std::vector<char> one(length, 'q');
    std::vector<char> padded(length + 2, 'z');
    std::copy(one.begin(), one.end(), padded.begin() + 1);
    EXPECT_EQ(internal::HashName({one.data(), length}), internal::HashName({padded.data() + 1, length}));
  }
}

// ER-5
TEST(NameTableTest, InsertingWithoutMemoryIsNullAndKeepsTheRest) {
  NameTable<Entry> table;
  RcRef<Entry> entry = MakeRef<Entry>("first");
  EXPECT_EQ(WithoutMemory([&] { return table.Insert(entry); }), nullptr);
  EXPECT_TRUE(entry->IsUnique());
  EXPECT_EQ(table.Find("first"), nullptr);
  Entry* first = table.Insert(std::move(entry));
  ASSERT_NE(first, nullptr);

  // Fill it until it has to grow, which fails.
  std::vector<std::string> inserted;
  for (int i = 0;; ++i) {
    entry = MakeRef<Entry>("entry" + std::to_string(i));
    if (WithoutMemory([&] { return table.Insert(entry); }) == nullptr) break;
    inserted.emplace_back(entry->name());
    ASSERT_LT(i, 1000);
  }
  EXPECT_EQ(table.Find(entry->name()), nullptr);
  EXPECT_NE(table.Insert(entry), nullptr);
  EXPECT_EQ(table.Find("first"), first);
  for (const std::string& name : inserted) EXPECT_NE(table.Find(name), nullptr) << name;
}

TEST(NameTableTest, ThreadsReadWhileOthersAdd) {
  NameTable<Entry> table;
  constexpr int kNames = 1000;
  constexpr int kWriters = 2;
  std::atomic<int> writing{kWriters};
  std::vector<Entry*> results[kWriters];
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < kNames; ++i) {
        results[writer].push_back(table.Insert(MakeRef<Entry>("op" + std::to_string(i))));
      }
      --writing;
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      while (writing > 0) {
        for (int i = 0; i < kNames; i += 7) {
          const std::string name = "op" + std::to_string(i);
          const Entry* entry = table.Find(name);
          if (entry == nullptr) continue;
          ASSERT_EQ(entry->name(), name);
          ASSERT_EQ(entry->tag, name.size());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Both writers were given the same entry of each name.
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(Entry::live, kNames);
}

}  // namespace
}  // namespace tandem
