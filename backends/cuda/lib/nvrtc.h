// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Nvrtc: CUDA's compiler at run time, opened where it is there.

#ifndef TANDEM_BACKENDS_CUDA_LIB_NVRTC_H_
#define TANDEM_BACKENDS_CUDA_LIB_NVRTC_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared_library.h"
#include "tandem/status.h"

namespace tandem::cuda {

// The functions of NVRTC that are used, as its header declares them: their names and types have not changed since they
// came (CUDA 7 to 11.2).
struct NvrtcFunctions {
  using Result = int;
  using Program = void*;
  Result (*Version)(int* major, int* minor);
  const char* (*GetErrorString)(Result result);
  Result (*GetNumSupportedArchs)(int* count);
  Result (*GetSupportedArchs)(int* architectures);
  Result (*CreateProgram)(Program* program, const char* source, const char* name, int num_headers,
                          const char* const* headers, const char* const* include_names);
  Result (*DestroyProgram)(Program* program);
  Result (*CompileProgram)(Program program, int num_options, const char* const* options);
  Result (*GetPTXSize)(Program program, size_t* size);
  Result (*GetPTX)(Program program, char* text);
  Result (*GetCUBINSize)(Program program, size_t* size);
  Result (*GetCUBIN)(Program program, char* binary);
  Result (*GetProgramLogSize)(Program program, size_t* size);
  Result (*GetProgramLog)(Program program, char* log);
  // Of the heap, for a compilation: NVRTC takes some 60 MB for the longest texts.
  size_t heap_bytes = size_t{128} << 20;
};

// Thread-safe.
class Nvrtc {
 public:
  // TANDEM_NVRTC in the environment names the library's file; else it is looked for as dlopen does, and in the folders
  // that CUDA_PATH and CUDA_HOME name, and where the toolkit is installed by default. NotFound, naming what was tried,
  // or the error of CheckVersion.
  static StatusOr<Nvrtc> Open();
  explicit Nvrtc(const NvrtcFunctions& functions) : functions_(functions) {}

  // "13.0".
  std::string version() const;
  // FailedPrecondition if it is older than 11.7, which knows all that kernels have (__grid_constant__).
  Status CheckVersion() const;
  // Compute capabilities, as 90, in ascending order.
  std::vector<int> Architectures() const;

  struct Code {
    std::string bytes;
    bool is_ptx = false;  // else a binary for the architecture alone
  };
  struct Wishes {
    bool ptx = false;
    bool contracts = true;  // a product and a sum may be rounded once, as one instruction
  };
  // A source in CUDA C++, complete, to code for a device of the compute capability; PTX where the compiler does not
  // know it, or if that is asked for. The error has the compiler's own words.
  StatusOr<Code> Compile(const std::string& source, const std::string& name, int architecture,
                         const Wishes& wishes) const;
  // What the heap should have before that.
  size_t heap_bytes() const { return functions_.heap_bytes; }

 private:
  Nvrtc(SharedLibrary library, const NvrtcFunctions& functions) : library_(std::move(library)), functions_(functions) {}
  Status Check(NvrtcFunctions::Result result, std::string_view call) const;

  SharedLibrary library_;
  NvrtcFunctions functions_;
};

}  // namespace tandem::cuda

#endif  // TANDEM_BACKENDS_CUDA_LIB_NVRTC_H_
