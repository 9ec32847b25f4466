// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the module with threads imports of us, how its threads get its other parts, and what it does when a worker
// cannot be started.

addToLibrary({
  // On the thread that loaded the module, whichever calls it.
  tandem_wake__proxy: 'async',
  tandem_wake: () => Module['onTandemWake']?.(),

  // On that thread only.
  tandem_execute_batch: (...args) => Module['onTandemExecute']?.(...args),

  // Loops made for ops that are computed as one, on the thread that calls it: each thread has instances of its own, by their numbers.
  $tandemLoops: '=new Map()',
  tandem_run_code__deps: ['$tandemLoops'],
  tandem_run_code: (id, code, size, operands, n) => {
    let loop = tandemLoops.get(id);
    if (loop === undefined) {
      try {
        // A copy, since modules are not compiled from shared memory.
        const bytes = new Uint8Array(wasmMemory.buffer, code >>> 0, size).slice();
        loop = new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { m: wasmMemory } }).exports['f'];
      } catch {
        loop = null;
      }
      if (tandemLoops.size === 64) tandemLoops.delete(tandemLoops.keys().next().value);
      tandemLoops.set(id, loop);
    }
    loop?.(operands, n);
    return loop ? 1 : 0;
  },

  // Of the module of relaxed SIMD, whose code is where the parts of the module are, each thread has an instance.
  $tandemRelaxed: undefined,
  tandem_run_relaxed__deps: ['$tandemRelaxed', 'tandem_parts_code'],
  tandem_run_relaxed: (call) => {
    if (!tandemRelaxed) {
      const [address, size] = new Uint32Array(wasmMemory.buffer, _tandem_parts_code() + 24, 2);
      if (!address || !call) return address;
      const code = new Uint8Array(wasmMemory.buffer, address, size).slice();
      const instance = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory: wasmMemory } });
      tandemRelaxed = instance.exports['f'];
    }
    if (call) tandemRelaxed(call);
    return 1;
  },

  // Every thread has a table of its own, and a worker that waits for work hears no messages. So in its place each
  // function of another part of the module has a placeholder, which is named by its place in the table: the first that a
  // worker calls fills the worker's table with the functions of the parts that are there by then, whose code the loading
  // thread has put into the memory that all share.
  $tandemExports: undefined,
  $tandemFilled: '=new Set()',
  $tandemFillTable__deps: ['$tandemExports', '$tandemFilled', 'tandem_parts_code'],
  $tandemFillTable: () => {
    const parts = new Uint32Array(wasmMemory.buffer, _tandem_parts_code(), 6);
    const before = tandemFilled.size;
    for (let i = 0; i < parts.length; i += 2) {
      const [address, size] = parts.subarray(i, i + 2);
      if (!address || tandemFilled.has(address)) continue;
      tandemFilled.add(address);
      // A copy, since modules are not compiled from shared memory.
      const code = new Uint8Array(wasmMemory.buffer, address, size).slice();
      new WebAssembly.Instance(new WebAssembly.Module(code), { primary: tandemExports });
    }
    if (tandemFilled.size === before) throw new Error('a part of the module is called before it is loaded');
  },
  $tandemPlaceholders__deps: ['$tandemFillTable', '$wasmTable'],
  $tandemPlaceholders: `=new Proxy({}, {
    get: (_, place) => (...args) => {
      tandemFillTable();
      return wasmTable.get(+place)(...args);
    },
  })`,

  // Emscripten would wait for ever for a worker whose script does not load, and would throw where nobody can catch it.
  $tandemWorkers__internal: true,
  $tandemWorkers__deps: ['$PThread', '$runtimeKeepalivePush', '$tandemPlaceholders', 'malloc', 'tandem_parts_code'],
  $tandemWorkers: () => {
    if (ENVIRONMENT_IS_PTHREAD) {
      // By it a worker waits for messages, at an address in what describes its thread. Some threads end before the
      // runtime does (those beyond 16 that many calls of settled() at once have started), but not their waiters: a
      // mutex that comes to lie there loses wake-ups to them. Without it messages to workers, of which there are none,
      // would be posted. The loading thread's own stays as it is: it never ends, and it is told by it to wake.
      delete Atomics.waitAsync;
      return;
    }
    // Or the module would end with the first call from a worker.
    runtimeKeepalivePush();
    const load = PThread.loadWasmModuleToWorker;
    PThread.loadWasmModuleToWorker = (worker) => {
      const loaded = load(worker);
      worker.onerror = (event) => {
        event.preventDefault?.();
        PThread.terminateAllThreads();
        const error = new Error(`a worker failed: ${event.message || 'its script could not be loaded'}`);
        readyPromiseReject(error);
        Module['onTandemFailure']?.(error);
      };
      return loaded;
    };
    Module['tandemTerminate'] = () => PThread.terminateAllThreads();
    Module['tandemShare'] = (part, code) => {
      const address = _malloc(code.length) >>> 0;
      if (!address) return false;
      new Uint8Array(wasmMemory.buffer).set(code, address);
      new Uint32Array(wasmMemory.buffer, _tandem_parts_code() + 8 * part, 2).set([address, code.length]);
      return true;
    };
  },
  $PThread__postset: 'tandemWorkers(); PThread.init();',
});

// Overridden dependencies of PThread are its own and ours.
LibraryManager.library['$PThread__deps'].push('$tandemWorkers');
