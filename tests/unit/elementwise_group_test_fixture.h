// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// ElementwiseGroups: the fixture of tests of groups of element-wise ops, which compares a group with its ops one by
// one.

#ifndef TANDEM_TESTS_UNIT_ELEMENTWISE_GROUP_TEST_FIXTURE_H_
#define TANDEM_TESTS_UNIT_ELEMENTWISE_GROUP_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "op_test_fixture.h"
#include "tandem/elementwise_group.h"

namespace tandem {

class ElementwiseGroups : public OpTest {
 protected:
  // Whose groups are tested; it has a fuser.
  virtual KernelOpHandler* handler() { return cpu(); }

  struct Step {
    std::string op;
    std::vector<uint32_t> operands;
    OpAttrsRef attrs = {};
  };

  std::shared_ptr<const ElementwiseGroup> Group(uint32_t num_inputs, const std::vector<Step>& steps,
                                                std::vector<uint32_t> outputs) {
    std::vector<ElementwiseStep> group_steps;
    for (const Step& step : steps) {
      std::shared_ptr<const OpDef> def = runtime().registry().FindShared(step.op);
      EXPECT_NE(def, nullptr) << step.op;
      if (def == nullptr) return nullptr;
      EXPECT_TRUE(handler()->fuser()->CanFuse(*def, step.attrs)) << step.op;
      group_steps.push_back({std::move(def), step.attrs, step.operands});
    }
    return std::make_shared<const ElementwiseGroup>(*handler()->fuser(), num_inputs, std::move(group_steps),
                                                    std::move(outputs));
  }
  bool CanInfer(const ElementwiseGroup& group, const std::vector<TensorHandle>& inputs) {
    std::vector<const TensorMetadata*> metadata;
    for (const TensorHandle& input : inputs) metadata.push_back(&input.metadata());
    return static_cast<bool>(group.Infer(metadata));
  }
  std::vector<TensorHandle> RunGroup(const std::shared_ptr<const ElementwiseGroup>& group,
                                     std::vector<TensorHandle> inputs) {
    StatusOr<Op> op = handler()->MakeGroupOp(group);
    EXPECT_TRUE(op.ok()) << op.status().ToString();
    std::vector<TensorHandle> results(group->outputs().size());
    if (op.ok()) (*op)(ExecutionContext(host(), Location()), inputs, OpAttrsRef(), results);
    return results;
  }
  std::vector<TensorHandle> RunOneByOne(const std::vector<Step>& steps, const std::vector<uint32_t>& outputs,
                                        const std::vector<TensorHandle>& inputs) {
    std::vector<TensorHandle> values;
    for (const TensorHandle& input : inputs) values.push_back(input.CopyRef());
    for (const Step& step : steps) {
      std::vector<TensorHandle> args;
      for (const uint32_t operand : step.operands) args.push_back(values[operand].CopyRef());
      values.emplace_back();
      runtime().Execute(step.op, handler(), Location(), args, step.attrs, {&values.back(), 1}, nullptr);
    }
    std::vector<TensorHandle> results;
    for (const uint32_t output : outputs) results.push_back(values[inputs.size() + output].CopyRef());
    return results;
  }
  std::vector<TensorHandle> Copies(const std::vector<TensorHandle>& handles) {
    std::vector<TensorHandle> copies;
    for (const TensorHandle& handle : handles) copies.push_back(handle.CopyRef());
    return copies;
  }

