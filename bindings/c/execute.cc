// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Calls of ops and of programs' functions, and what they are given besides tensors: chains, requests and made ops.

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "objects.h"

namespace tandem::c {

namespace {

constexpr size_t kUsual = 8;             // arguments or results that need no array of their own
constexpr size_t kMaxTensors = 1 << 20;  // of either in one call

// One call, as C gives it.
struct Call {
  Call(tandem_tensor* const* arguments, size_t count, const tandem_call_options* from, tandem_tensor** to,
       size_t to_count)
      : args(arguments),
        num_args(count),
        results(to),
        num_results(to_count),
        options_status(ReadStruct(from, TANDEM_C_LEAST_SIZE(tandem_call_options, flags), &options)) {}
  std::span<tandem_tensor* const> arguments() const {
    return {args, args == nullptr || num_args > kMaxTensors ? 0 : num_args};
  }
  bool Consumes() const { return (options.flags & TANDEM_CONSUME_ARGUMENTS) != 0; }

  tandem_tensor* const* args;
  size_t num_args;
  tandem_tensor** results;
  size_t num_results;
  tandem_call_options options;
  Status options_status;  // whether they could be read; if not, they are the defaults
};

// Releases, at its end, the arguments of a call that consumes them, each once.
class ConsumedArguments {
 public:
  explicit ConsumedArguments(const Call& call) : call_(call) {
    if (!call_.Consumes()) return;
    const auto args = call_.arguments();
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i] != nullptr && args[i]->taken_as == 0) args[i]->taken_as = i + 1;
    }
  }
  ~ConsumedArguments() {
    if (!call_.Consumes()) return;
    // From the back: a place is seen after all others of the same tensor.
    const auto args = call_.arguments();
    for (size_t i = args.size(); i-- > 0;) {
      if (args[i] != nullptr && args[i]->taken_as == i + 1) delete args[i];
    }
  }
  ConsumedArguments(const ConsumedArguments&) = delete;
  ConsumedArguments& operator=(const ConsumedArguments&) = delete;

  // The reference for the op: the tensor's own, if it is consumed and this is its last place.
  void MoveTo(std::span<TensorHandle> handles) const {
    const auto args = call_.arguments();
    for (size_t i = args.size(); i-- > 0;) {
      const bool is_first = call_.Consumes() && args[i]->taken_as == i + 1;
      handles[i] = is_first ? std::move(args[i]->handle) : args[i]->handle.CopyRef();
    }
  }

 private:
  const Call& call_;
};

Status CheckArguments(const tandem_runtime& runtime, const Call& call) {
  if (call.num_args > kMaxTensors || call.num_results > kMaxTensors) {
    return InvalidArgument("expected at most ", kMaxTensors, " arguments and results, got ", call.num_args, " and ",
                           call.num_results);
  }
  if (call.num_args > 0 && call.args == nullptr) {
    return InvalidArgument("expected ", call.num_args, " arguments, got null");
  }
  if (call.num_results > 0 && call.results == nullptr) {
    return InvalidArgument("expected a place for ", call.num_results, " results, got null");
  }
  if (call.num_results == 0 && call.options.chain == nullptr) {
    return InvalidArgument("a call without results must be given a chain, got none");
  }
  for (size_t i = 0; i < call.num_args; ++i) {
    if (call.args[i] == nullptr) return InvalidArgument("argument ", i, " must be a tensor, got null");
    if (call.args[i]->runtime.get() != &runtime) return InvalidArgument("argument ", i, " is of another runtime");
  }
  return Status();
}

Status CheckOptions(const tandem_runtime& runtime, const tandem_call_options& options) {
  if ((options.flags & ~TANDEM_CONSUME_ARGUMENTS) != 0) {
    return InvalidArgument("expected flags of tandem.h, got ", options.flags);
  }
  if (options.attrs != nullptr) TANDEM_RETURN_IF_ERROR(options.attrs->error);
  if (options.chain != nullptr && options.chain->runtime.get() != &runtime) {
    return InvalidArgument("the chain is of another runtime");
  }
  if (options.request != nullptr && &options.request->runtime() != &runtime) {
    return InvalidArgument("the request is of another runtime");
  }
  return Status();
}

// Ok, or why this is no call to make.
Status Check(const tandem_runtime& runtime, const Call& call) {
  TANDEM_RETURN_IF_ERROR(call.options_status);
  TANDEM_RETURN_IF_ERROR(CheckOptions(runtime, call.options));
  return CheckArguments(runtime, call);
}

// The error of a call that is known to come to nothing, or ok.
Status ErrorOfAll(std::span<const TensorHandle> results, const AsyncValueRef<Chain>* chain) {
  for (const TensorHandle& result : results) {
    if (!result.IsError()) return Status();
  }
  if (!results.empty()) return results[0].GetError();
  return chain != nullptr && chain->IsAvailable() && chain->IsError() ? chain->GetError() : Status();
}

