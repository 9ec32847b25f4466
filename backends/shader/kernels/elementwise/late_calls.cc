// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Which calls go together, and what is left of them to do.

#include "kernels/elementwise/late_calls.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tandem/gpu/heap_room.h"

namespace tandem::shader {

namespace {

// Of the heap, for a source.
constexpr size_t kSourceBytes = size_t{1} << 14;
// The rest of the structures that a fuser remembers is for programs.
constexpr size_t kMostSources = ShaderFuser::kMaxSources / 2;

// FNV-1a, by words.
uint64_t HashOf(const FusedSource& source) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  add(source.num_inputs);
  for (const FusedStep& step : source.steps) {
    add(reinterpret_cast<uintptr_t>(step.function));
    add(static_cast<uint64_t>(step.result));
    for (size_t k = 0; k < step.num_operands; ++k) add(step.operands[k]);
  }
  for (const uint8_t output : source.outputs) add(output);
  return hash;
}

}  // namespace

LateCalls::LateCalls(ShaderQueue& queue, ShaderDevice& device, const ShaderFuser& fuser)
    : queue_(queue), device_(device), fuser_(fuser), limits_(queue.limits()) {
  source_.name = "tandem.Fused";
  source_.compose = &ComposeFused;
  source_.steps.reserve(kMaxCalls);
  source_.outputs.reserve(kMaxCalls);
}

bool LateCalls::FindOperand(const EagerCall& call, size_t k, Operands& found) const {
  GpuBuffer* const buffer = call.arguments[k];
  const TensorMetadata& metadata = *call.form.operands[k];
  for (size_t i = num_calls_; i-- > 0;) {
    const GpuBuffer* const result = calls_[i].result.get();
    if (result == nullptr || result != &buffer->whole()) continue;
    // A part of a result, or a view of it, is read from memory.
    if (result != buffer || metadata.dtype != calls_[i].step.result || metadata.shape != shape_) return false;
    found.numbers[k] = static_cast<uint8_t>(kMaxInputs + i);
    return true;
  }
  for (size_t i = 0; i < num_inputs_; ++i) {
    if (inputs_[i].buffer != buffer || inputs_[i].metadata != metadata) continue;
    found.numbers[k] = static_cast<uint8_t>(i);
    return true;
  }
  size_t place = 0;
  const auto is_same = [&](size_t other) {
    return call.arguments[other] == buffer && *call.form.operands[other] == metadata;
  };
  while (place < found.num_new && !is_same(found.new_inputs[place])) ++place;
  if (num_inputs_ + place == kMaxInputs) return false;
  found.numbers[k] = static_cast<uint8_t>(num_inputs_ + place);
  if (place == found.num_new) found.new_inputs[found.num_new++] = k;
  return true;
}

bool LateCalls::FindOperands(const EagerCall& call, Operands& found) const {
  for (size_t k = 0; k < call.arguments.size(); ++k) {
    if (!FindOperand(call, k, found)) return false;
  }
  return true;
}

bool LateCalls::Add(const EagerCall& call, const ShaderCall::Step& step, const CommandOrigin& origin) {
  if (num_calls_ == kMaxCalls || call.arguments.size() > kMaxOperands) return false;
  if (num_calls_ > 0 && call.form.result->shape != shape_) return false;
  Operands operands;
  if (!FindOperands(call, operands)) return false;
  if (num_calls_ == 0) shape_ = call.form.result->shape;
  LateCall& added = calls_[num_calls_];
  added.is_in_place = false;
  for (size_t i = 0; i < operands.num_new; ++i) {
    const size_t k = operands.new_inputs[i];
    Input& input = inputs_[num_inputs_++];
    input.buffer = call.arguments[k];
    input.metadata = *call.form.operands[k];
    // Who takes over an argument's memory is the only one who has it.
    const bool is_taken_over = input.buffer == call.result;
    input.taken_over_by = is_taken_over ? num_calls_ : kNoCall;
    if (!is_taken_over) input.kept = RcRef<GpuBuffer>::Share(input.buffer);
    added.is_in_place |= is_taken_over;
  }
  added.step = {&call.function, call.form.result->dtype, call.form.alpha.has_value(),
                static_cast<uint8_t>(call.arguments.size()), operands.numbers};
  added.alpha = call.form.alpha.value_or(0.0f);
  added.result = RcRef<GpuBuffer>::Share(call.result);
  added.launch = step.launch;
  added.pipeline = step.pipeline.CopyRef();
  added.num_buffers = step.num_buffers;
  for (size_t i = 0; i < step.num_buffers; ++i) added.buffers[i] = step.buffers[i]->range();
  added.origin = origin;
  ++num_calls_;
  return true;
}

