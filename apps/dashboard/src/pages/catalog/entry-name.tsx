import { Alert } from '@mantine/core';
import type { CatalogModel, CatalogProvider } from '../../api/catalog.ts';

/** Shown before a name is rejected. */
export const NAME_RULE = 'Letters, digits, and these characters: . _ : -';

/** The error in the name of a provider or model, if any. */
export function nameProblem(name: string): string | null {
  if (name.trim() === '') return 'Enter a name';
  if (/^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(name.trim())) return null;
  return `Use only ${NAME_RULE.toLowerCase()} (begin with a letter or digit)`;
}

type Entry = CatalogProvider | CatalogModel;

/** The entry that a new one with this name and these aliases replaces. */
export function replacedBy<T extends Entry>(
  entries: readonly T[],
  name: string,
  aliases: readonly string[] = [],
): T | undefined {
  const isOthers = ({ owner }: Entry): boolean => owner !== 'console';
  return (
    entries.find((entry) => entry.name === name.trim()) ??
    entries.find((entry) => isOthers(entry) && aliases.includes(entry.name))
  );
}

/** Says what happens to the replaced entry, and how to restore it. */
export function ReplacedNote({ kind, replaced }: { readonly kind: 'provider' | 'model'; readonly replaced: Entry }) {
  const { name, owner } = replaced;
  return (
    <Alert color={owner === 'file' ? 'red' : 'safelight'} variant="light" role="status">
      {owner === 'built-in' && (
        <>
          This replaces the built-in {kind} “{name}”. Remove this {kind} to restore the built-in one.
        </>
      )}
      {owner === 'console' && (
        <>
          This replaces the {kind} “{name}” that is already in the list. To restore that one, undo the change in the
          history.
        </>
      )}
      {owner === 'file' && (
        <>
          The {kind} “{name}” is in models.yaml and can be changed only there. Choose another name.
        </>
      )}
    </Alert>
  );
}
