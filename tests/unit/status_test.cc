// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Status and StatusOr: what an error carries, its text, and errors about and without memory (ER-1, ER-2, ER-3, ER-5).

#include "tandem/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "failing_heap.h"
#include "small_stack.h"
#include "tandem/tensor_metadata.h"

namespace tandem {
namespace {

using std::string_view_literals::operator""sv;

// Reports a fixed place; the names live as long as it does.
class FixedDecoder final : public LocationDecoder {
 public:
  FixedDecoder(std::string file, uint32_t column) : file_(std::move(file)), column_(column) {}
  DecodedLocation Decode(uintptr_t data) const override { return {file_, static_cast<uint32_t>(data), column_}; }

 private:
  std::string file_;
  uint32_t column_;
};

TEST(StatusTest, DefaultIsOkAndEmpty) {
  const Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::kOk);
  EXPECT_EQ(ok.message(), "");
  EXPECT_EQ(ok.detail(), "");
  EXPECT_EQ(ok.op(), "");
  EXPECT_FALSE(ok.location().IsKnown());
  EXPECT_TRUE(ok.cause().ok());
  EXPECT_EQ(ok.ToString(), "Ok");
}

TEST(StatusTest, IsOneWord) { EXPECT_EQ(sizeof(Status), sizeof(void*)); }

TEST(StatusTest, EveryCodeHasItsName) {
  const std::vector<std::pair<StatusCode, std::string_view>> names = {
      {StatusCode::kOk, "Ok"},
      {StatusCode::kCancelled, "Cancelled"},
      {StatusCode::kUnknown, "Unknown"},
      {StatusCode::kInvalidArgument, "InvalidArgument"},
      {StatusCode::kDeadlineExceeded, "DeadlineExceeded"},
      {StatusCode::kNotFound, "NotFound"},
      {StatusCode::kAlreadyExists, "AlreadyExists"},
      {StatusCode::kResourceExhausted, "ResourceExhausted"},
      {StatusCode::kFailedPrecondition, "FailedPrecondition"},
      {StatusCode::kOutOfRange, "OutOfRange"},
      {StatusCode::kUnimplemented, "Unimplemented"},
      {StatusCode::kInternal, "Internal"},
      {StatusCode::kUnavailable, "Unavailable"},
      {StatusCode::kDataLoss, "DataLoss"},
  };
  for (const auto& [code, name] : names) EXPECT_EQ(StatusCodeName(code), name);
  EXPECT_EQ(StatusCodeName(static_cast<StatusCode>(200)), "Unknown");
}

// ER-1
TEST(StatusTest, ErrorHoldsCodeMessageOpLocationAndCause) {
  const FixedDecoder decoder("model.py", 7);
  const Status cause = Status::Error(StatusCode::kUnavailable, "the device is gone");
  const Status error =
      Status::Error(StatusCode::kInternal, "the kernel failed", "tf.Add", Location(&decoder, 42), cause);
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.code(), StatusCode::kInternal);
  EXPECT_EQ(error.message(), "[tf.Add] the kernel failed");
  EXPECT_EQ(error.detail(), "the kernel failed");
  EXPECT_EQ(error.op(), "tf.Add");
  EXPECT_EQ(error.location().file, "model.py");
  EXPECT_EQ(error.location().line, 42u);
  EXPECT_EQ(error.location().column, 7u);
  EXPECT_EQ(error.cause(), cause);
  EXPECT_TRUE(error.cause().cause().ok());
}

// ER-1
TEST(StatusTest, ErrorCopiesTheTextItIsGiven) {
  std::string message = "first";
  std::string op = "tf.Add";
  const Status error = Status::Error(StatusCode::kInternal, message, op);
  message.assign("other");
  op.assign("tf.Sub");
  EXPECT_EQ(error.message(), "[tf.Add] first");
}