void LateCalls::DropUnheld(Outcome& outcome) {
  for (size_t i = 0; i < num_calls_; ++i) {
    LateCall& call = calls_[i];
    // What took over an input's memory keeps that.
    if (call.result && !call.is_in_place && call.result->IsUnique()) outcome.LetGo(std::move(call.result));
  }
}

bool LateCalls::Uses(BufferId buffer) const {
  const auto uses = [&](const LateCall& call) {
    const auto end = call.buffers.begin() + static_cast<ptrdiff_t>(call.num_buffers);
    return std::find_if(call.buffers.begin(), end, [&](const auto& range) { return range.buffer == buffer; }) != end;
  };
  return std::any_of(calls_.begin(), calls_.begin() + static_cast<ptrdiff_t>(num_calls_), uses);
}

void LateCalls::Note(Outcome& outcome) {
  const uint32_t outputs = FindOutputs();
  const uint32_t needed = FindNeeded(outputs);
  Failures failures = {};
  const auto end = static_cast<size_t>(std::bit_width(needed));
  for (size_t next = 0; next < end;) {
    const Part part = FindPart(next, needed, outputs);
    // One by one, what needs a call that has failed fails, too.
    if (outcome.num_failures > 0 || !NoteAsOne(part)) NoteOneByOne(part, failures, outcome);
    next = part.end;
  }
  Clear(outcome);
}

void LateCalls::Clear(Outcome& outcome) {
  for (LateCall& call : std::span(calls_).first(num_calls_)) {
    if (call.result) outcome.LetGo(std::move(call.result));
    call.pipeline.reset();
  }
  for (Input& input : std::span(inputs_).first(num_inputs_)) {
    if (input.kept) outcome.LetGo(std::move(input.kept));
  }
  num_calls_ = 0;
  num_inputs_ = 0;
  while (num_doomed_ > 0) queue_.DestroyBuffer(doomed_[--num_doomed_]);
}

uint32_t LateCalls::FindOutputs() const {
  static_assert(kMaxCalls <= 32);
  uint32_t outputs = 0;
  for (size_t i = 0; i < num_calls_; ++i) {
    if (calls_[i].result && !calls_[i].result->IsUnique()) outputs |= uint32_t{1} << i;
  }
  return outputs;
}

uint32_t LateCalls::FindNeeded(uint32_t outputs) const {
  uint32_t needed = outputs;
  for (size_t i = num_calls_; i-- > 0;) {
    const FusedStep& step = calls_[i].step;
    for (size_t k = 0; k < step.num_operands && (needed >> i & 1) != 0; ++k) {
      if (step.operands[k] >= kMaxInputs) needed |= uint32_t{1} << (step.operands[k] - kMaxInputs);
    }
  }
  return needed;
}

const BufferRange& LateCalls::RangeOf(uint8_t operand) const {
  return operand < kMaxInputs ? inputs_[operand].buffer->range() : ResultOf(operand - kMaxInputs);
}

LateCalls::Part LateCalls::FindPart(size_t first, uint32_t needed, uint32_t outputs) const {
  Part part;
  for (size_t end = num_calls_; end > first; --end) {
    part = {};
    part.first = first;
    part.end = end;
    if (Complete(part, needed, outputs) && FitsShader(part)) break;
  }
  return part;
}

