// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A stranger's project in a temporary folder, with tandem-rt installed from its packed file: what is tested is what npm
// would publish.

import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const web = join(here, '..', '..');

/**
 * Runs a program to its end.
 * @returns {Promise<string>} what it printed. Rejects with all that it said if it fails or takes more than five
 *   minutes.
 */
export async function run(program, parameters, cwd) {
  // Bundlers that ran in this process have set NODE_ENV to production, by which npm would install less.
  const { NODE_ENV, ...env } = process.env;
  try {
    const options = { cwd, env, timeout: 300_000, maxBuffer: 2 ** 26 };
    const { stdout } = await promisify(execFile)(program, parameters, options);
    return stdout;
  } catch (error) {
    const said = `${error.stdout ?? ''}${error.stderr ?? ''}`;
    throw new Error(`${program} ${parameters.join(' ')} failed (${error.signal ?? error.code})\n${said}`, {
      cause: error,
    });
  }
}

let project;

/**
 * The project, made at the first call and removed when this process ends: the tests of several files share it.
 * @returns {Promise<{folder: string, tarball: string, load: (name: string) => Promise<object>}>} `load` imports a
 *   package that is installed there
 */
export function strangersProject() {
  project ??= make();
  return project;
}

/**
 * Copies the project's sources, with another entry of the package in place of its main one.
 * @returns {Promise<string>} where they are, relative to the project
 */
export async function sourcesFor(entry) {
  const { folder } = await strangersProject();
  const sources = `src-${entry.replaceAll('/', '-')}`;
  await cp(join(folder, 'src'), join(folder, sources), { recursive: true });
  const file = join(folder, sources, 'compute.js');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace("'tandem-rt'", `'${entry}'`));
  return sources;
}

async function make() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tandem-stranger-')));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await cp(join(here, 'project'), folder, { recursive: true, filter: (source) => !source.includes('node_modules') });
  await run('npm', ['ci', '--prefer-offline', '--ignore-scripts'], folder);
  const packed = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], web);
  const tarball = join(folder, JSON.parse(packed)[0].filename);
  await run('npm', ['install', '--prefer-offline', '--ignore-scripts', tarball], folder);
  const { resolve } = createRequire(join(folder, 'package.json'));
  const load = (name) => import(pathToFileURL(resolve(name)).href);
  return { folder, tarball, load };
}
