// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "block_runner.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tandem::cuda {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr uint32_t kWarp = 32;

EmulatedIndex PlaceOf(uint32_t number, const EmulatedIndex& size) {
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

}  // namespace

struct BlockRunner::Fibers {
  enum class State { kRuns, kAtBarrier, kAtExchange, kEnded };
  // A place to go on at: what __builtin_setjmp writes.
  using Place = std::array<void*, 5>;
  struct Fiber {
    ucontext_t context;  // in which it begins
    void* stack = nullptr;
    State state = State::kRuns;
    bool has_begun = false;
    Place place;                          // where it waits
    std::pair<const char*, int> barrier;  // its file and line
    unsigned exchanges = 0;
  };

  // Callbacks have no other way to it, and one kernel runs at a time.
  static thread_local Fibers* running;

  std::vector<Fiber> fibers;
  ucontext_t begun_from;
  Place scheduler;
  uint32_t current = 0;
  bool has_fibers = false;
  Kernel kernel = nullptr;
  void* const* arguments = nullptr;
  Emulation* emulation = nullptr;
  std::vector<std::array<std::array<unsigned, kWarp>, 2>> words;  // of warps, in turns
  std::string failure;

  ~Fibers() {
    for (Fiber& fiber : fibers) munmap(fiber.stack, kStackBytes);
  }

  static void Enter() {
    Fibers& all = *running;
    Fiber& fiber = all.fibers[all.current];
    all.kernel(all.arguments);
    fiber.state = State::kEnded;
    all.Leave();
  }

  // To another stack. swapcontext would make a system call for the signal mask, and AddressSanitizer clear what it
  // knows of the whole stack, with each of the many thousand turns that a kernel with barriers takes.
  [[noreturn, gnu::noinline]] static void JumpTo(Place& place) { __builtin_longjmp(place.data(), 1); }

  // From a fiber to the scheduler.
  [[gnu::noinline]] void Leave() {
    if (__builtin_setjmp(fibers[current].place.data()) == 0) JumpTo(scheduler);
  }

  // From the scheduler to a fiber, until it waits or ends.
  [[gnu::noinline]] void Resume(uint32_t number) {
    current = number;
    Fiber& fiber = fibers[number];
    fiber.state = State::kRuns;
    emulation->thread_index = PlaceOf(number, emulation->block_size);
    if (__builtin_setjmp(scheduler.data()) != 0) return;
    if (fiber.has_begun) JumpTo(fiber.place);
    fiber.has_begun = true;
    swapcontext(&begun_from, &fiber.context);
  }

  static void Barrier(const char* file, int line) {
    Fibers& all = *running;
    Fiber& fiber = all.fibers[all.current];
    fiber.barrier = {file, line};
    fiber.state = State::kAtBarrier;
    all.Leave();
  }
  static const unsigned* Exchange(unsigned word) {
    Fibers& all = *running;
    const uint32_t number = all.current;
    Fiber& fiber = all.fibers[number];
    auto& words = all.words[number / kWarp][fiber.exchanges++ % 2];
    words[number % kWarp] = word;
    fiber.state = State::kAtExchange;
    all.Leave();
    return words.data();
  }
  static void WrongIndex(unsigned index, unsigned size) {
    Fibers& all = *running;
    all.failure = "index " + std::to_string(index) + " of " + std::to_string(size) + " elements";
    if (!all.has_fibers) {
      std::fprintf(stderr, "a kernel used %s\n", all.failure.c_str());
      std::abort();
    }
    all.fibers[all.current].state = State::kEnded;
    all.Leave();
  }

  void Prepare(uint32_t num_threads) {
    while (fibers.size() < num_threads) {
      fibers.emplace_back().stack =
          mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    words.assign((num_threads + kWarp - 1) / kWarp, {});
    for (uint32_t i = 0; i < num_threads; ++i) {
      Fiber& fiber = fibers[i];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack;
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, &Enter, 0);
      fiber.state = State::kRuns;
      fiber.has_begun = false;
      fiber.exchanges = 0;
    }
  }