// Makes the call: `invoke(exec, arguments, attributes, results, chain)` calls the op, or says why it cannot.
template <typename Invoke>
Status Run(tandem_runtime& runtime, Running& running, const Call& call, const ConsumedArguments& consumed,
           Invoke invoke) {
  const tandem_call_options& options = call.options;
  // What the caller gets is there before anything happens.
  SmallArray<TensorHandle, kUsual> args, handles;
  SmallArray<std::unique_ptr<tandem_tensor>, kUsual> results;
  if (!args.Init(call.num_args) || !handles.Init(call.num_results) || !results.Init(call.num_results)) {
    return Status::OutOfMemory();
  }
  for (size_t i = 0; i < call.num_results; ++i) {
    results[i].reset(new (std::nothrow) tandem_tensor(runtime, TensorHandle()));
    if (results[i] == nullptr) return Status::OutOfMemory();
  }
  consumed.MoveTo(args.span());
  const ExecutionContext exec(running.host(), runtime.LocationOf(options.location),
                              options.request == nullptr ? nullptr : options.request->request);
  const OpAttrsRef attrs = options.attrs == nullptr ? OpAttrsRef() : OpAttrsRef(options.attrs->attrs);
  AsyncValueRef<Chain>* chain = options.chain == nullptr ? nullptr : &options.chain->value;
  TANDEM_RETURN_IF_ERROR(invoke(exec, args.span(), attrs, handles.span(), chain));
  TANDEM_RETURN_IF_ERROR(ErrorOfAll(handles.span(), chain));
  for (size_t i = 0; i < call.num_results; ++i) {
    results[i]->handle = std::move(handles[i]);
    call.results[i] = results[i].release();
  }
  return Status();
}

// Checks what any call is given, and makes it. `object`, which `what` names, is what the call is made of; `name` gives
// the op's name, or null.
template <typename Object, typename Name, typename Invoke>
tandem_status* CheckAndRun(tandem_runtime* runtime, const Object* object, std::string_view what, const Call& call,
                           Name name, Invoke invoke) {
  const ConsumedArguments consumed(call);
  if (call.results != nullptr && call.num_results <= kMaxTensors) {
    std::fill_n(call.results, call.num_results, nullptr);
  }
  TANDEM_C_FIND_RUNTIME(rt, object, what);
  if (const Status wrong = Check(*runtime, call); !wrong.ok()) {
    return ToC(wrong.WithContext(name(), runtime->LocationOf(call.options.location)));
  }
  const auto invoke_in_context = [&](const ExecutionContext& exec, const auto&... parts) {
    return invoke(*rt, exec, parts...).WithContext(name(), exec.location());
  };
  return ToC(Run(*runtime, *rt, call, consumed, invoke_in_context));
}

}  // namespace

}  // namespace tandem::c

using namespace tandem::c;  // NOLINT(google-build-using-namespace): the functions below are outside of any

