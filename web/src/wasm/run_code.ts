// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Running WebAssembly that C++ has made for chains of ops.

/** Runs WebAssembly that has been made, as C++'s `CodeRunner`. */
export type RunCode = (id: number, code: number, size: number, operands: number, n: number) => number;

type Loop = (operands: number, n: number) => void;

// Most of them are used again and again.
const MAX_LOOPS = 64;

/** What runs code in this memory; modules with threads have their own, in threads_library.js. */
export function codeRunner(memory: WebAssembly.Memory): RunCode {
  // By their numbers; null: the engine refuses it.
  const loops = new Map<number, Loop | null>();
  const instantiate = (code: number, size: number): Loop | null => {
    try {
      const module = new WebAssembly.Module(new Uint8Array(memory.buffer, code >>> 0, size));
      return new WebAssembly.Instance(module, { m: { m: memory } }).exports['f'] as Loop;
    } catch {
      return null;
    }
  };
  return (id, code, size, operands, n) => {
    let loop = loops.get(id);
    if (loop === undefined) {
      loop = instantiate(code, size);
      if (loops.size === MAX_LOOPS) loops.delete(loops.keys().next().value!);
      loops.set(id, loop);
    }
    loop?.(operands, n);
    return loop ? 1 : 0;
  };
}
