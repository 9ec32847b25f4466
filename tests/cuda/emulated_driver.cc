// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "emulated_driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cassert>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cuda_prelude.h"
#include "fake_library.h"

namespace tandem::cuda {
namespace {

constexpr DriverResult kInvalidValue = 1;
constexpr DriverResult kInvalidImage = 200;
constexpr DriverResult kInvalidHandle = 400;
constexpr DriverResult kNotFound = 500;
constexpr DriverResult kLaunchFailed = 719;

EmulatedCuda* g_emulated = nullptr;

Status WriteFile(const std::filesystem::path& file, std::string_view text) {
  // Several processes collect, and what they write is the same.
  const std::string temporary = file.string() + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream(temporary) << text;
  std::error_code error;
  std::filesystem::rename(temporary, file, error);
  return error ? MakeError(StatusCode::kInternal, "cannot write ", std::string_view(file.native())) : Status();
}

bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Names of the kernel, and of what begins with it, in a text.
std::string Renamed(std::string_view text, const std::string& from, const std::string& to) {
  std::string renamed;
  while (true) {
    const size_t at = text.find(from);
    if (at == std::string_view::npos) return renamed.append(text);
    const bool begins = at == 0 || !IsNamePart(text[at - 1]);
    renamed.append(text.substr(0, at)).append(begins ? to : from);
    text.remove_prefix(at + from.size());
  }
}

std::string KernelName(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char name[24];
  std::snprintf(name, sizeof(name), "k%016llx", static_cast<unsigned long long>(hash));
  return name;
}

bool Waits(std::string_view text) {
  return text.find("Barrier()") != std::string_view::npos || text.find("w_subgroup") != std::string_view::npos;
}

char* At(DevicePointer memory) { return reinterpret_cast<char*>(memory); }

}  // namespace

EmulatedCuda::EmulatedCuda(const Options& options) : options_(options) { g_emulated = this; }

EmulatedCuda::~EmulatedCuda() {
  g_emulated = nullptr;
  for (void* library : libraries_) dlclose(library);
  for (const auto& [memory, bytes] : memory_) std::free(At(memory));
}

Status EmulatedCuda::Open() {
  if (options_.collects) {
    if (!options_.keeps) std::filesystem::remove_all(options_.folder);
    std::filesystem::create_directories(options_.folder);
    return WriteFile(std::filesystem::path(options_.folder) / "prelude.cuh", kCudaPrelude);
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder, error)) {
    if (entry.path().extension() != ".so") continue;
    void* const library = dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return MakeError(StatusCode::kInternal, std::string_view(dlerror()));
    libraries_.push_back(library);
    using Set = void (*)(Emulation*);
    reinterpret_cast<Set>(dlsym(library, "w_set_emulation"))(&runner_.emulation());
  }
  if (!libraries_.empty()) return Status();
  return MakeError(StatusCode::kNotFound, "expected kernels compiled for the host in ",
                   std::string_view(options_.folder), ", got none");
}

void* EmulatedCuda::Symbol(const std::string& name) const {
  for (void* library : libraries_) {
    if (void* const symbol = dlsym(library, name.c_str())) return symbol;
  }
  return nullptr;
}

// ---- Commands.

DriverResult EmulatedCuda::Call(const char* name) {
  ++calls[name];
  if (const auto fault = faults.find(name); fault != faults.end() && fault->second.after-- == 0) {
    const DriverResult result = fault->second.result;
    faults.erase(fault);
    if (IsContextLost(result)) sticky_ = result;
    return result;
  }
  return sticky_;
}

DriverResult EmulatedCuda::Issue(std::function<DriverResult()> command) {
  if (captured_ != nullptr) {
    captured_->push_back(std::move(command));
    return kDriverSuccess;
  }
  stream_.commands.push_back(std::move(command));
  return kDriverSuccess;
}

void EmulatedCuda::IssueForLibrary(void (*run)(void* command), void (*destroy)(void* command), void* command) {
  const std::lock_guard lock(g_emulated->mutex_);
  g_emulated->Issue([run, owned = std::shared_ptr<void>(command, destroy)] {
    run(owned.get());
    return kDriverSuccess;
  });
}

