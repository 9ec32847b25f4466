// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Files that are in the script itself, compressed, for where none can be beside it. Scripts are imported as usual, since
// service workers import no others.

import { filesOfOne } from './files.js';
import type { Files, OneModule } from './files.js';
import { unpack } from './unpack.js';
import type { EmbeddedFile } from './unpack.js';
import * as programs from './wasm/programs/programs.js';

/** The files of an entry with one module, of this kind. */
export function embeddedFiles(
  entry: string, kind: 'cpu' | 'webgpu', module: EmbeddedFile, code: EmbeddedFile, others: Partial<OneModule> = {},
): Files {
  const moduleFile = { href: entry, bytes: () => unpack(module) };
  const codeFile = { href: `${entry} (programs)`, bytes: () => unpack(code) };
  return filesOfOne(entry, kind, {
    module: () => moduleFile, programs: () => codeFile, importPrograms: () => Promise.resolve(programs), ...others,
  });
}
