// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The op reference: every op of the runtime with its text, to be searched, and put into the program.

/** @typedef {import('tandem-rt').OpDefinition} OpDefinition */
/** @typedef {import('tandem-rt').ArgDefinition} ArgDefinition */

/** Names that are taken in JavaScript or C++, and those that the functions have instead. */
const RENAMED = /** @type {Record<string, string>} */ ({ assert: 'assertTrue', print: 'printStrings' });

/** @param {string} name  transpose_b */
function camel(name) {
  return name.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

/**
 * The name of an op's function: tf.ConcatV2 is concat; tf.PadV2 is padV2, since there is a tf.Pad, too. Undefined if the
 * package has none for it.
 * @param {string} op
 * @param {ReadonlySet<string>} functions
 */
export function functionOf(op, functions) {
  const short = (/** @type {string} */ name) => {
    const [, word = ''] = name.split('.');
    const text = word.replace(/^_/, '').replaceAll(/(?<=\d)D/g, 'd');
    const lower = text.charAt(0).toLowerCase() + text.slice(1);
    return RENAMED[lower] ?? lower;
  };
  return [short(op), short(op.replace(/V\d+$/, '')), ...(op === 'tf.SelectV2' ? ['select'] : [])]
    .find((name) => functions.has(name));
}

/** @param {ArgDefinition} argument */
function typeOf({ dtype, type_attr: attr, type_list_attr: list, number_attr: number, any_dtype: any }) {
  const type = dtype ?? attr ?? list ?? (any ? 'any' : '');
  return number === undefined ? type : `${number} × ${type}`;
}

/**
 * How the op is called.
 * @param {OpDefinition} op
 * @param {string | undefined} name  of its function
 */
function callOf(op, name) {
  const options = op.attrs.filter(({ inferred }) => !inferred);
  if (name === undefined) {
    const inputs = op.inputs.map((input) => input.name).join(', ');
    return `rt.execute('${op.name}', [${inputs}])`;
  }
  const must = options.filter((attr) => !('default' in attr)).map((attr) => camel(attr.name));
  const may = options.filter((attr) => 'default' in attr).map((attr) => camel(attr.name));
  const inputs = op.inputs.map((input) => camel(input.name));
  return `${name}(${[...inputs, ...must].join(', ')}${may.length > 0 ? `, { ${may.join(', ')} }` : ''})`;
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} text
 * @param {string} [className]
 */
function make(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className !== undefined) element.className = className;
  return element;
}

/** The first sentence. @param {string} doc */
function summaryOf(doc) {
  return (doc.split('\n\n')[0] ?? '').replaceAll('\n', ' ');
}

export class Reference {
  #list;
  #found;
  /** @type {{ text: string, entry: HTMLDetailsElement }[]} */
  #entries = [];

  /**
   * @param {{ list: HTMLElement, found: HTMLElement, search: HTMLInputElement }} elements
   */
  constructor({ list, found, search }) {
    this.#list = list;
    this.#found = found;
    search.addEventListener('input', () => this.#filter(search.value));
  }

  /**
   * @param {readonly OpDefinition[]} ops
   * @param {readonly string[]} names  that the package exports
   * @param {(text: string) => void} onInsert
   */
  show(ops, names, onInsert) {
    const functions = new Set(names);
    this.#entries = ops.filter(({ name }) => !name.startsWith('test.')).map((op) => {
      const name = functionOf(op.name, functions);
      const entry = document.createElement('details');
      const summary = make('summary', '');
      summary.append(make('b', name ?? op.name), make('small', summaryOf(op.doc)));
      entry.append(summary);
      // Made when it is first looked at: there are hundreds.
      entry.addEventListener('toggle', () => {
        if (entry.childElementCount === 1) entry.append(...this.#detailsOf(op, name, onInsert));
      });
      return { text: `${name ?? ''} ${op.name} ${summaryOf(op.doc)}`.toLowerCase(), entry, name: name ?? op.name };
    }).sort((a, b) => a.name.localeCompare(b.name));
    this.#list.replaceChildren(...this.#entries.map(({ entry }) => entry));
    this.#filter('');
    return [...functions].filter((name) => /^[a-z]/.test(name));
  }

  /**
   * @param {OpDefinition} op
   * @param {string | undefined} name
   * @param {(text: string) => void} onInsert
   */
  #detailsOf(op, name, onInsert) {
    const call = callOf(op, name);
    const facts = document.createElement('ul');
    const row = (/** @type {string} */ what) => facts.append(make('li', what));
    for (const input of op.inputs) row(`${camel(input.name)}: ${typeOf(input)}`);
    for (const output of op.outputs) row(`gives ${camel(output.name)}: ${typeOf(output)}`);
    for (const attr of op.attrs) {
      const spec = attr.spec.replace(/^[^:]*:\s*/, '');
      row(`${attr.inferred ? attr.name : camel(attr.name)}: ${attr.kind === 'type' ? (attr.allowed ?? []).join(', ') || 'any' : spec}`);
    }
    const button = make('button', 'Insert');
    button.type = 'button';
    button.setAttribute('aria-label', `Insert ${name ?? op.name}`);
    button.addEventListener('click', () => onInsert(call.replace(/, \{.*\}\)$/, ')')));
    return [make('code', call, 'call'), make('p', op.doc, 'doc'), make('p', `${op.name} has`, 'doc'), facts, button];
  }

  /** @param {string} wanted */
  #filter(wanted) {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { text, entry } of this.#entries) {
      entry.hidden = !words.every((word) => text.includes(word));
      if (!entry.hidden) ++count;
    }
    this.#found.textContent = count === this.#entries.length ? `${count} ops` : `${count} of ${this.#entries.length} ops`;
  }
}
