// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "nvrtc.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::cuda {
namespace {

constexpr int kSuccess = 0;
constexpr int kOldestMajor = 11;
constexpr int kOldestMinor = 7;
constexpr int kOutOfMemory = 1;
constexpr std::array<std::string_view, 4> kVersions = {"", ".13", ".12", ".11.2"};

// A program that is destroyed in the end.
class OwnedProgram {
 public:
  explicit OwnedProgram(const NvrtcFunctions& functions) : functions_(functions) {}
  ~OwnedProgram() {
    if (program != nullptr) functions_.DestroyProgram(&program);
  }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;

  NvrtcFunctions::Program program = nullptr;

 private:
  const NvrtcFunctions& functions_;
};

}  // namespace

StatusOr<Nvrtc> Nvrtc::Open() {
  TANDEM_ASSIGN_OR_RETURN(SharedLibrary library,
                          OpenToolkitLibrary("CUDA's compiler NVRTC", "TANDEM_NVRTC", "libnvrtc.so", kVersions));
  NvrtcFunctions functions;
  TANDEM_RETURN_IF_ERROR(SharedLibrary::Finder(library)
                             .Find("nvrtcVersion", functions.Version)
                             .Find("nvrtcGetErrorString", functions.GetErrorString)
                             .Find("nvrtcGetNumSupportedArchs", functions.GetNumSupportedArchs)
                             .Find("nvrtcGetSupportedArchs", functions.GetSupportedArchs)
                             .Find("nvrtcCreateProgram", functions.CreateProgram)
                             .Find("nvrtcDestroyProgram", functions.DestroyProgram)
                             .Find("nvrtcCompileProgram", functions.CompileProgram)
                             .Find("nvrtcGetPTXSize", functions.GetPTXSize)
                             .Find("nvrtcGetPTX", functions.GetPTX)
                             .Find("nvrtcGetCUBINSize", functions.GetCUBINSize)
                             .Find("nvrtcGetCUBIN", functions.GetCUBIN)
                             .Find("nvrtcGetProgramLogSize", functions.GetProgramLogSize)
                             .Find("nvrtcGetProgramLog", functions.GetProgramLog)
                             .Finish());
  Nvrtc nvrtc(std::move(library), functions);
  TANDEM_RETURN_IF_ERROR(nvrtc.CheckVersion());
  return nvrtc;
}

Status Nvrtc::CheckVersion() const {
  int major = 0, minor = 0;
  TANDEM_RETURN_IF_ERROR(Check(functions_.Version(&major, &minor), "nvrtcVersion"));
  if (major > kOldestMajor || (major == kOldestMajor && minor >= kOldestMinor)) return Status();
  return FailedPrecondition("expected an NVRTC of CUDA ", kOldestMajor, ".", kOldestMinor,
                            " or later, got one of CUDA ", major, ".", minor);
}

Status Nvrtc::Check(NvrtcFunctions::Result result, std::string_view call) const {
  if (result == kSuccess) return Status();
  if (result == kOutOfMemory) return Status::OutOfMemory();
  return MakeError(StatusCode::kInternal, "expected ", call, " to succeed, got ",
                   std::string_view(functions_.GetErrorString(result)));
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  functions_.Version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<int> Nvrtc::Architectures() const {
  int count = 0;
  if (functions_.GetNumSupportedArchs(&count) != kSuccess || count <= 0) return {};
  std::vector<int> architectures(static_cast<size_t>(count));
  if (functions_.GetSupportedArchs(architectures.data()) != kSuccess) return {};
  std::ranges::sort(architectures);
  return architectures;
}

StatusOr<Nvrtc::Code> Nvrtc::Compile(const std::string& source, const std::string& name, int architecture,
                                     const Wishes& wishes) const {
  const std::vector<int> known = Architectures();
  // The newest one that the device can run the code of.
  const auto above = std::ranges::upper_bound(known, architecture);
  if (above == known.begin()) {
    return FailedPrecondition("expected an NVRTC that compiles for compute capability ", architecture / 10, ".",
                              architecture % 10, ", got ", std::string_view(version()), ", which begins at ",
                              known.empty() ? 0 : known.front());
  }
  const int target = *(above - 1);
  Code code;
  code.is_ptx = wishes.ptx || target != architecture;
  const std::string option =
      std::string("--gpu-architecture=") + (code.is_ptx ? "compute_" : "sm_") + std::to_string(target);
  // Numbers that are not normal, divisions and roots are as IEEE 754 has them, which are the defaults.
  const std::array<const char*, 3> options = {option.c_str(), "--std=c++17",
                                              wishes.contracts ? "--fmad=true" : "--fmad=false"};
  OwnedProgram owned(functions_);
  TANDEM_RETURN_IF_ERROR(
      Check(functions_.CreateProgram(&owned.program, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr),
            "nvrtcCreateProgram"));
  const NvrtcFunctions::Result result =
      functions_.CompileProgram(owned.program, static_cast<int>(options.size()), options.data());
  if (result != kSuccess) {
    size_t size = 0;
    std::string log;
    if (functions_.GetProgramLogSize(owned.program, &size) == kSuccess && size > 1) {
      log.resize(size);
      if (functions_.GetProgramLog(owned.program, log.data()) != kSuccess) log.clear();
      while (!log.empty() && (log.back() == 0 || log.back() == '\n')) log.pop_back();
    }
    if (log.empty()) return Check(result, "nvrtcCompileProgram");
    return MakeError(StatusCode::kInvalidArgument, std::string_view(log));
  }
  size_t size = 0;
  TANDEM_RETURN_IF_ERROR(code.is_ptx ? Check(functions_.GetPTXSize(owned.program, &size), "nvrtcGetPTXSize")
                                     : Check(functions_.GetCUBINSize(owned.program, &size), "nvrtcGetCUBINSize"));
  code.bytes.resize(size);
  TANDEM_RETURN_IF_ERROR(code.is_ptx ? Check(functions_.GetPTX(owned.program, code.bytes.data()), "nvrtcGetPTX")
                                     : Check(functions_.GetCUBIN(owned.program, code.bytes.data()), "nvrtcGetCUBIN"));
  // PTX is text with a zero behind it.
  if (code.is_ptx && !code.bytes.empty() && code.bytes.back() == 0) code.bytes.pop_back();
  return code;
}

}  // namespace tandem::cuda
