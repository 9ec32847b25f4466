// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Serves built pages and folders beside them to tests, isolated (COOP and COEP) or not.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

/** @type {Readonly<Record<string, string>>} */
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
};

const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * Serves `roots`, folders by the first part of the path: { page: 'dist' } gives dist/index.html under /page/. Listens
 * on a free port of this machine only.
 * @param {Readonly<Record<string, string>>} roots
 * @param {boolean} isIsolated
 */
export async function serve(roots, isIsolated) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
    const [, root, ...rest] = path.split('/');
    const folder = Object.hasOwn(roots, root) ? roots[root] : undefined;
    const name = normalize(rest.join('/') || 'index.html');
    try {
      if (folder === undefined || name.startsWith('..')) throw new Error('outside');
      const body = await readFile(join(folder, name));
      const type = TYPES[extname(name)] ?? 'application/octet-stream';
      response.writeHead(200, { 'Content-Type': type, ...(isIsolated ? ISOLATION : {}) }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
