// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The table of kernels.

#include "program_kernels.h"

#include <algorithm>
#include <climits>

#include "base/edit_distance.h"
#include "tandem/dtype.h"

namespace tandem {

namespace {

using More = ProgramKernelInfo::More;
using Optional = ProgramKernelInfo::Optional;

constexpr ProgramType kChainType[] = {ProgramType::kChain};
constexpr ProgramType kTensorType[] = {ProgramType::kTensor};
constexpr ProgramType kHandlerType[] = {ProgramType::kOpHandler};
constexpr ProgramType kOpType[] = {ProgramType::kOp};
constexpr ProgramType kShapeType[] = {ProgramType::kShape};
constexpr ProgramType kHandlerAndChain[] = {ProgramType::kOpHandler, ProgramType::kChain};
constexpr ProgramType kTensorAndChain[] = {ProgramType::kTensor, ProgramType::kChain};
constexpr ProgramType kTensorAndHandler[] = {ProgramType::kTensor, ProgramType::kOpHandler};

// In the order of ProgramKernel.
constexpr ProgramKernelInfo kKernels[] = {
    {.name = "tfrt.new.chain", .results = kChainType},
    {.name = "tfrt.merge.chains", .more = More::kChains, .results = kChainType},
    {.name = "tfrt.return", .more = More::kAny},
    {.name = "tfrt.call", .more = More::kAny, .num_functions = 1, .gives_function_results = true},
    {.name = "tfrt.cond",
     .operands = kTensorType,
     .more = More::kAny,
     .num_functions = 2,
     .gives_function_results = true},
    {.name = "corert.cond",
     .operands = kTensorType,
     .more = More::kTensors,
     .num_functions = 2,
     .gives_function_results = true},
    {.name = "corert.while", .more = More::kTensors, .num_functions = 2, .gives_function_results = true},
    {.name = "corert.get_op_handler",
     .operands = kChainType,
     .optional = Optional::kFirst,
     .name_meaning = "the name of an op handler",
     .results = kHandlerType},
    {.name = "corert.register_op_handler",
     .operands = kHandlerAndChain,
     .optional = Optional::kLast,
     .name_meaning = "the name to register the op handler by",
     .results = kChainType},
    {.name = "corert.executeop",
     .operands = kHandlerType,
     .more = More::kTensors,
     .name_meaning = "the name of an op",
     .takes_attrs = true,
     .gives_tensors = true},
    {.name = "corert.executeop.seq",
     .operands = kHandlerAndChain,
     .more = More::kTensors,
     .name_meaning = "the name of an op",
     .takes_attrs = true,
     .results = kChainType,
     .gives_tensors = true},
    {.name = "corert.make_composite_op", .num_functions = 1, .results = kOpType},
    {.name = "corert.execute_crt_op", .operands = kOpType, .more = More::kTensors, .gives_tensors = true},
    {.name = "corert.const_dense_tensor", .makes_tensor = true, .results = kTensorType},
    {.name = "corert.create_dense_tensor", .makes_tensor = true, .results = kTensorType},
    {.name = "corert.const_string_tensor", .makes_tensor = true, .results = kTensorType},
    {.name = "corert.print_tensorhandle",
     .operands = kTensorAndChain,
     .optional = Optional::kLast,
     .results = kChainType},
    {.name = "corert.tensorhandle_to_shape",
     .operands = kTensorAndChain,
     .optional = Optional::kLast,
     .results = kShapeType},
    {.name = "corert.transfer", .operands = kTensorAndHandler, .results = kTensorType},
};
static_assert(std::size(kKernels) == kNumProgramKernels);

// Written with another name in older files.
constexpr std::string_view kOlderRegisterOpHandler = "corert.register_op_handler_chain";

constexpr std::string_view kTypeNames[] = {"!tfrt.chain", "!corert.tensorhandle", "!corert.ophandler", "!corert.op",
                                           "!corert.shape"};
static_assert(std::size(kTypeNames) == kNumProgramTypes);

}  // namespace

std::string_view ProgramTypeName(ProgramType type) { return kTypeNames[static_cast<int>(type)]; }

std::string_view ProgramKernelName(ProgramKernel kernel) { return InfoOf(kernel).name; }

const ProgramKernelInfo& InfoOf(ProgramKernel kernel) { return kKernels[static_cast<int>(kernel)]; }

std::optional<ProgramKernel> FindProgramKernel(std::string_view name) {
  if (name == kOlderRegisterOpHandler) return ProgramKernel::kRegisterOpHandler;
  for (int i = 0; i < kNumProgramKernels; ++i) {
    const auto kernel = static_cast<ProgramKernel>(i);
    if (kernel != ProgramKernel::kCreateDenseTensor && kKernels[i].name == name) return kernel;
    // "corert.create_dense_tensor.f32"
    if (kernel != ProgramKernel::kCreateDenseTensor || !name.starts_with(kKernels[i].name)) continue;
    const std::string_view rest = name.substr(kKernels[i].name.size());
    if (rest.starts_with('.') && ParseDType(rest.substr(1))) return kernel;
  }
  return std::nullopt;
}

std::string_view NearestProgramKernelName(std::string_view name) {
  std::string_view nearest;
  if (name.size() > internal::kMaxCompared) return nearest;
  int least = std::min<int>(4, static_cast<int>(name.size()) / 3 + 1);
  for (const ProgramKernelInfo& kernel : kKernels) {
    const int distance = internal::EditDistance(name, kernel.name);
    if (distance >= least) continue;
    least = distance;
    nearest = kernel.name;
  }
  return nearest;
}

}  // namespace tandem