bool LateCalls::Complete(Part& part, uint32_t needed, uint32_t outputs) const {
  uint32_t read_later = 0;
  for (size_t i = part.first; i < num_calls_; ++i) {
    if ((needed >> i & 1) == 0) continue;
    const bool is_later = i >= part.end;
    if (!is_later) part.calls |= uint32_t{1} << i;
    const FusedStep& step = calls_[i].step;
    for (const uint8_t operand : std::span(step.operands).first(step.num_operands)) {
      const bool is_result = operand >= kMaxInputs;
      if (is_later) {
        if (is_result) read_later |= uint32_t{1} << (operand - kMaxInputs);
        continue;
      }
      if (is_result && operand - kMaxInputs >= part.first) continue;
      const auto end = part.inputs.begin() + static_cast<ptrdiff_t>(part.num_inputs);
      if (std::find(part.inputs.begin(), end, operand) != end) continue;
      if (part.num_inputs == kMaxInputs) return false;
      part.inputs[part.num_inputs++] = operand;
    }
  }
  part.outputs = part.calls & (outputs | read_later);
  return true;
}

size_t LateCalls::FindForwarded(const Part& part, size_t output) const {
  for (size_t i = 0; i < part.num_inputs; ++i) {
    if (part.inputs[i] < kMaxInputs && inputs_[part.inputs[i]].taken_over_by == output) return i;
  }
  return kNoCall;
}

bool LateCalls::FitsShader(const Part& part) const {
  size_t num_alphas = 0;
  size_t num_stretched = 0;
  size_t num_forwarded = 0;
  const int64_t num_elements = shape_.num_elements();
  for (const uint8_t input : std::span(part.inputs).first(part.num_inputs)) {
    const int64_t count = input < kMaxInputs ? inputs_[input].metadata.num_elements() : num_elements;
    num_stretched += count != 1 && count != num_elements;
  }
  for (size_t i = part.first; i < part.end; ++i) {
    num_alphas += (part.calls >> i & 1) != 0 && calls_[i].step.has_alpha;
    if ((part.outputs >> i & 1) == 0) continue;
    const size_t forwarded = FindForwarded(part, i);
    num_forwarded += forwarded != kNoCall;
    for (size_t k = 0; k < part.num_inputs; ++k) {
      // The memory of a result that was dropped may be a later one's.
      if (k != forwarded && RangeOf(part.inputs[k]).buffer == ResultOf(i).buffer) return false;
    }
  }
  const size_t num_buffers = part.num_inputs + static_cast<size_t>(std::popcount(part.outputs));
  return num_forwarded <= 1 && num_buffers <= std::min<size_t>(limits_.max_storage_buffers, ShaderCall::kMaxBuffers) &&
         MostFusedParameters(num_alphas, num_stretched, shape_.rank()) <= kMaxParameters;
}

void LateCalls::DescribeSource(const Part& part) {
  source_.num_inputs = part.num_inputs;
  source_.steps.clear();
  source_.outputs.clear();
  std::array<uint8_t, kMaxInputs + kMaxCalls> places = {};  // in the source, by operand
  for (size_t i = 0; i < part.num_inputs; ++i) places[part.inputs[i]] = static_cast<uint8_t>(i);
  for (size_t i = part.first; i < part.end; ++i) {
    if ((part.calls >> i & 1) == 0) continue;
    places[kMaxInputs + i] = static_cast<uint8_t>(part.num_inputs + source_.steps.size());
    if ((part.outputs >> i & 1) != 0) source_.outputs.push_back(static_cast<uint8_t>(source_.steps.size()));
    FusedStep& step = source_.steps.emplace_back(calls_[i].step);
    for (size_t k = 0; k < step.num_operands; ++k) step.operands[k] = places[step.operands[k]];
  }
}

const FusedSource* LateCalls::FindSource(bool is_new) const {
  if (const FusedSource* const known = fuser_.Find(source_)) return known;
  if (is_new || fuser_.num_sources() >= kMostSources || !gpu::HeapHasRoom(kSourceBytes)) return nullptr;
  return &fuser_.Remember(source_);
}

