// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs for handlers whose kernels are replaced: a program calls what its handlers have when it is prepared, joined
// or not (PR-5, OR-3).

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program_fusion_test_fixture.h"
#include "tandem/op_library.h"

namespace tandem {
namespace {

constexpr std::string_view kElementwise = R"(
func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %a = corert.executeop(%cpu) "tf.Mul"(%x, %y)
  %b = corert.executeop(%cpu) "tf.AddV2"(%a, %y)
  %c = corert.executeop(%cpu) "tf.Neg"(%b)
  %d = corert.executeop(%cpu) "tf.Relu"(%c)
  tfrt.return %d : !corert.tensorhandle
})";

constexpr std::string_view kProduct = R"(
func @main(%x: !corert.tensorhandle, %y: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %a = corert.executeop(%cpu) "tf.MatMul"(%x, %x)
  %b = corert.executeop(%cpu) "tf.BiasAdd"(%a, %y)
  %c = corert.executeop(%cpu) "tf.Relu"(%b)
  tfrt.return %c : !corert.tensorhandle
})";

class ProgramChangesTest : public ProgramFusionTest {
 protected:
  using ProgramFusionTest::ProgramFusionTest;

  // Gives -1, -2 and so on, whatever its arguments are.
  static Kernel Counts() {
    return MakeKernel([](VariadicArgs, KernelFrame& frame) {
      float* const result = frame.AllocateResult<float>(0);
      if (result == nullptr) return Status();
      const int64_t n = frame.result_metadata(0).num_elements();
      for (int64_t i = 0; i < n; ++i) result[i] = -1 - static_cast<float>(i);
      return Status();
    });
  }
  void Replace(std::string_view op) {
    cpu()->RemoveKernels(op, {DType::kF32});
    ASSERT_TRUE(cpu()->AddKernel(op, {DType::kF32}, Counts()).ok());
  }
  std::vector<TensorHandle> Square() {
    std::vector<TensorHandle> inputs;
    inputs.push_back(Dense<float>({2, 2}, {1, 2, 3, 4}));  // whose product with itself is 7, 10, 15, 22
    inputs.push_back(Dense<float>({2}, {-8, 100}));
    return inputs;
  }
  // Of programs prepared now, fused and not.
  void ExpectBoth(std::string_view text, const std::vector<TensorHandle>& inputs, const std::vector<float>& values) {
    for (const bool fuse : {false, true}) {
      EXPECT_EQ(Values<float>(RunMain(Make(text, fuse), inputs, 1)[0]), values) << "fused: " << fuse;
    }
  }
};

TEST_F(ProgramChangesTest, PR5_AReplacedElementwiseKernelIsCalled) {
  const std::vector<TensorHandle> inputs = Two({1, 2}, {3, 4});
  EXPECT_EQ(CountOps(Make(kElementwise, true), inputs, 1), 1);
  Replace("tf.AddV2");
  ExpectBoth(kElementwise, inputs, {1, 2});
  EXPECT_EQ(CountOps(Make(kElementwise, true), inputs, 1), 3) << "those behind it are still one";
}

TEST_F(ProgramChangesTest, OR3_AProgramKeepsTheKernelsItWasPreparedWith) {
  const std::vector<TensorHandle> inputs = Two({-1, 2}, {-3, -4});
  const ProgramRunner fused = Make(kElementwise, true);
  const ProgramRunner unfused = Make(kElementwise, false);
  const ProgramRunner fused_product = Make(kProduct, true);
  const ProgramRunner unfused_product = Make(kProduct, false);
  for (const std::string_view op : {"tf.AddV2", "tf.MatMul", "tf.BiasAdd", "tf._FusedMatMul"}) Replace(op);
  for (const ProgramRunner* runner : {&fused, &unfused}) {
    EXPECT_EQ(Values<float>(RunMain(*runner, inputs, 1)[0]), (std::vector<float>{0, 12}));
  }
  for (const ProgramRunner* runner : {&fused_product, &unfused_product}) {
    EXPECT_EQ(Values<float>(RunMain(*runner, Square(), 1)[0]), (std::vector<float>{0, 110, 7, 122}));
  }
  ExpectBoth(kElementwise, inputs, {1, 2});
  ExpectBoth(kProduct, Square(), {0, 0, 0, 0});
}

TEST_F(ProgramChangesTest, PR5_AReplacedProductIsCalled) {
  EXPECT_EQ(CountOps(Make(kProduct, true), Square(), 1), 1);
  Replace("tf.MatMul");
  ExpectBoth(kProduct, Square(), {0, 98, 0, 96});
}

TEST_F(ProgramChangesTest, PR5_AReplacedBiasIsCalled) {
  Replace("tf.BiasAdd");
  ExpectBoth(kProduct, Square(), {0, 0, 0, 0});
}

TEST_F(ProgramChangesTest, PR5_AReplacedActivationIsCalled) {
  Replace("tf.Relu");
  ExpectBoth(kProduct, Square(), {-1, -2, -3, -4});
  EXPECT_EQ(CountOps(Make(kProduct, true), Square(), 1), 2) << "the product has its bias";
}

// It need not give what the ops it is made of give.
TEST_F(ProgramChangesTest, PR5_AReplacedFusedOpIsNotCalledInsteadOfOthers) {
  Replace("tf._FusedMatMul");
  ExpectBoth(kProduct, Square(), {0, 110, 7, 122});
  EXPECT_EQ(CountOps(Make(kProduct, true), Square(), 1), 3);
}

TEST_F(ProgramChangesTest, PR5_KernelsOfALibraryAreCalled) {
  const std::vector<TensorHandle> inputs = Two({-2, -2}, {3, 4});  // a built-in kernel would give 3, 4
  cpu()->RemoveKernels("tf.Neg", {DType::kF32});
  const auto code = std::make_shared<int>(0);
  OpLibrary library(runtime(), code);
  ASSERT_TRUE(library.AddKernel(*cpu(), "tf.Neg", {DType::kF32}, Counts()).ok());
  EXPECT_EQ(Values<float>(RunMain(Make(kElementwise, true), inputs, 1)[0]), (std::vector<float>{0, 0}));
  {
    const ProgramRunner prepared = Make(kElementwise, true);
    library.Remove();
    EXPECT_GT(code.use_count(), 1) << "the program calls it";
    EXPECT_EQ(Values<float>(RunMain(prepared, inputs, 1)[0]), (std::vector<float>{0, 0}));
  }
  EXPECT_EQ(code.use_count(), 1);
}

}  // namespace
}  // namespace tandem
