// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

#include "code_runner.h"

#include <atomic>
#include <cstdint>

#ifdef __EMSCRIPTEN__
#include <emscripten/em_js.h>

// By their bytes, since each runtime of a test counts from 1.
EM_JS(int, tandem_test_run_code,
      (uint32_t id, const uint8_t* code, uint32_t size, const void* const* operands, uint32_t n), {
        const bytes = new Uint8Array(wasmMemory.buffer, code >>> 0, size).slice();
        if (!globalThis.tandemTestLoops) globalThis.tandemTestLoops = new Map();
        const loops = globalThis.tandemTestLoops;
        const text = bytes.join();
        let loop = loops.get(text);
        if (!loop) {
          const module = new WebAssembly.Module(bytes);
          loop = new WebAssembly.Instance(module, {m : {m : wasmMemory}}).exports.f;
          loops.set(text, loop);
        }
        loop(operands, n);
        return 1;
      });
#endif

namespace tandem {

namespace {

std::atomic<int> num_runs{0};

#ifdef __EMSCRIPTEN__
bool Run(uint32_t id, const uint8_t* code, uint32_t size, const void* const* operands, uint32_t n) {
  ++num_runs;
  return tandem_test_run_code(id, code, size, operands, n) != 0;
}
#endif

}  // namespace

CodeRunner TestCodeRunner() {
#ifdef __EMSCRIPTEN__
  return &Run;
#else
  return nullptr;
#endif
}

int NumCodeRuns() { return num_runs.load(); }

}  // namespace tandem
