// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Safetensors files of the system, and a server: Node alone.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { loadSafetensors, saveSafetensors } from 'tandem-rt';
import { createRuntime } from '../create_runtime.js';
import { rejectionOf } from '../errors.js';

describe('safetensors in Node', () => {
  let rt;
  let folder;
  let tensors;
  before(async () => {
    rt = await createRuntime();
    folder = await mkdtemp(join(tmpdir(), 'tandem-'));
    // More than one piece of a file.
    tensors = { long: rt.tensor(Float32Array.from({ length: 700_001 }, (_, i) => i)), one: rt.scalar(1n) };
  });
  after(async () => {
    await rm(folder, { recursive: true });
    await rt.dispose();
  });

  const expectLong = async (source, options) => {
    const loaded = await loadSafetensors(rt, source, options);
    const data = await loaded.get('long').data();
    expect(data.length).to.equal(700_001);
    expect(data.findIndex((value, i) => value !== i)).to.equal(-1);
    expect(await loaded.get('one').item()).to.equal(1n);
    loaded.dispose();
  };

  it('are written to a path as a whole, and read from there', async () => {
    const path = join(folder, 'a b#c.safetensors');
    await writeFile(path, 'old');
    const bytes = await saveSafetensors(tensors, { path });
    expect(Buffer.compare(await readFile(path), bytes)).to.equal(0);
    expect(await readdir(folder)).to.deep.equal(['a b#c.safetensors']);
    await expectLong(path);
    await expectLong(relative('.', path));
    await expectLong(pathToFileURL(path));
    await expectLong(pathToFileURL(path).href);
    await saveSafetensors(tensors, { path: pathToFileURL(path) });
    expect(await readdir(folder)).to.deep.equal(['a b#c.safetensors']);
  });

  it('that cannot be written or read say so', async () => {
    const missing = await rejectionOf(loadSafetensors(rt, join(folder, 'nothing')));
    expect(missing.code).to.equal('NotFound');
    expect(missing.message).to.match(/^\[loadSafetensors\] .*nothing: expected a file, got none of this name$/);
    const directory = await rejectionOf(loadSafetensors(rt, folder));
    expect(directory.code).to.equal('InvalidArgument');
    expect(directory.message).to.match(/: expected an ordinary file, got a folder$/);
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect((await rejectionOf(loadSafetensors(rt, pipe))).message).to.match(/got a pipe or a device$/);
    await rm(pipe);
    const error = await rejectionOf(saveSafetensors(tensors, { path: join(folder, 'nowhere/file') }));
    expect(error.code).to.equal('FailedPrecondition');
    expect(error.message).to.match(/nowhere.file: expected to write it, got: /);
    expect((await rejectionOf(saveSafetensors(tensors, { path: 'https://x/' }))).code).to.equal('InvalidArgument');
    expect((await rejectionOf(loadSafetensors(rt, 'http://127.0.0.1:1/x'))).code).to.equal('Unavailable');
  });

  it('come from a server, packed or not, and stop coming when they are not wanted', async () => {
    const bytes = await saveSafetensors(tensors);
    let closed;
    const server = createServer((request, response) => {
      if (request.url === '/plain') response.writeHead(200, { 'Content-Length': bytes.length }).end(bytes);
      else if (request.url === '/packed') {
        response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync(bytes));
      } else if (request.url === '/short') {
        response.writeHead(200, { 'Content-Length': bytes.length - 1 }).end(bytes.subarray(0, -1));
      } else if (request.url === '/broken') {
        response.writeHead(200, { 'Content-Length': bytes.length });
        response.write(bytes.subarray(0, 100_000), () => response.destroy());
      } else if (request.url === '/slow') {
        response.writeHead(200, { 'Content-Length': bytes.length });
        response.write(bytes.subarray(0, 100_000));
        closed = once(response, 'close');
      } else response.writeHead(404).end('no');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${server.address().port}`;
    const before = rt.memory().bytesInUse;
    await expectLong(`${url}/plain`);
    await expectLong(new URL(`${url}/packed`));
    await expectLong(await fetch(`${url}/packed`));
    expect((await rejectionOf(loadSafetensors(rt, `${url}/none`))).message).to.include(
      `${url}/none: expected a file, got status 404 Not Found`);
    // Before any of its tensors was filled.
    expect((await rejectionOf(loadSafetensors(rt, `${url}/short`))).message).to.include('within the data of ');
    const broken = await rejectionOf(loadSafetensors(rt, `${url}/broken`));
    expect(broken.code).to.equal('Unavailable');
    expect(broken.message).to.include('/broken: expected to read on, got: ');
    const controller = new AbortController();
    const reason = new Error('enough');
    expect(await rejectionOf(loadSafetensors(rt, `${url}/slow`, {
      signal: controller.signal, onProgress: () => controller.abort(reason),
    }))).to.equal(reason);
    await closed;
    expect(rt.memory().bytesInUse).to.equal(before);
    server.closeAllConnections();
    server.close();
  });
});