// ER-1
TEST(StatusTest, ErrorKeepsEmptyLongAndBinaryText) {
  EXPECT_EQ(Status::Error(StatusCode::kInternal, "").message(), "");
  EXPECT_EQ(Status::Error(StatusCode::kInternal, "", "op").message(), "[op] ");
  const std::string text(1 << 20, 'x');
  EXPECT_EQ(Status::Error(StatusCode::kInternal, text).message(), text);
  EXPECT_EQ(Status::Error(StatusCode::kInternal, "a\0b"sv, "o\0p"sv).message(), "[o\0p] a\0b"sv);
}

// ER-1
TEST(StatusTest, OpNameMayHaveBrackets) {
  const Status error = Status::Error(StatusCode::kInternal, "] text", "a]b");
  EXPECT_EQ(error.op(), "a]b");
  EXPECT_EQ(error.detail(), "] text");
}

// ER-2
TEST(StatusTest, MessageFollowsTheForm) {
  const TensorMetadata a(DType::kF32, {2, 3});
  const TensorMetadata b(DType::kF32, {4, 5});
  const Status error = InvalidArgument("inner dimensions must agree, got a: ", a, ", b: ", b);
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error.WithContext("tf.MatMul", Location()).message(),
            "[tf.MatMul] inner dimensions must agree, got a: f32[2,3], b: f32[4,5]");
}

