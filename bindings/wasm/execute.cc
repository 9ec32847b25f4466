// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What modules with WebGPU import of us.

#include "js_webgpu.h"

#ifndef __EMSCRIPTEN_PTHREADS__
__attribute__((import_module("tandem"), import_name("webgpu_execute")))
#endif
extern "C" void
tandem_execute_batch(uint32_t batch, const uint32_t* words, size_t num_words, const void* arena, size_t arena_bytes);

void tandem_js_execute(const tandem::webgpu::Batch& batch) {
  tandem_execute_batch(batch.number, batch.words.data(), batch.words.size(), batch.arena.data(), batch.arena.size());
}
