// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// A server on 127.0.0.1 for tests in a browser: folders and made-up files, under a strict Content-Security-Policy, with
// or without the headers that isolate a page.

import { once } from 'node:events';
import { createServer } from 'node:http';
import sirv from 'sirv';

/** What a page of a careful site allows: no eval, no inline script, no worker or script from elsewhere. */
export const contentSecurityPolicy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; " +
  "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:";

/**
 * Starts a server.
 * @param {object} options
 * @param {Record<string, string>} [options.folders] what to serve: a path prefix that ends in '/', and its folder
 * @param {Record<string, {status?: number, type?: string, body?: string | Uint8Array}>} [options.files] single answers
 *   by path; these come before the folders
 * @param {string} [options.policy] another Content-Security-Policy
 * @param {boolean} [options.isolated] whether to send COOP and COEP, so that pages have SharedArrayBuffer
 * @returns {Promise<{url: string, requests: string[], close: () => Promise<void>}>} `url` without a slash at its end;
 *   `requests` are the paths that were asked for, in order
 */
export async function serve({ folders = {}, files = {}, policy = contentSecurityPolicy, isolated = false }) {
  const mounts = Object.entries(folders)
    .sort(([a], [b]) => b.length - a.length)
    .map(([prefix, folder]) => ({ prefix, handler: sirv(folder, { dev: true, etag: false }) }));
  const requests = [];

  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://127.0.0.1').pathname;
    requests.push(path);
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Cache-Control', 'no-store');
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    const notFound = () => {
      response.writeHead(404, { 'Content-Type': 'text/plain' });
      response.end('not found');
    };
    if (Object.hasOwn(files, path)) {
      const { status = 200, type = 'text/plain', body = '' } = files[path];
      response.writeHead(status, { 'Content-Type': type });
      response.end(body);
      return;
    }
    if (path === '/favicon.ico') {
      response.writeHead(204).end();
      return;
    }
    const mount = mounts.find(({ prefix }) => path.startsWith(prefix));
    if (!mount) {
      notFound();
      return;
    }
    request.url = request.url.slice(mount.prefix.length - 1);
    mount.handler(request, response, notFound);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
