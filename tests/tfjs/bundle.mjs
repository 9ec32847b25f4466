// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// One script of a program with TensorFlow.js and tandem-rt/tfjs, which share one copy of tfjs-core.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

/** The built package. */
export const dist = join(here, '../../web/dist');

/** Where the files of an installed package are. */
export const folderOf = (name) => dirname(require.resolve(`${name}/package.json`));

const OF_NODE = /^(fs|path|os|util|crypto|worker_threads|perf_hooks|node-fetch|url)$/;

/**
 * @param {string} entry
 * @param {string} outfile
 * @param {boolean} forBrowser a classic script then, since specs look at what `this` is; its exports are the global
 *   `bundled`, and it finds the package as the global `tandem`. Else a module, with the package of the source tree
 * @param {string} [core] the installed package that is tfjs-core
 * @param {import('esbuild').Plugin[]} [plugins]
 */
export async function bundle(entry, outfile, forBrowser, core = '@tensorflow/tfjs-core', plugins = []) {
  const packageUrl = pathToFileURL(join(dist, 'index.node.js')).href;
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    ...(forBrowser ? { format: 'iife', globalName: 'bundled' } : { format: 'esm' }),
    target: 'es2022',
    platform: forBrowser ? 'browser' : 'node',
    mainFields: ['module', 'main'],
    nodePaths: [join(here, 'node_modules')],  // for what is not below this folder
    ignoreAnnotations: true,  // "sideEffects" of tfjs-core leaves its specs out
    logLevel: 'error',
    define: forBrowser ? { global: 'globalThis', 'process.env.NODE_ENV': '"test"' } : {},
    banner: forBrowser ? {} : {
      js: ["import { createRequire } from 'node:module';", "import { dirname as dirnameOf } from 'node:path';",
        "import { fileURLToPath as toPath } from 'node:url';", 'const require = createRequire(import.meta.url);',
        'const __filename = toPath(import.meta.url);', 'const __dirname = dirnameOf(__filename);'].join('\n'),
    },
    plugins: [...plugins, {
      name: 'packages',
      setup({ onLoad, onResolve, resolve }) {
        onResolve({ filter: /^tandem-rt$/ }, () => (
          forBrowser ? { path: 'tandem', namespace: 'global' } : { path: packageUrl, external: true }));
        onLoad({ filter: /.*/, namespace: 'global' }, ({ path }) => ({ contents: `module.exports = globalThis.${path};` }));
        onResolve({ filter: /^tandem-rt\/tfjs$/ }, () => ({ path: join(dist, 'tfjs/index.js') }));
        onResolve({ filter: /^@tensorflow\/tfjs-core(\/|$)/ }, ({ kind, path }) => (
          resolve(`./${path.split('/').slice(2).join('/') || 'dist/index.js'}`, { kind, resolveDir: folderOf(core) })));
        if (!forBrowser) return;
        onResolve({ filter: OF_NODE }, ({ path }) => ({ path, namespace: 'none' }));
        onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'module.exports = {};' }));
      },
    }],
  });
}
