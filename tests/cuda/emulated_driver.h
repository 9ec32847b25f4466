// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// EmulatedCuda: the functions of CUDA's driver and of NVRTC without a device: memory of the host, and kernels' texts in
// CUDA C++ that were compiled for the host, or functions that a test gives.

#ifndef TANDEM_TESTS_CUDA_EMULATED_DRIVER_H_
#define TANDEM_TESTS_CUDA_EMULATED_DRIVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "block_runner.h"
#include "cuda_driver.h"
#include "nvrtc.h"

namespace tandem::cuda {

// Work of a stream is put off until somebody waits for it, or asks for an event of it, as late as CUDA allows, so that
// what reads memory too early, or gives it back too early, shows. For one at a time in a process; thread-safe but for
// the controls.
class EmulatedCuda {
 public:
  struct Options {
    // Of texts, NAME.cu each, with the prelude in prelude.cuh, and of libraries, *.so, that compile_kernels.py makes of
    // them. Empty: kernels are a test's alone.
    std::string folder;
    // Kernels are not run, but their texts are written to the folder, which is made anew; what results have is
    // arbitrary.
    bool collects = false;
    bool keeps = false;  // what is in the folder, with what is collected
  };
  explicit EmulatedCuda(const Options& options);
  ~EmulatedCuda();
  EmulatedCuda(const EmulatedCuda&) = delete;
  EmulatedCuda& operator=(const EmulatedCuda&) = delete;

  // NotFound if the folder has no libraries, unless texts are collected.
  Status Open();

  DriverFunctions driver() const;
  NvrtcFunctions nvrtc() const;
  GraphFunctions graphs() const;

  // What a library that stands in for NVIDIA's (fake_library.h), and has been opened, computes from now on in the
  // stream of the one that is there. Its handle; null if it is another's library.
  static void* TakeLibrary(const char* file);

  // ---- What other libraries of the process have: streams, and memory that is no pool's.
  StreamHandle MakeStream();
  // Runs when somebody waits for the stream.
  void IssueOn(StreamHandle stream, std::function<void()> command);
  // All of what the stream has been given.
  DriverResult Finish(StreamHandle stream);
  // Memory of the test's that CUDA knows as that of a device.
  struct ForeignMemory {
    uint64_t bytes = 0;
    int ordinal = 0;
    unsigned type = 2;  // of a device
  };
  std::map<DevicePointer, ForeignMemory> foreign;

  // ---- What a test sets and sees.
  std::vector<std::string> devices = {"Emulated"};
  int driver_version = 13000;
  int nvrtc_major = 13, nvrtc_minor = 0;
  int architecture = 90;
  bool has_pools = true;
  std::vector<int> architectures = {75, 80, 90};  // that NVRTC knows
  std::string compile_error;                      // NVRTC's words, if it is to fail
  uint64_t capacity = UINT64_MAX;                 // bytes of device memory in use or held by the pool
  // Of the next call of that name, after so many that go well.
  struct Fault {
    DriverResult result = kDriverSuccess;
    int after = 0;
  };
  std::map<std::string, Fault> faults;
  // Kernels by name. A result that is no success is a fault of the kernel, which only those learn of who wait.
  struct HostKernel {
    std::vector<uint32_t> sizes;  // of arguments, in bytes
    std::function<DriverResult(void** arguments)> run;
  };
  std::map<std::string, HostKernel> kernels;

  uint64_t bytes_in_use = 0;
  uint64_t bytes_held = 0;  // by the pool: freed, and not given back
  std::map<std::string, int> calls;
  int num_modules = 0;  // loaded now
  int num_graphs = 0;   // and executable forms of them, that are not destroyed
  std::vector<std::string> compiled;
  std::vector<std::string> compile_options;  // of the last one

 private:
  struct Functions;  // of the tables

  struct Function {
    std::string name;
    BlockRunner::Kernel kernel = nullptr;
    bool waits = false;
    std::vector<uint32_t> sizes;  // of arguments, in bytes
  };
  struct Program {
    std::string source;
    std::string name;
    std::string code;
  };
  struct Stream {
    std::deque<std::function<DriverResult()>> commands;
    uint64_t first = 1;  // number of the first one
  };
  struct Event {
    Stream* stream = nullptr;  // null: not recorded
    uint64_t command = 0;
    bool is_timed = false;
    std::shared_ptr<int64_t> time;  // when it was come to, in nanoseconds; -1: not yet
  };

  DriverResult Call(const char* name);
  using Commands = std::vector<std::function<DriverResult()>>;
  DriverResult Issue(std::function<DriverResult()> command);
  static void IssueForLibrary(void (*run)(void* command), void (*destroy)(void* command), void* command);
  // Executes commands up to a number.
  DriverResult RunUpTo(Stream& stream, uint64_t command);
  Stream& Of(StreamHandle stream);
  DriverResult Allocate(DevicePointer* memory, size_t bytes);
  DriverResult Launch(const Function& function, std::vector<void*> arguments, const std::array<uint32_t, 3>& grid,
                      const std::array<uint32_t, 3>& block);
  bool Compile(Program& program);
  DriverResult Load(const char* image, Function& function) const;
  void* Symbol(const std::string& name) const;

  const Options options_;
  std::recursive_mutex mutex_;
  std::map<ModuleHandle, std::unique_ptr<Function>> modules_;  // what is not unloaded goes with the context
  Stream stream_;
  std::unique_ptr<Commands> captured_;            // null: commands are issued
  Stream default_stream_;                         // of handle 1
  std::vector<std::unique_ptr<Stream>> streams_;  // of others
  int64_t time_ = 0;                              // of the device: each command takes a microsecond
  DriverResult sticky_ = kDriverSuccess;
  std::map<DevicePointer, uint64_t> memory_;
  std::vector<void*> libraries_;
  BlockRunner runner_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_TESTS_CUDA_EMULATED_DRIVER_H_