extern "C" {

tandem_status* tandem_chain_create(tandem_runtime* runtime, tandem_chain** chain) {
  if (chain == nullptr) return WrongArgument("expected a place for the chain, got null");
  *chain = nullptr;
  if (const auto rt = FindRuntime(runtime, "runtime"); !rt.ok()) return ToC(rt.status());
  *chain = new (std::nothrow) tandem_chain{tandem::RcRef<tandem_runtime>::Share(runtime), tandem::MakeReadyChain()};
  return *chain == nullptr ? ToC(tandem::Status::OutOfMemory()) : nullptr;
}

tandem_status* tandem_chain_await(const tandem_chain* chain, int64_t timeout_ns) {
  TANDEM_C_FIND_RUNTIME(rt, chain, "chain");
  return ToC(AwaitValue(*rt, chain->value.value(), timeout_ns));
}

tandem_status* tandem_chain_on_ready(const tandem_chain* chain, tandem_ready_callback callback, void* user) {
  if (const auto rt = FindRuntime(chain, "chain"); !rt.ok()) return ToC(rt.status());
  const auto value = tandem::RcRef<tandem::AsyncValue>::Share(chain->value.value());
  return ToC(CallWhenReady(*chain->runtime, value, callback, user));
}

void tandem_chain_release(tandem_chain* chain) { delete chain; }

tandem_status* tandem_request_create(tandem_runtime* runtime, int64_t timeout_ns, tandem_request** request) {
  if (request == nullptr) return WrongArgument("expected a place for the request, got null");
  *request = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  auto made = tandem::RequestContext::Create(rt->host(), {DeadlineAfter(timeout_ns), nullptr});
  if (!made.ok()) return ToC(made.status());
  *request = new (std::nothrow) tandem_request(*runtime, std::move(*made));
  return *request == nullptr ? ToC(tandem::Status::OutOfMemory()) : nullptr;
}

tandem_status* tandem_request_cancel(tandem_request* request, const char* reason) {
  if (const auto rt = FindRuntime(request, "request"); !rt.ok()) return ToC(rt.status());
  request->request->Cancel(reason == nullptr ? "cancelled" : reason);
  return nullptr;
}

tandem_status* tandem_request_check(const tandem_request* request) {
  if (const auto rt = FindRuntime(request, "request"); !rt.ok()) return ToC(rt.status());
  return ToC(request->request->CheckActive());
}

void tandem_request_release(tandem_request* request) { delete request; }

tandem_status* tandem_execute(tandem_runtime* runtime, const char* op, tandem_tensor* const* args, size_t num_args,
                              const tandem_call_options* options, tandem_tensor** results, size_t num_results) {
  const Call call(args, num_args, options, results, num_results);
  const auto invoke = [op, &call](Running& rt, const tandem::ExecutionContext& exec, auto arguments,
                                  const tandem::OpAttrsRef& attrs, auto handles,
                                  tandem::AsyncValueRef<tandem::Chain>* chain) -> tandem::Status {
    if (op == nullptr) return tandem::InvalidArgument("expected the name of an op, got null");
    TANDEM_ASSIGN_OR_RETURN(tandem::OpHandler * handler, FindDevice(rt, call.options.device));
    rt.core.Execute(exec, op, handler, arguments, attrs, handles, chain);
    return tandem::Status();
  };
  const auto name = [op] { return op == nullptr ? std::string_view() : std::string_view(op); };
  return CheckAndRun(runtime, runtime, "runtime", call, name, invoke);
}

tandem_status* tandem_op_create(tandem_runtime* runtime, const char* name, const char* device, tandem_op** op) {
  if (op == nullptr) return WrongArgument("expected a place for the op, got null");
  *op = nullptr;
  TANDEM_C_FIND_RUNTIME(rt, runtime, "runtime");
  if (name == nullptr) return WrongArgument("expected the name of an op, got null");
  const auto handler = FindDevice(*rt, device);
  if (!handler.ok()) return ToC(handler.status().WithContext(name, tandem::Location()));
  auto made = rt->core.MakeOp(name, *handler);
  if (!made.ok()) return ToC(made.status());
  *op = new (std::nothrow) tandem_op(*runtime, std::move(*made));
  return *op == nullptr ? ToC(tandem::Status::OutOfMemory()) : nullptr;
}

tandem_status* tandem_op_execute(const tandem_op* op, tandem_tensor* const* args, size_t num_args,
                                 const tandem_call_options* options, tandem_tensor** results, size_t num_results) {
  const Call call(args, num_args, options, results, num_results);
  const auto invoke = [op, &call](Running&, const tandem::ExecutionContext& exec, auto arguments,
                                  const tandem::OpAttrsRef& attrs, auto handles,
                                  tandem::AsyncValueRef<tandem::Chain>* chain) -> tandem::Status {
    if (call.options.device != nullptr) {
      return tandem::InvalidArgument("a made op has its device already, got ", call.options.device);
    }
    op->op(exec, arguments, attrs, handles, chain);
    return tandem::Status();
  };
  const auto name = [op] { return op->op.name(); };
  return CheckAndRun(op == nullptr ? nullptr : &op->runtime(), op, "op", call, name, invoke);
}

void tandem_op_release(tandem_op* op) { delete op; }

tandem_status* tandem_program_run(const tandem_program* program, const char* function, tandem_tensor* const* args,
                                  size_t num_args, const tandem_call_options* options, tandem_tensor** results,
                                  size_t num_results) {
  const Call call(args, num_args, options, results, num_results);
  const auto invoke = [program, function, &call](Running&, const tandem::ExecutionContext& exec, auto arguments,
                                                 const tandem::OpAttrsRef&, auto handles,
                                                 tandem::AsyncValueRef<tandem::Chain>* chain) -> tandem::Status {
    if (function == nullptr) return tandem::InvalidArgument("expected the name of a function, got null");
    if (call.options.attrs != nullptr) return tandem::InvalidArgument("expected no attributes for a function");
    if (call.options.device != nullptr) {
      return tandem::InvalidArgument("a program has its devices already, got ", call.options.device);
    }
    program->runner->Run(function, exec, arguments, handles, chain);
    return tandem::Status();
  };
  const auto name = [function] { return function == nullptr ? std::string_view() : std::string_view(function); };
  return CheckAndRun(program == nullptr ? nullptr : &program->runtime(), program, "program", call, name, invoke);
}

}  // extern "C"
