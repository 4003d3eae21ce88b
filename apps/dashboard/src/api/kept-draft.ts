/** Kept per tab, and gone with it. */
const NAME = 'darkroom-draft';

let memory: { readonly owner: string; readonly part: object } | undefined;

/** The saved draft of a user, as far as it still exists. */
export function readKept<Draft extends object>(owner: string): Partial<Draft> {
  const kept = parsed(sessionStorage.getItem(NAME));
  return {
    ...(kept?.owner === owner ? kept.text : {}),
    ...(memory?.owner === owner ? memory.part : {}),
  };
}

/** `text` survives a reload; `inMemory` can't be serialized and does not. */
export function writeKept<Draft extends object>(
  owner: string,
  { text, inMemory }: { readonly text: Partial<Draft>; readonly inMemory: Partial<Draft> },
): void {
  memory = { owner, part: inMemory };
  sessionStorage.setItem(NAME, JSON.stringify({ owner, text }));
}

/** On sign-out, nothing is kept. */
export function forgetDraft(): void {
  memory = undefined;
  sessionStorage.removeItem(NAME);
}

function parsed(text: string | null): { readonly owner: string; readonly text: object } | undefined {
  return text === null ? undefined : (JSON.parse(text) as { owner: string; text: object });
}