void* EmulatedCuda::TakeLibrary(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto on_stream = reinterpret_cast<void (*)(IssueFake)>(dlsym(library, "fakeOnStream"));
  if (on_stream == nullptr) return nullptr;
  on_stream(&IssueForLibrary);
  return library;
}

DriverResult EmulatedCuda::RunUpTo(Stream& stream, uint64_t command) {
  while (!stream.commands.empty() && stream.first <= command && sticky_ == kDriverSuccess) {
    // It may wait for another stream.
    const std::function<DriverResult()> first = std::move(stream.commands.front());
    stream.commands.pop_front();
    ++stream.first;
    const DriverResult result = first();
    if (result != kDriverSuccess) sticky_ = result;
  }
  return sticky_;
}

EmulatedCuda::Stream& EmulatedCuda::Of(StreamHandle stream) {
  return reinterpret_cast<uintptr_t>(stream) == 1 ? default_stream_ : *static_cast<Stream*>(stream);
}

StreamHandle EmulatedCuda::MakeStream() {
  const std::lock_guard lock(mutex_);
  return streams_.emplace_back(std::make_unique<Stream>()).get();
}

void EmulatedCuda::IssueOn(StreamHandle stream, std::function<void()> command) {
  const std::lock_guard lock(mutex_);
  Of(stream).commands.push_back([command = std::move(command)] {
    command();
    return kDriverSuccess;
  });
}

DriverResult EmulatedCuda::Finish(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  return RunUpTo(Of(stream), UINT64_MAX);
}

DriverResult EmulatedCuda::Allocate(DevicePointer* memory, size_t bytes) {
  if (bytes > capacity || bytes_in_use + bytes_held > capacity - bytes) return kDriverOutOfMemory;
  void* const host = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (host == nullptr) return kDriverOutOfMemory;
  std::memset(host, options_.collects ? 0 : 0xCD, bytes);
  *memory = reinterpret_cast<DevicePointer>(host);
  memory_[*memory] = bytes;
  bytes_in_use += bytes;
  return kDriverSuccess;
}

DriverResult EmulatedCuda::Launch(const Function& function, std::vector<void*> arguments,
                                  const std::array<uint32_t, 3>& grid, const std::array<uint32_t, 3>& block) {
  if (const auto found = kernels.find(function.name); found != kernels.end())
    return found->second.run(arguments.data());
  if (function.kernel == nullptr) return kDriverSuccess;  // texts are collected
  const Status status = runner_.Run(function.kernel, arguments.data(), grid, block, function.waits);
  if (status.ok()) return kDriverSuccess;
  std::fprintf(stderr, "%s: %s\n", function.name.c_str(), status.ToString().c_str());
  return kLaunchFailed;
}

// ---- NVRTC: the code is the kernel's name in the libraries.

bool EmulatedCuda::Compile(Program& program) {
  if (!compile_error.empty()) return false;
  const std::string function = program.name.substr(0, program.name.rfind(".cu"));
  compiled.push_back(function);
  assert(program.source.starts_with(kCudaPrelude));
  const std::string_view text = std::string_view(program.source).substr(kCudaPrelude.size());
  const std::string name = KernelName(text);
  program.code = name + " " + function + (Waits(text) ? " waits" : " runs");
  if (!options_.collects) return true;
  const std::filesystem::path file = std::filesystem::path(options_.folder) / (name + ".cu");
  return std::filesystem::exists(file) || WriteFile(file, Renamed(text, function, name)).ok();
}

