// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What an import of a WebAssembly file is: scripts/build.mjs makes a script of each, which exports it as a text.

declare module '*.wasm' {
  const file: import('./unpack.js').EmbeddedFile;
  export default file;
}
