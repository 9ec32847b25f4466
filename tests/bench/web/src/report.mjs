// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Prints what was measured as tables.

const number = (value, digits = 3) => (value === undefined ? '-' : Number(value.toPrecision(digits)).toString());

// `texts`: how many columns are text, to the left.
function table(header, rows, texts = 1) {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)));
  const line = (cells) =>
    cells.map((cell, i) => (i < texts ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ');
  return [line(header), widths.map((width) => '-'.repeat(width)).join('-|-'), ...rows.map(line)].join('\n');
}

/** Times of one section by library, in `unit`: median (best). */
export function timesTable(title, rows, libraries, unit) {
  const cells = (row, library) =>
    row.median[library] === undefined ? '-' : `${number(row.median[library])} (${number(row.best[library])})`;
  const header = [`${title}, ${unit}: median (best)`, ...libraries];
  return table(
    header,
    rows.map((row) => [row.title, ...libraries.map((library) => cells(row, library))]),
  );
}

/**
 * Ratios of the times of `ours`, "tandem" or "tandem-program", to the others', a table for all sections of the same
 * libraries: median (best). Above 1, Tandem is slower; marked. None if it took part nowhere.
 */
export function ratiosTables(sections, ours) {
  const ratio = (row, rival) => {
    const of = (times) => times[ours] / times[rival];
    if (row.median[rival] === undefined) return '-';
    return `${number(of(row.median), 2)} (${number(of(row.best), 2)})${of(row.best) > 1 ? ' !' : '  '}`;
  };
  const lists = [...new Set(sections.map(({ libraries }) => libraries.join()))];
  return lists.flatMap((names) => {
    const rivals = names.split(',').filter((library) => library !== ours);
    const rows = sections
      .filter(({ libraries }) => libraries.join() === names)
      .flatMap(({ title, rows: measured }) =>
        measured
          .filter((row) => row.median[ours] !== undefined)
          .map((row) => [title, row.title, ...rivals.map((rival) => ratio(row, rival))]),
      );
    const header = ['where', `${ours} / rival, median (best); !: slower at best`, ...rivals];
    return rows.length > 0 ? [table(header, rows, 2)] : [];
  });
}

/** How often as long as one op, the library's own, ten ops take at best; none if not both were measured. */
export function chainsTable(sections) {
  const rows = sections.flatMap(({ title, libraries, rows: measured }) => {
    const [one, ten] = ['add1M', 'mixed1M'].map((id) => measured.find((row) => row.id === id)?.best);
    if (one === undefined || ten === undefined) return [];
    // A program of one op is that op.
    const ofOne = (library) => one[library === 'tandem-program' ? 'tandem' : library];
    const present = libraries.filter((library) => ten[library] !== undefined && ofOne(library) !== undefined);
    return present.map((library) => [title, library, number(ten[library] / ofOne(library), 2)]);
  });
  return rows.length > 0 ? [table(['where', 'ten ops / one op, best', 'ratio'], rows, 2)] : [];
}

/** What the pages fetch, in KB as served (gzip). */
export function bytesTable(row, libraries) {
  return table(
    ['minimal page, fetched in all', ...libraries],
    [['KB, gzip', ...libraries.map((library) => (row.bytes[library] / 1000).toFixed(1))]],
  );
}

/** What making results without disposing of them came to. */
export function memoryTable(outcomes, results) {
  const megabytes = (bytes) => (bytes ? `${Math.round(bytes / 1e6)} MB` : '-');
  const broken = (works) => (works === false ? '; add fails since' : '');
  const end = ({ error, works }) => (error ? `${error}${broken(works)}` : 'ended normally');
  return table(
    [`${results} results of 4 MB, never disposed`, 'made', 'peak resident', 'end'],
    outcomes.map((o) => [`${o.library}, ${o.where}`, `${o.made ?? '-'}`, megabytes(o.peak), end(o)]),
  );
}