bool LateCalls::NoteAsOne(const Part& part) {
  if (std::popcount(part.calls) < 2) return false;
  DescribeSource(part);
  bool is_new = false;
  SeenSources::Entry& seen = seen_.Find(HashOf(source_), is_new);
  const FusedSource* const source = seen.is_bad ? nullptr : FindSource(is_new);
  if (source == nullptr) return false;

  std::array<float, kMaxCalls> alphas;
  size_t num_alphas = 0;
  std::array<size_t, kMaxCalls> outputs;
  size_t num_outputs = 0;
  size_t forwarded = kNoCall;  // the input whose memory an output has; a shader has one at most
  size_t taker = 0;
  for (size_t i = part.first; i < part.end; ++i) {
    if ((part.calls >> i & 1) != 0 && calls_[i].step.has_alpha) alphas[num_alphas++] = calls_[i].alpha;
    if ((part.outputs >> i & 1) == 0) continue;
    if (const size_t input = FindForwarded(part, i); input != kNoCall) {
      forwarded = input;
      taker = num_outputs;
    }
    outputs[num_outputs++] = i;
  }
  std::array<TensorMetadata, kMaxInputs> results;  // of the inputs that are results
  std::array<const TensorMetadata*, kMaxInputs> metadata;
  std::array<BufferRange, ShaderCall::kMaxBuffers> buffers;
  size_t num_buffers = 0;
  for (size_t i = 0; i < part.num_inputs; ++i) {
    const uint8_t input = part.inputs[i];
    if (input >= kMaxInputs) results[i] = {calls_[input - kMaxInputs].step.result, shape_};
    metadata[i] = input < kMaxInputs ? &inputs_[input].metadata : &results[i];
    if (i != forwarded) buffers[num_buffers++] = RangeOf(input);
  }
  for (const size_t output : std::span(outputs).first(num_outputs)) buffers[num_buffers++] = ResultOf(output);

  Launch launch =
      FusedProgram(*source, {metadata.data(), part.num_inputs}, shape_, {alphas.data(), num_alphas}, limits_);
  if (forwarded != kNoCall) SetInPlace(launch, forwarded, taker);
  const AsyncValueRef<RcRef<Pipeline>> pipeline = device_.FindPipeline(launch.variant).value;
  if (!pipeline.IsAvailable()) return false;
  if (seen.is_bad = pipeline.IsError(); seen.is_bad) return false;
  const StatusOr<uint64_t> batch = queue_.Dispatch(**pipeline, {buffers.data(), num_buffers}, launch.parameters.words(),
                                                   launch.workgroups, calls_[outputs[num_outputs - 1]].origin);
  if (!batch.ok()) return false;
  for (const size_t output : std::span(outputs).first(num_outputs)) {
    if (calls_[output].result) calls_[output].result->set_last_write(*batch);
  }
  return true;
}

StatusOr<uint64_t> LateCalls::NoteAlone(LateCall& call) {
  StatusOr<uint64_t> batch = queue_.Dispatch(**call.pipeline, {call.buffers.data(), call.num_buffers},
                                             call.launch.parameters.words(), call.launch.workgroups, call.origin);
  if (!batch.ok()) return batch.status().WithContext(call.origin.op, call.origin.location);
  return batch;
}

// What fails takes those with it that need it.
void LateCalls::NoteOneByOne(const Part& part, Failures& failures, Outcome& outcome) {
  for (size_t i = part.first; i < part.end; ++i) {
    if ((part.calls >> i & 1) == 0) continue;
    LateCall& call = calls_[i];
    for (const uint8_t operand : std::span(call.step.operands).first(call.step.num_operands)) {
      if (operand >= kMaxInputs && failures[i] == 0) failures[i] = failures[operand - kMaxInputs];
    }
    uint64_t written = failures[i];
    if (written == 0) {
      const StatusOr<uint64_t> batch = NoteAlone(call);
      if (!batch.ok()) {
        failures[i] = next_failure_--;
        outcome.failures[outcome.num_failures++] = {failures[i], batch.status()};
      }
      written = batch.ok() ? *batch : failures[i];
    }
    if (call.result) call.result->set_last_write(written);
  }
}

}  // namespace tandem::shader
