#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The command of the package: tandem-rt trim ops.json -o dir.

import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
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
      --programs     with the code of programs, recording, layers and ops of one's own

Needs the npm package binaryen: npm install --save-dev binaryen`;

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
// Without threads: where there are no files of theirs, a runtime has one.
const SCRIPTS = ['index.js', 'index.node.js', 'tandem-webgpu.js', 'tandem-programs.js'];
const MODULES = ['tandem', 'tandem-webgpu'];

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
  const { name, version, description, license, type, engines, sideEffects, main, module, types, exports } =
    JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const entries = ['.', './package.json', ...MODULES.map((each) => `./${each}.wasm`)];
  return {
    name, version, private: true, description: `${description}; trimmed`, license, type, engines, sideEffects, main, module, types,
    exports: Object.fromEntries(entries.map((entry) => [entry, exports[entry]])),
  };
}

async function copyTypes(output) {
  const { cp } = await import('node:fs/promises');
  await cp(join(dist, 'types'), join(output, 'dist', 'types'), { recursive: true });
}

async function trim(listPath, output, { programs }) {
  const data = await Promise.all(MODULES.map(async (name) =>
    JSON.parse(await readFile(join(dist, `${name}-trim.json`), 'utf8'))));
  const selected = await readList(listPath, data[0]);
  const binaryen = await importBinaryen();
  await mkdir(join(output, 'dist'), { recursive: true });
  for (const [i, name] of MODULES.entries()) {
    const module = await readFile(join(dist, `${name}-whole.wasm`));
    const trimmed = trimModule(binaryen, module, data[i], selected, { programs });
    await writeFile(join(output, 'dist', `${name}.wasm`), trimmed);
    console.log(`${name}.wasm: ${trimmed.length} bytes, ${gzipSync(trimmed, { level: 9 }).length} by gzip`);
  }
  for (const name of SCRIPTS) await copyFile(join(dist, name), join(output, 'dist', name));
  await copyTypes(output);
  await copyFile(join(root, 'LICENSE'), join(output, 'LICENSE'));
  await writeFile(join(output, 'package.json'), `${JSON.stringify(await describePackage(), null, 2)}\n`);
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
