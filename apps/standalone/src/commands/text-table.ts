/** Formats rows as columns of equal width, for a terminal. */
export function textTable(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A time in UTC, to the second. */
export function textTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
