// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A program that has everything programs can have, for tests of their forms.

#ifndef TANDEM_TESTS_UNIT_PROGRAM_SAMPLES_H_
#define TANDEM_TESTS_UNIT_PROGRAM_SAMPLES_H_

#include <string>
#include <utility>
#include <vector>

#include "program_builder.h"
#include "program_values.h"

namespace tandem {

inline ProgramFunction FunctionWithAttributes() {
  FunctionBuilder function("attributes", {ProgramType::kOpHandler}, {});
  ProgramInstruction& op = function.Add(ProgramKernel::kExecuteOp, {0});
  op.name = "test.attributes";
  op.attrs = EveryAttribute();
  return function.Return({});
}

inline ProgramFunction FunctionWithConstants() {
  FunctionBuilder function("constants", {}, {});
  for (const auto& constant : EveryConstant()) {
    for (const ProgramKernel kernel : {ProgramKernel::kConstDenseTensor, ProgramKernel::kCreateDenseTensor}) {
      function.Add(kernel, {}, {ProgramType::kTensor}).constant = constant;
    }
  }
  auto splat = Strings({1 << 20}, {AwkwardText()});
  splat->is_splat = true;
  for (auto strings : {Strings({2, 1}, {AwkwardText(), ""}), Strings({}, {"one"}), Strings({2, 0}, {}), splat,
                       Strings({66}, std::vector<std::string>(66, "many"))}) {
    function.Add(ProgramKernel::kConstStringTensor, {}, {ProgramType::kTensor}).constant = strings;
  }
  ProgramInstruction& weight = function.Add(ProgramKernel::kConstDenseTensor, {}, {ProgramType::kTensor});
  weight.name = AwkwardText();
  weight.weight_metadata = {DType::kBF16, {1 << 12, 0, 3}};
  return function.Return({});
}

// Every kernel, with and without what may be left out. They call one another by their indices, from 0 on.
inline std::vector<ProgramFunction> FunctionsWithEveryKernel() {
  constexpr auto kChain = ProgramType::kChain;
  constexpr auto kTensor = ProgramType::kTensor;
  constexpr auto kOpHandler = ProgramType::kOpHandler;
  constexpr auto kOp = ProgramType::kOp;
  constexpr auto kShape = ProgramType::kShape;
  using Kernel = ProgramKernel;
  std::vector<ProgramFunction> functions;
  functions.push_back(FunctionBuilder("first", {kTensor, kTensor}, {kTensor}).Return({0}));
  functions.push_back(FunctionBuilder("second", {kTensor, kTensor}, {kTensor}).Return({1}));
  functions.push_back(FunctionBuilder("swap", {kTensor, kTensor}, {kTensor, kTensor}).Return({1, 0}));
  FunctionBuilder everything(AwkwardText(), {kOpHandler, kOp}, {kOpHandler, kOp, kChain});
  everything.Add(Kernel::kNewChain, {}, {kChain});
  functions.push_back(everything.Return({0, 1, 2}));
  functions.push_back(FunctionBuilder("chain", {kTensor, kChain}, {kChain}).Return({1}));

  FunctionBuilder main("main", {kChain, kTensor, kTensor}, {kChain, kTensor, kShape});
  main.Add(Kernel::kGetOpHandler, {}, {kOpHandler}).name = "cpu";                    // 3
  main.Add(Kernel::kGetOpHandler, {0}, {kOpHandler}).name = AwkwardText();           // 4
  main.Add(Kernel::kRegisterOpHandler, {3, 0}, {kChain}).name = "mine";              // 5
  main.Add(Kernel::kRegisterOpHandler, {4}, {kChain}).name = std::string(100, 'n');  // 6
  main.Add(Kernel::kExecuteOp, {3}).name = "tf.None";
  main.Add(Kernel::kExecuteOp, {3, 1, 1}, {kTensor}).name = "tf.Mul";                           // 7
  main.Add(Kernel::kExecuteOp, {3, 7}, {kTensor, kTensor}).name = "tf.Split";                   // 8, 9
  main.Add(Kernel::kExecuteOpSeq, {3, 5}, {kChain}).name = "tf.Print";                          // 10
  main.Add(Kernel::kExecuteOpSeq, {3, 10, 9, 8}, {kChain, kTensor, kTensor}).name = "tf.Each";  // 11 to 13
  main.function().instructions.back().attrs = EveryAttribute();
  main.Add(Kernel::kMakeCompositeOp, {}, {kOp}).functions = {2};                      // 14
  main.Add(Kernel::kExecuteCompositeOp, {14, 12, 13}, {kTensor, kTensor});            // 15, 16
  main.Add(Kernel::kExecuteCompositeOp, {14, 15, 16}, {kTensor, kTensor});            // 17, 18
  main.Add(Kernel::kCall, {3, 14}, {kOpHandler, kOp, kChain}).functions = {3};        // 19 to 21
  main.Add(Kernel::kCall, {1, 21}, {kChain}).functions = {4};                         // 22
  main.Add(Kernel::kCond, {1, 1, 22}, {kChain}).functions = {4, 4};                   // 23
  main.Add(Kernel::kTensorCond, {1, 17, 18}, {kTensor}).functions = {0, 1};           // 24
  main.Add(Kernel::kWhile, {17, 24}, {kTensor, kTensor}).functions = {0, 2};          // 25, 26
  main.Add(Kernel::kMergeChains, {6, 23, 11}, {kChain});                              // 27
  main.Add(Kernel::kMergeChains, {27}, {kChain});                                     // 28
  main.Add(Kernel::kPrintTensor, {25, 28}, {kChain});                                 // 29
  main.Add(Kernel::kPrintTensor, {26}, {kChain});                                     // 30
  main.Add(Kernel::kTensorToShape, {25, 29}, {kShape});                               // 31
  main.Add(Kernel::kTensorToShape, {26}, {kShape});                                   // 32
  main.Add(Kernel::kTransfer, {26, 19}, {kTensor});                                   // 33
  main.Add(Kernel::kConstDenseTensor, {}, {kTensor}).constant = EveryConstant()[0];   // 34
  main.Add(Kernel::kCreateDenseTensor, {}, {kTensor}).constant = EveryConstant()[1];  // 35
  main.Add(Kernel::kConstStringTensor, {}, {kTensor}).constant = Strings({1}, {"a"});
  functions.push_back(main.Return({30, 33, 32}));
  return functions;
}

// Every kernel, type of attribute and dtype.
inline std::vector<ProgramFunction> EverythingInPrograms() {
  std::vector<ProgramFunction> functions = FunctionsWithEveryKernel();
  functions.push_back(FunctionWithAttributes());
  functions.push_back(FunctionWithConstants());
  return functions;
}

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_PROGRAM_SAMPLES_H_
