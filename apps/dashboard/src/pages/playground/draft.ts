import { useState } from 'react';
import { useSession } from '../../api/queries.ts';
import { readKept, writeKept } from '../../api/kept-draft.ts';
import type { TaskDetail } from '../../api/types.ts';
import { settingsOf, START, type ImageSettings } from './settings.ts';

/** One of several orders of the same prompt. */
export interface ComparedOrder {
  readonly settings: ImageSettings;
  /** The task that it became last. */
  readonly taskId: string | null;
}

/** What a use of an image changes in the form. */
type Form = Pick<Draft, 'prompt' | 'settings' | 'compared' | 'files' | 'mask' | 'varied'>;

/** Everything on the page that would be missed. */
export interface Draft {
  readonly prompt: string;
  readonly settings: ImageSettings;
  /** Orders side by side; null: one at a time. */
  readonly compared: readonly ComparedOrder[] | null;
  /** Reference images. */
  readonly files: readonly File[];
  readonly mask: Blob | null;
  /** The reference image of which variations are to be made; null, or another than there is: none. */
  readonly varied: File | null;
  /** What was filled in for the user last, and the form before; null: nothing, or it was ordered. */
  readonly filled: { readonly words: string; readonly before: Form } | null;
  /** The task whose images are shown. */
  readonly taskId: string | null;
}

const EMPTY: Draft = {
  ...{ prompt: '', settings: START, compared: null, files: [], mask: null },
  ...{ varied: null, filled: null, taskId: null },
};

/** The draft as it can be brought back. */
export function formOf({ prompt, settings, compared, files, mask, varied }: Draft): Form {
  return { prompt, settings, compared, files, mask, varied };
}

/** A task's prompt and settings, to be changed and ordered again; `before` are the settings chosen so far. */
export function draftOf(task: TaskDetail, before: ImageSettings): Pick<Draft, 'prompt' | 'settings' | 'filled'> {
  return { prompt: task.prompt, settings: settingsOf(task, before), filled: null };
}

export type ChangeDraft = (changes: Partial<Draft>) => void;

/** The draft of who is signed in. It survives leaving the page, and without its images also a reload. */
export function useDraft(): readonly [Draft, ChangeDraft] {
  const { person } = useSession();
  const [draft, setDraft] = useState(() => ({ ...EMPTY, ...readKept<Draft>(person.id) }));
  const change: ChangeDraft = (changes) => {
    // From what is kept: an answer may come when the page has been left, and is open again.
    const next = { ...EMPTY, ...readKept<Draft>(person.id), ...changes };
    const { files, mask, varied, filled, ...text } = next;
    writeKept<Draft>(person.id, { text, inMemory: { files, mask, varied, filled } });
    setDraft(next);
  };
  return [draft, change];
}
