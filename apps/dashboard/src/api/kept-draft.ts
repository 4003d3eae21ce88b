import { newIdempotencyKey } from './request.ts';
import { filesOf, forgetFiles, forgetTab, keepFiles } from './kept-files.ts';

/** Kept per tab, and gone with it. */
const NAME = 'darkroom-draft';
/** More is not written again and again while the user works on it. */
const MAX_KEPT_BYTES = 200 * 1024 * 1024;

let memory: { readonly owner: string; readonly part: object } | undefined;
/** The files that were last kept; changes of anything else don't write them again. */
let written: readonly unknown[] = [];

/** Part of a draft that can't be serialized. */
interface Heavy {
  readonly files: readonly File[];
  readonly overlay: { readonly image: Blob } | null;
}

/** The saved draft of a user, as far as it still exists. */
export function readKept<Draft extends object>(owner: string): Partial<Draft> {
  const kept = parsed(sessionStorage.getItem(NAME));
  return {
    ...(kept?.owner === owner ? kept.text : {}),
    ...(memory?.owner === owner ? memory.part : {}),
  };
}

/** `text` survives a reload; of `inMemory`, files and what is painted over them do where the browser keeps them. */
export function writeKept<Draft extends object>(
  owner: string,
  { text, inMemory }: { readonly text: Partial<Draft>; readonly inMemory: Partial<Draft> & Heavy },
): void {
  memory = { owner, part: inMemory };
  const tab = parsed(sessionStorage.getItem(NAME))?.tab ?? newIdempotencyKey();
  sessionStorage.setItem(NAME, JSON.stringify({ owner, text, tab }));
  const { files, overlay } = inMemory;
  const heavy = [...files, overlay];
  if (heavy.length === written.length && heavy.every((one, index) => one === written[index])) return;
  written = heavy;
  const bytes = files.reduce((sum, { size }) => sum + size, overlay?.image.size ?? 0);
  const isKept = files.length > 0 && bytes <= MAX_KEPT_BYTES;
  // What could not be kept is counted in the text, so that a reload says so.
  void (isKept ? keepFiles(tab, owner, { files, overlay }) : forgetTab(tab)).catch(() => undefined);
}

/** After a reload, brings back the files of the tab's draft, before anything reads it. */
export async function restoreKept(owner: string): Promise<void> {
  const kept = parsed(sessionStorage.getItem(NAME));
  if (memory !== undefined || kept?.tab === undefined || kept.owner !== owner) return;
  const part = await filesOf(kept.tab, owner).catch(() => undefined);
  if (part === undefined) return;
  const { files, overlay } = part as Heavy;
  written = [...files, overlay];
  memory = { owner, part: { ...part, dropped: 0 } };
}

/** On sign-out, nothing is kept. */
export async function forgetDraft(): Promise<void> {
  memory = undefined;
  written = [];
  sessionStorage.removeItem(NAME);
  await forgetFiles().catch(() => undefined);
}

function parsed(
  text: string | null,
): { readonly owner: string; readonly text: object; readonly tab?: string } | undefined {
  return text === null ? undefined : (JSON.parse(text) as { owner: string; text: object; tab?: string });
}
