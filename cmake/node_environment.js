// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Makes a program that Node runs like a native one: it has the environment variables, and its threads wake up.
Module["preRun"] = () => {
  if (typeof ENV !== "undefined" && typeof process === "object") Object.assign(ENV, process.env);
};

// Emscripten's threads wait for messages by it, at an address of their own, and an ended thread's waiter stays there:
// a mutex that comes to lie in that memory loses its wake-ups to it. Without it they are told by postMessage.
delete Atomics.waitAsync;
