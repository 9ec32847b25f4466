// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// WebAssembly files that are in a script.

/** A file of the package as a text: gzip's output in base64. */
export type EmbeddedFile = string;

/** The bytes of the file. */
export function unpack(file: EmbeddedFile): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(file), (char) => char.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}