  // A dense tensor there.
  TensorHandle OnHost(const TensorHandle& handle) {
    TensorHandle moved = handle.TransferTo(ExecutionContext(host(), Location()), host().device());
    const Status status = host().Await(moved);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return status.ok() ? Available(ToDense(moved.tensor(), host().allocator())) : std::move(moved);
  }
  // Of a NaN it is the same only that it is one (NU-3).
  void ExpectSameBits(const TensorHandle& a, const TensorHandle& b, const std::string& what) {
    ASSERT_TRUE(host().Await(a).ok()) << what << ": " << host().Await(a).ToString();
    ASSERT_TRUE(host().Await(b).ok()) << what << ": " << host().Await(b).ToString();
    ASSERT_EQ(TextOf(a.metadata()), TextOf(b.metadata())) << what;
    const TensorHandle x = OnHost(a);
    const TensorHandle y = OnHost(b);
    if (x.metadata().dtype != DType::kF32) {
      EXPECT_EQ(std::memcmp(x.tensor().data(), y.tensor().data(), x.metadata().byte_size()), 0) << what;
      return;
    }
    const std::span<const float> given = DenseData<float>(x.tensor());
    const std::span<const float> wanted = DenseData<float>(y.tensor());
    for (size_t i = 0; i < given.size(); ++i) {
      if (std::isnan(given[i]) && std::isnan(wanted[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(given[i]), std::bit_cast<uint32_t>(wanted[i]))
          << what << ", element " << i << ": " << given[i] << " instead of " << wanted[i];
    }
  }
  void ExpectSame(const std::vector<Step>& steps, const std::vector<uint32_t>& outputs,
                  std::vector<TensorHandle> inputs, const std::string& what) {
    const auto group = Group(static_cast<uint32_t>(inputs.size()), steps, outputs);
    ASSERT_NE(group, nullptr);
    ASSERT_TRUE(CanInfer(*group, inputs)) << what;
    const auto expected = RunOneByOne(steps, outputs, inputs);
    const auto fused = RunGroup(group, std::move(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) ExpectSameBits(fused[i], expected[i], what);
  }

  // What holds on every device.
  void ExpectSameOfSizes(const std::vector<int64_t>& sizes) {
    const std::vector<Step> steps = {{"tf.Mul", {0, 1}}, {"tf.Tanh", {2}}, {"tf.AddV2", {3, 0}}, {"tf.Neg", {4}}};
    for (const int64_t n : sizes) {
      std::vector<TensorHandle> inputs;
      inputs.push_back(Random<float>({n}, 1));
      inputs.push_back(Random<float>({n}, 2));
      ExpectSame(steps, {3}, std::move(inputs), std::to_string(n));
    }
  }
  void ExpectWhatIsBetween() {
    const std::vector<Step> steps = {{"tf.Mul", {0, 0}}, {"tf.AddV2", {1, 0}}, {"tf.Neg", {2}}};
    std::vector<TensorHandle> inputs;
    inputs.push_back(Random<float>({3000}, 3));
    ExpectSame(steps, {0, 1, 2}, Copies(inputs), "all of them");
    ExpectSame(steps, {1, 2}, std::move(inputs), "two of them");
  }
  void ExpectSameOfStretchedInputs() {
    const std::vector<Step> steps = {
        {"tf.Sub", {0, 1}}, {"tf.Mul", {4, 2}}, {"tf.AddV2", {3, 5}}, {"tf.Maximum", {6, 2}}};
    const auto shapes = std::vector<TensorShape>{{}, {1}, {40}, {9, 1}, {5, 1, 40}, {5, 9, 40}, {1, 1, 1}};
    int seed = 0;
    for (const TensorShape& b : shapes) {
      for (const TensorShape& c : shapes) {
        std::vector<TensorHandle> inputs;
        inputs.push_back(Random<float>({5, 9, 40}, ++seed));
        inputs.push_back(Random<float>(b, ++seed));
        inputs.push_back(Random<float>(c, ++seed));
        inputs.push_back(Spread<float>(b, 0.75f));
        ExpectSame(steps, {3}, std::move(inputs), TextOf(b, " and ", c));
      }
    }
  }
  void ExpectInputsMayBePending() {
    const auto group = Group(1, {{"tf.Neg", {0}}, {"tf.AddV2", {1, 0}}, {"tf.Exp", {2}}}, {2});
    auto producer = Producer<Tensor>::MakeConstructed(TensorMetadata(DType::kF32, {3}), &host().device());
    std::vector<TensorHandle> inputs;
    inputs.emplace_back(producer.ref(), &host().device());
    const auto results = RunGroup(group, std::move(inputs));
    EXPECT_FALSE(results[0].IsAvailable());
    EXPECT_EQ(TextOf(results[0].metadata()), "f32[3]");
    producer.value().TakePayload(Dense<float>({3}, {1, 2, 3}).tensor());
    producer.SetConcrete();
    EXPECT_EQ(Values<float>(OnHost(results[0])), (std::vector<float>{1, 1, 1}));
  }

  template <typename T>
  TensorHandle Random(const TensorShape& shape, int seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    std::vector<T> values(static_cast<size_t>(shape.num_elements()));
    for (T& value : values) value = static_cast<T>(static_cast<float>(static_cast<int>(random() % 2000) - 1000) / 64);
    return Dense<T>(shape, values);
  }

  // Each element-wise op of the registry, for each dtype for which it can be fused, before two others, a cast to `last`
  // and a product. Returns how many there are.
  int ExpectSameOfEveryOpAndDType(DType last) {
    int num_fused = 0;
    for (const OpDef* def : runtime().registry().List()) {
      if (!handler()->fuser()->CanFuse(*def, OpAttrsRef()) || def->name == "tf.Cast") continue;
      const size_t num_operands = def->inputs.size();
      for (int d = 0; d < kNumDTypes; ++d) {  // 0: for ops without a type attribute
        const auto dtype = static_cast<DType>(d);
        if (dtype == DType::kString || dtype == DType::kC64 || !handler()->fuser()->CanFuse(*def, dtype)) continue;
        std::vector<TensorHandle> inputs;
        for (size_t i = 0; i < num_operands; ++i) {
          const bool is_condition = def->inputs[i].dtype == DType::kBool;
          const TensorShape shape = i == 1 ? TensorShape{1} : TensorShape{7, 300};
          inputs.push_back(Run("tf.Cast", {Random<float>(shape, d * 10 + static_cast<int>(i))},
                               Attrs("DstT", is_condition ? DType::kBool : dtype)));
          EXPECT_TRUE(host().Await(inputs.back()).ok());
        }
        // Its result is used twice.
        const auto operand = static_cast<uint32_t>(num_operands);
        std::vector<uint32_t> operands;
        for (uint32_t i = 0; i < num_operands; ++i) operands.push_back(i);
        const std::vector<Step> steps = {{std::string(def->name), operands},
                                         {"tf.Cast", {operand}, Attrs("DstT", last)},
                                         {"tf.Mul", {operand + 1, operand + 1}}};
        const auto group = Group(static_cast<uint32_t>(num_operands), steps, {0, 2});
        if (group == nullptr || !CanInfer(*group, inputs)) continue;
        ++num_fused;
        ExpectSame(steps, {0, 2}, std::move(inputs), TextOf(def->name, " of ", dtype));
      }
    }
    return num_fused;
  }

  // Random graphs of ops on f32, with inputs of random shapes.
  void ExpectSameOfRandomGraphs(int num_graphs) {
    const std::vector<std::string> unary = {"tf.Neg",  "tf.Abs",  "tf.Square", "tf.Tanh",     "tf.Sigmoid",
                                            "tf.Relu", "tf.Exp",  "tf.Log",    "tf.Softplus", "tandem.Gelu",
                                            "tf.Sin",  "tf.Atan", "tf.Floor",  "tf.Rsqrt",    "tf.Expm1"};
    const std::vector<std::string> binary = {"tf.AddV2",   "tf.Sub",     "tf.Mul", "tf.Maximum",
                                             "tf.Minimum", "tf.RealDiv", "tf.Pow", "tf.SquaredDifference"};
    const auto shapes = std::vector<TensorShape>{{6, 5, 70}, {70}, {5, 1}, {1}, {6, 1, 70}};
    std::mt19937 random(11);
    for (int round = 0; round < num_graphs; ++round) {
      std::vector<TensorHandle> inputs;
      const uint32_t num_inputs = 1 + random() % 4;
      for (uint32_t i = 0; i < num_inputs; ++i) {
        const TensorShape& shape = i == 0 ? shapes[0] : shapes[random() % shapes.size()];
        inputs.push_back(Random<float>(shape, static_cast<int>(random() % 1000)));
      }
      std::vector<Step> steps;
      std::vector<uint32_t> outputs;
      const uint32_t num_steps = 2 + random() % 12;
      for (uint32_t i = 0; i < num_steps; ++i) {
        // One operand has the whole shape.
        const uint32_t whole = i == 0 || random() % 4 == 0 ? 0 : num_inputs + random() % i;
        const uint32_t other = random() % (num_inputs + i);
        if (random() % 3 == 0) {
          steps.push_back({unary[random() % unary.size()], {whole}});
        } else if (random() % 2 == 0) {
          steps.push_back({binary[random() % binary.size()], {whole, other}});
        } else {
          steps.push_back({binary[random() % binary.size()], {other, whole}});
        }
        if (i + 1 == num_steps || random() % 5 == 0) outputs.push_back(i);
      }
      ExpectSame(steps, outputs, std::move(inputs), "round " + std::to_string(round));
    }
  }
};

}  // namespace tandem

#endif  // TANDEM_TESTS_UNIT_ELEMENTWISE_GROUP_TEST_FIXTURE_H_
