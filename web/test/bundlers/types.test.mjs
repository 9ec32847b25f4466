// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The packed types: a strict program compiles against them, nothing public is `any`, and the package's own description
// is right.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import typescript from 'typescript';
import { run, strangersProject } from './stranger.mjs';

const web = fileURLToPath(new URL('../..', import.meta.url));

describe('the types of tandem-rt', function () {
  this.timeout(300_000);
  let folder;
  let load;
  let tarball;

  before(async () => {
    ({ folder, load, tarball } = await strangersProject());
  });

  const compilers = {
    'the project\'s TypeScript': () => createRequire(join(folder, 'package.json')).resolve('typescript/package.json'),
    'the package\'s own TypeScript': () => createRequire(import.meta.url).resolve('typescript/package.json'),
  };
  for (const [compiler, manifest] of Object.entries(compilers)) {
    for (const [moduleResolution, module, lib] of [
      ['bundler', 'esnext', ['es2022', 'dom']],
      ['nodenext', 'nodenext', ['es2022', 'dom']],
    ]) {
      it(`compile strictly with ${compiler}, moduleResolution ${moduleResolution}`, async () => {
        const config = {
          compilerOptions: {
            strict: true, noEmit: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true,
            target: 'es2022', module, moduleResolution, lib, types: ['node'], skipLibCheck: false,
          },
          files: ['src/consumer.ts'],
        };
        const file = join(folder, `tsconfig.${moduleResolution}.json`);
        await writeFile(file, JSON.stringify(config));
        await run(process.execPath, [join(manifest(), '..', 'bin', 'tsc'), '-p', file], folder);
      });
    }
  }

  // TypeScript 7 has types of WebGPU that those of TensorFlow.js, which brings older ones, contradict.
  it('of its backend of TensorFlow.js compile strictly', async () => {
    for (const manifest of Object.values(compilers)) {
      const config = {
        compilerOptions: {
          strict: true, noEmit: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true,
          target: 'es2022', module: 'nodenext', lib: ['es2022', 'dom'], types: ['node', 'long'], skipLibCheck: false,
        },
        files: ['src/tfjs_consumer.ts'],
      };
      const file = join(folder, 'tsconfig.tfjs.json');
      await writeFile(file, JSON.stringify(config));
      const said = await run(process.execPath, [join(manifest(), '..', 'bin', 'tsc'), '-p', file], folder)
        .catch((error) => error.message);
      expect(said.split('\n').filter((line) => /^(src|node_modules.tandem-rt)\b.*error TS/.test(line))).to.deep.equal([]);
    }
  });

  it('never say any', async () => {
    const types = join(folder, 'node_modules', 'tandem-rt', 'dist');
    const names = (await readdir(types, { recursive: true })).filter((name) => name.endsWith('.d.ts'));
    expect(names).to.not.deep.equal([]);
    const found = [];
    for (const name of names) {
      const text = await readFile(join(types, name), 'utf8');
      const source = typescript.createSourceFile(name, text, typescript.ScriptTarget.Latest);
      const visit = (node) => {
        if (node.kind === typescript.SyntaxKind.AnyKeyword) {
          const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
          found.push(`${name}:${line + 1}: ${text.split('\n')[line].trim()}`);
        }
        typescript.forEachChild(node, visit);
      };
      visit(source);
    }
    expect(found).to.deep.equal([]);
  });

  it('document all that is public', async () => {
    const index = join(folder, 'node_modules', 'tandem-rt', 'dist', 'types', 'index.d.ts');
    const program = typescript.createProgram([index], { moduleResolution: typescript.ModuleResolutionKind.Bundler });
    const checker = program.getTypeChecker();
    const module = checker.getSymbolAtLocation(program.getSourceFile(index));
    const undocumented = checker.getExportsOfModule(module).filter((symbol) => {
      const meant = symbol.flags & typescript.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return !meant.getDocumentationComment(checker).length;
    });
    expect(undocumented.map((symbol) => symbol.name)).to.deep.equal([]);
  });

  it('have nothing that publint finds', async () => {
    const { publint } = await load('publint');
    const { messages } = await publint({ pkgDir: web, strict: true });
    expect(messages).to.deep.equal([]);
  });

  it('have nothing that arethetypeswrong finds', async () => {
    const attw = join(folder, 'node_modules', '@arethetypeswrong', 'cli', 'dist', 'index.js');
    const { exports } = JSON.parse(await readFile(join(web, 'package.json'), 'utf8'));
    const entries = Object.keys(exports).filter((name) => typeof exports[name] !== 'string');
    // The backend of TensorFlow.js is an ES module only.
    const [common, modules] = [true, false].map((has) => entries.filter((name) => (exports[name].node !== undefined) === has));
    await run(process.execPath, [attw, tarball, '--no-color', '--entrypoints', ...common], folder);
    if (modules.length > 0) {
      await run(process.execPath,
        [attw, tarball, '--no-color', '--profile', 'esm-only', '--entrypoints', ...modules], folder);
    }
  });

  it('compile and run as a CommonJS program, with module node16', async () => {
    const config = {
      compilerOptions: {
        strict: true, target: 'es2022', module: 'node16', lib: ['es2022', 'dom'], types: ['node'],
        skipLibCheck: false, outDir: 'out-node16', rootDir: 'src',
      },
      files: ['src/node16.cts'],
    };
    const file = join(folder, 'tsconfig.node16.json');
    await writeFile(file, JSON.stringify(config));
    const tsc = join(compilers['the project\'s TypeScript'](), '..', 'bin', 'tsc');
    await run(process.execPath, [tsc, '-p', file], folder);
    expect(JSON.parse(await run(process.execPath, ['out-node16/node16.cjs'], folder))).to.deep.equal([2, 3]);
  });
});
