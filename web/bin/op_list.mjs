// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Lists of ops, as TANDEM_OPS of a build takes them: an op a line, with the dtypes it is to have, if not all, and a line
// `dtypes f32 i32` for those that name none; or JSON, a list of names or an object of names and lists of dtypes.

const DTYPES = [
  'bool', 'u8', 'i8', 'u16', 'i16', 'i32', 'u32', 'i64', 'u64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'string',
];
// TensorFlow's names of them.
const ALIASES = {
  uint8: 'u8', int8: 'i8', uint16: 'u16', int16: 'i16', int32: 'i32', uint32: 'u32', int64: 'i64', uint64: 'u64',
  half: 'f16', bfloat16: 'bf16', float: 'f32', double: 'f64', complex64: 'c64',
};

/** What is wrong with a list. */
export class ListError extends Error {}

function* linesOf(text) {
  for (const [i, line] of text.split('\n').entries()) {
    const words = line.replace(/#.*/, '').trim().split(/[\s,:]+/);
    if (words[0] !== '') yield [i + 1, words];
  }
}

function* entriesOf(text) {
  let list;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new ListError(`1: expected JSON, ${error.message}`);
  }
  for (const [name, dtypes] of Array.isArray(list) ? list.map((op) => [op, []]) : Object.entries(list)) {
    if (typeof name !== 'string' || !Array.isArray(dtypes) || !dtypes.every((dtype) => typeof dtype === 'string')) {
      throw new ListError(`1: expected names of ops, or an object of names and lists of dtypes, got ${
        JSON.stringify(name)}: ${JSON.stringify(dtypes)}`);
    }
    const at = text.indexOf(JSON.stringify(name));
    yield [text.slice(0, Math.max(at, 0)).split('\n').length, [name, ...dtypes]];
  }
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j) {
      next.push(Math.min(row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1), row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}

const stem = (op) => op.replace(/^[^.]*\./, '').replace(/(?<=.)V\d+$/, '').toLowerCase();

function nearest(name, known) {
  const ranked = known.map((other) => [distance(stem(name), stem(other)), distance(name, other), other]);
  const [best] = ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return best[0] <= Math.max(1, Math.floor(stem(name).length / 3)) ? `, did you mean ${best[2]}` : '';
}

function parseDType(name, line) {
  const dtype = ALIASES[name] ?? name;
  if (DTYPES.includes(dtype)) return dtype;
  throw new ListError(`${line}: unknown dtype ${name}${nearest(name, [...DTYPES, ...Object.keys(ALIASES)])}`);
}

// What the op's own line says; undefined for all.
function ownDTypes(name, { dtypes: allowed }, dtypes, line) {
  if (dtypes.length === 0) return undefined;
  if (allowed.length === 0) throw new ListError(`${line}: ${name} has no type attribute, and so takes no dtypes`);
  const wrong = dtypes.find((dtype) => !allowed.includes(dtype));
  if (wrong === undefined) return dtypes;
  throw new ListError(`${line}: ${name} is not for ${wrong}, expected some of ${allowed.join(', ')}`);
}

// What a line for all ops says of one. Types of indices and such, which have a default, are no matter of it.
function usualDTypes(name, { dtypes: allowed, fixed }, usual, line) {
  if (fixed) return undefined;
  const dtypes = usual.filter((dtype) => allowed.includes(dtype));
  if (dtypes.length > 0) return dtypes;
  throw new ListError(`${line}: ${name} is for none of the dtypes ${usual.join(', ')}, expected some of ${
    allowed.join(', ')} after its name`);
}

/**
 * Reads a list.
 *
 * @param ops What is known of each op: { dtypes: of its kernels, fixed: whether a line for all ops is no matter of it }.
 * @returns {Map<string, string[] | undefined>} The dtypes of each op that is listed; undefined for all.
 */
export function readOpList(text, ops) {
  const lines = new Map();
  const selected = new Map();
  let usual;
  for (const [line, [name, ...rest]] of /^\s*[[{]/.test(text) ? entriesOf(text) : linesOf(text)) {
    const isAll = rest.length === 1 && rest[0] === 'all' && Object.hasOwn(ops, name);
    const dtypes = (isAll ? ops[name].dtypes : rest).map((dtype) => parseDType(dtype, line));
    if (name === 'dtypes') {
      if (usual !== undefined) throw new ListError(`${line}: dtypes are given twice`);
      if (dtypes.length === 0) throw new ListError(`${line}: expected dtypes after "dtypes"`);
      usual = dtypes;
      continue;
    }
    if (!Object.hasOwn(ops, name)) throw new ListError(`${line}: unknown op ${name}${nearest(name, Object.keys(ops))}`);
    if (lines.has(name)) {
      throw new ListError(`${line}: ${name} is listed twice, first on line ${lines.get(name)}`);
    }
    lines.set(name, line);
    selected.set(name, ownDTypes(name, ops[name], dtypes, line));
  }
  if (selected.size === 0) throw new ListError('1: expected ops, got none');
  for (const [name, dtypes] of selected) {
    if (dtypes === undefined && usual) selected.set(name, usualDTypes(name, ops[name], usual, lines.get(name)));
  }
  return selected;
}

/** The bits of dtypes as the module's data has them. */
export const bitsOf = (dtypes) => dtypes.reduce((bits, dtype) => bits | (1 << (DTYPES.indexOf(dtype) + 1)), 0);
