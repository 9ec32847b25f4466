// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Files that are in the script itself, compressed, for where none can be beside it. Scripts are imported as usual, since
// service workers import no others.

import { filesOfOne } from './files.js';
import type { Files, OneModule } from './files.js';
import type { ModulePart } from './module_files.js';
import { unpack } from './unpack.js';
import type { EmbeddedFile } from './unpack.js';
import * as programs from './wasm/programs/programs.js';

/** The files of an entry with one module, of this kind. */
export function embeddedFiles(
  entry: string, kind: 'cpu' | 'webgpu', module: EmbeddedFile, parts: Readonly<Record<ModulePart, EmbeddedFile>>,
  others: Partial<OneModule> = {},
): Files {
  const moduleFile = { href: entry, bytes: () => unpack(module) };
  return filesOfOne(entry, kind, {
    module: () => moduleFile,
    part: (part) => ({ href: `${entry} (${part})`, bytes: () => unpack(parts[part]) }),
    isLocal: true,
    importPrograms: () => Promise.resolve(programs),
    ...others,
  });
}
