#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Chains of element-wise ops as programs against ONNX Runtime: what tandem_program_bench measures, and the same chains as
// ONNX models, in turn; the best of all runs of each.
// usage: npm ci --ignore-scripts && node chains.mjs [--bench PROGRAM] [--turns 3]

import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as ort from 'onnxruntime-node';

import { OnnxGraph } from '../web/src/onnx.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const { values: args } = parseArgs({
  options: {
    bench: { type: 'string', default: join(root, 'build/bench/tests/bench/tandem_program_bench') },
    turns: { type: 'string', default: '3' },
  },
});

// Those of program_bench.cc, by the names that it prints.
const adds = Array(100).fill('Add');
const mixed = ['Add', 'Mul', 'Sub', 'Max', 'Add', 'Mul', 'Abs', 'Neg', 'Add', 'Relu'];
const chains = [
  { name: '100 adds of 1 element', ops: adds, elements: 1 },
  { name: '100 adds of 1000 elements', ops: adds, elements: 1000 },
  { name: '10 element-wise ops on 1 million elements', ops: mixed, elements: 1_000_000 },
];
const unary = new Set(['Abs', 'Neg', 'Relu']);

/** A function that runs the ops one after the other in ONNX Runtime, each with y as its second argument. */
async function runner(ops, elements, numThreads) {
  const graph = new OnnxGraph();
  const y = graph.input('y', [elements]);
  let value = graph.input('x', [elements]);
  for (const op of ops) value = graph.node(op, unary.has(op) ? [value] : [value, y]);
  const session = await ort.InferenceSession.create(graph.finish(value, [elements]), {
    intraOpNumThreads: numThreads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
  });
  const filled = (number) => new ort.Tensor('float32', new Float32Array(elements).fill(number), [elements]);
  const feeds = { x: filled(1), y: filled(0.5) };
  return () => session.run(feeds);
}

/** Nanoseconds of one run: the mean over some 20 ms, the best of several. */
async function timeOf(run) {
  let best = Infinity;
  for (let round = 0; round < 9; ++round) {
    const begin = performance.now();
    let count = 0;
    do {
      await run();
      ++count;
    } while (performance.now() - begin < 20);
    best = Math.min(best, ((performance.now() - begin) * 1e6) / count);
  }
  return best;
}

/** Nanoseconds an op of each chain: what a call from JavaScript takes by itself, as one op shows, is not counted. */
async function measureOrt(numThreads) {
  const times = new Map();
  for (const { name, ops, elements } of chains) {
    const one = await timeOf(await runner(ops.slice(0, 1), elements, numThreads));
    const all = await timeOf(await runner(ops, elements, numThreads));
    times.set(name, (all - one) / (ops.length - 1));
  }
  return times;
}

/** What tandem_program_bench prints of programs: by the number of threads, nanoseconds an op of each chain. */
function measureTandem() {
  const found = new Map();
  let numThreads = 0;
  let chain = '';
  for (const line of execFileSync(args.bench, { encoding: 'utf8' }).split('\n')) {
    const threads = /^(\d+) threads?$/.exec(line);
    const program = /^ {2}program +([\d.]+) ns per op/.exec(line);
    if (threads) {
      numThreads = Number(threads[1]);
      found.set(numThreads, new Map());
    } else if (program) {
      found.get(numThreads).set(chain, Number(program[1]));
    } else if (line !== '' && !line.startsWith(' ')) {
      chain = line;
    }
  }
  return found;
}

const best = new Map();
function keep(library, numThreads, times) {
  for (const [chain, time] of times) {
    const key = `${library}, ${numThreads}, ${chain}`;
    best.set(key, Math.min(best.get(key) ?? Infinity, time));
  }
}

for (let turn = 0; turn < Number(args.turns); ++turn) {
  for (const [numThreads, times] of measureTandem()) {
    keep('tandem', numThreads, times);
    keep('ort', numThreads, await measureOrt(numThreads));
  }
}
console.log('                                             threads  Tandem    ONNX Runtime  ratio   (ns per op)');
for (const numThreads of [1, 2]) {
  for (const { name } of chains) {
    const tandem = best.get(`tandem, ${numThreads}, ${name}`);
    const other = best.get(`ort, ${numThreads}, ${name}`);
    console.log(
      name.padEnd(46), numThreads, tandem.toFixed(1).padStart(12), other.toFixed(1).padStart(14),
      (tandem / other).toFixed(2).padStart(8));
  }
}