  // Ok if all of a warp are at the same exchange, so that it goes on; `waits` if they are at a barrier or at their
  // ends.
  std::string CheckWarp(uint32_t first, uint32_t last, bool& goes_on) const {
    uint32_t exchanging = 0;
    for (uint32_t i = first; i < last; ++i) exchanging += fibers[i].state == State::kAtExchange ? 1 : 0;
    goes_on = exchanging == last - first;
    if (exchanging == 0 || goes_on) return {};
    return "a function of a warp that " + std::to_string(exchanging) + " of " + std::to_string(last - first) +
           " threads come to";
  }
};

thread_local BlockRunner::Fibers* BlockRunner::Fibers::running = nullptr;

BlockRunner::BlockRunner() : fibers_(std::make_unique<Fibers>()) {
  fibers_->emulation = &emulation_;
  emulation_.barrier = &Fibers::Barrier;
  emulation_.exchange = &Fibers::Exchange;
  emulation_.wrong_index = &Fibers::WrongIndex;
}
BlockRunner::~BlockRunner() = default;

Status BlockRunner::RunBlock(Kernel kernel, void* const* arguments, uint32_t num_threads, bool descends) {
  Fibers& all = *fibers_;
  all.kernel = kernel;
  all.arguments = arguments;
  all.has_fibers = true;
  all.Prepare(num_threads);
  const auto run_if = [&](Fibers::State state, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last && all.failure.empty(); ++i) {
      const uint32_t number = descends ? first + last - 1 - i : i;
      if (all.fibers[number].state == state) all.Resume(number);
    }
  };
  run_if(Fibers::State::kRuns, 0, num_threads);
  while (all.failure.empty()) {
    for (uint32_t first = 0; first < num_threads && all.failure.empty(); first += kWarp) {
      const uint32_t last = std::min(first + kWarp, num_threads);
      bool goes_on = true;
      while (all.failure.empty() && goes_on) {
        all.failure = all.CheckWarp(first, last, goes_on);
        if (goes_on) run_if(Fibers::State::kAtExchange, first, last);
      }
    }
    uint32_t ended = 0, elsewhere = 0;
    for (uint32_t i = 0; i < num_threads; ++i) {
      ended += all.fibers[i].state == Fibers::State::kEnded ? 1 : 0;
      elsewhere += all.fibers[i].barrier != all.fibers[0].barrier ? 1 : 0;
    }
    if (ended == num_threads || !all.failure.empty()) break;
    if (ended > 0 || elsewhere > 0) {
      all.failure = "a barrier that " + std::to_string(ended > 0 ? num_threads - ended : num_threads - elsewhere) +
                    " of " + std::to_string(num_threads) + " threads come to";
      break;
    }
    run_if(Fibers::State::kAtBarrier, 0, num_threads);
  }
  all.has_fibers = false;
  if (all.failure.empty()) return Status();
  return Internal("kernel has ", std::string_view(std::exchange(all.failure, {})));
}

Status BlockRunner::Run(Kernel kernel, void* const* arguments, const std::array<uint32_t, 3>& grid,
                        const std::array<uint32_t, 3>& block, bool waits) {
  Fibers::running = fibers_.get();
  emulation_.grid_size = {grid[0], grid[1], grid[2]};
  emulation_.block_size = {block[0], block[1], block[2]};
  const uint32_t num_threads = block[0] * block[1] * block[2];
  const uint32_t num_blocks = grid[0] * grid[1] * grid[2];
  for (uint32_t i = 0; i < num_blocks; ++i) {
    emulation_.block_index = PlaceOf(i, emulation_.grid_size);
    if (waits) {
      TANDEM_RETURN_IF_ERROR(RunBlock(kernel, arguments, num_threads, i % 2 != 0));
      continue;
    }
    for (uint32_t thread = 0; thread < num_threads; ++thread) {
      emulation_.thread_index = PlaceOf(i % 2 != 0 ? num_threads - 1 - thread : thread, emulation_.block_size);
      kernel(arguments);
    }
  }
  return Status();
}

}  // namespace tandem::cuda
