// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs and recordings for JavaScript: with weights by name in place of callbacks, and without waiting.

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "js_runtime.h"
#include "tandem_programs.h"

namespace tandem::js {

namespace {

constexpr size_t kUsual = 8;  // outputs that need no array of their own

using Outputs = SmallArray<TensorHandle, kUsual>;

Status ReadOutputs(const tandem_recording& recording, tandem_tensor* const* from, uint32_t count, Outputs* outputs) {
  if (!outputs->Init(count)) return Status::OutOfMemory();
  return c::CheckOutputs(recording, from, outputs->span());
}

size_t ToSize(double bytes) { return bytes < 0x1p31 ? static_cast<size_t>(std::max(bytes, 0.0)) : SIZE_MAX; }

}  // namespace

}  // namespace tandem::js

using namespace tandem::js;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_js_program_load(tandem_js* js, const void* data, size_t size, const char* name,
                                      const tandem_js_program_options* options, tandem_program** program) {
  *program = nullptr;
  auto read = tandem::Program::Read({static_cast<const std::byte*>(data), size}, name);
  if (!read.ok()) return tandem::c::ToC(read.status());
  EnableProgramFusion(*js);
  tandem::ProgramRunner::Options made;
  made.fuse = options->fuse != 0;
  made.source = {static_cast<const char*>(data), size};
  made.find_weight = [js, options](std::string_view weight) -> tandem::StatusOr<tandem::TensorHandle> {
    uint32_t i = 0;
    while (i < options->num_weights && weight != options->names[i]) ++i;
    return tandem::c::WeightOf(*js->runtime, weight, i < options->num_weights ? options->weights[i] : nullptr);
  };
  return tandem::c::GiveProgram(*js->runtime, *std::move(read), options->device, std::move(made), program);
}

uint32_t tandem_js_program_has_chains(const tandem_program* program, const char* function) {
  const tandem::ProgramFunction* const found = program->runner->program().Find(function);
  if (found == nullptr) return 0;
  const auto has_chain = [](const auto& types) {
    return std::find(types.begin(), types.end(), tandem::ProgramType::kChain) != types.end();
  };
  return has_chain(found->parameter_types()) || has_chain(found->result_types) ? 1 : 0;
}

tandem_status* tandem_js_recording_start(tandem_js* js, const char* function, double max_inline_bytes,
                                         tandem_recording** recording) {
  *recording = nullptr;
  EnableProgramFusion(*js);
  auto recorder = tandem::ProgramRecorder::Start(js->running().core,
                                                 {.function = function, .max_inline_bytes = ToSize(max_inline_bytes)});
  if (!recorder.ok()) return tandem::c::ToC(recorder.status());
  *recording = new (std::nothrow) tandem_recording(*js->runtime, *std::move(recorder));
  return *recording == nullptr ? tandem::c::ToC(tandem::Status::OutOfMemory()) : nullptr;
}

tandem_status* tandem_js_recording_ready(tandem_js* js, tandem_recording* recording, tandem_tensor* const* outputs,
                                         uint32_t num_outputs, uint32_t id) {
  Outputs handles;
  TANDEM_C_RETURN_IF_ERROR(ReadOutputs(*recording, outputs, num_outputs, &handles));
  return PostWhenReady(*js, *recording->recorder->Ready(handles.span()).value(), id);
}

tandem_status* tandem_js_recording_finish(tandem_recording* recording, tandem_tensor* const* outputs,
                                          uint32_t num_outputs, const char* device, tandem_program** program) {
  *program = nullptr;
  Outputs handles;
  TANDEM_C_RETURN_IF_ERROR(ReadOutputs(*recording, outputs, num_outputs, &handles));
  tandem::ProgramRecorder& recorder = *recording->recorder;
  auto made = recorder.Finish(handles.span());
  if (!made.ok()) return tandem::c::ToC(made.status());
  tandem::ProgramRunner::Options options;
  options.find_weight = [&recorder](std::string_view name) -> tandem::StatusOr<tandem::TensorHandle> {
    for (const auto& [known, weight] : recorder.weights()) {
      if (known == name) return weight.CopyRef();
    }
    return tandem::MakeError(tandem::StatusCode::kNotFound, "expected a weight of the recording, got ", name);
  };
  return tandem::c::GiveProgram(recording->runtime(), *std::move(made), device, std::move(options), program);
}

tandem_status* tandem_js_recording_weight(const tandem_recording* recording, uint32_t index, const char** name,
                                          tandem_tensor** tensor) {
  *name = nullptr;
  *tensor = nullptr;
  const auto weights = recording->recorder->weights();
  if (index >= weights.size()) return nullptr;
  *tensor = new (std::nothrow) tandem_tensor(recording->runtime(), weights[index].second.CopyRef());
  if (*tensor == nullptr) return tandem::c::ToC(tandem::Status::OutOfMemory());
  *name = weights[index].first.c_str();
  return nullptr;
}

}  // extern "C"
