// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Programs from files of the system and from a server: Node alone.

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

import { createRuntime } from '../create_runtime.js';
import { checkError, rejectionOf } from '../errors.js';

const TEXT = `func @main(%x: !corert.tensorhandle) -> !corert.tensorhandle {
  %cpu = corert.get_op_handler("cpu")
  %y = corert.executeop(%cpu) "tf.Neg"(%x)
  tfrt.return %y : !corert.tensorhandle
}
`;

describe('programs in Node', () => {
  let rt;
  let folder;
  before(async () => {
    rt = await createRuntime();
    folder = await mkdtemp(join(tmpdir(), 'tandem-'));
  });
  after(async () => {
    await rm(folder, { recursive: true });
    await rt.dispose();
  });

  const expectNegation = async (source) => {
    const program = await rt.loadProgram(source);
    expect(await program.run('main', [2])[0].item()).to.equal(-2);
  };

  it('come from paths and file URLs, of either form', async () => {
    const path = join(folder, 'text.mlir');
    await writeFile(path, TEXT);
    const binary = join(folder, 'binary {1}.tdp');
    await writeFile(binary, (await rt.loadProgram(TEXT)).toBytes());
    for (const source of [path, relative(process.cwd(), path), pathToFileURL(path), pathToFileURL(path).href]) {
      await expectNegation(source);
    }
    await expectNegation(pathToFileURL(binary));
  });

  it('come from data: URLs', async () => {
    // A page's policy may not allow them.
    const url = `data:application/octet-stream,${encodeURIComponent(TEXT)}`;
    await expectNegation(url);
    await expectNegation(new URL(url));
  });

  it('come from a server', async () => {
    const server = createServer(({ url }, response) => {
      response.statusCode = url === '/text.mlir' ? 200 : 404;
      response.end(TEXT);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const base = `http://127.0.0.1:${server.address().port}`;
    try {
      await expectNegation(`${base}/text.mlir`);
      await expectNegation(await fetch(`${base}/text.mlir`));
      checkError(await rejectionOf(rt.loadProgram(`${base}/none`)), 'NotFound', /\/none: expected a file, got status 404/);
    } finally {
      server.close();
    }
    checkError(await rejectionOf(rt.loadProgram(`${base}/text.mlir`)), 'Unavailable', /text\.mlir: expected a file/);
  });

  it('are errors that name the file', async () => {
    const wrong = join(folder, 'wrong.mlir');
    await writeFile(wrong, `${TEXT}\nfunc foo {}`);
    checkError(await rejectionOf(rt.loadProgram(wrong)), 'InvalidArgument', /wrong\.mlir:7:6: expected/);
    checkError(await rejectionOf(rt.loadProgram(join(folder, 'none'))), 'NotFound', /none: expected a file, got none/);
    checkError(await rejectionOf(rt.loadProgram(folder)), 'InvalidArgument', /got a folder/);
  });
});
