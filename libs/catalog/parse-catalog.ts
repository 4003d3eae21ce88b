import { Ajv, type ErrorObject } from 'ajv';
import { isCollection, isMap, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { CatalogError, type Catalog, type EntryProblem } from './catalog.js';
import {
  CATALOG_SCHEMA,
  CONSOLE_SCHEMA,
  PATTERN_MEANINGS,
  type CatalogFile,
  type ConsoleEntries,
} from './catalog-schema.js';
import { entryProblems, type SecretOf } from './entry-problems.js';
import { toCatalog } from './to-catalog.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Path = readonly (string | number)[];

/** Compiles a schema when it is used first: one takes 50 ms of each start, and most processes need only one. */
const ajv = new Ajv({
  allErrors: true,
  allowUnionTypes: true,
  schemas: { file: CATALOG_SCHEMA, console: CONSOLE_SCHEMA },
});

/** Reads secrets from environment variables. */
export function secretsIn(env: Environment): SecretOf {
  return (key) => ('env' in key ? env[key.env] : undefined);
}

/**
 * Parses a catalog. `source` is its name in errors; `env` contains the secrets that it refers to. Throws CatalogError
 * with every problem and its line.
 */
export function parseCatalog(text: string, source: string, env: Environment): Catalog {
  return toCatalog(parseEntries(text, source, secretsIn(env)), env, secretsIn(env));
}

/** Parses the entries of a file; without `secretOf`, secrets need not be set. Throws like `parseCatalog`. */
export function parseEntries(text: string, source: string, secretOf: SecretOf | undefined): CatalogFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (path: Path): string => lineOf(document, lines, path);
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => `line ${lines.linePos(pos[0]).line}: ${message}`);
    throw new CatalogError(source, problems);
  }
  const file: unknown = document.toJS();
  const problems = ajv.validate<CatalogFile>('file', file)
    ? entryProblems(file, secretOf)
    : schemaProblems(ajv.errors ?? []);
  if (problems.length === 0) return file as CatalogFile;
  throw new CatalogError(source, [...new Set(problems.map((problem) => `${at(problem.path)}${problemText(problem)}`))]);
}

/** Schema problems of the console's entries. */
export function consoleFormProblems(entries: unknown): EntryProblem[] {
  return ajv.validate<ConsoleEntries>('console', entries) ? [] : schemaProblems(ajv.errors ?? []);
}

/** The text of a problem, with the entry's path. */
export function problemText({ path, text }: EntryProblem): string {
  return `${path.join('.') || 'the file'} ${text}`;
}

/** The line of the node or the nearest node around it, as `line 12: `. */
function lineOf(document: Document, lines: LineCounter, path: Path): string {
  for (let length = path.length; length > 0; length--) {
    const container = document.getIn(path.slice(0, length - 1), true) as Node | undefined;
    const key = isMap(container)
      ? container.items.find(({ key: k }) => String(k) === String(path[length - 1]))
      : undefined;
    const node = (key?.key ?? document.getIn(path.slice(0, length), true)) as Node | undefined;
    if (node?.range) return `line ${lines.linePos(node.range[0]).line}: `;
  }
  return isCollection(document.contents) ? '' : 'line 1: ';
}

function schemaProblems(errors: readonly ErrorObject[]): EntryProblem[] {
  const told = errors.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'if');
  return told.map((error) => {
    const path = error.instancePath.split('/').slice(1).map(unescape);
    const extra = (error.params as { additionalProperty?: string }).additionalProperty;
    const allowed = (error.params as { allowedValues?: readonly string[] }).allowedValues;
    if (extra !== undefined) return { path: [...path, extra], text: 'is unknown' };
    const meaning = PATTERN_MEANINGS[(error.params as { pattern?: string }).pattern ?? ''];
    if (meaning !== undefined) return { path, text: `must be ${meaning}` };
    return { path, text: `${error.message ?? 'is wrong'}${allowed ? `: ${allowed.join(', ')}` : ''}` };
  });
}

function unescape(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