// ER-2
TEST(StatusTest, ShorthandsSetTheirCode) {
  EXPECT_EQ(InvalidArgument("x").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ResourceExhausted("x").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(FailedPrecondition("x").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Internal("x").code(), StatusCode::kInternal);
  EXPECT_EQ(MakeError(StatusCode::kDataLoss, "x").code(), StatusCode::kDataLoss);
}

// ER-3
TEST(StatusTest, LocationIsTheCallers) {
  const Location here = Location::Current();
  constexpr uint32_t kLine = __LINE__ - 1;
  const Status error = Status::Error(StatusCode::kInternal, "x", {}, here);
  EXPECT_TRUE(error.location().file.ends_with("status_test.cc"));
  EXPECT_EQ(error.location().line, kLine);
  EXPECT_GT(error.location().column, 0u);
}

// ER-3: the location was decoded when the error was made.
TEST(StatusTest, LocationOutlivesItsDecoder) {
  auto decoder = std::make_unique<FixedDecoder>(std::string(100, 'f'), 3);
  const Status error = Status::Error(StatusCode::kInternal, "x", {}, Location(decoder.get(), 5));
  decoder.reset();
  EXPECT_EQ(error.location().file, std::string(100, 'f'));
  EXPECT_EQ(error.location().line, 5u);
}

// ER-1
TEST(StatusTest, CopiesAreTheSameError) {
  const Status error = Internal("x");
  const Status copy = error;
  EXPECT_EQ(copy, error);
  EXPECT_FALSE(Internal("x") == error);
  EXPECT_EQ(CountAllocations([&] { Status another = error; }), 0);
}

TEST(StatusTest, MovingLeavesOk) {
  Status error = Internal("x");
  const Status moved = std::move(error);
  EXPECT_TRUE(error.ok());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(moved.detail(), "x");
}

TEST(StatusTest, AssignmentReplacesAndSurvivesItself) {
  Status error = Internal("x");
  Status& alias = error;
  error = alias;
  EXPECT_EQ(error.detail(), "x");
  error = std::move(alias);
  EXPECT_EQ(error.detail(), "x");
  error = Internal("y");
  EXPECT_EQ(error.detail(), "y");
  error = Status();
  EXPECT_TRUE(error.ok());
}

// ER-1: the op that failed and the place of its call are those nearest to the failure.
TEST(StatusTest, ContextFillsInOnlyWhatIsMissing) {
  const FixedDecoder near("near.cc", 1);
  const FixedDecoder far("far.cc", 2);
  const Status bare = Internal("x").WithContext("tf.Near", Location(&near, 10));
  EXPECT_EQ(bare.message(), "[tf.Near] x");
  EXPECT_EQ(bare.location().file, "near.cc");
  EXPECT_EQ(bare.location().line, 10u);

  const Status again = bare.WithContext("tf.Far", Location(&far, 20));
  EXPECT_EQ(again, bare);

  const Status with_op = Status::Error(StatusCode::kInternal, "x", "tf.Near").WithContext("tf.Far", Location(&far, 20));
  EXPECT_EQ(with_op.op(), "tf.Near");
  EXPECT_EQ(with_op.location().file, "far.cc");

  const Status with_location =
      Status::Error(StatusCode::kInternal, "x", {}, Location(&near, 10)).WithContext("tf.Far", Location(&far, 20));
  EXPECT_EQ(with_location.op(), "tf.Far");
  EXPECT_EQ(with_location.location().file, "near.cc");
}

TEST(StatusTest, ContextKeepsCodeAndCause) {
  const Status cause = Internal("below");
  const Status error = Status::Error(StatusCode::kDataLoss, "x", {}, {}, cause).WithContext("tf.Add", Location());
  EXPECT_EQ(error.code(), StatusCode::kDataLoss);
  EXPECT_EQ(error.cause(), cause);
}

TEST(StatusTest, ContextOfOkIsOk) {
  EXPECT_TRUE(Status().WithContext("tf.Add", Location::Current()).ok());
  EXPECT_TRUE(Status().WithCause(Internal("x")).ok());
}

TEST(StatusTest, ContextWithNothingToAddIsTheSameError) {
  const FixedDecoder unknown("", 0);
  const Status error = Internal("x");
  EXPECT_EQ(error.WithContext("", Location()), error);
  // A location that turns out to be unknown adds nothing either.
  EXPECT_EQ(error.WithContext("", Location(&unknown, 0)), error);
}

// ER-1
TEST(StatusTest, FirstCauseStays) {
  const Status first = Internal("first");
  const Status error = InvalidArgument("x").WithCause(first);
  EXPECT_EQ(error.cause(), first);
  EXPECT_EQ(error.detail(), "x");
  EXPECT_EQ(error.WithCause(Internal("second")).cause(), first);
  EXPECT_EQ(first.WithCause(Status()), first);
}

TEST(StatusTest, AnErrorMayBeTheCauseOfItsOwnCopy) {
  const Status error = Internal("x");
  const Status with_cause = error.WithCause(error);
  EXPECT_EQ(with_cause.cause(), error);
  EXPECT_TRUE(error.cause().ok());
}

// ER-1, ER-3
TEST(StatusTest, TextHasLocationAndCauses) {
  const FixedDecoder with_column("a.cc", 9);
  const FixedDecoder without_column("b.mlir", 0);
  const Status deepest = Status::Error(StatusCode::kUnavailable, "no device");
  const Status middle =
      Status::Error(StatusCode::kInternal, "launch failed", "tf.Mul", Location(&without_column, 3), deepest);
  const Status top = Status::Error(StatusCode::kCancelled, "gave up", {}, Location(&with_column, 12), middle);
  EXPECT_EQ(top.ToString(),
            "Cancelled: gave up (a.cc:12:9)\n"
            "  caused by Internal: [tf.Mul] launch failed (b.mlir:3)\n"
            "  caused by Unavailable: no device");
  // Behind the first line, which says what is wrong.
  EXPECT_EQ(Status::Error(StatusCode::kNotFound, "no op\n  line\n  ^", "tf.X", Location(&with_column, 1)).ToString(),
            "NotFound: [tf.X] no op (a.cc:1:9)\n  line\n  ^");
}

// ER-1
TEST(StatusTest, ErrorTakesOneAllocation) {
  const Status cause = Internal("below");
  Status error;
  EXPECT_EQ(CountAllocations(
                [&] { error = Status::Error(StatusCode::kInternal, "x", "tf.Add", Location::Current(), cause); }),
            1);
}

// ER-5
TEST(StatusTest, OutOfMemoryNeedsNoMemory) {
  Status error;
  EXPECT_EQ(CountAllocations([&] { error = Status::OutOfMemory(); }), 0);
  EXPECT_EQ(error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(error.message(), "out of memory");
  EXPECT_EQ(error.op(), "");
  EXPECT_FALSE(error.location().IsKnown());
  EXPECT_TRUE(error.cause().ok());
  EXPECT_EQ(error, Status::OutOfMemory());
  EXPECT_EQ(error.ToString(), "ResourceExhausted: out of memory");
}

// ER-5
TEST(StatusTest, ErrorWithoutMemoryIsOutOfMemory) {
  const Status error =
      WithoutMemory([] { return Status::Error(StatusCode::kInternal, "x", "op", {}, Status::OutOfMemory()); });
  EXPECT_EQ(error, Status::OutOfMemory());
  EXPECT_EQ(WithoutMemory([] { return InvalidArgument("x ", 1); }), Status::OutOfMemory());
}

// ER-5: it is better to lose the context than the error.
TEST(StatusTest, ContextWithoutMemoryIsTheErrorItself) {
  const Status error = Internal("x");
  EXPECT_EQ(WithoutMemory([&] { return error.WithContext("tf.Add", Location::Current()); }), error);
  EXPECT_EQ(WithoutMemory([&] { return error.WithCause(Status::OutOfMemory()); }), error);
  EXPECT_EQ(WithoutMemory([] { return Status::OutOfMemory().WithContext("tf.Add", Location::Current()); }),
            Status::OutOfMemory());
}

// ER-5: with memory, even "out of memory" tells op and place.
TEST(StatusTest, OutOfMemoryTakesContext) {
  const Status error = Status::OutOfMemory().WithContext("tf.Add", Location::Current());
  EXPECT_EQ(error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(error.message(), "[tf.Add] out of memory");
  EXPECT_TRUE(error.location().IsKnown());
}

constexpr int kLongChain = 100'000;

Status LongCauseChain() {
  Status error = Internal("root");
  for (int i = 1; i < kLongChain; ++i) error = Status::Error(StatusCode::kInternal, "link", {}, {}, std::move(error));
  return error;
}

// ER-1
TEST(StatusTest, LongCauseChainIsDestroyedWithoutRecursion) {
  RunOnSmallStack([] {
    const Status error = LongCauseChain();
    EXPECT_EQ(error.detail(), "link");
  });
}

// ER-1
TEST(StatusTest, LongCauseChainIsReadWithoutRecursion) {
  RunOnSmallStack([] {
    const Status error = LongCauseChain();
    int length = 0;
    for (const Status* link = &error; !link->ok(); link = &link->cause()) ++length;
    EXPECT_EQ(length, kLongChain);
    EXPECT_TRUE(error.ToString().ends_with("caused by Internal: root"));
  });
}

// ER-1
TEST(StatusTest, SharedCausesOutliveOneOfTheErrors) {
  const Status root = Internal("root");
  Status middle = Status::Error(StatusCode::kInternal, "middle", {}, {}, root);
  Status left = Status::Error(StatusCode::kInternal, "left", {}, {}, middle);
  const Status right = Status::Error(StatusCode::kInternal, "right", {}, {}, std::move(middle));
  left = Status();
  EXPECT_EQ(right.cause().detail(), "middle");
  EXPECT_EQ(right.cause().cause(), root);
}

// ER-3a
TEST(StatusTest, TheWayNamesTheOpsThatAnErrorCameThrough) {
  const FixedDecoder decoder("a.cc", 9);
  const Status origin =
      Status::Error(StatusCode::kInternal, "failed", "tf.Bad", Location(&decoder, 1), Internal("why it did"));
  const Status once = origin.Through("tf.Relu", Location(&decoder, 2));
  const Status twice = once.Through("tf.Neg", Location());
  EXPECT_EQ(origin.num_steps(), 0u);
  ASSERT_EQ(twice.num_steps(), 2u);
  EXPECT_EQ(twice.step(0).op, "tf.Relu");
  EXPECT_EQ(twice.step(0).location.file, "a.cc");
  EXPECT_EQ(twice.step(0).location.line, 2u);
  EXPECT_EQ(twice.step(1).op, "tf.Neg");
  EXPECT_FALSE(twice.step(1).location.IsKnown());
  EXPECT_EQ(once.num_steps(), 1u) << "an error is immutable";
  // All else is as it was where the error arose.
  EXPECT_EQ(twice.code(), StatusCode::kInternal);
  EXPECT_EQ(twice.message(), "[tf.Bad] failed");
  EXPECT_EQ(twice.detail(), "failed");
  EXPECT_EQ(twice.op(), "tf.Bad");
  EXPECT_EQ(twice.location().line, 1u);
  EXPECT_EQ(twice.cause(), origin.cause());
  EXPECT_EQ(twice.ToString(),
            "Internal: [tf.Bad] failed (a.cc:1:9)\n"
            "  through tf.Relu (a.cc:2:9)\n"
            "  through tf.Neg\n"
            "  caused by Internal: why it did");
  EXPECT_TRUE(Status().Through("tf.Relu", Location()).ok());
}

// ER-3a
TEST(StatusTest, AnErrorIsTheSameWhateverWayItCame) {
  const Status origin = Internal("x");
  EXPECT_EQ(origin.Through("tf.A", Location()), origin);
  EXPECT_EQ(origin.Through("tf.A", Location()), origin.Through("tf.B", Location()));
  EXPECT_FALSE(origin.Through("tf.A", Location()) == Internal("x").Through("tf.A", Location()));
  EXPECT_FALSE(origin.Through("tf.A", Location()) == Status());
  // What is known of it does not come from an op on the way.
  EXPECT_EQ(origin.Through("tf.A", Location()).WithContext("tf.B", Location::Current()).op(), "");
}

// ER-3a: eight, then a number, in bounded memory.
TEST(StatusTest, ALongWayIsCounted) {
  const FixedDecoder decoder("a.cc", 0);
  Status error = Status::Error(StatusCode::kInternal, "failed", "tf.Bad");
  for (uintptr_t i = 1; i <= 9; ++i) error = error.Through("tf.Step", Location(&decoder, i));
  std::string expected = "Internal: [tf.Bad] failed";
  for (int i = 1; i <= 8; ++i) expected += "\n  through tf.Step (a.cc:" + std::to_string(i) + ")";
  EXPECT_EQ(error.ToString(), expected + "\n  through 1 more op");
  Status longest = error;
  for (int i = 10; i <= 100'000; ++i) {
    Status next;
    ASSERT_EQ(CountAllocations([&] { next = longest.Through("tf.Step", Location::Current()); }), 1);
    longest = std::move(next);
  }
  EXPECT_EQ(longest.num_steps(), 100'000u);
  EXPECT_EQ(longest.step(7).location.line, 8u);
  EXPECT_EQ(longest.ToString(), expected + "\n  through 99992 more ops");
  EXPECT_EQ(longest, error);
}

// ER-3a, ER-5
TEST(StatusTest, AStepWithoutMemoryIsLeftOut) {
  const Status error = Internal("x");
  EXPECT_EQ(WithoutMemory([&] { return error.Through("tf.A", Location::Current()); }).num_steps(), 0u);
  const Status oom = Status::OutOfMemory().Through("tf.A", Location());
  EXPECT_EQ(oom, Status::OutOfMemory());
  EXPECT_EQ(oom.ToString(), "ResourceExhausted: out of memory\n  through tf.A");
}

// ER-5
TEST(StatusTest, OutOfMemoryMayEndAChainOfCauses) {
  Status error = Status::Error(StatusCode::kInternal, "x", {}, {}, Status::OutOfMemory());
  EXPECT_EQ(error.cause(), Status::OutOfMemory());
  error = Status();
  EXPECT_EQ(Status::OutOfMemory().message(), "out of memory");
}

// ER-1: errors travel between threads.
TEST(StatusTest, ThreadsShareAnError) {
  Status error = Status::Error(StatusCode::kInternal, "shared", "op", {}, Internal("cause"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = error] {
      for (int n = 0; n < 1000; ++n) {
        const Status own = copy;
        const Status oom = Status::OutOfMemory();
        ASSERT_EQ(own.cause().detail(), "cause");
        ASSERT_EQ(own.WithContext("x", Location::Current()).op(), "op");
        ASSERT_FALSE(oom.ok());
      }
    });
  }
  error = Status();
  for (std::thread& thread : threads) thread.join();
}

// Counts how many objects of it exist.
struct Counted {
  static inline int live = 0;
  explicit Counted(int value) : value(value) { ++live; }
  Counted(const Counted& other) : value(other.value) { ++live; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++live; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --live; }
  int value;
};

TEST(StatusOrTest, HoldsAValueOrAnError) {
  const StatusOr<int> value = 3;
  EXPECT_TRUE(value.ok());
  EXPECT_EQ(*value, 3);
  EXPECT_TRUE(value.status().ok());
  const Status error = Internal("x");
  const StatusOr<int> failed = error;
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.status(), error);
}

// ER-5: a slip of a kernel's author is an error like others, not undefined.
TEST(StatusOrTest, AnOkStatusInPlaceOfAValueIsAnError) {
  const StatusOr<int> missing = Status();
  EXPECT_EQ(missing.status().code(), StatusCode::kInternal);
  EXPECT_EQ(missing.status().message(), "expected a value or an error, got an ok status");
  EXPECT_FALSE(WithoutMemory([] { return StatusOr<int>(Status()); }).ok());
}

TEST(StatusOrTest, HoldsMoveOnlyValues) {
  StatusOr<std::unique_ptr<int>> value = std::make_unique<int>(5);
  EXPECT_EQ(**value, 5);
  const StatusOr<std::unique_ptr<int>> moved = std::move(value);
  EXPECT_EQ(**moved, 5);
  StatusOr<std::unique_ptr<int>> another = std::make_unique<int>(6);
  const std::unique_ptr<int> taken = *std::move(another);
  EXPECT_EQ(*taken, 6);
}

TEST(StatusOrTest, ConvertsWhatIsConvertible) {
  const StatusOr<std::string> text = "abc";
  EXPECT_EQ(text->size(), 3u);
}

TEST(StatusOrTest, DestroysEachValueOnce) {
  {
    StatusOr<Counted> value = Counted(1);
    StatusOr<Counted> copy = value;
    EXPECT_EQ(copy->value, 1);
    StatusOr<Counted> moved = std::move(value);
    EXPECT_EQ(moved->value, 1);
    copy = Internal("x");
    EXPECT_FALSE(copy.ok());
    copy = moved;
    EXPECT_EQ(copy->value, 1);
    StatusOr<Counted>& alias = copy;
    copy = alias;
    EXPECT_EQ(copy->value, 1);
    moved = std::move(copy);
    EXPECT_EQ(moved->value, 1);
  }
  EXPECT_EQ(Counted::live, 0);
}

TEST(StatusOrTest, AssignsErrorsOverErrors) {
  StatusOr<Counted> failed = Internal("x");
  failed = StatusOr<Counted>(Internal("y"));
  EXPECT_EQ(failed.status().detail(), "y");
  EXPECT_EQ(Counted::live, 0);
}

Status CountedStep(int& calls, const Status& result) {
  ++calls;
  return result;
}
StatusOr<int> CountedValue(int& calls, const StatusOr<int>& result) {
  ++calls;
  return result;
}

TEST(StatusMacroTest, ReturnIfErrorStopsAtTheFirstErrorAndEvaluatesOnce) {
  const Status error = Internal("x");
  int calls = 0;
  bool reached = false;
  const auto steps = [&]() -> Status {
    TANDEM_RETURN_IF_ERROR(CountedStep(calls, Status()));
    if (calls == 1) TANDEM_RETURN_IF_ERROR(CountedStep(calls, error));
    reached = true;
    return Status();
  };
  EXPECT_EQ(steps(), error);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(reached);
}

TEST(StatusMacroTest, AssignOrReturnDeclaresOrReturns) {
  int calls = 0;
  const auto sum = [&](const StatusOr<int>& a, const StatusOr<int>& b) -> StatusOr<int> {
    TANDEM_ASSIGN_OR_RETURN(const int x, CountedValue(calls, a));
    TANDEM_ASSIGN_OR_RETURN(const int y, CountedValue(calls, b));
    return x + y;
  };
  EXPECT_EQ(*sum(2, 3), 5);
  EXPECT_EQ(calls, 2);
  const Status error = Internal("x");
  EXPECT_EQ(sum(error, 3).status(), error);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(sum(2, error).status(), error);
}

}  // namespace
}  // namespace tandem
