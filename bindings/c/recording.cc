// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Recordings: calls that become programs.

#include <cstddef>
#include <new>
#include <utility>

#include "objects.h"

namespace tandem::c {

namespace {

constexpr size_t kUsual = 8;             // outputs that need no array of their own
constexpr size_t kMaxOutputs = 1 << 20;  // as many as a call may have results

}  // namespace

Status CheckOutputs(const tandem_recording& recording, tandem_tensor* const* from, std::span<TensorHandle> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (from[i] == nullptr) return InvalidArgument("output ", i, " must be a tensor, got null");
    if (from[i]->runtime.get() != &recording.runtime()) return InvalidArgument("output ", i, " is of another runtime");
    outputs[i] = from[i]->handle.CopyRef();
  }
  return Status();
}

}  // namespace tandem::c

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_recording_start(tandem_runtime* runtime, const tandem_recording_options* options,
                                      tandem_recording** recording) {
  if (recording == nullptr) return WrongArgument("expected a place for the recording, got null");
  *recording = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  tandem_recording_options chosen;
  TANDEM_C_RETURN_IF_ERROR(ReadStruct(options, TANDEM_C_LEAST_SIZE(tandem_recording_options, function), &chosen));
  tandem::ProgramRecorder::Options started;
  if (chosen.function != nullptr) started.function = chosen.function;
  auto recorder = tandem::ProgramRecorder::Start(rt->core, started);
  if (!recorder.ok()) return ToC(recorder.status());
  *recording = new (std::nothrow) tandem_recording(*runtime, *std::move(recorder));
  return *recording == nullptr ? ToC(tandem::Status::OutOfMemory()) : nullptr;
}

tandem_status* tandem_recording_device(tandem_recording* recording, const char* device, const char** name) {
  if (name == nullptr) return WrongArgument("expected a place for the name, got null");
  *name = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, recording, "recording");
  const auto delegate = FindDevice(*rt, device);
  if (!delegate.ok()) return ToC(delegate.status());
  const auto handler = recording->recorder->HandlerOver(**delegate);
  if (!handler.ok()) return ToC(handler.status());
  *name = (*handler)->name().c_str();
  return nullptr;
}

tandem_status* tandem_recording_add_input(tandem_recording* recording, const tandem_tensor* input) {
  if (const auto rt = FindRuntime(recording, "recording"); !rt.ok()) return ToC(rt.status());
  if (input == nullptr) return WrongArgument("expected a tensor, got null");
  if (input->runtime.get() != &recording->runtime()) return WrongArgument("the input is of another runtime");
  return ToC(recording->recorder->AddInput(input->handle));
}

tandem_status* tandem_recording_finish(tandem_recording* recording, tandem_tensor* const* outputs, size_t num_outputs,
                                       tandem_program** program) {
  if (program == nullptr) return WrongArgument("expected a place for the program, got null");
  *program = nullptr;
  if (const auto rt = FindRuntime(recording, "recording"); !rt.ok()) return ToC(rt.status());
  if (num_outputs > kMaxOutputs) return WrongArgument("expected at most ", kMaxOutputs, " outputs, got ", num_outputs);
  if (num_outputs > 0 && outputs == nullptr) return WrongArgument("expected ", num_outputs, " outputs, got null");
  tandem::SmallArray<tandem::TensorHandle, kUsual> handles;
  if (!handles.Init(num_outputs)) return ToC(tandem::Status::OutOfMemory());
  TANDEM_C_RETURN_IF_ERROR(CheckOutputs(*recording, outputs, handles.span()));
  auto made = recording->recorder->Finish(handles.span());
  if (!made.ok()) return ToC(made.status());
  return GiveProgram(recording->runtime(), *std::move(made), nullptr, {}, program);
}

void tandem_recording_release(tandem_recording* recording) { delete recording; }

}  // extern "C"