DriverResult EmulatedCuda::Load(const char* image, Function& function) const {
  const std::string code = image;
  const size_t first = code.find(' '), second = code.find(' ', first + 1);
  if (second == std::string::npos) return kInvalidImage;
  const std::string name = code.substr(0, first);
  function.name = code.substr(first + 1, second - first - 1);
  function.waits = code.ends_with("waits");
  using Sizes = uint32_t (*)(uint32_t * sizes);
  if (const auto sizes = reinterpret_cast<Sizes>(Symbol("sizes_" + name))) {
    function.sizes.resize(sizes(nullptr));
    sizes(function.sizes.data());
    function.kernel = reinterpret_cast<BlockRunner::Kernel>(Symbol("run_" + name));
    return kDriverSuccess;
  }
  if (const auto found = kernels.find(function.name); found != kernels.end()) {
    function.sizes = found->second.sizes;
    return kDriverSuccess;
  }
  if (options_.collects) return kDriverSuccess;
  std::fprintf(stderr, "there is no library with the kernel %s of %s\n", name.c_str(), function.name.c_str());
  return kInvalidImage;
}

// ---- The tables' functions.

struct EmulatedCuda::Functions {
  // Each call is noted, and fails if a test says so.
  template <typename F>
  static DriverResult With(const char* name, F body) {
    EmulatedCuda& cuda = *g_emulated;
    const std::lock_guard lock(cuda.mutex_);
    const DriverResult result = cuda.Call(name);
    return result == kDriverSuccess ? body(cuda) : result;
  }

