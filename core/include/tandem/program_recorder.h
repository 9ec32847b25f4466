// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ProgramRecorder: makes a program of eager calls (PR-4).
//
//   TANDEM_ASSIGN_OR_RETURN(auto recorder, tandem::ProgramRecorder::Start(runtime));
//   TANDEM_ASSIGN_OR_RETURN(tandem::OpHandler * recording, recorder->HandlerOver(cpu));
//   TANDEM_RETURN_IF_ERROR(recorder->AddInput(x));
//   // Calls with `recording` as their op handler, which give y.
//   TANDEM_ASSIGN_OR_RETURN(auto program, recorder->Finish({&y, 1}));

#ifndef TANDEM_PROGRAM_RECORDER_H_
#define TANDEM_PROGRAM_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/async_value.h"
#include "tandem/chain.h"
#include "tandem/export.h"
#include "tandem/op_handler.h"
#include "tandem/program.h"
#include "tandem/ref_counted.h"
#include "tandem/status.h"
#include "tandem/tensor_handle.h"

namespace tandem {

class CoreRuntime;
class Recording;
class RecordingState;

// Makes a program of one function of the calls that are made, by any thread, through the op handlers it gives, and of
// transfers of the inputs, and of tensors that these calls took or gave. The function does for other inputs what was
// done, whatever host code decided it:
//
// - Its parameters are the inputs, its results the outputs, in their order. A tensor is known by its async value, so
//   that it is the same in every handle to it. What is neither an input nor the result of a recorded call is a
//   constant, whose content becomes part of the program.
// - Only what outputs need is kept, and the effects that happened. These happen in the order in which they were
//   recorded, whatever chains they were given; then the function takes a chain first and gives one first.
// - A call that failed is left out, as if it had not been made.
// - An op handler has the name of the one that the calls were passed on to. Transfers, and constants that were on
//   another device, go to the op handler of that device by corert.transfer; those to the host, to "cpu". What an op
//   transfers for itself is not recorded, since the op does that again.
//
// A recorder refers to the constants, and to tensors that somebody else refers to, or did until lately: of those that
// nobody else has any more it keeps at most as many as of the others, or a few. No kernel takes over the memory of a
// tensor that it refers to (TH-5), so that calls may need more memory than they do otherwise. If memory is exhausted
// for the recording itself, calls go on, and Finish fails.
//
// The runtime outlives it. Thread-safe, but for Ready, Finish and weights, which one thread at a time calls.
class TANDEM_EXPORT ProgramRecorder final : public RefCounted<ProgramRecorder> {
 public:
  // Every member has a default.
  struct Options {
    std::string_view function = "main";  // its name
    // Constants whose elements take more bytes are weights of the program instead, "weight0" and so on, apart from
    // those of strings, and of one value for all elements.
    size_t max_inline_bytes = SIZE_MAX;
  };
  // A name, and the tensor on the host.
  using Weight = std::pair<std::string, TensorHandle>;

  // From here on calls are recorded. FailedPrecondition if another recorder of this runtime has not stopped.
  static StatusOr<RcRef<ProgramRecorder>> Start(CoreRuntime& runtime, const Options& options);
  static StatusOr<RcRef<ProgramRecorder>> Start(CoreRuntime& runtime) { return Start(runtime, Options()); }

  // An op handler, findable as "record:" and the name of `delegate`, which passes calls on to it, and records them
  // while a recorder of the runtime has not stopped. The runtime owns it; a delegate has one, which later recorders
  // give again. `delegate` itself if its calls are recorded anyway; InvalidArgument if those of a handler below it are.
  StatusOr<OpHandler*> HandlerOver(OpHandler& delegate);

  // Makes a tensor, which may be pending, the next parameter. To be called before the tensor is moved or used in calls:
  // InvalidArgument if it is an input already, or if a recorded call gave or took it.
  Status AddInput(const TensorHandle& input);

  // Calls from here on are not recorded, nor those of other threads that have not returned. Another recorder may start.
  void Stop();

  // Stops, and resolves when Finish, given the same outputs, will not have to wait: for threads that must not, such as
  // the main one of a browser. An error only if memory is exhausted.
  AsyncValueRef<Chain> Ready(std::span<const TensorHandle> outputs);

  // Stops, and gives the program. Waits (HostContext::Await) for the constants that it needs, since their content is
  // part of it, and, to know whether they failed, for outputs and effects; but not for these as long as an input, or a
  // chain that came from elsewhere, is pending, which this thread may have to provide. Fails
  // - with the code of the error, and the error as its cause, if an output or a constant that is needed is an error;
  // - as ResourceExhausted, if memory was exhausted while calls were recorded;
  // - as Unimplemented, if something that is needed cannot be said in a program: a constant in a representation of its
  //   own, or a transfer to one; as FailedPrecondition, if it was on a device that no recorded op handler has.
  // May be called again, with other outputs, too.
  StatusOr<RcRef<const Program>> Finish(std::span<const TensorHandle> outputs);

  // Of the program that Finish gave last: what ProgramRunner::Options::find_weight is to give by these names.
  std::span<const Weight> weights() const { return weights_; }

 private:
  friend class RefCounted<ProgramRecorder>;
  ProgramRecorder(CoreRuntime& runtime, const Options& options, RcRef<RecordingState> state,
                  RcRef<Recording> recording);
  // Stops; what was recorded is lost.
  ~ProgramRecorder();

  CoreRuntime& runtime_;
  const std::string function_;
  const size_t max_inline_bytes_;
  const RcRef<RecordingState> state_;
  const RcRef<Recording> recording_;
  std::vector<Weight> weights_;
};

}  // namespace tandem

#endif  // TANDEM_PROGRAM_RECORDER_H_
