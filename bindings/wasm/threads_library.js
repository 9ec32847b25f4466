// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the module with threads imports of us, and what it does when a worker cannot be started.

addToLibrary({
  // On the thread that loaded the module, whichever calls it.
  tandem_wake__proxy: 'async',
  tandem_wake: () => Module['onTandemWake']?.(),

  // On that thread only.
  tandem_execute_batch: (...args) => Module['onTandemExecute']?.(...args),

  // Emscripten would wait for ever for a worker whose script does not load, and would throw where nobody can catch it.
  $tandemWorkers__internal: true,
  $tandemWorkers__deps: ['$PThread', '$runtimeKeepalivePush'],
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
  },
  $PThread__postset: 'tandemWorkers(); PThread.init();',
});

// Overridden dependencies of PThread are its own and ours.
LibraryManager.library['$PThread__deps'].push('$tandemWorkers');
