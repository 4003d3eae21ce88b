import { optionProblems } from '#providers/provider-options.js';
import type { Catalog, EntryProblem } from './catalog.js';
import type { CatalogFile, ConsoleEntries, ModelSource, ProviderSource } from './catalog-schema.js';
import { descriptorOf, entryProblems, type SecretOf } from './entry-problems.js';

/** Where an entry is defined. */
export type EntryOwner = 'file' | 'console' | 'built-in';

/** The entries that a process starts with: those of models.yaml, or else of the built-in catalog. */
export interface BaseEntries {
  readonly owner: 'file' | 'built-in';
  readonly file: CatalogFile;
}

/** Finds the problems that keep adapters from being created for a catalog's providers. */
export type AdapterProblems = (catalog: Catalog) => readonly EntryProblem[];

/** All active entries, and the problems of skipped console and built-in entries. */
export interface MergedCatalog {
  readonly catalog: Catalog;
  readonly entries: CatalogFile;
  readonly skipped: readonly EntryProblem[];
}

/** How entries become a catalog, and how to find their secrets. */
export interface MergeParts {
  readonly secretOf: SecretOf | undefined;
  readonly make: (entries: CatalogFile) => Catalog;
  readonly adapterProblems: AdapterProblems;
}

const SECTIONS = ['providers', 'models'] as const;
/** The section of an entry. */
export type EntrySection = (typeof SECTIONS)[number];

const TAKEN = 'is not used, because models.yaml defines this name';

/**
 * Merges the console's entries with those of models.yaml or the built-in catalog. For a name defined twice, the order
 * of precedence is: the file, the console, the built-in catalog. Entries that don't fit the rest are skipped, but never
 * those of the file.
 */
export function mergeCatalog(own: BaseEntries, added: ConsoleEntries, parts: MergeParts): MergedCatalog {
  const isFile = own.owner === 'file';
  const [upper, lower] = isFile ? [own.file, added] : [added, own.file];
  const names = modelNames(upper);
  const isTaken = {
    providers: (name: string) => Object.hasOwn(upper.providers, name),
    models: (name: string) => names.has(name),
  };
  const entries: CatalogFile = {
    ...(own.file.currency === undefined ? {} : { currency: own.file.currency }),
    providers: { ...upper.providers, ...without(lower.providers, isTaken.providers) },
    models: { ...upper.models, ...withoutTakenAliases(without(lower.models, isTaken.models), isTaken.models) },
  };
  const shadowed = SECTIONS.flatMap((section) =>
    Object.keys(isFile ? added[section] : {})
      .filter(isTaken[section])
      .map((name) => ({ path: [section, name], text: TAKEN })),
  );
  const skipped: EntryProblem[] = [...shadowed];
  for (;;) {
    const problems = formProblems(entries, added, parts.secretOf).filter(({ path }) => !isFileEntry(own, path));
    const found = problems.length > 0 ? problems : skippableAdapterProblems(entries, own, parts);
    if (found.length === 0) return { catalog: parts.make(entries), entries, skipped: skipped };
    skipped.push(...found);
    for (const { path } of found) Reflect.deleteProperty(entries[path[0] as EntrySection], String(path[1]));
  }
}

/**
 * Problems of the entries, and of the options of the console's providers, which are checked nowhere else before use.
 */
function formProblems(entries: CatalogFile, added: ConsoleEntries, secretOf: SecretOf | undefined): EntryProblem[] {
  const options = Object.entries(entries.providers).filter(([name, entry]) => added.providers[name] === entry);
  return [
    ...options.flatMap(([name, entry]) => consoleOptionProblems(name, entry)),
    ...entryProblems(entries, secretOf),
  ];
}

function consoleOptionProblems(name: string, { options = {}, ...entry }: ProviderSource): EntryProblem[] {
  const { options: schema, fileOptions = [] } = descriptorOf(entry);
  const path = ['providers', name, 'options'];
  return [
    ...optionProblems(options, schema).map(({ path: at, text }) => ({ path: [...path, ...at], text })),
    // Console users must not be able to read the workers' files this way.
    ...fileOptions
      .filter((option) => typeof options[option] === 'string')
      .map((option) => ({ path: [...path, option], text: 'must be the content of the file, not its path' })),
  ];
}

function skippableAdapterProblems(entries: CatalogFile, own: BaseEntries, parts: MergeParts): EntryProblem[] {
  return parts.adapterProblems(parts.make(entries)).filter(({ path }) => !isFileEntry(own, path));
}

/** The file's entries have been checked separately, so they stay; built-in entries may be skipped. */
function isFileEntry({ owner, file }: BaseEntries, [section, name]: EntryProblem['path']): boolean {
  return owner === 'file' && Object.hasOwn(file[section as EntrySection], String(name));
}

/** All names and aliases that requests may use for the models. */
export function modelNames({ models }: ConsoleEntries): ReadonlySet<string> {
  return new Set(Object.entries(models).flatMap(([name, { aliases = [] }]) => [name, ...aliases]));
}

function without<T>(entries: Readonly<Record<string, T>>, isTaken: (name: string) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => !isTaken(name)));
}

/** Removes aliases that already belong to another model. */
function withoutTakenAliases(
  models: Record<string, ModelSource>,
  isTaken: (name: string) => boolean,
): Record<string, ModelSource> {
  const kept = ({ aliases, ...model }: ModelSource): ModelSource =>
    aliases === undefined ? model : { ...model, aliases: aliases.filter((alias) => !isTaken(alias)) };
  return Object.fromEntries(Object.entries(models).map(([name, model]) => [name, kept(model)]));
}
