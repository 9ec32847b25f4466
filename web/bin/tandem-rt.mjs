#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The command of the package: tandem-rt trim ops.json -o dir.

import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

import { ListError, readOpList } from './op_list.mjs';
import { trimModule } from './trim_module.mjs';

const USAGE = `usage: tandem-rt trim OPS -o DIR [--programs]

Makes DIR the package with the ops of a list alone, for pages that are to load less. OPS is a file: an op a line, with
dtypes behind it if not all are wanted, or the JSON of rt.usedOps(). What was left out is an error that says so.

  -o, --output DIR   where to, a new folder or one that this command has made
      --programs     with the code of programs, recording, layers and ops of one's own, and that which computes
                     element-wise calls as one

Needs the npm package binaryen: npm install --save-dev binaryen`;

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
const MODULES = ['tandem', 'tandem-webgpu'];
const PARTS = ['kernels', 'programs', 'fusion'];
// What the scripts name, and bundlers look for, but a trimmed module never asks for, being of one part.
const EMPTY_MODULES = [
  'tandem-threads', ...[...MODULES, 'tandem-threads'].flatMap((name) => PARTS.map((part) => `${name}-${part}`)),
];
const EMPTY_MODULE = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
// Why a runtime of a trimmed package has one thread.
const NO_THREADS = `export default async () => {
  throw new Error('a package that tandem-rt trim has made has no threads');
};
`;

/** What ends the command with a message. */
class Failure extends Error {}

async function importBinaryen() {
  try {
    return (await import('binaryen')).default;
  } catch (error) {
    throw new Failure(`expected the npm package binaryen, which takes functions out of the module: npm install ` +
      `--save-dev binaryen (${error.message})`);
  }
}

async function readList(path, data) {
  let text;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new Failure(`${path}: the list of ops cannot be read: ${error.message}`);
  }
  try {
    return readOpList(text, data.ops);
  } catch (error) {
    if (error instanceof ListError) throw new Failure(`${path}:${error.message}`);
    throw error;
  }
}

/** The package.json of a trimmed package: the same name, so that it takes the package's place. */
async function describePackage() {
  const { bin, devDependencies, files, scripts, ...description } =
    JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  return { ...description, private: true, description: `${description.description}; trimmed` };
}

/** Copies all but modules, and what is made of them. */
async function copyPackage(output) {
  await cp(dist, join(output, 'dist'), {
    recursive: true,
    filter: (path) => !/\.wasm$|[/\\](embedded-|tandem-threads-)[^/\\]*$|-trim\.json$|\.map$/.test(path),
  });
  for (const name of ['cpu', 'docs', 'methods', 'static']) {
    await cp(join(root, name), join(output, name), { recursive: true });
  }
  await copyFile(join(root, 'LICENSE'), join(output, 'LICENSE'));
  await writeFile(join(output, 'package.json'), `${JSON.stringify(await describePackage(), null, 2)}\n`);
  for (const name of EMPTY_MODULES) await writeFile(join(output, 'dist', `${name}.wasm`), EMPTY_MODULE);
  for (const name of ['web', 'node']) await writeFile(join(output, 'dist', `tandem-threads-${name}.js`), NO_THREADS);
}

/** A module as a file, and as the script that tandem-rt/static has it in. */
async function writeModule(output, name, bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  await writeFile(join(output, 'dist', `${name}.wasm`), bytes);
  await writeFile(join(output, 'dist', `embedded-${name}.js`), `export default '${packed.toString('base64')}';\n`);
  for (const part of PARTS) {
    await writeFile(join(output, 'dist', `embedded-${name}-${part}.js`), 'export default \'\';\n');
  }
  console.log(`${name}.wasm: ${bytes.length} bytes, ${packed.length} by gzip`);
}

async function trim(listPath, output, { programs }) {
  const data = await Promise.all(MODULES.map(async (name) =>
    JSON.parse(await readFile(join(dist, `${name}-trim.json`), 'utf8'))));
  const selected = await readList(listPath, data[0]);
  const binaryen = await importBinaryen();
  await mkdir(join(output, 'dist'), { recursive: true });
  await copyPackage(output);
  for (const [i, name] of MODULES.entries()) {
    const module = await readFile(join(dist, `${name}-whole.wasm`));
    await writeModule(output, name, trimModule(binaryen, module, data[i], selected, { programs }));
  }
}

async function main() {
  let parsed;
  try {
    parsed = parseArgs({
      allowPositionals: true,
      options: {
        output: { type: 'string', short: 'o' }, programs: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new Failure(`${error.message}\n\n${USAGE}`);
  }
  const { values: { output, programs, help }, positionals: [command, list, ...others] } = parsed;
  if (help) {
    console.log(USAGE);
    return;
  }
  if (command !== 'trim' || list === undefined || output === undefined || others.length > 0) throw new Failure(USAGE);
  await trim(list, output, { programs });
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
