// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Serves folders on 127.0.0.1, gzipped, and counts what was sent.

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { gzipSync } from 'node:zlib';

const SCRIPT = 'text/javascript';
const TYPES = { '.html': 'text/html', '.js': SCRIPT, '.mjs': SCRIPT, '.wasm': 'application/wasm' };

/**
 * `mounts`: { '/prefix/': folder }, the longest prefix counts; URLs below /isolated/ are the same files with the
 * headers that make a page cross-origin isolated. No response is cached by a browser.
 * @returns { url, takeBytes(): body bytes sent since the last call, close() }
 */
export async function serve(mounts) {
  const files = new Map();
  let sent = 0;
  const prefixes = Object.keys(mounts).sort((a, b) => b.length - a.length);

  const load = async (path) => {
    const prefix = prefixes.find((p) => path.startsWith(p));
    if (!prefix) return undefined;
    const rest = path.slice(prefix.length);
    const file = join(mounts[prefix], normalize(`/${rest === '' || rest.endsWith('/') ? `${rest}index.html` : rest}`));
    if (!files.has(file)) files.set(file, gzipSync(await readFile(file), { level: 9 }));
    return { type: TYPES[extname(file)] ?? 'application/octet-stream', body: files.get(file) };
  };

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://127.0.0.1');
    const isolated = pathname.startsWith('/isolated/');
    const found = await load(isolated ? pathname.slice('/isolated'.length) : pathname).catch(() => undefined);
    if (!found) {
      response.writeHead(404).end();
      return;
    }
    sent += found.body.length;
    response.writeHead(200, {
      'Content-Type': found.type,
      'Content-Encoding': 'gzip',
      'Content-Length': found.body.length,
      'Cache-Control': 'no-store',
      ...(isolated && {
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Embedder-Policy': 'require-corp',
        'Cross-Origin-Resource-Policy': 'same-origin',
      }),
    });
    response.end(found.body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    takeBytes() {
      const bytes = sent;
      sent = 0;
      return bytes;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
