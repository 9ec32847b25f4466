// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Recordings as their users see them.

#include "tandem/program_recorder.h"

#include <utility>

#include "program_recording.h"
#include "program_recording_function.h"
#include "program_recording_handler.h"
#include "tandem/core_runtime.h"
#include "tandem/host_context.h"
#include "tandem/run_when_ready.h"

namespace tandem {

namespace {

constexpr std::string_view kFile = "recording";

}  // namespace

StatusOr<RcRef<ProgramRecorder>> ProgramRecorder::Start(CoreRuntime& runtime, const Options& options) {
  RcRef<RecordingState> state = runtime.GetOrCreateSharedContext<RecordingState>();
  if (!state) return Status::OutOfMemory();
  TANDEM_ASSIGN_OR_RETURN(RcRef<Recording> recording, state->Begin(runtime));
  return RcRef<ProgramRecorder>::Take(new ProgramRecorder(runtime, options, std::move(state), std::move(recording)));
}

ProgramRecorder::ProgramRecorder(CoreRuntime& runtime, const Options& options, RcRef<RecordingState> state,
                                 RcRef<Recording> recording)
    : runtime_(runtime),
      function_(options.function),
      max_inline_bytes_(options.max_inline_bytes),
      state_(std::move(state)),
      recording_(std::move(recording)) {}

ProgramRecorder::~ProgramRecorder() {
  Stop();
  // Calls that are still pending refer to the recording.
  recording_->Clear();
}

StatusOr<OpHandler*> ProgramRecorder::HandlerOver(OpHandler& delegate) {
  return state_->HandlerOver(runtime_, delegate);
}

Status ProgramRecorder::AddInput(const TensorHandle& input) {
  if (!input.IsValid()) return InvalidArgument("expected a tensor as an input, got a null handle");
  if (input.IsError()) {
    const Status& error = input.GetError();
    return MakeError(error.code(), "expected a tensor as an input, got an error").WithCause(error);
  }
  return recording_->AddInput(input);
}

void ProgramRecorder::Stop() { state_->End(runtime_, *recording_); }

AsyncValueRef<Chain> ProgramRecorder::Ready(std::span<const TensorHandle> outputs) {
  Stop();
  // What is wrong, Finish says.
  const StatusOr<std::vector<AsyncValue*>> awaited =
      RecordedFunction(runtime_.host(), *state_, recording_->content(), outputs).Plan();
  if (!awaited.ok()) return MakeReadyChain();
  Producer<Chain> producer = Producer<Chain>::Make();
  AsyncValueRef<Chain> ready = producer ? producer.ref() : AsyncValueRef<Chain>();
  const bool has_memory =
      producer && RunWhenReady(*awaited, [producer = std::move(producer)]() mutable { producer.Emplace(); });
  return has_memory ? std::move(ready) : AsyncValueRef<Chain>(OutOfMemoryAsyncValue());
}

StatusOr<RcRef<const Program>> ProgramRecorder::Finish(std::span<const TensorHandle> outputs) {
  Stop();
  weights_.clear();
  if (recording_->is_out_of_memory()) {
    return ResourceExhausted("out of memory while calls were recorded");
  }
  HostContext& host = runtime_.host();
  RecordedFunction recorded(host, *state_, recording_->content(), outputs);
  for (int i = 0; i < 2; ++i) {
    TANDEM_ASSIGN_OR_RETURN(const std::vector<AsyncValue*> awaited, recorded.Plan());
    const std::vector<const AsyncValue*> values(awaited.begin(), awaited.end());
    TANDEM_RETURN_IF_ERROR(host.Await(values));
  }
  TANDEM_ASSIGN_OR_RETURN(ProgramFunction function, recorded.Make(function_, max_inline_bytes_));
  std::vector<ProgramFunction> functions;
  functions.push_back(std::move(function));
  TANDEM_ASSIGN_OR_RETURN(RcRef<const Program> program, Program::Create(std::move(functions), kFile));
  weights_ = recorded.TakeWeights();
  return program;
}

}  // namespace tandem