  static DriverResult GetErrorName(DriverResult result, const char** name) {
    *name = result == kDriverOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == kLaunchFailed    ? "CUDA_ERROR_LAUNCH_FAILED"
            : result == 700              ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                         : "CUDA_ERROR_OF_A_TEST";
    return kDriverSuccess;
  }
  static DriverResult GetErrorString(DriverResult, const char** text) {
    *text = "an error of the emulation's";
    return kDriverSuccess;
  }
  static DriverResult Init(unsigned) {
    return With("cuInit", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  static DriverResult DriverGetVersion(int* version) {
    *version = g_emulated->driver_version;
    return kDriverSuccess;
  }
  static DriverResult DeviceGetCount(int* count) {
    *count = static_cast<int>(g_emulated->devices.size());
    return kDriverSuccess;
  }
  static DriverResult DeviceGet(DeviceNumber* device, int ordinal) {
    *device = ordinal;
    return kDriverSuccess;
  }
  static DriverResult DeviceGetName(char* name, int size, DeviceNumber device) {
    std::snprintf(name, static_cast<size_t>(size), "%s", g_emulated->devices[static_cast<size_t>(device)].c_str());
    return kDriverSuccess;
  }
  static DriverResult DeviceGetAttribute(int* value, int attribute, DeviceNumber) {
    switch (attribute) {
      case kAttributeComputeCapabilityMajor:
        *value = g_emulated->architecture / 10;
        return kDriverSuccess;
      case kAttributeComputeCapabilityMinor:
        *value = g_emulated->architecture % 10;
        return kDriverSuccess;
      case kAttributeMemoryPoolsSupported:
        *value = g_emulated->has_pools ? 1 : 0;
        return kDriverSuccess;
      default:
        return kInvalidValue;
    }
  }
  static DriverResult DeviceTotalMem(size_t* bytes, DeviceNumber) {
    *bytes = size_t{8} << 30;
    return kDriverSuccess;
  }
  static DriverResult DevicePrimaryCtxRetain(ContextHandle* context, DeviceNumber) {
    return With("cuDevicePrimaryCtxRetain", [&](EmulatedCuda& cuda) {
      *context = &cuda;
      return kDriverSuccess;
    });
  }
  static DriverResult DevicePrimaryCtxRelease(DeviceNumber) {
    return With("cuDevicePrimaryCtxRelease", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  static DriverResult CtxSetCurrent(ContextHandle) {
    return With("cuCtxSetCurrent", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  static DriverResult StreamCreate(StreamHandle* stream, unsigned) {
    return With("cuStreamCreate", [&](EmulatedCuda& cuda) {
      *stream = &cuda.stream_;
      return kDriverSuccess;
    });
  }
  static DriverResult StreamDestroy(StreamHandle) {
    return With("cuStreamDestroy", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  static DriverResult StreamSynchronize(StreamHandle stream) {
    return With("cuStreamSynchronize", [&](EmulatedCuda& cuda) { return cuda.RunUpTo(cuda.Of(stream), UINT64_MAX); });
  }
  static DriverResult StreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
    return With("cuStreamWaitEvent", [&](EmulatedCuda& cuda) {
      const Event awaited = *static_cast<Event*>(event);
      if (awaited.stream == nullptr) return kDriverSuccess;
      cuda.Of(stream).commands.push_back([&cuda, awaited] { return cuda.RunUpTo(*awaited.stream, awaited.command); });
      return kDriverSuccess;
    });
  }
  static DriverResult EventCreate(EventHandle* event, unsigned flags) {
    return With("cuEventCreate", [&](EmulatedCuda&) {
      *event = new Event{nullptr, 0, (flags & kEventDisableTiming) == 0, std::make_shared<int64_t>(-1)};
      return kDriverSuccess;
    });
  }
  static DriverResult EventDestroy(EventHandle event) {
    delete static_cast<Event*>(event);
    return With("cuEventDestroy", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  // An event is a command of its own where times are asked for.
  static DriverResult EventRecord(EventHandle handle, StreamHandle stream) {
    return With("cuEventRecord", [&](EmulatedCuda& cuda) {
      auto& event = *static_cast<Event*>(handle);
      event.stream = &cuda.Of(stream);
      if (event.is_timed) {
        event.stream->commands.push_back([&cuda, time = event.time] {
          *time = cuda.time_ += 1000;
          return kDriverSuccess;
        });
      }
      event.command = event.stream->first + event.stream->commands.size() - 1;
      return kDriverSuccess;
    });
  }
  static DriverResult EventQuery(EventHandle event) {
    return With("cuEventQuery", [&](EmulatedCuda& cuda) {
      const auto& [stream, command, is_timed, time] = *static_cast<Event*>(event);
      if (stream->first > command) return cuda.sticky_;
      // Who asks often is not kept waiting for ever.
      const DriverResult result = cuda.RunUpTo(*stream, stream->first);
      return result == kDriverSuccess ? kDriverNotReady : result;
    });
  }
  static DriverResult EventSynchronize(EventHandle handle) {
    return With("cuEventSynchronize", [&](EmulatedCuda& cuda) {
      const auto& event = *static_cast<Event*>(handle);
      return cuda.RunUpTo(*event.stream, event.command);
    });
  }
  static DriverResult EventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
    return With("cuEventElapsedTime", [&](EmulatedCuda&) {
      const auto& [from, to] = std::pair(*static_cast<Event*>(start), *static_cast<Event*>(end));
      if (!from.is_timed || !to.is_timed) return kInvalidHandle;
      if (*from.time < 0 || *to.time < 0) return kDriverNotReady;
      *milliseconds = static_cast<float>(static_cast<double>(*to.time - *from.time) / 1e6);
      return kDriverSuccess;
    });
  }
  static DriverResult PointerGetAttribute(void* value, int attribute, DevicePointer pointer) {
    return With("cuPointerGetAttribute", [&](EmulatedCuda& cuda) {
      ForeignMemory memory;
      auto found = cuda.foreign.upper_bound(pointer);
      auto ours = cuda.memory_.upper_bound(pointer);
      if (found != cuda.foreign.begin() && pointer < (--found)->first + found->second.bytes) {
        memory = found->second;
      } else if (ours == cuda.memory_.begin() || pointer >= (--ours)->first + ours->second) {
        return kInvalidValue;
      }
      if (attribute == kPointerDeviceOrdinal) {
        std::memcpy(value, &memory.ordinal, sizeof(memory.ordinal));
      } else {
        std::memcpy(value, &memory.type, sizeof(memory.type));
      }
      return kDriverSuccess;
    });
  }
  static DriverResult MemPoolCreate(PoolHandle* pool, const PoolProperties*) {
    return With("cuMemPoolCreate", [&](EmulatedCuda& cuda) {
      *pool = &cuda.memory_;
      return kDriverSuccess;
    });
  }
  static DriverResult MemPoolDestroy(PoolHandle) {
    return With("cuMemPoolDestroy", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  static DriverResult MemPoolSetAttribute(PoolHandle, int, void*) {
    return With("cuMemPoolSetAttribute", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  static DriverResult MemPoolTrimTo(PoolHandle, size_t bytes) {
    return With("cuMemPoolTrimTo", [&](EmulatedCuda& cuda) {
      cuda.bytes_held = std::min<uint64_t>(cuda.bytes_held, bytes);
      return kDriverSuccess;
    });
  }
  static DriverResult MemAllocFromPoolAsync(DevicePointer* memory, size_t bytes, PoolHandle, StreamHandle) {
    return With("cuMemAllocFromPoolAsync", [&](EmulatedCuda& cuda) { return cuda.Allocate(memory, bytes); });
  }
  static DriverResult MemFreeAsync(DevicePointer memory, StreamHandle) {
    return With("cuMemFreeAsync", [&](EmulatedCuda& cuda) {
      return cuda.Issue([&cuda, memory] {
        const auto found = cuda.memory_.find(memory);
        if (found == cuda.memory_.end()) return kInvalidValue;
        cuda.bytes_in_use -= found->second;
        cuda.bytes_held += found->second;
        cuda.memory_.erase(found);
        std::free(At(memory));
        return kDriverSuccess;
      });
    });
  }
  static DriverResult MemHostAlloc(void** memory, size_t bytes, unsigned) {
    return With("cuMemHostAlloc", [&](EmulatedCuda&) {
      *memory = std::malloc(bytes);
      return kDriverSuccess;
    });
  }
  static DriverResult MemFreeHost(void* memory) {
    std::free(memory);
    return With("cuMemFreeHost", [](EmulatedCuda&) { return kDriverSuccess; });
  }
  static DriverResult MemcpyHtoDAsync(DevicePointer to, const void* from, size_t bytes, StreamHandle) {
    return With("cuMemcpyHtoDAsync", [&](EmulatedCuda& cuda) {
      return cuda.Issue([=] {
        std::memcpy(At(to), from, bytes);
        return kDriverSuccess;
      });
    });
  }
  static DriverResult MemcpyDtoHAsync(void* to, DevicePointer from, size_t bytes, StreamHandle) {
    return With("cuMemcpyDtoHAsync", [&](EmulatedCuda& cuda) {
      return cuda.Issue([=] {
        std::memcpy(to, At(from), bytes);
        return kDriverSuccess;
      });
    });
  }
  static DriverResult MemcpyDtoDAsync(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle) {
    return With("cuMemcpyDtoDAsync", [&](EmulatedCuda& cuda) {
      return cuda.Issue([=] {
        std::memcpy(At(to), At(from), bytes);
        return kDriverSuccess;
      });
    });
  }
  static DriverResult MemsetD32Async(DevicePointer to, unsigned value, size_t count, StreamHandle) {
    return With("cuMemsetD32Async", [&](EmulatedCuda& cuda) {
      return cuda.Issue([=] {
        for (size_t i = 0; i < count; ++i) std::memcpy(At(to) + 4 * i, &value, sizeof(value));
        return kDriverSuccess;
      });
    });
  }
  static DriverResult ModuleLoadData(ModuleHandle* module, const void* image) {
    return With("cuModuleLoadData", [&](EmulatedCuda& cuda) {
      auto function = std::make_unique<Function>();
      const DriverResult result = cuda.Load(static_cast<const char*>(image), *function);
      if (result != kDriverSuccess) return result;
      *module = function.get();
      cuda.modules_.emplace(*module, std::move(function));
      ++cuda.num_modules;
      return kDriverSuccess;
    });
  }
  static DriverResult ModuleUnload(ModuleHandle module) {
    return With("cuModuleUnload", [&](EmulatedCuda& cuda) {
      assert(cuda.stream_.commands.empty());
      cuda.num_modules -= static_cast<int>(cuda.modules_.erase(module));
      return kDriverSuccess;
    });
  }
  static DriverResult ModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
    return With("cuModuleGetFunction", [&](EmulatedCuda&) {
      *function = module;
      return static_cast<Function*>(module)->name == name ? kDriverSuccess : kNotFound;
    });
  }
  static DriverResult LaunchKernel(FunctionHandle handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned, StreamHandle,
                                   void** parameters, void**) {
    return With("cuLaunchKernel", [&](EmulatedCuda& cuda) {
      const auto& function = *static_cast<const Function*>(handle);
      // The driver copies arguments in the call.
      auto copies = std::make_shared<std::vector<std::vector<char>>>();
      for (size_t i = 0; i < function.sizes.size(); ++i) {
        const char* const from = static_cast<const char*>(parameters[i]);
        copies->emplace_back(from, from + function.sizes[i]);
      }
      std::vector<void*> arguments;
      for (std::vector<char>& copy : *copies) arguments.push_back(copy.data());
      const std::array<uint32_t, 3> grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
      return cuda.Issue(
          [&cuda, &function, copies, arguments, grid, block] { return cuda.Launch(function, arguments, grid, block); });
    });
  }

  // ---- Graphs: the commands that were captured.
  static DriverResult StreamBeginCapture(StreamHandle, int) {
    return With("cuStreamBeginCapture", [](EmulatedCuda& cuda) {
      cuda.captured_ = std::make_unique<Commands>();
      return kDriverSuccess;
    });
  }
  static DriverResult StreamEndCapture(StreamHandle, GraphHandle* graph) {
    const std::lock_guard lock(g_emulated->mutex_);
    const std::unique_ptr<Commands> ended = std::move(g_emulated->captured_);
    return With("cuStreamEndCapture", [&](EmulatedCuda& cuda) {
      *graph = new Commands(*ended);
      ++cuda.num_graphs;
      return kDriverSuccess;
    });
  }
  static DriverResult GraphInstantiate(GraphExecHandle* exec, GraphHandle graph, unsigned long long) {
    return With("cuGraphInstantiate", [&](EmulatedCuda& cuda) {
      *exec = new Commands(*static_cast<Commands*>(graph));
      ++cuda.num_graphs;
      return kDriverSuccess;
    });
  }
  static DriverResult GraphLaunch(GraphExecHandle exec, StreamHandle) {
    return With("cuGraphLaunch", [&](EmulatedCuda& cuda) {
      for (const auto& command : *static_cast<Commands*>(exec)) cuda.Issue(command);
      return kDriverSuccess;
    });
  }
  static DriverResult GraphDestroy(void* graph) {
    {
      const std::lock_guard lock(g_emulated->mutex_);
      delete static_cast<Commands*>(graph);
      --g_emulated->num_graphs;
    }
    return With("cuGraphDestroy", [](EmulatedCuda&) { return kDriverSuccess; });
  }

  // ---- NVRTC.
  static int Version(int* major, int* minor) {
    *major = g_emulated->nvrtc_major;
    *minor = g_emulated->nvrtc_minor;
    return 0;
  }
  static const char* NvrtcErrorString(int) { return "NVRTC_ERROR_OF_A_TEST"; }
  static int GetNumSupportedArchs(int* count) {
    *count = static_cast<int>(g_emulated->architectures.size());
    return 0;
  }
  static int GetSupportedArchs(int* architectures) {
    for (const int architecture : g_emulated->architectures) *architectures++ = architecture;
    return 0;
  }
  static int CreateProgram(void** program, const char* source, const char* name, int, const char* const*,
                           const char* const*) {
    *program = new Program{source, name, {}};
    return 0;
  }
  static int DestroyProgram(void** program) {
    delete static_cast<Program*>(*program);
    *program = nullptr;
    return 0;
  }
  static int CompileProgram(void* program, int num_options, const char* const* options) {
    const std::lock_guard lock(g_emulated->mutex_);
    g_emulated->compile_options.assign(options, options + num_options);
    return g_emulated->Compile(*static_cast<Program*>(program)) ? 0 : 6;
  }
  static int GetCodeSize(void* program, size_t* size) {
    *size = static_cast<Program*>(program)->code.size();
    return 0;
  }
  static int GetCode(void* program, char* code) {
    std::memcpy(code, static_cast<Program*>(program)->code.data(), static_cast<Program*>(program)->code.size());
    return 0;
  }
  static int GetProgramLogSize(void*, size_t* size) {
    *size = g_emulated->compile_error.size() + 1;
    return 0;
  }
  static int GetProgramLog(void*, char* log) {
    std::memcpy(log, g_emulated->compile_error.c_str(), g_emulated->compile_error.size() + 1);
    return 0;
  }
};

DriverFunctions EmulatedCuda::driver() const {
  using F = Functions;
  DriverFunctions d = {};
  d.GetErrorName = &F::GetErrorName;
  d.GetErrorString = &F::GetErrorString;
  d.Init = &F::Init;
  d.DriverGetVersion = &F::DriverGetVersion;
  d.DeviceGetCount = &F::DeviceGetCount;
  d.DeviceGet = &F::DeviceGet;
  d.DeviceGetName = &F::DeviceGetName;
  d.DeviceGetAttribute = &F::DeviceGetAttribute;
  d.DeviceTotalMem = &F::DeviceTotalMem;
  d.DevicePrimaryCtxRetain = &F::DevicePrimaryCtxRetain;
  d.DevicePrimaryCtxRelease = &F::DevicePrimaryCtxRelease;
  d.CtxSetCurrent = &F::CtxSetCurrent;
  d.StreamCreate = &F::StreamCreate;
  d.StreamDestroy = &F::StreamDestroy;
  d.StreamSynchronize = &F::StreamSynchronize;
  d.StreamWaitEvent = &F::StreamWaitEvent;
  d.EventCreate = &F::EventCreate;
  d.EventDestroy = &F::EventDestroy;
  d.EventRecord = &F::EventRecord;
  d.EventQuery = &F::EventQuery;
  d.EventSynchronize = &F::EventSynchronize;
  d.EventElapsedTime = &F::EventElapsedTime;
  d.MemPoolCreate = &F::MemPoolCreate;
  d.MemPoolDestroy = &F::MemPoolDestroy;
  d.MemPoolSetAttribute = &F::MemPoolSetAttribute;
  d.MemPoolTrimTo = &F::MemPoolTrimTo;
  d.MemAllocFromPoolAsync = &F::MemAllocFromPoolAsync;
  d.MemFreeAsync = &F::MemFreeAsync;
  d.PointerGetAttribute = &F::PointerGetAttribute;
  d.MemHostAlloc = &F::MemHostAlloc;
  d.MemFreeHost = &F::MemFreeHost;
  d.MemcpyHtoDAsync = &F::MemcpyHtoDAsync;
  d.MemcpyDtoHAsync = &F::MemcpyDtoHAsync;
  d.MemcpyDtoDAsync = &F::MemcpyDtoDAsync;
  d.MemsetD32Async = &F::MemsetD32Async;
  d.ModuleLoadData = &F::ModuleLoadData;
  d.ModuleUnload = &F::ModuleUnload;
  d.ModuleGetFunction = &F::ModuleGetFunction;
  d.LaunchKernel = &F::LaunchKernel;
  return d;
}

GraphFunctions EmulatedCuda::graphs() const {
  using F = Functions;
  return {&F::StreamBeginCapture, &F::StreamEndCapture, &F::GraphInstantiate,
          &F::GraphLaunch,        &F::GraphDestroy,     &F::GraphDestroy};
}

NvrtcFunctions EmulatedCuda::nvrtc() const {
  using F = Functions;
  return {&F::Version, &F::NvrtcErrorString, &F::GetNumSupportedArchs, &F::GetSupportedArchs, &F::CreateProgram,
          &F::DestroyProgram, &F::CompileProgram, &F::GetCodeSize, &F::GetCode, &F::GetCodeSize, &F::GetCode,
          &F::GetProgramLogSize, &F::GetProgramLog,
          // Not NVRTC's 128 MB, which AddressSanitizer would mark one by one for each kernel.
          size_t{4} << 20};
}

}  // namespace tandem::cuda
